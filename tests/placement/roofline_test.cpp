#include "placement/cluster/roofline.h"

#include <catch2/catch.hpp>

#include "tests/placement/kinds.h"

namespace graphrun::placement {
namespace {

using runtime::ElementType;

DeviceModel model() {
  DeviceModel m;
  m.opOverheadNs = 100;
  m.memoryBytesPerSecond = 1e9;
  m.peakOpsPerSecond.fill(1e9);
  m.peakOpsPerSecond[static_cast<size_t>(ElementType::kF64)] = 0.5e9;
  m.efficiency.fill(0.5);
  m.efficiency[static_cast<size_t>(OpClass::kMatmul)] = 1;
  return m;
}

TEST_CASE("an operation is bound by compute or by memory, plus the overhead") {
  CHECK(rooflineNs({1000, 100, 100, OpClass::kMatmul, ElementType::kF32}, model()) == 1100);
  CHECK(rooflineNs({1000, 100, 100, OpClass::kMatmul, ElementType::kF64}, model()) == 2100);
  CHECK(rooflineNs({1000, 100, 100, OpClass::kOther, ElementType::kF32}, model()) == 2100);
  CHECK(rooflineNs({1000, 2000, 500, OpClass::kMatmul, ElementType::kF32}, model()) == 2600);
  CHECK(rooflineNs({}, model()) == 100);
}

TEST_CASE("a short operation runs on one thread, a long one pays for those that join") {
  DeviceModel m = model();
  m.joinNs = 400;
  m.oneThread = 0.25;
  CHECK(rooflineNs({100, 0, 0, OpClass::kMatmul, ElementType::kF32}, m) == 500);
  CHECK(rooflineNs({1000, 0, 0, OpClass::kMatmul, ElementType::kF32}, m) == 1500);
}

TEST_CASE("calibration replaces only what was measured") {
  DeviceCalibration measured;
  measured.memoryBytesPerSecond = 2e9;
  measured.peakOpsPerSecond[ElementType::kF64] = 4e9;
  measured.efficiency[OpClass::kConvolution] = 0.25;
  DeviceModel m = calibrated(model(), measured);
  CHECK(m.opOverheadNs == 100);
  CHECK(rooflineNs({0, 2000, 0, OpClass::kMatmul, ElementType::kF32}, m) == 1100);
  CHECK(rooflineNs({1000, 0, 0, OpClass::kConvolution, ElementType::kF64}, m) == 1100);
  CHECK(rooflineNs({1000, 0, 0, OpClass::kMatmul, ElementType::kF32}, m) == 1100);
}

TEST_CASE("default models have positive rates for every type and class") {
  for (const DeviceKind& kind : testing::kinds()) {
    DeviceModel m = defaultDeviceModel(kind, 0);
    for (double rate : m.peakOpsPerSecond) {
      CHECK(rate > 0);
    }
    for (double share : m.efficiency) {
      CHECK((share > 0 && share <= 1));
    }
    CHECK(m.memoryBytesPerSecond > 0);
  }
}

}  // namespace
}  // namespace graphrun::placement
