#include "runtime/format/graph_verifier.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>

#include "runtime/format/budget_verifier.h"
#include "runtime/format/model_file.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

using Catch::Matchers::Contains;

std::string errorOf(const GraphT& graph) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Graph::Pack(builder, &graph));
  size_t work = builder.GetSize();
  absl::Status status =
      verifyGraph(*flatbuffers::GetRoot<Graph>(builder.GetBufferPointer()), 3, work);
  return status.ok() ? "ok" : std::string(status.message());
}

std::string errorAfter(const std::function<void(GraphT&)>& change) {
  GraphT graph = sampleGraph();
  change(graph);
  return errorOf(graph);
}

OperationT& conv(GraphT& graph) { return *graph.body->operations[0]; }
OperationT& choice(GraphT& graph) { return *graph.body->operations[1]; }
OperationT& last(GraphT& graph) { return *graph.body->operations[2]; }

TEST_CASE("the sample graph is valid") { CHECK(errorOf(sampleGraph()) == "ok"); }

TEST_CASE("the tables of a graph are checked") {
  CHECK_THAT(errorAfter([](GraphT& g) { g.body.reset(); }),
             Contains("graph 'sample': it has no body"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.op_names[1] = "gr.conv"; }),
             Contains("op names: entry 1 is 'gr.conv' again"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.op_names[1] = ""; }), Contains("entry 1 has 0 bytes"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.input_names[1] = "x"; }),
             Contains("input names: entry 1 is 'x' again"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.output_names[0] = ""; }),
             Contains("output names: entry 0 has 0 bytes"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.folded_names[1] = "shape"; }),
             Contains("folded names: entry 1 is 'shape' again"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.folded_names[0] = ""; }),
             Contains("folded names: entry 0 has 0 bytes"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.input_names.pop_back(); }),
             Contains("1 input names, expected one for each of the body's 2 arguments"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.output_names.pop_back(); }),
             Contains("1 output names, expected one for each of the 2 operands"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.value_types[3] = 2; }),
             Contains("value 3 has the type index 2, expected one below 2"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.value_types.push_back(0); }),
             Contains("lists 5 values, expected the 4 that are defined"));
}

TEST_CASE("values are defined once, before their uses and in scope") {
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).operands = {2}; }),
             Contains("operation 0 'gr.conv' 'conv1': operand 0 is value 2"));
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).operands = {4000000000U}; }),
             Contains("operand 0 is value 4000000000"));
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).results = {0}; }),
             Contains("result 0 is value 0, which is defined already"));
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).results = {4}; }),
             Contains("result 0 is value 4, expected one below 4"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.body->arguments = {0, 0}; }),
             Contains("body: argument 1 is value 0, which is defined already"));
  CHECK_THAT(errorAfter([](GraphT& g) { choice(g).regions[1]->operations[0]->operands = {3}; }),
             Contains("region 1: operation 3 'gr.yield': operand 0 is value 3"));
  // An argument of the first region is not visible in the second, nor behind the operation.
  CHECK_THAT(errorAfter([](GraphT& g) {
               g.value_types.push_back(0);
               choice(g).regions[0]->arguments = {4};
               choice(g).regions[1]->operations[0]->operands = {4};
             }),
             Contains("operand 0 is value 4"));
  CHECK(errorAfter([](GraphT& g) {
          g.value_types.push_back(0);
          choice(g).regions[0]->arguments = {4};
          choice(g).regions[0]->operations[0]->operands = {4};
        }) == "ok");
}

TEST_CASE("operations are checked") {
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).name = 4; }),
             Contains("operation 0: name index is 4, expected one below 4"));
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).operand_segments = {1, 1}; }),
             Contains("operand segments add up to 2, expected 1"));
  CHECK_THAT(errorAfter([](GraphT& g) { conv(g).operand_segments = {0xffffffffU, 2}; }),
             Contains("add up to 4294967297"));
  CHECK_THAT(errorAfter([](GraphT& g) { g.body->operations.clear(); }),
             Contains("region has no operations"));
  CHECK_THAT(errorAfter([](GraphT& g) {
               g.value_types.push_back(0);
               last(g).results = {4};
             }),
             Contains("last operation has 1 results, expected none"));
}

TEST_CASE("attributes are checked") {
  auto weight = [](GraphT& g) -> AttributeT& { return *conv(g).attributes[0]; };
  CHECK_THAT(errorAfter([&](GraphT& g) { weight(g).value.AsWeight()->index = 3; }),
             Contains("attribute 'weight': weight index is 3, expected one below 3"));
  CHECK_THAT(errorAfter([&](GraphT& g) { weight(g).name = "bias"; }),
             Contains("attribute 1 has the name 'bias', expected a unique one"));
  CHECK_THAT(errorAfter([&](GraphT& g) { weight(g).name = ""; }), Contains("attribute 0"));
  CHECK_THAT(errorAfter([&](GraphT& g) { conv(g).attributes[10]->value.AsType()->value.reset(); }),
             Contains("attribute 'to': it has no type"));
  CHECK_THAT(errorAfter([&](GraphT& g) {
               conv(g).attributes[10]->value.AsType()->value->element = ElementType::Invalid;
             }),
             Contains("attribute 'to': type has the element type 0"));
  CHECK_THAT(errorAfter([&](GraphT& g) {
               while (conv(g).attributes.size() <= kMaxAttributes) {
                 conv(g).attributes.push_back(std::make_unique<AttributeT>(weight(g)));
                 conv(g).attributes.back()->name = std::to_string(conv(g).attributes.size());
               }
             }),
             Contains("1025 attributes, expected at most 1024"));
}

// A graph with regions nested `depth` deep.
GraphT nested(size_t depth) {
  GraphT graph = sampleGraph();
  RegionT* region = choice(graph).regions[0].get();
  for (size_t i = 1; i < depth; ++i) {
    auto operation = std::make_unique<OperationT>();
    operation->name = 1;
    operation->regions.push_back(std::make_unique<RegionT>());
    auto yield = std::make_unique<OperationT>();
    yield->name = 2;
    operation->regions[0]->operations.push_back(std::move(yield));
    RegionT* inner = operation->regions[0].get();
    region->operations.insert(region->operations.begin(), std::move(operation));
    region = inner;
  }
  return graph;
}

TEST_CASE("regions are nested 32 deep at most") {
  CHECK(errorOf(nested(32)) == "ok");
  CHECK_THAT(errorOf(nested(33)), Contains("nested deeper than 32"));
  ModelT model = sampleModel();
  *model.graph = nested(32);
  flatbuffers::FlatBufferBuilder builder;
  FinishModelBuffer(builder, Model::Pack(builder, &model));
  CHECK(verifyModelBuffer({builder.GetBufferPointer(), builder.GetSize()}, 128).ok());
}

TEST_CASE("visitors see each operation and name its location in their errors") {
  GraphT graph = sampleGraph();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Graph::Pack(builder, &graph));
  const Graph& packed = *flatbuffers::GetRoot<Graph>(builder.GetBufferPointer());
  std::string names;
  size_t work = builder.GetSize();
  auto visit = [&](const Operation&, absl::string_view name) {
    names += std::string(name) + " ";
    return name == "gr.return" ? absl::InvalidArgumentError("stop") : absl::OkStatus();
  };
  absl::Status status = verifyGraph(packed, 3, work, visit);
  CHECK(names == "gr.conv gr.if gr.yield gr.yield gr.return ");
  CHECK_THAT(std::string(status.message()), Contains("operation 4 'gr.return': stop"));
}

// Many tables that share one vector of many strings: 1 MB that takes the stock verifier minutes.
TEST_CASE("shared parts cannot multiply the work") {
  flatbuffers::FlatBufferBuilder builder;
  auto text = builder.CreateString("s");
  auto strings =
      builder.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(100000, text));
  auto value = CreateStrings(builder, strings);
  auto name = builder.CreateString("a");
  std::vector<flatbuffers::Offset<Attribute>> attributes;
  auto shared = CreateAttribute(builder, name, AttributeValue::Strings, value.Union());
  attributes.assign(100000, shared);
  auto list = builder.CreateVector(attributes);
  auto operation = CreateOperation(builder, 0, 0, 0, 0, 0, list);
  auto operations = builder.CreateVector(&operation, 1);
  auto body = CreateRegion(builder, 0, operations);
  auto graph = CreateGraph(builder, 0, 0, 0, 0, 0, 0, 0, body);
  FinishModelBuffer(builder, CreateModel(builder, 1, 0, graph));
  auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(verifyModelBuffer({builder.GetBufferPointer(), builder.GetSize()}, 0).ok());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

/// A graph of `count` operations with one label and one attribute between them.
flatbuffers::DetachedBuffer sharing(size_t count, size_t labelBytes, AttributeValue kind,
                                    size_t bytes) {
  flatbuffers::FlatBufferBuilder builder;
  auto label = builder.CreateString(std::string(labelBytes, 'l'));
  flatbuffers::Offset<void> value;
  switch (kind) {
    case AttributeValue::String:
      value = CreateString(builder, builder.CreateString(std::string(bytes, 's'))).Union();
      break;
    case AttributeValue::Ints:
      value = CreateInts(builder, builder.CreateVector(std::vector<int64_t>(bytes / 8))).Union();
      break;
    case AttributeValue::Floats:
      value = CreateFloats(builder, builder.CreateVector(std::vector<double>(bytes / 8))).Union();
      break;
    case AttributeValue::Bools:
      value = CreateBools(builder, builder.CreateVector(std::vector<uint8_t>(bytes))).Union();
      break;
    default:
      value =
          CreateStrings(builder,
                        builder.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(
                            1, builder.CreateString(std::string(bytes, 's')))))
              .Union();
  }
  auto attribute = CreateAttribute(builder, builder.CreateString("a"), kind, value);
  auto attributes = builder.CreateVector(&attribute, 1);
  std::vector<flatbuffers::Offset<Operation>> operations(
      count, CreateOperation(builder, 0, label, 0, 0, 0, attributes));
  auto body = CreateRegion(builder, 0, builder.CreateVector(operations));
  auto name = builder.CreateString("gr.return");
  auto names = builder.CreateVector(&name, 1);
  builder.Finish(CreateGraph(builder, 0, names, 0, 0, 0, 0, 0, body));
  return builder.Release();
}

TEST_CASE("what operations share counts for each of them") {
  auto errorOfShared = [](const flatbuffers::DetachedBuffer& buffer) {
    size_t work = buffer.size();
    absl::Status status = verifyGraph(*flatbuffers::GetRoot<Graph>(buffer.data()), 0, work);
    return status.ok() ? "ok" : std::string(status.message());
  };
  constexpr size_t kMany = 1000;
  constexpr size_t kLong = 100'000;
  for (AttributeValue kind : {AttributeValue::String, AttributeValue::Ints, AttributeValue::Floats,
                              AttributeValue::Bools, AttributeValue::Strings}) {
    CHECK(errorOfShared(sharing(1, 8, kind, kLong)) == "ok");
    CHECK(errorOfShared(sharing(kMany, 8, kind, 8)) == "ok");
    CHECK_THAT(errorOfShared(sharing(kMany, 8, kind, kLong)),
               Contains("more entries than its file can hold"));
  }
  CHECK(errorOfShared(sharing(1, kLong, AttributeValue::Bools, 8)) == "ok");
  CHECK_THAT(errorOfShared(sharing(kMany, kLong, AttributeValue::Bools, 8)),
             Contains("more entries than its file can hold"));
}

TEST_CASE("operands beyond the size of the buffer are refused") {
  GraphT graph = sampleGraph();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Graph::Pack(builder, &graph));
  size_t work = 12;
  absl::Status status =
      verifyGraph(*flatbuffers::GetRoot<Graph>(builder.GetBufferPointer()), 3, work);
  CHECK_THAT(std::string(status.message()), Contains("more entries than its file can hold"));
}

}  // namespace
}  // namespace graphrun::format
