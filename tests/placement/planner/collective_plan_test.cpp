// Plans with collectives on devices that say that they carry them out. No such device is needed.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/numerics.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/format/plan_file.h"
#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

constexpr char kCluster[] =
    "workers:\n"
    "  - {name: g, address: local, devices: [{cuda: {index: 0}}, {cuda: {index: 1}}, {cpu: {}}]}\n"
    "  - {name: h, address: local, devices: [{cuda: {index: 0}}]}\n";
constexpr const char* kGpus[] = {"g/cuda:0", "g/cuda:1", "h/cuda:0"};

std::unique_ptr<FoundDeviceT> gpu(const std::string& worker, uint32_t index,
                                  const std::string& collectives) {
  auto found = std::make_unique<FoundDeviceT>();
  found->worker = worker;
  found->kind = "cuda";
  found->index = index;
  found->collectives = collectives;
  return found;
}

std::unique_ptr<PinT> pin(const std::string& nodes, const std::string& device) {
  auto made = std::make_unique<PinT>();
  made->nodes = nodes;
  made->device = device;
  return made;
}

/// Asks for a member of each collective on each GPU.
PlanRequestT request(const std::string& library, const std::string& lastLibrary) {
  PlanRequestT request;
  request.cluster_yaml = kCluster;
  request.found.push_back(gpu("g", 0, library));
  request.found.push_back(gpu("g", 1, library));
  request.found.push_back(gpu("h", 0, lastLibrary));
  for (size_t i = 0; i < 3; ++i) {
    request.pins.push_back(pin(absl::StrCat("m", i, "/*"), kGpus[i]));
    request.pins.push_back(pin(absl::StrCat("*/", i), kGpus[i]));
  }
  request.pins.push_back(pin("*_same/3", kGpus[0]));
  return request;
}

absl::StatusOr<std::vector<uint8_t>> respond(const PlanRequestT& request) {
  auto model = runtime::MappedFile::open(std::string(GRAPHRUN_COLLECTIVE_MODELS) + "/each.fb");
  REQUIRE(model.ok());
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(PlanRequest::Pack(builder, &request));
  // Where a vector has it, it is aligned as requests must be.
  std::vector<uint8_t> text(builder.GetBufferPointer(),
                            builder.GetBufferPointer() + builder.GetSize());
  runtime::CompilerLoader loader(GRAPHRUN_COMPILER);
  return loader.plan(model->bytes(), "each.fb", text);
}

std::shared_ptr<const PlanFile> planOf(const PlanRequestT& request) {
  auto bytes = respond(request);
  INFO(bytes.status().message());
  REQUIRE(bytes.ok());
  const auto* response = flatbuffers::GetRoot<PlanResponse>(bytes->data());
  auto plan = PlanFile::parse({response->plan()->data(), response->plan()->size()});
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return *plan;
}

/// The names of the devices of each communicator.
std::vector<std::vector<std::string>> communicatorsOf(const PlanFile& plan) {
  std::vector<std::vector<std::string>> names;
  for (uint32_t i = 0; i < sizeOf(plan.plan().communicators()); ++i) {
    std::vector<std::string>& devices = names.emplace_back();
    for (uint32_t device : *plan.plan().communicators()->Get(i)->devices()) {
      devices.emplace_back(textOf(plan.device(device).name()));
    }
  }
  return names;
}

/// The communicators that a device's operations name, in their order.
std::vector<uint64_t> collectivesOf(const PlanFile& plan, const std::string& device) {
  const Partition* partition = plan.partitionOn(plan.findDevice(device).value());
  std::vector<uint64_t> collectives;
  for (const Operation* op : *partition->graph()->body()->operations()) {
    if (textOf(partition->graph()->op_names()->Get(op->name())) == kCollectiveOp) {
      collectives.push_back(communicatorOf(*op).value());
    }
  }
  return collectives;
}

}  // namespace

TEST_CASE("devices with one library carry out what they can together") {
  std::shared_ptr<const PlanFile> plan = planOf(request("nccl 2.28", "nccl 2.28"));
  using Names = std::vector<std::string>;
  CHECK(communicatorsOf(*plan) ==
        std::vector<Names>{{kGpus[0], kGpus[1], kGpus[2]}, {kGpus[0], kGpus[1]}});
  // Of each size: of three types a mean and a scatter, of floats sum, prod, max, scatter and `same`
  // too; the gathers are along another axis or of bools. A pair meets without the third.
  std::vector<uint64_t> collectives = collectivesOf(*plan, kGpus[0]);
  CHECK(collectives == collectivesOf(*plan, kGpus[1]));
  CHECK(collectives.size() == 2 * (3 * 2 + 5 + 1));
  CHECK(collectivesOf(*plan, kGpus[2]).size() == collectives.size() - 2);
}

TEST_CASE("devices with other libraries are in no communicator with them") {
  auto plan = planOf(request("nccl 2.28", "nccl 2.20"));
  CHECK(communicatorsOf(*plan) == std::vector<std::vector<std::string>>{{kGpus[0], kGpus[1]}});
  CHECK(communicatorsOf(*planOf(request("", ""))).empty());
}

TEST_CASE("sums of a known order need their steps") {
  PlanRequestT stable = request("nccl 2.28", "nccl 2.28");
  stable.numerics = static_cast<uint8_t>(runtime::Numerics::kDeterministic);
  CHECK(communicatorsOf(*planOf(stable)).empty());
}

TEST_CASE("a worker's device of a kind that is not known is told, not taken for a CPU") {
  PlanRequestT strange = request("", "");
  strange.cluster_yaml = "workers: [{name: g, address: local}]\n";
  strange.found.clear();
  strange.pins.clear();
  strange.found.push_back(gpu("g", 0, ""));
  strange.found.back()->kind = "tpu";
  absl::Status refused = respond(strange).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("worker g has a device of kind 'tpu', expected one of cpu, cuda"));
}

}  // namespace graphrun::format
