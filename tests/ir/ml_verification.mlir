// Every diagnostic of strings and of classical machine learning.
// RUN: graphrun-opt %s --verify-diagnostics --split-input-file

func.func @f0(%a: tensor<3x!gr.string>) {
  // expected-error @below {{operand 0 is 'tensor<3x!gr.string>', but the operation computes, expected numbers}}
  %0 = gr.neg %a : (tensor<3x!gr.string>) -> tensor<3x!gr.string>
  return
}

// -----

func.func @f1(%a: tensor<3x!gr.string>, %i: tensor<3xi64>) {
  // expected-error @below {{reduction is "add", expected none for strings}}
  %0 = gr.scatter_elements %a, %i, %a {axis = 0 : i64, reduction = "add"} : (tensor<3x!gr.string>, tensor<3xi64>, tensor<3x!gr.string>) -> tensor<3x!gr.string>
  return
}

// -----

func.func @f2(%a: tensor<3xi64>, %k: tensor<2xf32>) {
  // expected-error @below {{operands have element types 'i64' and 'f32', expected one type; cast one of them}}
  %0 = gr.lookup %a, %k : (tensor<3xi64>, tensor<2xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @f3(%a: tensor<3xi64>) {
  %k = gr.constant dense<1> : tensor<i64> : tensor<i64>
  // expected-error @below {{keys is of rank 0, expected 1}}
  %0 = gr.lookup %a, %k : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  return
}

// -----

func.func @f4(%a: tensor<3xi32>, %k: tensor<2xi32>) {
  // expected-error @below {{input has element type 'i32', expected i64 or strings}}
  %0 = gr.ngram_count %a, %k {longest = 1 : i64, places = array<i64: 0>, shortest = 1 : i64, size = 1 : i64, skips = 0 : i64, starts = array<i64: 0>} : (tensor<3xi32>, tensor<2xi32>) -> tensor<1xf32>
  return
}

// -----

func.func @f5(%a: tensor<i64>, %k: tensor<2xi64>) {
  // expected-error @below {{input is of rank 0, expected 1 or 2}}
  %0 = gr.ngram_count %a, %k {longest = 1 : i64, places = array<i64: 0>, shortest = 1 : i64, size = 1 : i64, skips = 0 : i64, starts = array<i64: 0>} : (tensor<i64>, tensor<2xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @f6(%a: tensor<3xi64>, %k: tensor<2xi64>) {
  // expected-error @below {{counts at index 4, expected 0 to 0}}
  %0 = gr.ngram_count %a, %k {longest = 1 : i64, places = array<i64: 4>, shortest = 1 : i64, size = 1 : i64, skips = 0 : i64, starts = array<i64: 0>} : (tensor<3xi64>, tensor<2xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @f7(%a: tensor<3xi64>, %k: tensor<2xi64>) {
  // expected-error @below {{counts n-grams of 2 to 1 elements with 0 skips, expected 1 or more}}
  %0 = gr.ngram_count %a, %k {longest = 1 : i64, places = array<i64: 0>, shortest = 2 : i64, size = 1 : i64, skips = 0 : i64, starts = array<i64: 0>} : (tensor<3xi64>, tensor<2xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @f8(%x: tensor<4x2xf32>, %w: tensor<2xf32>, %n: tensor<2x7xi64>, %i: tensor<2xi64>) {
  // expected-error @below {{has aggregate "median", expected sum, average, min or max}}
  %0 = gr.tree_ensemble %x, %w, %n, %w, %w, %i, %i {aggregate = "median", outputs = 1 : i64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2x7xi64>, tensor<2xf32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x1xf32>
  return
}

// -----

func.func @f9(%x: tensor<4x2xf32>, %w: tensor<2xf32>, %n: tensor<2x6xi64>, %i: tensor<2xi64>) {
  // expected-error @below {{nodes are 'tensor<2x6xi64>', expected 7 columns}}
  %0 = gr.tree_ensemble %x, %w, %n, %w, %w, %i, %i {aggregate = "sum", outputs = 1 : i64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2x6xi64>, tensor<2xf32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x1xf32>
  return
}

// -----

func.func @f10(%x: tensor<4x2xf64>, %w: tensor<2xf32>, %n: tensor<2x7xi64>, %i: tensor<2xi64>) {
  // expected-error @below {{splits has element type 'f32', expected 'f64'}}
  %0 = gr.tree_ensemble %x, %w, %n, %w, %w, %i, %i {aggregate = "sum", outputs = 1 : i64} : (tensor<4x2xf64>, tensor<2xf32>, tensor<2x7xi64>, tensor<2xf32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x1xf64>
  return
}

// -----

func.func @f11(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{rows have 2 and 4 elements, expected as many}}
  %0 = gr.squared_distance %a, %b : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @f12(%a: tensor<3x2x4xf32>) {
  // expected-error @below {{pairwise is 'tensor<3x2x4xf32>', expected two last dims that are equal}}
  %0 = gr.couple_probabilities %a : (tensor<3x2x4xf32>) -> tensor<3x2xf32>
  return
}
