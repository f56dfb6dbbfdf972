// Every operation of the dialect at least once, all shapes static: printed and read back; also the input of
// the tests that walk all operations and of the round trip through model.fb.
// RUN: graphrun-opt %s | graphrun-opt | FileCheck %s
// RUN: graphrun-opt %s --mlir-print-op-generic | graphrun-opt | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x4x6x6xf32> {gr.name = "x"}, %i: tensor<2xi64> {gr.name = "i"}, %p: tensor<3x4xi1> {gr.name = "p"})
    -> (tensor<2x4x6x6xf32> {gr.name = "y"}, tensor<3x4xi1> {gr.name = "q"}) attributes {gr.symbols = ["N"]} {
  // Element-wise on one operand.
  // CHECK: gr.abs
  %abs = gr.abs %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32> loc("abs node")
  // CHECK-NEXT: gr.neg
  %neg = gr.neg %abs : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.exp
  %exp = gr.exp %neg : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.log
  %log = gr.log %exp : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.expm1
  %expm1 = gr.expm1 %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.log1p
  %log1p = gr.log1p %expm1 : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.sqrt
  %sqrt = gr.sqrt %abs : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.reciprocal
  %reciprocal = gr.reciprocal %exp : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.floor
  %floor = gr.floor %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.ceil
  %ceil = gr.ceil %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.round
  %round = gr.round %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.sign
  %sign = gr.sign %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.erf
  %erf = gr.erf %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.sin
  %sin = gr.sin %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.cos
  %cos = gr.cos %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.tan
  %tan = gr.tan %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.asin
  %asin = gr.asin %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.acos
  %acos = gr.acos %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.atan
  %atan = gr.atan %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.sinh
  %sinh = gr.sinh %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.cosh
  %cosh = gr.cosh %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.asinh
  %asinh = gr.asinh %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.acosh
  %acosh = gr.acosh %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.atanh
  %atanh = gr.atanh %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.tanh
  %tanh = gr.tanh %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.sigmoid
  %sigmoid = gr.sigmoid %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.softplus
  %softplus = gr.softplus %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.relu
  %relu = gr.relu %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.hard_swish
  %hard_swish = gr.hard_swish %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.not
  %not = gr.not %p : (tensor<3x4xi1>) -> tensor<3x4xi1>
  // CHECK-NEXT: gr.leaky_relu %{{.*}} {alpha = 2.000000e-01 : f64}
  %leaky_relu = gr.leaky_relu %x {alpha = 0.2 : f64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.swish %{{.*}} {alpha = 2.000000e+00 : f64}
  %swish = gr.swish %x {alpha = 2.0 : f64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.elu %{{[a-z0-9_]*}} :
  %elu = gr.elu %x {alpha = 1.0 : f64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.selu
  %selu = gr.selu %x : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.hard_sigmoid %{{.*}} {alpha = 3.000000e-01 : f64}
  %hard_sigmoid = gr.hard_sigmoid %x {alpha = 0.3 : f64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.gelu %{{.*}} {approximate = true}
  %gelu = gr.gelu %x {approximate = true} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.clip %{{.*}} {high = 0x7FF0000000000000 : f64, low = -1.500000e+00 : f64}
  %clip = gr.clip %x {low = -1.5 : f64, high = 0x7FF0000000000000 : f64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.cast %{{.*}} {to = bf16}
  %cast = gr.cast %x {to = bf16} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xbf16>
  // The types that are stored and converted.
  // CHECK-NEXT: gr.cast %{{.*}} {saturate = false, to = f8E4M3FN}
  %f8 = gr.cast %x {to = f8E4M3FN, saturate = false} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf8E4M3FN>
  // CHECK-NEXT: gr.cast %{{.*}} {round_mode = "down", to = !gr.f8e8m0}
  %power = gr.cast %x {to = !gr.f8e8m0, round_mode = "down"} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6x!gr.f8e8m0>
  // CHECK-NEXT: gr.cast %{{.*}} {to = ui4}
  %u4 = gr.cast %x {to = ui4} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xui4>
  // CHECK-NEXT: gr.bitcast %{{.*}} {to = !gr.f4e2m1} : {{.*}} -> tensor<2x4x6x6x!gr.f4e2m1>
  %bitcast = gr.bitcast %u4 {to = !gr.f4e2m1} : (tensor<2x4x6x6xui4>) -> tensor<2x4x6x6x!gr.f4e2m1>

  // Element-wise on two and three operands.
  // CHECK: gr.constant dense<5.000000e-01> : tensor<f32> : tensor<f32>
  %half = gr.constant dense<0.5> : tensor<f32> : tensor<f32>
  // CHECK-NEXT: gr.constant dense<{{.*}}> : tensor<4x1x1xf32>
  %channel = gr.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32> : tensor<4x1x1xf32>
  // CHECK-NEXT: gr.constant dense<{{.*}}> : tensor<4xi1>
  %mask = gr.constant dense<[true, false, true, true]> : tensor<4xi1> : tensor<4xi1>
  // CHECK-NEXT: gr.add
  %add = gr.add %x, %channel : (tensor<2x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.sub
  %sub = gr.sub %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.mul
  %mul = gr.mul %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.div
  %div = gr.div %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.mod %{{.*}} {truncate = true}
  %mod = gr.mod %x, %half {truncate = true} : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.pow
  %pow = gr.pow %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.min
  %min = gr.min %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.max
  %max = gr.max %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.prelu
  %prelu = gr.prelu %x, %channel : (tensor<2x4x6x6xf32>, tensor<4x1x1xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.equal
  %equal = gr.equal %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xi1>
  // CHECK-NEXT: gr.less
  %less = gr.less %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xi1>
  // CHECK-NEXT: gr.less_equal
  %less_equal = gr.less_equal %x, %half : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xi1>
  // CHECK-NEXT: gr.and
  %and = gr.and %p, %mask : (tensor<3x4xi1>, tensor<4xi1>) -> tensor<3x4xi1>
  // CHECK-NEXT: gr.or
  %or = gr.or %and, %not : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
  // CHECK-NEXT: gr.xor
  %xor = gr.xor %or, %p : (tensor<3x4xi1>, tensor<3x4xi1>) -> tensor<3x4xi1>
  // CHECK-NEXT: gr.shift_left
  %shift_left = gr.shift_left %i, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK-NEXT: gr.shift_right
  %shift_right = gr.shift_right %shift_left, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK-NEXT: gr.where
  %where = gr.where %less, %x, %half : (tensor<2x4x6x6xi1>, tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>

  // Reductions and products.
  // CHECK: gr.reduce %{{.*}} {axes = array<i64: 2, 3>, keepdims = false, kind = "mean"}
  %reduce = gr.reduce %x {kind = "mean", axes = array<i64: 2, 3>, keepdims = false} : (tensor<2x4x6x6xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: gr.matmul %{{.*}} {transpose_rhs = true}
  %matmul = gr.matmul %reduce, %reduce {transpose_rhs = true} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>

  // Large operations.
  // CHECK: gr.constant dense_resource<filter> : tensor<4x4x3x3xf32>
  %filter = gr.constant dense_resource<filter> : tensor<4x4x3x3xf32> : tensor<4x4x3x3xf32> loc("filter")
  // CHECK-NEXT: gr.constant dense<{{.*}}> : tensor<4xf32>
  %vector = gr.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : tensor<4xf32>
  // CHECK-NEXT: gr.conv %{{.*}}, %{{.*}}, %{{[a-z0-9_]*}} {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}
  %conv = gr.conv %x, %filter, %vector {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.conv_transpose
  %conv_transpose = gr.conv_transpose %x, %filter {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
      output_padding = array<i64: 0, 0>, output_shape = array<i64>}
    : (tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.max_pool
  %max_pool = gr.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, ceil_mode = true}
    : (tensor<2x4x6x6xf32>) -> tensor<2x4x3x3xf32>
  // CHECK-NEXT: gr.avg_pool
  %avg_pool = gr.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, padding = "same_upper"}
    : (tensor<2x4x6x6xf32>) -> tensor<2x4x3x3xf32>
  // CHECK-NEXT: gr.batch_norm
  %batch_norm = gr.batch_norm %x, %vector, %vector, %vector, %vector {epsilon = 0.001 : f64}
    : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.instance_norm
  %instance_norm = gr.instance_norm %x, %vector, %vector : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.layer_norm
  %layer_norm = gr.layer_norm %reduce, %vector, %vector : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: gr.lrn
  %lrn = gr.lrn %x {size = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.softmax
  %softmax = gr.softmax %x {axis = 1 : i64, log = true} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.constant
  %sizes = gr.constant dense<[2, 4, 12, 12]> : tensor<4xi64> : tensor<4xi64>
  // CHECK-NEXT: gr.resize %{{.*}} sizes %{{.*}} {coordinates = "half_pixel", mode = "linear", rounding = "floor"}
  %resize = gr.resize %x sizes %sizes {mode = "linear", coordinates = "half_pixel", rounding = "floor"}
    : (tensor<2x4x6x6xf32>, tensor<4xi64>) -> tensor<2x4x12x12xf32>
  // CHECK-NEXT: gr.resize %{{.*}} scales
  %resize2 = gr.resize %x scales %vector {mode = "nearest", coordinates = "asymmetric", rounding = "floor"}
    : (tensor<2x4x6x6xf32>, tensor<4xf32>) -> tensor<2x8x18x24xf32>

  // What gradients are made of.
  // CHECK: gr.batch_norm_training
  %batch_norm_training:3 = gr.batch_norm_training %x, %vector, %vector {epsilon = 0.001 : f64}
    : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: gr.batch_norm_backward
  %batch_norm_backward:3 = gr.batch_norm_backward %x, %vector, %batch_norm_training#1, %batch_norm_training#2, %batch_norm {epsilon = 0.001 : f64}
    : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: gr.conv_backward_filter
  %conv_backward_filter = gr.conv_backward_filter %x, %conv {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<4x4x3x3xf32>
  // CHECK-NEXT: gr.max_pool_backward
  %max_pool_backward = gr.max_pool_backward %x, %max_pool {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<2x4x6x6xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.avg_pool_backward
  %avg_pool_backward = gr.avg_pool_backward %avg_pool {dims = array<i64: 6, 6>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<2x4x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.softmax_backward
  %softmax_backward = gr.softmax_backward %softmax, %x {axis = 1 : i64, log = true} : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.layer_norm_backward
  %layer_norm_backward:3 = gr.layer_norm_backward %reduce, %vector, %layer_norm : (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)

  // Attention: two heads of the query share the key's one.
  // CHECK: gr.constant
  %lone = gr.constant dense<1.0> : tensor<1x1x1x1xf32> : tensor<1x1x1x1xf32>
  // CHECK: gr.linear_attention %{{.*}} {delta = true}
  %steps = gr.constant dense<0.5> : tensor<1x2x3x4xf32> : tensor<1x2x3x4xf32>
  %keys = gr.constant dense<0.5> : tensor<1x1x3x4xf32> : tensor<1x1x3x4xf32>
  %written = gr.constant dense<0.5> : tensor<1x1x3x5xf32> : tensor<1x1x3x5xf32>
  %state = gr.constant dense<0.5> : tensor<1x1x4x5xf32> : tensor<1x1x4x5xf32>
  %linear, %last = gr.linear_attention %steps, %keys, %written, %state, %lone, %lone {delta = true}
    : (tensor<1x2x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x5xf32>, tensor<1x1x4x5xf32>, tensor<1x1x1x1xf32>,
       tensor<1x1x1x1xf32>) -> (tensor<1x2x3x5xf32>, tensor<1x1x4x5xf32>)
  // CHECK: gr.attention %{{.*}} {causal = true, scale = 5.000000e-01 : f64}
  %attended = gr.attention %steps, %keys, %written {causal = true, scale = 0.5 : f64}
    : (tensor<1x2x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x5xf32>) -> tensor<1x2x3x5xf32>

  // Movement.
  // CHECK: gr.shape
  %shape = gr.shape %x {start = 1 : i64, end = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2xi64>
  %flat = gr.constant dense<[2, -1]> : tensor<2xi64> : tensor<2xi64>
  // CHECK: gr.reshape
  %reshape = gr.reshape %x, %flat : (tensor<2x4x6x6xf32>, tensor<2xi64>) -> tensor<2x144xf32>
  // CHECK-NEXT: gr.unsqueeze
  %unsqueeze = gr.unsqueeze %reshape {axes = array<i64: 0>} : (tensor<2x144xf32>) -> tensor<1x2x144xf32>
  // CHECK-NEXT: gr.squeeze
  %squeeze = gr.squeeze %unsqueeze {axes = array<i64: 0>} : (tensor<1x2x144xf32>) -> tensor<2x144xf32>
  // CHECK-NEXT: gr.transpose
  %transpose = gr.transpose %squeeze {permutation = array<i64: 1, 0>} : (tensor<2x144xf32>) -> tensor<144x2xf32>
  // CHECK-NEXT: gr.concat
  %concat = gr.concat %transpose, %transpose {axis = 1 : i64} : (tensor<144x2xf32>, tensor<144x2xf32>) -> tensor<144x4xf32>
  // CHECK-NEXT: gr.split
  %split:2 = gr.split %concat {axis = 1 : i64, sizes = array<i64: 1, 3>} : (tensor<144x4xf32>) -> (tensor<144x1xf32>, tensor<144x3xf32>)
  %zero = gr.constant dense<0> : tensor<1xi64> : tensor<1xi64>
  %one = gr.constant dense<1> : tensor<1xi64> : tensor<1xi64>
  // CHECK: gr.slice
  %slice = gr.slice %split#1, %zero, %one, %one, %one : (tensor<144x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<144x1xf32>
  %pads = gr.constant dense<[1, 0, 0, 2]> : tensor<4xi64> : tensor<4xi64>
  // CHECK: gr.pad
  %pad = gr.pad %slice, %pads, %half {mode = "constant"} : (tensor<144x1xf32>, tensor<4xi64>, tensor<f32>) -> tensor<145x3xf32>
  // CHECK-NEXT: gr.gather
  %gather = gr.gather %pad, %i {axis = 1 : i64} : (tensor<145x3xf32>, tensor<2xi64>) -> tensor<145x2xf32>
  %wide = gr.constant dense<[3, 145, 2]> : tensor<3xi64> : tensor<3xi64>
  // CHECK: gr.expand
  %expand = gr.expand %gather, %wide : (tensor<145x2xf32>, tensor<3xi64>) -> tensor<3x145x2xf32>
  // CHECK-NEXT: gr.tile
  %tile = gr.tile %expand, %wide : (tensor<3x145x2xf32>, tensor<3xi64>) -> tensor<9x21025x4xf32>
  // CHECK-NEXT: gr.fill
  %fill = gr.fill %sizes {value = dense<7> : tensor<1xi32>} : (tensor<4xi64>) -> tensor<2x4x12x12xi32>

  // Control flow and deferred nodes.
  // CHECK: gr.deferred %{{.*}} {node = "bytes", opset = 18 : i64, places = array<i64: 0>}
  %deferred = gr.deferred %sizes {node = "bytes", opset = 18 : i64, places = array<i64: 0>} : (tensor<4xi64>) -> tensor<*xindex>
  %flag = gr.constant dense<true> : tensor<i1> : tensor<i1>
  %start = gr.constant dense<0> : tensor<i64> : tensor<i64>
  // CHECK: gr.if %{{.*}} {
  // CHECK: } else {
  %if = gr.if %flag {
    gr.yield %start : tensor<i64>
  } else {
    %negated = gr.neg %start : (tensor<i64>) -> tensor<i64>
    gr.yield %negated : tensor<i64>
  } : (tensor<i1>) -> tensor<i64>
  // CHECK: gr.loop %{{.*}} iteration %{{.*}} carried(%{{.*}}) {
  %loop:2 = gr.loop %flag iteration %start carried(%if) {
  ^bb0(%number: tensor<i64>, %go: tensor<i1>, %value: tensor<i64>):
    %sum = gr.add %value, %number : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gr.yield %go, %sum, %number : tensor<i1>, tensor<i64>, tensor<i64>
  } : (tensor<i1>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<?xi64>)

  // CHECK: gr.sequence
  %list = gr.sequence %start, %if : (tensor<i64>, tensor<i64>) -> tensor<*x!gr.sequence>
  %none = gr.sequence : () -> tensor<*x!gr.optional>

  // Gradients.
  // CHECK: gr.watch
  %watch = gr.watch %relu : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.gradient %{{.*}} wrt(%{{.*}}, %{{.*}}) :
  %gradient:2 = gr.gradient %half wrt(%watch, %x) : (tensor<f32>, tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>)

  // Index and random.
  %line = gr.constant dense<[4, 1, 3]> : tensor<3xi64> : tensor<3xi64>
  %limit = gr.constant dense<7> : tensor<i64> : tensor<i64>
  %delta = gr.constant dense<2> : tensor<i64> : tensor<i64>
  // CHECK: gr.range
  %range = gr.range %start, %limit, %delta : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xi64>
  %picks = gr.constant dense<[[0, 1], [2, 0]]> : tensor<2x2xi64> : tensor<2x2xi64>
  // CHECK: gr.gather_elements
  %gather_elements = gr.gather_elements %concat, %picks {axis = 0 : i64} : (tensor<144x4xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  // CHECK-NEXT: gr.gather_nd
  %gather_nd = gr.gather_nd %concat, %picks : (tensor<144x4xf32>, tensor<2x2xi64>) -> tensor<2xf32>
  // CHECK-NEXT: gr.scatter_elements
  %scatter_elements = gr.scatter_elements %concat, %picks, %gather_elements {axis = 0 : i64, reduction = "add"} : (tensor<144x4xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<144x4xf32>
  // CHECK-NEXT: gr.scatter_nd
  %scatter_nd = gr.scatter_nd %concat, %picks, %gather_nd : (tensor<144x4xf32>, tensor<2x2xi64>, tensor<2xf32>) -> tensor<144x4xf32>
  // CHECK-NEXT: gr.non_zero
  %non_zero:2 = gr.non_zero %concat : (tensor<144x4xf32>) -> (tensor<2x576xi64>, tensor<1xi64>)
  // CHECK-NEXT: gr.unique
  %unique:5 = gr.unique %concat {axis = 0 : i64} : (tensor<144x4xf32>) -> (tensor<144x4xf32>, tensor<144xi64>, tensor<144xi64>, tensor<144xi64>, tensor<1xi64>)
  // CHECK-NEXT: gr.top_k
  %top_k:2 = gr.top_k %concat, %one {axis = 1 : i64, largest = false} : (tensor<144x4xf32>, tensor<1xi64>) -> (tensor<144x1xf32>, tensor<144x1xi64>)
  // CHECK-NEXT: gr.arg_reduce
  %arg_reduce = gr.arg_reduce %concat {axis = 1 : i64, keepdims = false, kind = "max"} : (tensor<144x4xf32>) -> tensor<144xi64>
  // CHECK-NEXT: gr.cumulative
  %cumulative = gr.cumulative %concat, %start {kind = "sum"} : (tensor<144x4xf32>, tensor<i64>) -> tensor<144x4xf32>
  %boxes = gr.constant dense<1.0> : tensor<1x6x4xf32> : tensor<1x6x4xf32>
  %scores = gr.constant dense<1.0> : tensor<1x2x6xf32> : tensor<1x2x6xf32>
  // CHECK: gr.non_max_suppression
  %nms:2 = gr.non_max_suppression %boxes, %scores, %one, %half, %half {bound = 1 : i64} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<f32>, tensor<f32>) -> (tensor<2x3xi64>, tensor<1xi64>)
  // CHECK-NEXT: gr.det
  %det = gr.det %x : (tensor<2x4x6x6xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: gr.random
  %random = gr.random %line {a = 0.0, b = 1.0, kind = "normal", seed = 7 : i64, to = f16} : (tensor<3xi64>) -> tensor<4x1x3xf16>
  %step = gr.constant dense<3> : tensor<i64> : tensor<i64>
  // CHECK: gr.random %{{.*}}, %{{.*}} {
  %random_step = gr.random %line, %step {a = 0.0, b = 1.0, kind = "uniform", seed = 7 : i64, to = f32} : (tensor<3xi64>, tensor<i64>) -> tensor<4x1x3xf32>

  // Vision.
  %grid = gr.constant dense<0.5> : tensor<2x3x5x2xf32> : tensor<2x3x5x2xf32>
  // CHECK: gr.grid_sample %{{.*}} {mode = "cubic", padding = "border"}
  %grid_sample = gr.grid_sample %x, %grid {mode = "cubic", padding = "border"} : (tensor<2x4x6x6xf32>, tensor<2x3x5x2xf32>) -> tensor<2x4x3x5xf32>
  // CHECK-NEXT: gr.grid_sample_backward %{{.*}} {mode = "cubic", padding = "border"}
  %grid_sample_backward:2 = gr.grid_sample_backward %x, %grid, %grid_sample {mode = "cubic", padding = "border"} : (tensor<2x4x6x6xf32>, tensor<2x3x5x2xf32>, tensor<2x4x3x5xf32>) -> (tensor<2x4x6x6xf32>, tensor<2x3x5x2xf32>)
  %rois = gr.constant dense<1.0> : tensor<2x4xf32> : tensor<2x4xf32>
  // CHECK: gr.roi_align %{{.*}} {height = 2 : i64, kind = "mean", width = 3 : i64}
  %roi_align = gr.roi_align %x, %rois, %i {kind = "mean", height = 2 : i64, width = 3 : i64} : (tensor<2x4x6x6xf32>, tensor<2x4xf32>, tensor<2xi64>) -> tensor<2x4x2x3xf32>
  %rois5 = gr.constant dense<1.0> : tensor<7x5xf32> : tensor<7x5xf32>
  // CHECK: gr.roi_max_pool
  %roi_max_pool = gr.roi_max_pool %x, %rois5 {height = 2 : i64, width = 2 : i64} : (tensor<2x4x6x6xf32>, tensor<7x5xf32>) -> tensor<7x4x2x2xf32>
  %image = gr.constant dense<[4, 5]> : tensor<2xi64> : tensor<2xi64>
  %block = gr.constant dense<[2, 1]> : tensor<2xi64> : tensor<2xi64>
  %columns = gr.constant dense<1.0> : tensor<1x6x15xf32> : tensor<1x6x15xf32>
  // CHECK: gr.col2im
  %col2im = gr.col2im %columns, %image, %block {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<1x6x15xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<1x3x4x5xf32>
  // CHECK-NEXT: gr.max_pool_with_indices
  %max_pool_with_indices:2 = gr.max_pool_with_indices %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<2x4x6x6xf32>) -> (tensor<2x4x3x3xf32>, tensor<2x4x3x3xi64>)
  // CHECK-NEXT: gr.lp_pool %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, p = 3.000000e+00 : f64
  %lp_pool = gr.lp_pool %x {p = 3.0 : f64, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
    : (tensor<2x4x6x6xf32>) -> tensor<2x4x3x3xf32>
  %offsets = gr.constant dense<0.5> : tensor<2x18x6x6xf32> : tensor<2x18x6x6xf32>
  %mask9 = gr.constant dense<0.5> : tensor<2x9x6x6xf32> : tensor<2x9x6x6xf32>
  // CHECK: gr.deform_conv %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} mask %{{.*}} {
  %deform_conv = gr.deform_conv %x, %filter, %offsets bias %vector mask %mask9 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}
    : (tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32>, tensor<2x18x6x6xf32>, tensor<4xf32>, tensor<2x9x6x6xf32>) -> tensor<2x4x6x6xf32>
  %region = gr.constant dense<0.0> : tensor<8xf32> : tensor<8xf32>
  // CHECK: gr.resize %{{.*}} sizes %{{.*}} roi %{{.*}} {coordinates = "tf_crop_and_resize", extrapolation = 5.000000e-01 : f64, mode
  %crop = gr.resize %x sizes %sizes roi %region {mode = "linear", coordinates = "tf_crop_and_resize", rounding = "floor", extrapolation = 0.5 : f64}
    : (tensor<2x4x6x6xf32>, tensor<4xi64>, tensor<8xf32>) -> tensor<2x4x12x12xf32>
  // CHECK-NEXT: gr.resize %{{.*}} sizes %{{.*}} {antialias = true, axes = array<i64: 0, 1, 2, 3>, coordinates = "half_pixel", mode = "linear", policy = "not_larger"
  %kept = gr.resize %x sizes %sizes {mode = "linear", coordinates = "half_pixel", rounding = "floor", antialias = true, policy = "not_larger", axes = array<i64: 0, 1, 2, 3>}
    : (tensor<2x4x6x6xf32>, tensor<4xi64>) -> tensor<2x4x6x6xf32>

  // Strings, and classical machine learning.
  // CHECK: gr.constant dense<["a", "b"]> : tensor<2x!gr.string>
  %words = gr.constant dense<["a", "b"]> : tensor<2x!gr.string> : tensor<2x!gr.string>
  // CHECK-NEXT: gr.evaluated dense<"c"> : tensor<4x!gr.string>
  %text = gr.evaluated dense<"c"> : tensor<4x!gr.string> : tensor<4x!gr.string>
  // CHECK-NEXT: gr.lookup
  %lookup = gr.lookup %text, %words {required = true} : (tensor<4x!gr.string>, tensor<2x!gr.string>) -> tensor<4xi64>
  // CHECK-NEXT: gr.ngram_count
  %ngrams = gr.ngram_count %text, %words {longest = 1 : i64, places = array<i64: 0, 1>, shortest = 1 : i64, size = 2 : i64, skips = 0 : i64, starts = array<i64: 0>} : (tensor<4x!gr.string>, tensor<2x!gr.string>) -> tensor<2xf32>
  %splits = gr.constant dense<0.5> : tensor<2xf32> : tensor<2xf32>
  %nodes = gr.constant dense<0> : tensor<2x7xi64> : tensor<2x7xi64>
  %members = gr.constant dense<> : tensor<0xf32> : tensor<0xf32>
  %places = gr.constant dense<0> : tensor<2xi64> : tensor<2xi64>
  // CHECK: gr.tree_ensemble
  %trees = gr.tree_ensemble %concat, %splits, %nodes, %members, %splits, %places, %one {aggregate = "sum", outputs = 3 : i64} : (tensor<144x4xf32>, tensor<2xf32>, tensor<2x7xi64>, tensor<0xf32>, tensor<2xf32>, tensor<2xi64>, tensor<1xi64>) -> tensor<144x3xf32>
  // CHECK-NEXT: gr.squared_distance
  %distance = gr.squared_distance %concat, %concat : (tensor<144x4xf32>, tensor<144x4xf32>) -> tensor<144x144xf32>
  %pairs = gr.constant dense<0.5> : tensor<5x3x3xf32> : tensor<5x3x3xf32>
  // CHECK: gr.couple_probabilities
  %couple = gr.couple_probabilities %pairs : (tensor<5x3x3xf32>) -> tensor<5x3xf32>

  // Recurrent layers and signal processing.
  // CHECK: gr.recurrent %{{.*}} weights %{{.*}} recurrent %{{.*}} bias %{{.*}} hidden %{{.*}} state %{{.*}} lengths %{{.*}} peepholes
  %signal = gr.constant dense<1.0> : tensor<6x3x1xf32> : tensor<6x3x1xf32>
  %sequence = gr.constant dense<1.0> : tensor<3x2x4xf32> : tensor<3x2x4xf32>
  %wx = gr.constant dense<1.0> : tensor<20x4xf32> : tensor<20x4xf32>
  %wh = gr.constant dense<1.0> : tensor<20x5xf32> : tensor<20x5xf32>
  %wb = gr.constant dense<1.0> : tensor<20xf32> : tensor<20xf32>
  %h0 = gr.constant dense<0.0> : tensor<2x5xf32> : tensor<2x5xf32>
  %peep = gr.constant dense<1.0> : tensor<15xf32> : tensor<15xf32>
  %lstm:3 = gr.recurrent %sequence weights %wx recurrent %wh bias %wb hidden %h0 state %h0 lengths %i peepholes %peep {cell = "lstm", activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, clip = 2.5} : (tensor<3x2x4xf32>, tensor<20x4xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<2x5xf32>, tensor<2x5xf32>, tensor<2xi64>, tensor<15xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
  // CHECK-NEXT: gr.recurrent %{{.*}} {{.*}}keep_sums = true
  %layer:5 = gr.recurrent %sequence weights %wx recurrent %wh bias %wb hidden %h0 state %h0 {cell = "lstm", activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, keep_sums = true} : (tensor<3x2x4xf32>, tensor<20x4xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> (tensor<3x2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>, tensor<3x2x20xf32>, tensor<3x2x5xf32>)
  // CHECK-NEXT: gr.recurrent_backward %{{.*}} recurrent %{{.*}} carried %{{.*}} from %{{.*}} outputs %{{.*}} last %{{.*}} state %{{.*}} lengths %{{.*}} peepholes
  %lstm_backward:3 = gr.recurrent_backward %layer#3 recurrent %wh carried %layer#4 from %h0 outputs %layer#0 last %h0 state %h0 lengths %i peepholes %peep {cell = "lstm", activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<3x2x20xf32>, tensor<20x5xf32>, tensor<3x2x5xf32>, tensor<2x5xf32>, tensor<3x2x5xf32>, tensor<2x5xf32>, tensor<2x5xf32>, tensor<2xi64>, tensor<15xf32>) -> (tensor<3x2x20xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
  // CHECK-NEXT: gr.dft %{{.*}} {axis = 0 : i64, length = 8 : i64, onesided = true}
  %dft = gr.dft %signal {axis = 0 : i64, length = 8 : i64, onesided = true} : (tensor<6x3x1xf32>) -> tensor<5x3x2xf32>

  // Groups and edges.
  // CHECK: gr.group(%{{.*}}, %{{.*}}) attributes {gr.device = #gr.device<"node0/cpu:0">, gr.rank = 3 : i64, kind = "map"} {
  // CHECK-NEXT: ^bb0
  // CHECK: gr.yield
  %group = gr.group (%add, %relu) attributes {kind = "map", gr.device = #gr.device<"node0/cpu:0">, gr.rank = 3 : i64} {
  ^bb0(%a: tensor<2x4x6x6xf32>, %b: tensor<2x4x6x6xf32>):
    %inside = gr.constant dense<3.0> : tensor<f32> : tensor<f32>
    %1 = gr.mul %a, %inside : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
    %2 = gr.add %1, %b : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
    gr.yield %2 : tensor<2x4x6x6xf32>
  } : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: gr.send %{{.*}} {edge = 7 : i64}
  gr.send %group {edge = 7 : i64} : (tensor<2x4x6x6xf32>) -> ()
  // CHECK-NEXT: gr.recv {edge = 8 : i64, tensor_type = tensor<2x4x6x6xf32>}
  %recv = gr.recv {edge = 8 : i64, tensor_type = tensor<2x4x6x6xf32>} : () -> tensor<2x4x6x6xf32>
  // CHECK-NEXT: gr.recv {edge = 9 : i64, tensor_type = tensor<f32>}
  %recv2 = gr.recv {edge = 9 : i64, tensor_type = tensor<f32>} : () -> tensor<f32>

  // States.
  // CHECK-NEXT: gr.state "w" dense<1.000000e+00> : tensor<3xf32> : tensor<3xf32>
  %stored = gr.state "w" dense<1.0> : tensor<3xf32> : tensor<3xf32>
  // CHECK-NEXT: gr.add
  %changed = gr.add %stored, %stored : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK-NEXT: gr.update %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xf32>) -> ()
  gr.update %stored, %changed : (tensor<3xf32>, tensor<3xf32>) -> ()

  // Collectives.
  // CHECK-NEXT: gr.all_reduce %{{.*}}, %{{.*}} {kind = "mean"}
  %reduced:2 = gr.all_reduce %relu, %recv {kind = "mean"} : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>)
  // CHECK-NEXT: gr.all_gather %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64}
  %gathered:3 = gr.all_gather %p, %p, %xor {axis = 1 : i64} : (tensor<3x4xi1>, tensor<3x4xi1>, tensor<3x4xi1>) -> (tensor<3x12xi1>, tensor<3x12xi1>, tensor<3x12xi1>)
  // CHECK-NEXT: gr.reduce_scatter %{{.*}}, %{{.*}} {axis = 1 : i64, kind = "max"}
  %scattered:2 = gr.reduce_scatter %relu, %recv {kind = "max", axis = 1 : i64} : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> (tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>)
  // CHECK-NEXT: gr.collective_member %{{.*}} {collective = "all_gather", communicator = 1 : i64, kind = "", tensor_type = tensor<4xi64>}
  %member = gr.collective_member %i {collective = "all_gather", kind = "", communicator = 1 : i64, tensor_type = tensor<4xi64>} : (tensor<2xi64>) -> tensor<4xi64>
  return %recv, %xor : tensor<2x4x6x6xf32>, tensor<3x4xi1>
}

{-# dialect_resources: { builtin: {
  filter: "0x40000000000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F0000803F0000A03F0000C03F000000000000803E0000003F0000403F"
} } #-}
