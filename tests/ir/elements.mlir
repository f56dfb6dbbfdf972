// Values that each use the one before twice: the elements of a shape are looked for with bounded work.
// RUN: graphrun-opt %s --gr-infer-shapes | FileCheck %s

// CHECK-LABEL: @doubling
// CHECK: gr.reshape
func.func @doubling(%x: tensor<8xf32>, %y: tensor<?x?xf32>) -> tensor<*xf32> {
  %v0 = gr.shape %y : (tensor<?x?xf32>) -> tensor<2xi64>
  %v1 = gr.add %v0, %v0 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v2 = gr.add %v1, %v1 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v3 = gr.add %v2, %v2 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v4 = gr.add %v3, %v3 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v5 = gr.add %v4, %v4 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v6 = gr.add %v5, %v5 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v7 = gr.add %v6, %v6 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v8 = gr.add %v7, %v7 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v9 = gr.add %v8, %v8 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v10 = gr.add %v9, %v9 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v11 = gr.add %v10, %v10 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v12 = gr.add %v11, %v11 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v13 = gr.add %v12, %v12 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v14 = gr.add %v13, %v13 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v15 = gr.add %v14, %v14 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v16 = gr.add %v15, %v15 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v17 = gr.add %v16, %v16 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v18 = gr.add %v17, %v17 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v19 = gr.add %v18, %v18 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v20 = gr.add %v19, %v19 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v21 = gr.add %v20, %v20 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v22 = gr.add %v21, %v21 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v23 = gr.add %v22, %v22 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v24 = gr.add %v23, %v23 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v25 = gr.add %v24, %v24 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v26 = gr.add %v25, %v25 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v27 = gr.add %v26, %v26 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v28 = gr.add %v27, %v27 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v29 = gr.add %v28, %v28 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v30 = gr.add %v29, %v29 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v31 = gr.add %v30, %v30 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v32 = gr.add %v31, %v31 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v33 = gr.add %v32, %v32 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v34 = gr.add %v33, %v33 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v35 = gr.add %v34, %v34 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v36 = gr.add %v35, %v35 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v37 = gr.add %v36, %v36 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v38 = gr.add %v37, %v37 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v39 = gr.add %v38, %v38 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v40 = gr.add %v39, %v39 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v41 = gr.add %v40, %v40 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v42 = gr.add %v41, %v41 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v43 = gr.add %v42, %v42 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v44 = gr.add %v43, %v43 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v45 = gr.add %v44, %v44 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v46 = gr.add %v45, %v45 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v47 = gr.add %v46, %v46 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v48 = gr.add %v47, %v47 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v49 = gr.add %v48, %v48 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v50 = gr.add %v49, %v49 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v51 = gr.add %v50, %v50 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v52 = gr.add %v51, %v51 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v53 = gr.add %v52, %v52 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v54 = gr.add %v53, %v53 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v55 = gr.add %v54, %v54 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v56 = gr.add %v55, %v55 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v57 = gr.add %v56, %v56 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v58 = gr.add %v57, %v57 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v59 = gr.add %v58, %v58 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %v60 = gr.add %v59, %v59 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %0 = gr.reshape %x, %v60 : (tensor<8xf32>, tensor<2xi64>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
