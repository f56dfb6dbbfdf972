// Times of operations from those that were measured.
#include "placement/cost_graph/measured_costs.h"

#include <catch2/catch.hpp>

#include "tests/placement/kinds.h"

namespace graphrun::placement {
namespace {

constexpr uint64_t kFamily = 7;

OpWork workOf(int64_t flops, int64_t bytes) {
  OpWork work;
  work.flops = flops;
  work.bytesRead = bytes;
  work.opClass = OpClass::kMatmul;
  work.type = runtime::ElementType::kF32;
  return work;
}

/// Operations that take three times what the roofline says.
MeasuredCosts threeTimes(const DeviceModel& model, const std::vector<int64_t>& sizes) {
  std::vector<MeasuredOp> ops;
  for (int64_t size : sizes) {
    OpWork work = workOf(size * 100, size);
    ops.push_back(
        {static_cast<uint64_t>(size), kFamily, work.flops, size, 3 * rooflineNs(work, model)});
  }
  return MeasuredCosts(ops);
}

TEST_CASE(
    "an operation that was measured takes what it took, and needs the memory that it needed") {
  DeviceModel model = defaultDeviceModel(devices::cpu::cpuKind(), 1);
  MeasuredCosts costs({{42, kFamily, 1000, 1000, 123'456, 640, 64}});
  MeasuredCosts::Estimate same = costs.estimate(42, kFamily, workOf(1000, 1000), model);
  CHECK(same.ns == 123'456);
  CHECK(same.source == CostSource::kMeasured);
  REQUIRE(same.measured != nullptr);
  CHECK(same.measured->weightBytes == 640);
  CHECK(costs.estimate(43, kFamily, workOf(1000, 1000), model).measured == nullptr);
}

TEST_CASE("between operations of its family an operation is as far from the roofline as they") {
  DeviceModel model = defaultDeviceModel(devices::cpu::cpuKind(), 1);
  MeasuredCosts costs = threeTimes(model, {1000, 10'000, 100'000, 1'000'000});
  OpWork work = workOf(3'000'000, 30'000);
  MeasuredCosts::Estimate between = costs.estimate(1, kFamily, work, model);
  CHECK(between.source == CostSource::kInterpolated);
  CHECK(static_cast<double>(between.ns) == Approx(3.0 * rooflineNs(work, model)).epsilon(0.01));
}

TEST_CASE("steps of a sequence cost overhead where nothing of the kind was measured") {
  DeviceModel model = defaultDeviceModel(devices::cuda::cudaKind(), 1);
  OpWork work = workOf(500'000, 5000);
  const int64_t single = rooflineNs(work, model);
  work.steps = 300;
  CHECK(rooflineNs(work, model) == single + 299 * static_cast<int64_t>(model.stepOverheadNs));
  CHECK(MeasuredCosts().estimate(1, kFamily, work, model).ns == rooflineNs(work, model));
  MeasuredCosts costs = threeTimes(model, {1000, 10'000});
  CHECK(static_cast<double>(costs.estimate(1, kFamily, work, model).ns) ==
        Approx(3.0 * static_cast<double>(single)).epsilon(0.01));
}

TEST_CASE("outside of what was measured an operation is estimated, and says so") {
  DeviceModel model = defaultDeviceModel(devices::cpu::cpuKind(), 1);
  MeasuredCosts costs = threeTimes(model, {1000, 10'000});
  for (const OpWork& work : {workOf(10'000'000, 100'000), workOf(100, 1), workOf(500'000, 1)}) {
    MeasuredCosts::Estimate outside = costs.estimate(1, kFamily, work, model);
    CHECK(outside.source == CostSource::kEstimated);
    CHECK(outside.ns == rooflineNs(work, model));
  }
  OpWork inside = workOf(500'000, 5000);
  CHECK(costs.estimate(1, kFamily, inside, model).source == CostSource::kInterpolated);
  CHECK(costs.estimate(1, kFamily + 1, inside, model).source == CostSource::kEstimated);
  CHECK(MeasuredCosts().estimate(1, kFamily, inside, model).source == CostSource::kEstimated);
}

}  // namespace
}  // namespace graphrun::placement
