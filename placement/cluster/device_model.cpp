#include "placement/cluster/device_model.h"

#include <algorithm>

namespace graphrun::placement {
namespace {

using runtime::ElementType;

void setPeak(DeviceModel& model, ElementType type, double value) {
  model.peakOpsPerSecond[static_cast<size_t>(type)] = value;
}

double& efficiencyOf(DeviceModel& model, OpClass opClass) {
  return model.efficiency[static_cast<size_t>(opClass)];
}

}  // namespace

DeviceModel defaultDeviceModel(const DeviceKind& kind, int threads) {
  const runtime::KindRates& rates = kind.rates;
  const bool isSeveral = rates.byThread && threads > 1;
  const double count = isSeveral ? threads : 1;
  const double scaling = isSeveral ? rates.threadScaling : 1;
  DeviceModel model;
  model.opOverheadNs = rates.opOverheadNs;
  model.joinNs = isSeveral ? rates.joinNs : 0;
  model.stepOverheadNs = rates.stepOverheadNs + model.joinNs;
  model.memoryBytesPerSecond =
      std::min(rates.memoryBytesPerSecond * count, rates.mostMemoryBytesPerSecond);
  for (size_t type = 0; type < model.peakOpsPerSecond.size(); ++type) {
    model.peakOpsPerSecond[type] = rates.opsPerSecond[type] * count * scaling;
  }
  model.oneThread = rates.opsPerSecond.front() / model.peakOpsPerSecond.front();
  model.efficiency = rates.efficiency;
  return model;
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
