#include "runtime/worker/weight_store.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/format/checksum.h"
#include "tests/runtime/format/samples.h"

namespace graphrun::runtime {
namespace {

using format::PlanFile;
using format::TemporaryFolder;

/// A store in an empty folder that knows no model: only what a plan carries can be found.
struct EmptyStore {
  TemporaryFolder folder;
  DiskCache cache{folder.file("weights"), 1 << 20};
  WeightStore store{&cache};
};

std::shared_ptr<const PlanFile> parsed(const format::PlanT& plan) {
  auto file = PlanFile::parse(format::planBytes(plan));
  REQUIRE(file.status() == absl::OkStatus());
  return *file;
}

TEST_CASE("a weight that planning made is read from the plan, and from nowhere else") {
  EmptyStore empty;
  std::shared_ptr<const PlanFile> plan = parsed(format::samplePlan());
  PlanWeights weights(plan->plan(), &empty.store);
  auto bias = weights.weight(1);
  REQUIRE(bias.status() == absl::OkStatus());
  REQUIRE(bias->bytes.size() == sizeof(float));
  float value = 0;
  std::memcpy(&value, bias->bytes.data(), sizeof value);
  CHECK(value == 0.5F);
  CHECK(bias->bytes.data() >= plan->bytes().data());
  CHECK(bias->bytes.data() < plan->bytes().data() + plan->bytes().size());

  CHECK(bias->owner == nullptr);
  CHECK(weights.checksum(1) == 0);  // of what a plan carries nobody has checked it
  CHECK(weights.checksum(0) != 0);
  weights.release(1);
  CHECK(weights.weight(1)->bytes.data() == bias->bytes.data());

  auto absent = weights.weight(0);
  CHECK(absl::IsNotFound(absent.status()));
  CHECK_THAT(std::string(absent.status().message()), Catch::Contains("weight 'w'"));
  CHECK(absl::IsOutOfRange(weights.weight(3).status()));
}

TEST_CASE("an empty weight of a plan without constants is empty") {
  EmptyStore empty;
  format::PlanT sample = format::samplePlan();
  sample.constants.clear();
  sample.weights[1]->type->dims = {0};
  sample.weights[1]->splat = false;
  sample.weights[1]->length = 0;
  std::shared_ptr<const PlanFile> plan = parsed(sample);
  REQUIRE(plan->plan().constants() == nullptr);
  auto weight = PlanWeights(plan->plan(), &empty.store).weight(1);
  REQUIRE(weight.status() == absl::OkStatus());
  CHECK(weight->bytes.empty());
}

}  // namespace
}  // namespace graphrun::runtime
