// The passes of the compile world that know no device.
#ifndef GRAPHRUN_PASSES_PASSES_TD
#define GRAPHRUN_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def InferShapes : Pass<"gr-infer-shapes", "::mlir::func::FuncOp"> {
  let summary = "Give every value the most precise type that follows from the inputs";
  let description = [{
    Runs the shape function of each operation in order, on symbolic dims. A declared dim that the
    operands do not determine is kept; one that they contradict is an error.

        %0 = gr.relu %x : (tensor<?x8xf32, #gr.dims<(d0)[s0] -> (s0, 8)>>) -> tensor<*xf32>
    becomes
        %0 = gr.relu %x : (tensor<?x8xf32, …>) -> tensor<?x8xf32, #gr.dims<(d0)[s0] -> (s0, 8)>>
  }];
}

def SpecializeShapes : Pass<"gr-specialize-shapes", "::mlir::func::FuncOp"> {
  let summary = "Fix the shapes of the inputs and make every type static";
  let description = [{
    Sets the argument types, binds the symbols in them, runs shape inference and folding until all
    types are static. Fails when a shape does not fit its input, when a symbol would be bound to two
    numbers, or when a dim stays unknown. With `shapes=x:2x8`:

        func.func @main(%x: tensor<?x8xf32, #gr.dims<(d0)[s0] -> (s0, 8)>> {gr.name = "x"})
    becomes
        func.func @main(%x: tensor<2x8xf32> {gr.name = "x"})
  }];
  let options = [ListOption<"shapes", "shapes", "std::string",
                            "input:DxDx…, one for each input whose type is not static">];
}

def FreezeStates : Pass<"gr-freeze-states", "::mlir::func::FuncOp"> {
  let summary = "Make a constant of each state, and remove updates";
  let description = [{
    For inference with what training has left: constants are folded and laid out at load.

        %0 = gr.state "w" dense<1.0> : tensor<4xf32>
        %1 = gr.add %0, %x : …
        gr.update %0, %1 : …
    becomes
        %0 = gr.constant dense<1.0> : tensor<4xf32>
        %1 = gr.add %0, %x : …
  }];
}

def ExpandGradients : Pass<"gr-expand-gradients", "::mlir::func::FuncOp"> {
  let summary = "Differentiate: put the operations that compute it in the place of gr.gradient";
  let description = [{
    Walks the operations between a loss and what it is differentiated by backwards; each adds to the
    gradients of its operands by its rule (`ir/gradients`). Values are static; gr.watch goes. All
    operations without a rule are reported at once.

        %0 = gr.mul %x, %x : …
        %1 = gr.reduce %0 {kind = "sum", …} : (tensor<4xf32>) -> tensor<f32>
        %2 = gr.gradient %1 wrt(%x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    becomes
        %0 = gr.mul %x, %x : …
        %1 = gr.reduce %0 {kind = "sum", …} : (tensor<4xf32>) -> tensor<f32>
        %one = gr.constant dense<1.0> : tensor<f32>
        %3 = gr.expand %one, … : (tensor<f32>, …) -> tensor<4xf32>
        %4 = gr.mul %3, %x : …
        %5 = gr.mul %3, %x : …
        %2 = gr.add %4, %5 : …
  }];
}

def CutStages : Pass<"gr-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Cut a specialised graph where shapes depend on data";
  let description = [{
    The graph keeps what can run with static shapes; the rest becomes the function `rest`, which is
    specialised when the values are known that its shapes depend on. `gr.from` names where the
    inputs of the rest come from. Where an input of the graph decides shapes nothing is cut, and
    `gr.needed` names it.

        func.func @main(%x: tensor<4xf32> {gr.name = "x"}) -> (tensor<?xf32> {gr.name = "y"}) {
          %0 = gr.some_count %x : (tensor<4xf32>) -> tensor<1xi64>
          %1 = gr.expand %x, %0 : (tensor<4xf32>, tensor<1xi64>) -> tensor<?xf32>
          return %1 : tensor<?xf32>
        }
    becomes
        func.func @main(%x: …) -> (tensor<1xi64> {gr.name = "crossing value 0"}) {
          %0 = gr.some_count %x : (tensor<4xf32>) -> tensor<1xi64>
          return %0 : tensor<1xi64>
        }
        func.func @rest(%0: tensor<1xi64> …, %x: tensor<4xf32> …) -> (tensor<?xf32> {gr.name = "y"})
            attributes {gr.from = ["crossing value 0", "x"]}
  }];
}

def SimplifyGraph : Pass<"gr-simplify-graph", "::mlir::func::FuncOp"> {
  let summary = "Remove operations that do nothing and merge those that do one thing";
  let description = [{
    Folds constants and identities; merges chains of transposes, reshapes, casts and clips; lets a matmul read
    a transposed matrix; multiplies out small powers; spells out kinds of gr.reduce that devices do not know;
    reshapes a product's result behind what is done to its elements; replaces
    shapes that are known by constants, and tensors without elements; recognises spelled-out hard_swish;
    removes what is unused.

        %0 = gr.transpose %x {permutation = array<i64: 1, 0>} : …
        %1 = gr.transpose %0 {permutation = array<i64: 1, 0>} : …
        return %1
    becomes
        return %x
  }];
}

def RaiseOps : Pass<"gr-raise-ops", "::mlir::func::FuncOp"> {
  let summary = "Replace what a model spells out in small operations by the large one";
  let description = [{
    layer_norm from means and squares, gelu (by erf and by tanh), swish, softmax from exponentials,
    and attention from two products with a softmax between them; operands in any order, constants as
    scalars or as tensors of one value. Only where nothing else uses the parts.

        %0 = gr.matmul %q, %k {transpose_rhs = true} : …
        %1 = gr.div %0, %eight : …
        %2 = gr.add %1, %mask : …
        %3 = gr.softmax %2 : …
        %4 = gr.matmul %3, %v : …
    becomes
        %4 = gr.attention %q, %k, %v, %mask {scale = 1.250000e-01 : f64} : …
  }];
}

def FoldNormalization : Pass<"gr-fold-normalization", "::mlir::func::FuncOp"> {
  let summary = "Fold constant scales and shifts of channels into the weights before them";
  let description = [{
    A batch_norm of constant parameters, and mul, div, add and sub by a constant of one value a
    channel, go into filter and bias of the convolution (or the matrix of the matmul) before them
    when nothing else uses its result. A batch_norm that stays becomes mul and add by constants, of
    f32 where it is of 16 bits, which fuse with their neighbours. Computed in double precision and rounded once.

        %0 = gr.conv %x, %w {…} : …
        %1 = gr.batch_norm %0, %scale, %bias, %mean, %variance : …
    becomes
        %1 = gr.conv %x, %w_folded, %bias_folded {…} : …
  }];
}

def LowerQuantized : Pass<"gr-lower-quantized", "::mlir::func::FuncOp"> {
  let summary = "Products of dequantised bytes become products of bytes";
  let description = [{
    A convolution or matrix product of dequantised u8 by constant dequantised i8 sums the bytes'
    products in i32; bias, zero point and scales follow. What is quantised as it was dequantised is
    passed on as it is, also through pools and movements; activations of i8 become u8. Where the model
    rounds a bias to the products' units, so does this pass; else it does so first. Weights of other
    products become constants of f32.

        %0 = gr.mul %x, %sx : …          (x a cast of u8 to f32, w one of constant i8)
        %1 = gr.mul %w, %sw : …
        %2 = gr.conv %0, %1, %bias {…} : …
    becomes
        %2 = gr.conv %x, %w {…} : (tensor<…xui8>, tensor<…xi8>) -> tensor<…xi32>
        %3 = gr.add %2, %bias_and_zero : …
        %4 = gr.cast %3 {to = f32} : …
        %5 = gr.mul %4, %sx_sw : …
  }];
  let options = [Option<"bytes", "bytes", "bool", "true", "make products of bytes">];
}

def LowerPrecision : Pass<"gr-lower-precision", "::mlir::func::FuncOp"> {
  let summary = "Compute products, and what lies between them, in bf16";
  let description = [{
    Convolutions and matrix products of f32 take and give bf16, and so do the element-wise operations,
    movements, pools and softmaxes behind them. Inputs, outputs, constants and all other operations
    keep their types: casts stand between. A cast of a constant is part of the weight that it gives.

        %0 = gr.conv %x, %w {…} : (tensor<…xf32>, tensor<…xf32>) -> tensor<…xf32>
        %1 = gr.relu %0 : …
        return %1
    becomes
        %2 = gr.cast %x {to = bf16} : …
        %3 = gr.cast %w {to = bf16} : …
        %0 = gr.conv %2, %3 {…} : (tensor<…xbf16>, tensor<…xbf16>) -> tensor<…xbf16>
        %1 = gr.relu %0 : …
        %4 = gr.cast %1 {to = f32} : …
        return %4
  }];
}

def FormGroups : Pass<"gr-form-groups", "::mlir::func::FuncOp"> {
  let summary = "Join operations that become one kernel";
  let description = [{
    First each convolution and matmul takes the element-wise chain that follows it and that a
    library call does as post-operations, and each attention the views of its operands and result; then what is left of element-wise operations, broadcasts
    and movements joins in trees with one result (README.md gives the rules).

        %0 = gr.conv %x, %w {…} : …
        %1 = gr.relu %0 : …
    becomes
        %1 = gr.group (%x, %w) attributes {kind = "conv"} {
        ^bb0(%a: …, %b: …):
          %c = gr.conv %a, %b {…} : …
          %d = gr.relu %c : …
          gr.yield %d : …
        } : …
  }];
}

def InternStrings : Pass<"gr-intern-strings", "::mlir::func::FuncOp"> {
  let summary = "Strings become numbers in a table";
  let description = [{
    Devices move and compare strings by their numbers. The table and the names of the inputs and
    outputs that are of strings become attributes of the function.

        func.func @main(%x: tensor<2x!gr.string> {gr.name = "x"}) -> … {
          %0 = gr.constant dense<["a", "b"]> : tensor<2x!gr.string>
          %1 = gr.equal %x, %0 : …
    becomes
        func.func @main(%x: tensor<2xi64> {gr.name = "x"}) -> …
            attributes {gr.strings = ["a", "b"], gr.string_values = ["x"]} {
          %0 = gr.constant dense<[0, 1]> : tensor<2xi64>
          %1 = gr.equal %x, %0 : …
  }];
}

def LowerCollectives : Pass<"gr-lower-collectives", "::mlir::ModuleOp"> {
  let summary = "Placed collectives become operations of devices";
  let description = [{
    A collective's steps have devices and ranks in `gr.steps` (collectives.h). Where one communicator can
    have all devices, each takes its part by a gr.collective_member, and `gr.communicators` of the
    function lists the devices; on one device the collective is arithmetic, done once; else each step
    is arithmetic on its device, in the order of the operands, and the partition pass sends between them.

        %0:2 = gr.all_reduce %x, %y {kind = "sum", gr.steps = […]} : …
    becomes
        %0 = gr.add %x, %y {gr.device = #gr.device<"a">, …} : …
        %1 = gr.add %x, %y {gr.device = #gr.device<"b">, …} : …
    or, with libraries=a=nccl,b=nccl
        %0 = gr.collective_member %x {collective = "all_reduce", communicator = 0, gr.device = #gr.device<"a">, …} : …
        %1 = gr.collective_member %y {collective = "all_reduce", communicator = 0, gr.device = #gr.device<"b">, …} : …
  }];
  let options = [
    ListOption<"libraries", "libraries", "std::string",
               "device=TEXT: devices with equal texts can be in one communicator">];
}

def Rematerialize : Pass<"gr-rematerialize", "::mlir::func::FuncOp"> {
  let summary = "Compute values again in place of keeping them";
  let description = [{
    An operation that stands in the order of a step more than once is computed as often: what comes
    behind a repetition on its device reads the clone made there, which carries `gr.again`. Runs behind
    all that merges equal operations. The planner finds the order (`placement/recompute`). With
    `order=a,b,c,a,d`:

        %a = gr.exp %x : …
        %b = gr.relu %a : …
        %c = gr.sin %b : …
        %d = gr.mul %c, %a : …
    becomes
        %a = gr.exp %x : …
        %b = gr.relu %a : …
        %c = gr.sin %b : …
        %0 = gr.exp %x {gr.again} : …
        %d = gr.mul %c, %0 : …
  }];
  let options = [ListOption<"order", "order", "std::string",
                            "labels of operations, in the order in which they run">];
}

def PartitionGraph : Pass<"gr-partition-graph", "::mlir::ModuleOp"> {
  let summary = "Cut the graph into one function a device, joined by send and recv";
  let description = [{
    Every operation but constants carries `gr.device`. Each tensor is sent once to each device that
    needs it; constants and small computations on constants are repeated there instead. Inputs and
    outputs belong to the device `home`, or to the devices in `local`, which share its process. The
    edges are listed in the module's attribute `gr.edges`; the result is checked not to deadlock.

        func.func @main(%x: …) -> … {
          %0 = gr.relu %x {gr.device = #gr.device<"a/cpu:0">} : …
          %1 = gr.exp %0 {gr.device = #gr.device<"b/cpu:0">} : …
          return %1 : …
        }
    becomes, with home=a/cpu:0,
        func.func @"a/cpu:0"(%x: …) -> … {
          %0 = gr.relu %x : …
          gr.send %0 {edge = 0} : …
          %1 = gr.recv {edge = 1, tensor_type = …} : …
          return %1 : …
        }
        func.func @"b/cpu:0"() {
          %0 = gr.recv {edge = 0, tensor_type = …} : …
          %1 = gr.exp %0 : …
          gr.send %1 {edge = 1} : …
          return
        }
  }];
  let options = [
    Option<"home", "home", "std::string", "\"client/host\"", "device of inputs and outputs">,
    ListOption<"local", "local", "std::string", "devices that share the process of `home`">];
}

#endif  // GRAPHRUN_PASSES_PASSES_TD
