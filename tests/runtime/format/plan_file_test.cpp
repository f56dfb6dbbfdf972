#include "runtime/format/plan_file.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/format/weight_table.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::format {
namespace {

using Catch::Matchers::Contains;

std::string errorAfter(const std::function<void(PlanT&)>& change) {
  PlanT plan = samplePlan();
  change(plan);
  auto file = PlanFile::parse(planBytes(plan));
  return file.ok() ? "ok" : std::string(file.status().message());
}

OperationT& operation(PlanT& plan, size_t partition, size_t index) {
  return *plan.partitions[partition]->graph->body->operations[index];
}

IntT& edgeAttribute(OperationT& op) { return *op.attributes[0]->value.AsInt(); }

void checkEdges(const PlanFile& plan) {
  REQUIRE(plan.edgeCount() == 2);
  CHECK(textOf(plan.edge(0).name()) == "edge value");
  CHECK(plan.edge(0).mode() == TransferMode::InProcess);
  CHECK(plan.edge(1).mode() == TransferMode::Eager);
  CHECK(plan.edge(1).bytes() == 16);
  CHECK(plan.edge(1).slots() == 2);
  CHECK(plan.edgesFrom(1) == std::vector<uint32_t>{1});
  CHECK(plan.edgesInto(1) == std::vector<uint32_t>{0});
}

void checkWeights(const PlanFile& plan) {
  REQUIRE(sizeOf(plan.plan().weights()) == 3);
  const WeightEntry& bias = *plan.plan().weights()->Get(1);
  CHECK_FALSE(plan.plan().weights()->Get(0)->in_plan());
  CHECK(bias.in_plan());
  REQUIRE(sizeOf(plan.plan().constants()) == sizeof(float));
  float value = 0;
  std::memcpy(&value, plan.plan().constants()->data() + bias.offset(), sizeof value);
  CHECK(value == 0.5F);
}

void checkPartitions(const PlanFile& plan) {
  for (uint32_t device = 0; device < 3; ++device) {
    REQUIRE(plan.partitionOn(device) != nullptr);
    CHECK(plan.partitionOn(device)->device() == device);
    CHECK(plan.partitionOn(device)->weights()->Get(0) == 1);
  }
  GraphT graph;
  plan.partitionOn(1)->graph()->UnPackTo(&graph);
  CHECK(graph.op_names == std::vector<std::string>{"gr.relu", "gr.send", "gr.recv", "gr.return"});
  REQUIRE(graph.body->operations.size() == 4);
  CHECK(edgeOf(*plan.partitionOn(1)->graph()->body()->operations()->Get(0)) == 0U);
  CHECK(edgeOf(*plan.partitionOn(1)->graph()->body()->operations()->Get(2)) == 1U);
}

void checkSample(const PlanFile& plan) {
  CHECK(plan.hash() == 0x1234);
  CHECK(textOf(plan.plan().model_name()) == "sample");
  REQUIRE(plan.workerCount() == 2);
  CHECK(textOf(plan.worker(0).name()) == "client");
  REQUIRE(plan.deviceCount() == 3);
  CHECK(textOf(plan.device(1).kind()) == "cpu");
  CHECK(plan.device(1).cores()->Get(0) == 1);
  checkEdges(plan);
  checkWeights(plan);
  checkPartitions(plan);
}

TEST_CASE("a plan is read and answers questions") {
  auto file = PlanFile::parse(planBytes(samplePlan()));
  REQUIRE(file.status() == absl::OkStatus());
  const PlanFile& plan = **file;
  checkSample(plan);
  CHECK(plan.findWorker("node1") == 1U);
  CHECK(plan.findDevice("client/cpu:1") == 1U);
  CHECK_FALSE(plan.findDevice("cuda:0").has_value());
  CHECK(plan.devicesOf(0) == std::vector<uint32_t>{0, 1});
  CHECK(plan.partitionOn(3) == nullptr);
  auto again = PlanFile::parse(plan.bytes());
  CHECK(again.ok());
}

std::vector<uint8_t> frozenPlan() {
  std::ifstream file(GRAPHRUN_FROZEN_PLAN, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("the frozen plan of version 1 keeps loading") {
  AlignedBytes bytes(frozenPlan());
  auto file = PlanFile::parse(bytes.span());
  REQUIRE(file.status() == absl::OkStatus());
  CHECK((*file)->plan().version() == 1);
  checkSample(**file);
}

TEST_CASE("the frozen plan of another version is refused") {
  for (uint32_t version : {0U, kPlanVersion + 1, ~0U}) {
    PlanT plan;
    GetPlan(frozenPlan().data())->UnPackTo(&plan);
    plan.version = version;
    auto file = PlanFile::parse(planBytes(plan));
    CHECK(file.status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(file.status().message()),
               Contains(absl::StrCat("plan: it has version ", version, ", expected 1 to 1")) &&
                   Contains("run the same version of graphrun on all workers"));
  }
}

TEST_CASE("the head, workers and devices of a plan are checked") {
  CHECK_THAT(errorAfter([](PlanT& p) { p.hash = 0; }), Contains("plan: its hash is 0"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.version = 2; }), Contains("version 2, expected 1 to 1"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.numerics = 3; }),
             Contains("its numerics are 3, expected 0 to 2"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.precision = 3; }),
             Contains("its precision is 3, expected 0 to 2"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.workers[1]->name = "client"; }),
             Contains("worker 1: its name is 'client' again"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.devices[1]->name = "client/cpu:0"; }),
             Contains("device 1: its name is 'client/cpu:0' again"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.devices[1]->worker = 2; }),
             Contains("device 1: worker index is 2, expected one below 2"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.devices[0]->kind = ""; }), Contains("kind has 0 bytes"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.devices[0]->cores.assign(kMaxCores + 1, 0); }),
             Contains("4097 cores, expected at most 4096"));
}

TEST_CASE("the strings of a plan are each there once") {
  CHECK_THAT(errorAfter([](PlanT& p) { p.strings = {"a", "b", "b"}; }),
             Contains("plan: string 2 is 'b' again"));
}

TEST_CASE("devices of a worker that hand each other copies can be at different steps") {
  auto after = [](const std::function<void(PlanT&)>& change) {
    PlanT plan = samplePlan();
    change(plan);
    return PlanFile::parse(planBytes(plan)).value();
  };
  auto tied = after([](PlanT&) {});
  CHECK(tied->stagesOn(0) == 1);
  CHECK(tied->stagesOn(1) == 1);
  CHECK(tied->slotBytes(1) == 0);
  auto free = after([](PlanT& p) { p.edges[0]->mode = TransferMode::Buffered; });
  CHECK(free->stagesOn(0) == 2);
  CHECK(free->slotBytes(1) == 2 * runtime::kTensorAlignment);
  auto meeting = after([](PlanT& p) {
    p.edges[0]->mode = TransferMode::Buffered;
    p.communicators.push_back(std::make_unique<CommunicatorT>());
    p.communicators[0]->devices = {0, 1};
  });
  CHECK(meeting->stagesOn(0) == 1);
}

TEST_CASE("edges are checked") {
  auto after = [](const std::function<void(EdgeT&)>& change) {
    return errorAfter([&](PlanT& plan) { change(*plan.edges[1]); });
  };
  CHECK_THAT(after([](EdgeT& e) { e.id = 0; }), Contains("edge 1: its id is 0, expected"));
  CHECK_THAT(after([](EdgeT& e) { e.source = 3; }), Contains("source device index is 3"));
  CHECK_THAT(after([](EdgeT& e) { e.target = 3; }), Contains("target device index is 3"));
  CHECK_THAT(after([](EdgeT& e) { e.target = 1; }), Contains("joins device 1 with itself"));
  CHECK_THAT(after([](EdgeT& e) { e.slots = 0; }), Contains("0 slots, expected 1 to 1024"));
  CHECK_THAT(after([](EdgeT& e) { e.slots = 1025; }), Contains("1025 slots"));
  CHECK_THAT(after([](EdgeT& e) { e.mode = TransferMode::InProcess; }),
             Contains("InProcess, within a process, but it joins workers 0 and 1"));
  CHECK_THAT(after([](EdgeT& e) { e.mode = TransferMode::Buffered; }),
             Contains("Buffered, within a process, but it joins workers 0 and 1"));
  CHECK_THAT(after([](EdgeT& e) { e.mode = static_cast<TransferMode>(4); }),
             Contains("transfer mode is 4, expected 0 to 3"));
  CHECK_THAT(after([](EdgeT& e) { e.bytes = 15; }), Contains("bound is 15, expected 16 to 2^62"));
  CHECK_THAT(after([](EdgeT& e) { e.bytes = ~uint64_t{0}; }), Contains("expected 16 to 2^62"));
  CHECK_THAT(after([](EdgeT& e) { e.type->element = ElementType::Invalid; }),
             Contains("edge 1: type has the element type 0"));
  CHECK_THAT(after([](EdgeT& e) { e.type->element = ElementType::I32; }),
             Contains("not of the type of edge 1"));
  CHECK_THAT(after([](EdgeT& e) { e.type->dims = {4}; }), Contains("not of the type of edge 1"));
  CHECK(after([](EdgeT& e) { e.type->dims[0] = -1; }) == "ok");
}

// Workers allocate the slots of an edge as one block: 256 slots of 2^56 + 64 bytes would wrap
// around to one of 16 KiB, and the first payload be written behind it.
TEST_CASE("the slots of all edges together take at most 2^62 bytes") {
  auto after = [](std::vector<std::pair<uint64_t, uint32_t>> edges) {
    return errorAfter([&](PlanT& plan) {
      for (size_t i = 0; i < edges.size(); ++i) {
        plan.edges[i]->bytes = edges[i].first;
        plan.edges[i]->slots = edges[i].second;
      }
    });
  };
  const uint64_t half = uint64_t{1} << 61;
  CHECK(after({{half, 1}, {half, 1}}) == "ok");
  CHECK(after({{half / 1024, 1024}, {half - 63, 1}}) == "ok");
  CHECK_THAT(after({{half, 1}, {half + 1, 1}}),
             Contains("edge 1: its 1 slots of 2305843009213693953 bytes and those of the edges "
                      "before it take more than 2^62 bytes"));
  CHECK_THAT(after({{(uint64_t{1} << 56) + 64, 256}}), Contains("edge 0: its 256 slots"));
  CHECK_THAT(after({{(uint64_t{1} << 62) - 1, 4}}), Contains("edge 0: its 4 slots"));
  CHECK_THAT(after({{16, 1}, {uint64_t{1} << 62, 1}}), Contains("edge 1: its 1 slots"));
}

TEST_CASE("each edge is sent once and received once, where it says") {
  CHECK_THAT(errorAfter([](PlanT& p) { edgeAttribute(operation(p, 0, 1)).value = 2; }),
             Contains("'gr.send'") && Contains("its edge is 2, expected an id below 2"));
  CHECK_THAT(errorAfter([](PlanT& p) { edgeAttribute(operation(p, 0, 1)).value = -1; }),
             Contains("its edge is missing"));
  CHECK_THAT(errorAfter([](PlanT& p) { operation(p, 0, 1).attributes.clear(); }),
             Contains("its edge is missing"));
  CHECK_THAT(errorAfter([](PlanT& p) { edgeAttribute(operation(p, 0, 1)).value = 1; }),
             Contains("on device 0, expected device 1, the source of edge 1"));
  CHECK_THAT(errorAfter([](PlanT& p) { edgeAttribute(operation(p, 1, 0)).value = 1; }),
             Contains("on device 1, expected device 2, the target of edge 1"));
  CHECK_THAT(errorAfter([](PlanT& p) {
               auto& operations = p.partitions[0]->graph->body->operations;
               operations.insert(operations.begin() + 1,
                                 std::make_unique<OperationT>(*operations[1]));
             }),
             Contains("edge 0 is sent twice"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.partitions.pop_back(); }),
             Contains("edge 1 is never received"));
  CHECK_THAT(errorAfter([](PlanT& p) { operation(p, 0, 1).operands.clear(); }),
             Contains("it has no value to send"));
  CHECK_THAT(errorAfter([](PlanT& p) { operation(p, 1, 0).results.clear(); }),
             Contains("it has no value to receive"));
}

/// Makes the first operation of devices 1 and 2, behind what they receive, members of a collective.
void addCollective(PlanT& plan, int64_t communicator = 0) {
  auto joined = std::make_unique<CommunicatorT>();
  joined->devices = {2, 1};
  plan.communicators.push_back(std::move(joined));
  for (size_t device : {1, 2}) {
    plan.partitions[device]->graph->op_names[0] = "gr.collective_member";
    auto attribute = std::make_unique<AttributeT>();
    attribute->name = "communicator";
    attribute->value.Set(IntT());
    attribute->value.AsInt()->value = communicator;
    for (auto& op : plan.partitions[device]->graph->body->operations) {
      if (op->name == 0) {
        op->attributes.push_back(std::make_unique<AttributeT>(*attribute));
      }
    }
  }
}

TEST_CASE("communicators have devices, and their members' operations name them") {
  CHECK(errorAfter([](PlanT& p) { addCollective(p); }) == "ok");
  auto after = [](std::vector<uint32_t> devices) {
    return errorAfter([&](PlanT& p) {
      addCollective(p);
      p.communicators[0]->devices = std::move(devices);
    });
  };
  CHECK_THAT(after({1, 3}), Contains("communicator 0: device index is 3, expected one below 3"));
  CHECK_THAT(after({1, 2, 1}), Contains("it has device 1 twice, expected each once"));
  CHECK_THAT(after({1}), Contains("communicator 0: it has 1 devices, expected at least 2"));
  CHECK_THAT(after({}), Contains("communicator 0: it has 0 devices, expected at least 2"));
  CHECK_THAT(after({0, 2}), Contains("'gr.collective_member'") &&
                                Contains("it is on device 1, which communicator 0 does not have"));
  CHECK_THAT(errorAfter([](PlanT& p) { addCollective(p, 1); }),
             Contains("its communicator is 1, expected an id below 1"));
  CHECK_THAT(errorAfter([](PlanT& p) { addCollective(p, -1); }),
             Contains("its communicator is missing, expected an id below 1"));
}

/// A plan whose communicators, each in four bytes, all share one list of devices.
std::vector<uint8_t> sharingPlan(uint32_t communicators) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<PlanDevice>> devices;
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 1000; ++i) {
    devices.push_back(
        CreatePlanDeviceDirect(builder, absl::StrCat("client/cpu:", i).c_str(), 0, "cpu", i));
    all.push_back(i);
  }
  auto one = CreateCommunicatorDirect(builder, &all);
  std::vector<flatbuffers::Offset<Communicator>> shared(communicators, one);
  std::vector<flatbuffers::Offset<PlanWorker>> workers = {
      CreatePlanWorkerDirect(builder, "client")};
  std::vector<flatbuffers::Offset<Partition>> partitions;
  builder.Finish(CreatePlanDirect(builder, 1, 7, "", &workers, &devices, nullptr, &partitions,
                                  nullptr, nullptr, 0, nullptr, nullptr, 0, 0, 0, 0, &shared),
                 PlanIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST_CASE("lists that share their bytes are counted each time") {
  CHECK(PlanFile::parse(sharingPlan(10)).status().ToString() == "OK");
  CHECK_THAT(PlanFile::parse(sharingPlan(10'000)).status().ToString(),
             Contains("it refers to more entries than the plan can hold"));
}

TEST_CASE("a plan without a list of partitions is refused") {
  CHECK_THAT(errorAfter([](PlanT& p) {
               p.edges.clear();
               p.partitions.clear();
             }),
             Contains("plan: it has no list of partitions"));
}

TEST_CASE("partitions and their weights are checked") {
  CHECK_THAT(errorAfter([](PlanT& p) { p.partitions[1]->device = 3; }),
             Contains("partition 1: device index is 3"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.partitions[1]->device = 0; }),
             Contains("device 0 has a partition already"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.partitions[1]->weights = {3}; }),
             Contains("weight index is 3, expected one below 3"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.partitions[1]->weights = {1, 1}; }),
             Contains("lists weight 1 twice"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.partitions[1]->weights = {0, 2}; }),
             Contains("reads weight 1, which its partition does not list"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.weights[0]->offset = 1; }),
             Contains("plan: weight 0 'w': its data starts at 1"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.weights[0]->offset = ~uint64_t{0} - 63; }),
             Contains("ok"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.weights[1]->offset = 64; }),
             Contains("its 4 bytes at 64"));
  CHECK_THAT(errorAfter([](PlanT& p) { p.constants.clear(); }), Contains("its 4 bytes at 0"));
  CHECK_THAT(errorAfter([](PlanT& p) { operation(p, 2, 1).operands = {1}; }),
             Contains("partition 2: graph ''") && Contains("operand 0 is value 1"));
}

TEST_CASE("a truncated plan is never believed beyond its end") {
  std::vector<uint8_t> bytes = planBytes(samplePlan());
  for (size_t length = 0; length < bytes.size(); ++length) {
    AlignedBytes cut(absl::MakeSpan(bytes).first(length));
    PlanFile::parse(cut.span()).status().IgnoreError();
  }
  CHECK_FALSE(PlanFile::parse({}).ok());
  CHECK_FALSE(PlanFile::parse(absl::MakeSpan(bytes).first(bytes.size() / 2)).ok());
}

TEST_CASE("flipped bits in a plan never crash") {
  std::vector<uint8_t> bytes = planBytes(samplePlan());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    AlignedBytes flipped(bytes);
    if (auto file = PlanFile::parse(flipped.span()); file.ok()) {
      PlanT plan;
      (*file)->plan().UnPackTo(&plan);
    }
    bytes[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace graphrun::format
