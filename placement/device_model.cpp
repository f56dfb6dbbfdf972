#include "placement/device_model.h"

#include <algorithm>

namespace graphrun::placement {
namespace {

using runtime::ElementType;

// One vector core at some 2.5 GHz: two 8-lane f32 multiply-adds a cycle.
constexpr double kCoreF32 = 80e9;
constexpr double kCoreBandwidth = 10e9;
constexpr double kSocketBandwidth = 80e9;
// Several threads on one operation lose something to splitting and joining.
constexpr double kThreadScaling = 0.9;
constexpr double kCpuOverheadNs = 300;
constexpr double kJoinNs = 2000;

void setPeak(DeviceModel& model, ElementType type, double value) {
  model.peakOpsPerSecond[static_cast<size_t>(type)] = value;
}

double& efficiencyOf(DeviceModel& model, OpClass opClass) {
  return model.efficiency[static_cast<size_t>(opClass)];
}

DeviceModel cpuModel(int threads) {
  double count = std::max(threads, 1);
  double f32 = kCoreF32 * count * (threads > 1 ? kThreadScaling : 1.0);
  DeviceModel model;
  model.opOverheadNs = kCpuOverheadNs;
  model.joinNs = threads > 1 ? kJoinNs : 0;
  model.stepOverheadNs = model.opOverheadNs + model.joinNs;
  model.oneThread = kCoreF32 / f32;
  model.memoryBytesPerSecond = std::min(kCoreBandwidth * count, kSocketBandwidth);
  model.peakOpsPerSecond.fill(f32);
  for (ElementType type : {ElementType::kF64, ElementType::kI64, ElementType::kU64}) {
    setPeak(model, type, f32 / 2);
  }
  for (ElementType type : {ElementType::kI8, ElementType::kU8}) {
    setPeak(model, type, f32 * 2);
  }
  model.efficiency.fill(0.1);
  efficiencyOf(model, OpClass::kMatmul) = 0.7;
  efficiencyOf(model, OpClass::kConvolution) = 0.7;
  efficiencyOf(model, OpClass::kNormalization) = 0.2;
  return model;
}

DeviceModel cudaModel() {
  DeviceModel model;
  model.opOverheadNs = 5000;
  model.stepOverheadNs = 6000;  // a product and a cell, in a graph of launches
  model.memoryBytesPerSecond = 1.5e12;
  model.peakOpsPerSecond.fill(15e12);
  for (ElementType type : {ElementType::kF64, ElementType::kI64, ElementType::kU64}) {
    setPeak(model, type, 7e12);
  }
  for (ElementType type :
       {ElementType::kF16, ElementType::kBF16, ElementType::kI8, ElementType::kU8}) {
    setPeak(model, type, 200e12);
  }
  model.efficiency.fill(0.3);
  efficiencyOf(model, OpClass::kMatmul) = 0.6;
  efficiencyOf(model, OpClass::kConvolution) = 0.5;
  return model;
}

}  // namespace

absl::string_view deviceKindName(DeviceKind kind) {
  return kind == DeviceKind::kCpu ? "cpu" : "cuda";
}

std::optional<DeviceKind> deviceKindNamed(absl::string_view name) {
  for (DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    if (name == deviceKindName(kind)) {
      return kind;
    }
  }
  return std::nullopt;
}

absl::string_view opClassName(OpClass opClass) {
  static constexpr std::array<absl::string_view, kOpClassCount> kNames = {
      "matmul",      "convolution",   "normalization", "reduction",
      "elementwise", "data_movement", "other"};
  return kNames[static_cast<size_t>(opClass)];
}

DeviceModel defaultDeviceModel(DeviceKind kind, int threads) {
  return kind == DeviceKind::kCpu ? cpuModel(threads) : cudaModel();
}

DeviceModel calibrated(DeviceModel model, const DeviceCalibration& calibration) {
  model.opOverheadNs = calibration.opOverheadNs.value_or(model.opOverheadNs);
  model.memoryBytesPerSecond =
      calibration.memoryBytesPerSecond.value_or(model.memoryBytesPerSecond);
  for (auto [type, value] : calibration.peakOpsPerSecond) {
    setPeak(model, type, value);
  }
  for (auto [opClass, value] : calibration.efficiency) {
    efficiencyOf(model, opClass) = value;
  }
  return model;
}

}  // namespace graphrun::placement
