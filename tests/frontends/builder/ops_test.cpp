// Every operation of the dialect has a builder function, and each makes what it says.
#include <functional>
#include <set>

#include "tests/frontends/builder/loaded_model.h"

namespace graphrun::builder {
namespace {

template <typename... Ops>
std::set<std::string> namesOf() {
  return {Ops::getOperationName().str()...};
}

std::set<std::string> registeredOps() {
  std::set<std::string> names = namesOf<
#define GET_OP_LIST
#include "ir/ops_math.cpp.inc"
      >();
  names.merge(namesOf<
#define GET_OP_LIST
#include "ir/ops_nn.cpp.inc"
              >());
  names.merge(namesOf<
#define GET_OP_LIST
#include "ir/ops_tensor.cpp.inc"
              >());
  // Of the other operations of these families, passes or importers make them.
  names.merge(namesOf<ir::AllReduceOp, ir::AllGatherOp, ir::ReduceScatterOp>());
  names.merge(namesOf<ir::RangeOp, ir::ArgReduceOp, ir::TopKOp, ir::CumulativeOp,
                      ir::GatherElementsOp, ir::GatherNdOp, ir::ScatterElementsOp, ir::ScatterNdOp,
                      ir::AttentionOp, ir::IfOp, ir::LoopOp, ir::RandomOp>());
  return names;
}

/// Values that the cases below use.
struct Values {
  Graph g{"ops"};
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 4, 8, 8});
  Tensor y = g.input("y", ElementType::kF32, {Dim("N"), 4, 8, 8});
  Tensor m = g.input("m", ElementType::kF32, {4, 6});
  Tensor b = g.input("b", ElementType::kBool, {Dim("N"), 4, 8, 8});
  Tensor i = g.input("i", ElementType::kI32, {4, 6});
  Tensor ones = g.weight({4}, init::ones());
};

using Case = std::function<Tensor(Values&)>;
Case unary(Tensor (*function)(const Tensor&, const At&)) {
  return [=](Values& v) { return function(v.x, {}); };
}
Case binary(Tensor (*function)(const Operand&, const Operand&, const At&)) {
  return [=](Values& v) { return function(v.x, v.y, {}); };
}
Case logical(Tensor (*function)(const Operand&, const Operand&, const At&)) {
  return [=](Values& v) { return function(v.b, v.b, {}); };
}

struct Row {
  std::string op;
  std::string type;  ///< of the result
  Case build;
};

const std::string kSame = "Nx4x8x8xf32";
const std::string kBools = "Nx4x8x8xbool";
const std::string kIntegers = "4x6xi32";

std::vector<Row> mathRows() {
  std::vector<Row> rows;
// All but those with options and those of bits.
#define GR_UNARY(Class, name, builder, rule, flops, onnx, since) \
  rows.push_back({#name, kSame, unary(builder)});
#define GR_FORM_OF_ALPHA(Class, name, builder, flops, form, usual) \
  rows.push_back({#name, kSame, [](Values& v) { return builder(v.x, 1.5); }});
#define GR_FORM_OF_TWO(Class, name, builder, flops, form, first, firstUsual, second, secondUsual)
#define GR_OWN_UNARY(Class, name, builder, rule, flops)
#define GR_NUMBER(Class, name, builder, rule, flops, onnx, since) GR_UNARY_##rule(#name, builder)
#define GR_UNARY_Number(name, builder) rows.push_back({name, kSame, unary(builder)});
#define GR_UNARY_Float GR_UNARY_Number
#define GR_UNARY_Bits(name, builder) \
  rows.push_back({name, kBools, [](Values& v) { return builder(v.b); }});
#define GR_ARITHMETIC(Class, name, builder, flops, onnx, since, neutral) \
  rows.push_back({#name, kSame, binary(builder)});
#define GR_COMPARISON(Class, name, builder, rule, onnx, since) \
  rows.push_back({#name, kBools, binary(builder)});
#define GR_BITWISE(Class, name, builder, onnx, since) \
  rows.push_back({#name, kBools, logical(builder)});
#define GR_SHIFT(Class, name, builder) \
  rows.push_back({#name, kIntegers, [](Values& v) { return builder(v.i, v.i); }});
#include "devices/functions/elementwise.def"
  std::vector<Row> others = {
      {"leaky_relu", kSame, [](Values& v) { return leakyRelu(v.x, 0.2); }},
      {"selu", kSame, [](Values& v) { return selu(v.x, {.gamma = 1}); }},
      {"hard_sigmoid", kSame, [](Values& v) { return hardSigmoid(v.x, {.alpha = 0.25}); }},
      {"gelu", kSame, [](Values& v) { return gelu(v.x, {.approximate = true}); }},
      {"clip", kSame, [](Values& v) { return clip(v.x, 0, 6); }},
      {"cast", "Nx4x8x8xi64", [](Values& v) { return cast(v.x, ElementType::kI64); }},
      {"cast", "Nx4x8x8xf8e5m2",
       [](Values& v) { return cast(v.x, ElementType::kF8E5M2, {.saturate = false}); }},
      {"cast", "Nx4x8x8xf8e8m0",
       [](Values& v) { return cast(v.x, ElementType::kF8E8M0, {.roundMode = "down"}); }},
      {"bitcast", "Nx4x8x8xi32", [](Values& v) { return bitcast(v.x, ElementType::kI32); }},
      {"pow", kSame, binary(pow)},
      {"prelu", kSame, [](Values& v) { return prelu(v.x, 0.25); }},
      {"less", kBools, binary(greater)},
      {"less_equal", kBools, binary(greaterEqual)},
      {"xor", kIntegers, [](Values& v) { return logicalXor(v.i, v.i); }},
      {"shift_left", kIntegers, [](Values& v) { return shiftLeft(v.i, 2); }},
      {"mod", kSame, [](Values& v) { return mod(v.x, 3, {.truncate = true}); }},
      {"where", kSame, [](Values& v) { return where(v.b, v.x, 0); }},
      {"reduce", "Nx4x1x1xf32",
       [](Values& v) { return reduce(v.x, Reduction::kMax, {.axes = {-1, 2}}); }},
      {"reduce", "f32",
       [](Values& v) { return reduce(v.x, Reduction::kSum, {.keepdims = false}); }},
      {"matmul", "4x4xf32", [](Values& v) { return matmul(v.m, v.m, {.transposeRhs = true}); }}};
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

std::vector<Row> nnRows() {
  return {
      {"conv", "Nx16x4x4xf32",
       [](Values& v) {
         return conv(v.x, v.g.weight({16, 4, 3, 3}, init::heNormal()),
                     {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
       }},
      {"conv_transpose", "Nx2x16x16xf32",
       [](Values& v) {
         return convTranspose(v.x, v.g.weight({4, 2, 2, 2}, init::heNormal()),
                              {.bias = v.g.weight({2}, init::ones()), .strides = {2, 2}});
       }},
      {"deform_conv", "Nx2x7x7xf32",
       [](Values& v) {
         return deformConv(v.x, v.g.weight({2, 4, 2, 2}, init::heNormal()),
                           v.g.input("offsets", ElementType::kF32, {Dim("N"), 16, 7, 7}),
                           {.mask = v.g.input("mask", ElementType::kF32, {Dim("N"), 8, 7, 7}),
                            .offsetGroups = 2});
       }},
      {"max_pool_with_indices", "Nx4x4x4xi64",
       [](Values& v) { return maxPoolWithIndices(v.x, {2, 2}, {.strides = {2, 2}})[1]; }},
      {"lp_pool", "Nx4x4x4xf32",
       [](Values& v) { return lpPool(v.x, {2, 2}, 3, {.strides = {2, 2}}); }},
      {"max_pool", "Nx4x4x4xf32",
       [](Values& v) { return maxPool(v.x, {2, 2}, {.strides = {2, 2}}); }},
      {"avg_pool", "Nx4x8x8xf32",
       [](Values& v) { return avgPool(v.x, {3, 3}, {.padding = Padding::kSameLower}); }},
      {"batch_norm", kSame,
       [](Values& v) { return batchNorm(v.x, v.ones, v.ones, v.ones, v.ones, 1e-3); }},
      {"batch_norm_training", "4xf32",
       [](Values& v) { return batchNormTraining(v.x, v.ones, v.ones, 1e-3).variance; }},
      {"instance_norm", kSame, [](Values& v) { return instanceNorm(v.x, v.ones, v.ones); }},
      {"layer_norm", kSame,
       [](Values& v) {
         return layerNorm(v.x, v.g.weight({8}, init::ones()),
                          {.bias = v.g.weight({8}, init::zeros())});
       }},
      {"lrn", kSame, [](Values& v) { return lrn(v.x, 5); }},
      {"softmax", kSame, [](Values& v) { return softmax(v.x, 1); }},
      {"softmax", kSame, [](Values& v) { return logSoftmax(v.x); }},
      {"resize", "Nx4x16x16xf32", [](Values& v) { return resize(v.x, {.scales = {1, 1, 2, 2}}); }},
      {"resize", "1x4x5x5xf32", [](Values& v) {
         return resize(v.x, {.sizes = {1, 4, 5, 5}, .mode = ResizeMode::kLinear});
       }}};
}

std::vector<Row> tensorRows() {
  return {
      {"constant", "2xi32", [](Values& v) { return v.g.constant({1, 2}, {2}); }},
      {"shape", "2xi64", [](Values& v) { return shape(v.x, -2); }},
      {"reshape", "Nx256xf32", [](Values& v) { return reshape(v.x, {0, -1}); }},
      {"reshape", "Nx4x64xf32",
       [](Values& v) {
         return reshape(v.x, concat({shape(v.x, 0, 2), v.g.constant<int64_t>({-1}, {1})}, 0));
       }},
      {"squeeze", "4x6xf32", [](Values& v) { return squeeze(unsqueeze(v.m, {0}), {-3}); }},
      {"unsqueeze", "1x4x6x1xf32", [](Values& v) { return unsqueeze(v.m, {-1, 0}); }},
      {"transpose", "6x4xf32", [](Values& v) { return transpose(v.m, {1, 0}); }},
      {"concat", "Nx8x8x8xf32", [](Values& v) { return concat({v.x, v.y}, 1); }},
      {"split", "Nx3x8x8xf32", [](Values& v) { return split(v.x, 1, {1, 3})[1]; }},
      {"split", "4x1xf32", [](Values& v) { return splitEqually(v.m, -1, 6)[5]; }},
      {"slice", "4x3xf32",
       [](Values& v) { return slice(v.m, {.starts = {0, 5}, .ends = {4, -7}, .steps = {1, -2}}); }},
      {"pad", "6x6xf32", [](Values& v) { return pad(v.m, {1, 0, 1, 0}); }},
      {"gather", "4x2xf32", [](Values& v) { return gather(v.m, {0, -1}, -1); }},
      {"expand", "3x4x6xf32", [](Values& v) { return expand(v.m, {3, 1, 1}); }},
      {"tile", "8x6xf32", [](Values& v) { return tile(v.m, {2, 1}); }},
      {"fill", "Nx4x8x8xf16", [](Values& v) { return fill(shape(v.x), 0.5, ElementType::kF16); }},
      {"random", "Nx4x8x8xf64", [](Values& v) {
         return random(shape(v.x), 1, {.kind = Distribution::kNormal, .type = ElementType::kF64});
       }}};
}

std::vector<Row> commRows() {
  return {
      {"all_reduce", kSame, [](Values& v) { return allReduce({v.x, v.y}, Reduction::kMean)[1]; }},
      {"all_gather", "4x18xi32", [](Values& v) { return allGather({v.i, v.i, v.i}, -1)[2]; }},
      {"reduce_scatter", "2x6xf32",
       [](Values& v) { return reduceScatter({v.m, v.m}, 0, Reduction::kMax)[0]; }}};
}

std::vector<Row> indexRows() {
  auto same = [](const Tensor& x) { return [=] { return std::vector{x}; }; };
  return {
      {"range", "?xi64", [](Values& v) { return range(0, v.g.input("n", ElementType::kI64, {})); }},
      {"arg_reduce", "4xi64", [](Values& v) { return argMax(v.m, -1, {.keepdims = false}); }},
      {"top_k", "4x2xf32", [](Values& v) { return topK(v.m, 2).values; }},
      {"cumulative", "4x6xf32", [](Values& v) { return cumSum(v.m, 0); }},
      {"gather_elements", "4x6xf32", [](Values& v) { return gatherElements(v.m, v.i, -1); }},
      {"gather_nd", "4xf32",
       [](Values& v) { return gatherNd(v.m, v.g.constant<int64_t>({0, 0, 0, 0}, {4, 1}), 1); }},
      {"scatter_elements", "4x6xf32",
       [](Values& v) { return scatterElements(v.m, v.i, v.m, 0, Scatter::kMax); }},
      {"scatter_nd", "4x6xf32",
       [](Values& v) {
         return scatterNd(v.m, v.g.constant<int64_t>({1}, {1, 1}),
                          slice(v.m, {.starts = {0}, .ends = {1}}));
       }},
      {"attention", kSame, [](Values& v) { return attention(v.x, v.y, v.y, {.causal = true}); }},
      {"where", "4x6xf32", [](Values& v) { return triu(v.m, -1, "where_"); }},
      {"where", "Nx4x8x8xf32", [](Values& v) { return tril(v.x, 0, "where_"); }},
      {"where", "4x3x6xf32", [](Values& v) { return oneHot(v.i, 3, {.axis = 1}, "where_"); }},
      {"if", "?x6xf32",
       [=](Values& v) {
         return ifElse(v.g.scalar(1, ElementType::kBool), same(v.m),
                       same(concat({v.m, v.m}, 0)))[0];
       }},
      {"loop", "?x4x6xf32", [](Values& v) {
         return loop({v.m},
                     [](const Tensor&, const std::vector<Tensor>& carried) {
                       return Iteration{carried, carried};
                     },
                     {.limit = 2})
             .collected[0];
       }}};
}

std::vector<Row> allRows() {
  std::vector<Row> rows = mathRows();
  for (const std::vector<Row>& more : {nnRows(), tensorRows(), commRows(), indexRows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

TEST_CASE("every operation of the dialect has a builder function") {
  std::set<std::string> covered;
  for (const Row& row : allRows()) {
    covered.insert("gr." + row.op);
  }
  CHECK(covered == registeredOps());
}

TEST_CASE("every builder function makes an operation that verifies and survives a file") {
  for (const Row& row : allRows()) {
    INFO(row.op);
    Values v;
    Tensor result = row.build(v);
    INFO(v.g.status().message());
    REQUIRE(result.valid());
    CHECK(result.toString() == row.type);
    v.g.output("result", result);
    LoadedModel loaded(v.g);
    CHECK_FALSE(loaded.ops("gr." + row.op).empty());
    CHECK_THAT(loaded.labelOfOutput(0), Catch::Contains(row.op + "_"));
  }
}

TEST_CASE("options reach the operation's attributes") {
  Values v;
  v.g.output("selu", selu(v.x, {.alpha = 2, .gamma = 3}));
  v.g.output("pool", avgPool(v.x, {2, 2}, {.ceilMode = true, .countIncludePad = true}));
  v.g.output("softmax", logSoftmax(v.x, 1));
  v.g.output("resize", resize(v.x, {.scales = {1, 1, 2, 2},
                                    .coordinates = Coordinates::kAlignCorners,
                                    .rounding = Rounding::kCeil}));
  v.g.output("reduce", reduce(v.x, Reduction::kProd, {.axes = {3, 0}, .keepdims = false}));
  v.g.output("pad", pad(v.m, {0, 1, 0, 1}, {.mode = PadMode::kWrap}));
  v.g.output("part", reduceScatter({v.m, v.m}, -1, Reduction::kMin)[1]);
  LoadedModel loaded(v.g);
  auto selu = llvm::cast<ir::SeluOp>(loaded.ops("gr.selu")[0]);
  CHECK((selu.getAlpha().convertToDouble() == 2 && selu.getGamma().convertToDouble() == 3));
  auto pool = llvm::cast<ir::AvgPoolOp>(loaded.ops("gr.avg_pool")[0]);
  CHECK((pool.getCeilMode() && pool.getCountIncludePad()));
  auto softmax = llvm::cast<ir::SoftmaxOp>(loaded.ops("gr.softmax")[0]);
  CHECK((softmax.getAxis() == 1 && softmax.getLog()));
  auto resize = llvm::cast<ir::ResizeOp>(loaded.ops("gr.resize")[0]);
  CHECK(resize.getCoordinates() == ir::ResizeCoordinates::kAlignCorners);
  CHECK(resize.getRounding() == ir::NearestRounding::kCeil);
  auto reduce = llvm::cast<ir::ReduceOp>(loaded.ops("gr.reduce")[0]);
  CHECK(reduce.getKind() == ir::ReduceKind::kProd);
  CHECK(reduce.getAxes() == llvm::ArrayRef<int64_t>{0, 3});
  auto scatter = llvm::cast<ir::ReduceScatterOp>(loaded.ops("gr.reduce_scatter")[0]);
  CHECK((scatter.getKind() == ir::ReduceKind::kMin && scatter.getAxis() == 1));
  CHECK(llvm::cast<ir::PadOp>(loaded.ops("gr.pad")[0]).getMode() == ir::PadMode::kWrap);
}

TEST_CASE("comparisons the other way round exchange their operands") {
  Values v;
  v.g.output("greater", greater(v.x, 1));
  LoadedModel loaded(v.g);
  mlir::Operation* less = loaded.ops("gr.less")[0];
  CHECK(less->getOperand(1) == loaded.function.getArgument(0));
  CHECK(less->getOperand(0).getDefiningOp<ir::ConstantOp>());
}

TEST_CASE("arithmetic with tensors and numbers") {
  Values v;
  Tensor result = -(2 * v.x + v.y / 4.0 - 1);
  CHECK(result.toString() == kSame);
  v.g.output("result", result);
  LoadedModel loaded(v.g);
  for (const char* op : {"gr.mul", "gr.div", "gr.add", "gr.sub", "gr.neg"}) {
    INFO(op);
    CHECK(loaded.ops(op).size() == 1);
  }
}

}  // namespace
}  // namespace graphrun::builder
