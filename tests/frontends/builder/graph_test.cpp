// Symbols, names, constants, and the way to a file and back.
#include <array>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "ir/builders.h"
#include "tests/frontends/builder/loaded_model.h"

namespace graphrun::builder {
namespace {

std::vector<float> floatsOf(mlir::Operation* constant) {
  std::optional<std::vector<double>> wide =
      passes::floatsOf(llvm::cast<ir::ConstantOp>(constant).getValue());
  REQUIRE(wide);
  std::vector<float> values(wide->begin(), wide->end());
  return values;
}

std::vector<std::string> labelsOf(LoadedModel& loaded) {
  std::vector<std::string> labels;
  for (mlir::Operation& op : loaded.function.getBody().front().without_terminator()) {
    labels.push_back(passes::labelOf(op.getLoc()));
  }
  return labels;
}

TEST_CASE("dims of one name are one symbol, others are not") {
  Graph g;
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), Dim("H")});
  Tensor y = g.input("y", ElementType::kF32, {Dim("N"), 1});
  Tensor z = g.input("z", ElementType::kF32, {Dim("M"), Dim::unknown()});
  CHECK((x + y).toString() == "NxHxf32");
  CHECK((x + z).toString() == "?x?xf32");
  Tensor half = slice(concat({x, x}, 0), {.starts = {1}, .ends = {INT64_MAX}});
  CHECK(half.toString() == "(N * 2 - 1)xHxf32");
  CHECK(half.dims()[0].name() == "N * 2 - 1");
  CHECK(half.dims()[1] == Dim("H"));
  g.output("half", half);
  LoadedModel loaded(g);
  auto symbols = loaded.function->getAttrOfType<mlir::ArrayAttr>(ir::kSymbolsAttr);
  REQUIRE(symbols.size() == 3);
  CHECK(llvm::cast<mlir::StringAttr>(symbols[0]).getValue() == "N");
  CHECK(llvm::cast<mlir::StringAttr>(symbols[2]).getValue() == "M");
}

TEST_CASE("tensors tell their type") {
  Graph g;
  Tensor x = g.input("x", ElementType::kBF16, {});
  CHECK(x.valid());
  CHECK(x.ranked());
  CHECK(x.dims().empty());
  CHECK(x.elementType() == ElementType::kBF16);
  CHECK(x.toString() == "bf16");
  CHECK(Tensor().toString() == "invalid");
  CHECK(Tensor().elementType() == ElementType::kInvalid);
  CHECK_FALSE(Tensor().ranked());
}

TEST_CASE("a tensor is printed with its name") {
  Graph g;
  Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 3});
  auto scope = g.scope("head");
  std::ostringstream text;
  text << x << "; " << relu(x, "act") << "; " << exp(x) << "; " << Tensor();
  CHECK(text.str() == "image: Nx3xf32; head/act: Nx3xf32; head/exp_0: Nx3xf32; invalid");
}

TEST_CASE("operations are named by scope, name or number") {
  Graph g("names");
  Tensor x = g.input("x", ElementType::kF32, {2});
  {
    auto encoder = g.scope("encoder");
    x = relu(relu(x));
    {
      auto inner = g.scope("inner");
      x = exp(x, "last");
    }
    x = relu(x);
  }
  {
    auto again = g.scope("encoder");
    x = relu(x, std::string("named"));
    x = relu(x);
  }
  g.output("y", x * 2);
  LoadedModel loaded(g);
  CHECK(labelsOf(loaded) == std::vector<std::string>{"encoder/relu_0", "encoder/relu_1",
                                                     "encoder/inner/last", "encoder/relu_2",
                                                     "encoder/named", "encoder/relu_3",
                                                     "mul_0/value", "mul_0"});
}

TEST_CASE("inputs and outputs keep names, order and types") {
  Graph g("ports");
  Tensor a = g.input("a", ElementType::kU8, {Dim("N")});
  Tensor b = g.input("b", ElementType::kF64, {3});
  g.output("second", b);
  g.output("first", a);
  g.output("twice", b);
  LoadedModel loaded(g);
  REQUIRE(loaded.function.getNumArguments() == 2);
  CHECK(passes::inputName(loaded.function, 0) == "a");
  CHECK(passes::inputName(loaded.function, 1) == "b");
  CHECK(passes::outputName(loaded.function, 0) == "second");
  CHECK(passes::outputName(loaded.function, 1) == "first");
  CHECK(passes::outputName(loaded.function, 2) == "twice");
}

TEST_CASE("constants keep their values, small and large, of every element type") {
  Graph g("constants");
  std::vector<float> large(1000);
  for (size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<float>(i) / 3;
  }
  HostTensor owned({ElementType::kF32, {10, 100}});
  std::copy(large.begin(), large.end(), owned.as<float>().begin());
  Tensor copied = g.constant(owned, "copied");
  Tensor fromVector = g.constant(large, {10, 100}, "vector");
  owned.as<float>()[0] = 7;
  Tensor taken = g.constant(std::move(owned), "taken");
  Tensor list = g.constant({1.5F, -2.5F}, {1, 2}, "list");
  for (const Tensor& tensor : {copied, fromVector, taken, list}) {
    g.output(tensor.toString() + std::to_string(reinterpret_cast<uintptr_t>(&tensor)), tensor);
  }
  LoadedModel loaded(g);
  std::vector<mlir::Operation*> constants = loaded.ops("gr.constant");
  REQUIRE(constants.size() == 4);
  CHECK(floatsOf(constants[0]) == large);
  CHECK(floatsOf(constants[1]) == large);
  large[0] = 7;
  CHECK(floatsOf(constants[2]) == large);
  CHECK(floatsOf(constants[3]) == std::vector<float>{1.5F, -2.5F});
}

TEST_CASE("constants and inputs of every element type") {
  Graph g;
  unsigned types = 0;
  for (uint8_t i = 1; i < runtime::kElementTypeCount; ++i) {
    auto type = static_cast<ElementType>(i);
    if (runtime::elementSize(type) == 0 || type == ElementType::kString) {
      continue;  // a number that is kept; strings are below
    }
    ++types;
    std::string name(runtime::elementTypeName(type));
    INFO(name);
    CHECK(g.input(name, type, {2}).elementType() == type);
    CHECK(g.scalar(1, type).elementType() == type);
    HostTensor large({type, {100}});
    std::memset(large.data(), 1, large.byteSize());
    Tensor constant = g.constant(std::move(large));
    CHECK(constant.toString() == "100x" + name);
    g.output(name, constant);
  }
  CHECK(g.constant({true, false}, {2}).elementType() == ElementType::kBool);
  CHECK(g.constant(std::vector<int8_t>{1}, {1}).elementType() == ElementType::kI8);
  CHECK(g.constant(std::array<uint16_t, 1>{1}, {1}).elementType() == ElementType::kU16);
  CHECK(g.constant({uint64_t{1}}, {}).elementType() == ElementType::kU64);
  CHECK(g.constant(std::vector<double>{}, {0, 3}).toString() == "0x3xf64");
  CHECK(g.scalar(UINT64_MAX, ElementType::kF32).valid());
  LoadedModel loaded(g);
  CHECK(loaded.function.getNumResults() == types);
}

TEST_CASE("constants and inputs of strings") {
  Graph g;
  CHECK(g.input("x", ElementType::kString, {2}).elementType() == ElementType::kString);
  Tensor words = g.constant(HostTensor({3}, {"a", "", "a"}));
  CHECK(words.toString() == "3xstring");
  g.output("words", words);
  LoadedModel loaded(g);
  auto value = ir::stringsOf(loaded.ops("gr.constant")[0]->getResult(0));
  REQUIRE(value);
  CHECK(*value == llvm::SmallVector<llvm::StringRef>{"a", "", "a"});
  Graph bad;
  CHECK_FALSE(bad.scalar(1, ElementType::kString).valid());
  CHECK_FALSE(bad.constant(HostTensor({1}, {"\xff"})).valid());
}

TEST_CASE("bools of a host tensor become 0 or 1") {
  Graph g;
  HostTensor bytes({ElementType::kBool, {100}});
  std::memset(bytes.data(), 2, bytes.byteSize());
  g.output("bools", g.constant(std::move(bytes)));
  LoadedModel loaded(g);
  auto value = llvm::cast<ir::ConstantOp>(loaded.ops("gr.constant")[0]).getValue();
  std::optional<passes::ElementBytes> raw = passes::bytesOf(value);
  REQUIRE(raw);
  CHECK(llvm::all_of(raw->bytes, [](char byte) { return byte == 1; }));
}

TEST_CASE("random weights depend on seed and name, and on nothing else") {
  std::vector<int64_t> dims = {64, 50};
  std::vector<double> values = init::normal(0, 1, 5).values(dims, "a");
  CHECK(values == init::normal(0, 1, 5).values(dims, "a"));
  CHECK(values != init::normal(0, 1, 6).values(dims, "a"));
  CHECK(values != init::normal(0, 1, 5).values(dims, "b"));
  // Written down once: numbers must not change with a library or machine.
  CHECK(init::uniform(0, 1, 1).values({2}, "w")[0] == Approx(0.2726731454598279).epsilon(1e-12));
  CHECK(init::normal(0, 1, 1).values({2}, "w")[0] == Approx(0.3985355174596476).epsilon(1e-9));
}

TEST_CASE("random weights have the mean and the variance they promise") {
  auto check = [](const std::vector<double>& values, double mean, double variance) {
    double sum = 0, squares = 0;
    for (double value : values) {
      sum += value;
      squares += (value - mean) * (value - mean);
    }
    auto count = static_cast<double>(values.size());
    CHECK(sum / count == Approx(mean).margin(3 * std::sqrt(variance / count)));
    CHECK(squares / count == Approx(variance).epsilon(0.05));
  };
  check(init::heNormal().values({64, 32, 3, 3}, "w"), 0, 2.0 / (32 * 9));
  check(init::heNormal().values({128, 200}, "w"), 0, 2.0 / 128);
  check(init::glorotUniform().values({128, 200}, "w"), 0, 2.0 / 328);
  check(init::normal(3, 2).values({20000}, "w"), 3, 4);
  check(init::uniform(-1, 3).values({20000}, "w"), 1, 16.0 / 12);
}

TEST_CASE("layers make their weights and name them") {
  Graph g("layers");
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), 4, 8, 8});
  x = layers::conv2d(x, 6, {3, 3}, {.pads = {1, 1, 1, 1}, .groups = 2}, "stem");
  CHECK(x.toString() == "Nx6x8x8xf32");
  x = layers::batchNorm(x);
  Tensor flat = layers::flatten(x);
  CHECK(flat.toString() == "Nx384xf32");
  x = layers::globalAveragePool(x);
  CHECK(x.toString() == "Nx6xf32");
  x = layers::layerNorm(layers::dense(x, 10, {.bias = false}));
  CHECK(x.toString() == "Nx10xf32");
  g.output("y", layers::dense(x, 3, {.weights = init::glorotUniform(1)}, "head"));
  g.output("flat", flat);
  LoadedModel loaded(g);
  std::vector<std::string> labels = labelsOf(loaded);
  for (const char* label :
       {"stem/weight", "stem/bias", "stem/conv", "batchNorm_0/scale", "batchNorm_0/batch_norm",
        "globalAveragePool_0/reduce", "dense_0/weight", "dense_0/matmul", "layerNorm_0/layer_norm",
        "head/weight", "head/bias", "head/matmul", "head/add", "flatten_0/reshape"}) {
    INFO(label);
    CHECK(llvm::is_contained(labels, label));
  }
  CHECK_FALSE(llvm::is_contained(labels, "dense_0/bias"));
}

TEST_CASE("recurrent layers take batches of sequences") {
  Graph g("recurrent", Mode::kTraining);
  Tensor x = g.input("x", ElementType::kF32, {Dim("N"), Dim("T"), 3});
  CHECK(layers::recurrent(x, Cell::kLstm, 5).toString() == "Nx5xf32");
  CHECK(layers::recurrent(x, Cell::kRnn, 5).toString() == "Nx5xf32");
  CHECK(layers::recurrent(x, Cell::kGru, 5, {.sequences = true}, "gru").toString() == "NxTx5xf32");
  const std::vector<Tensor> weights = g.parameters("gru/");
  REQUIRE(weights.size() == 3);
  CHECK(weights[0].toString() == "15x3xf32");
  CHECK(weights[1].toString() == "15x5xf32");
  CHECK(weights[2].toString() == "15xf32");
  CHECK(g.status().ok());
}

TEST_CASE("a graph may grow after it was saved") {
  Graph g("grows");
  Tensor x = g.input("x", ElementType::kF32, {2});
  g.output("y", relu(x));
  CHECK(LoadedModel(g).function.getNumResults() == 1);
  Tensor more = g.input("more", ElementType::kF32, {Dim("N")});
  g.output("z", exp(more));
  LoadedModel loaded(g);
  CHECK(loaded.function.getNumResults() == 2);
  CHECK(loaded.function.getNumArguments() == 2);
}

TEST_CASE("tensors outlive their graph, and graphs move") {
  Tensor x;
  {
    Graph g("first");
    Graph moved = std::move(g);
    x = moved.input("x", ElementType::kF32, {2});
  }
  CHECK(relu(x).toString() == "2xf32");
}

TEST_CASE("a temporary model goes with its owner") {
  Graph g;
  g.output("y", relu(g.input("x", ElementType::kF32, {2})));
  std::string path;
  {
    absl::StatusOr<TemporaryModel> model = g.saveTemporary();
    REQUIRE(model.ok());
    TemporaryModel moved = *std::move(model);
    path = moved.path();
    CHECK(std::filesystem::exists(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

}  // namespace
}  // namespace graphrun::builder
