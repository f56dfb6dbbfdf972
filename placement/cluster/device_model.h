// A device model holds the rates of one device: the numbers behind the roofline.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_DEVICE_MODEL_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_DEVICE_MODEL_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/string_view.h"
#include "runtime/base/device_kind.h"
#include "runtime/base/element_type.h"

namespace graphrun::placement {

using runtime::DeviceKind;
using runtime::kHostKind;
using runtime::kOpClassCount;
using runtime::OpClass;

/// Rates of one device. All rates are positive.
struct DeviceModel {
  /// Fixed cost of starting one operation, ns.
  double opOverheadNs = 0;
  /// The same of each further step of a sequence that an operation goes through (OpWork::steps).
  double stepOverheadNs = 0;
  /// Several threads: for an operation to begin and end on all of them, ns; and the share of the
  /// rates below that one of them has. Short operations run on one.
  double joinNs = 0;
  double oneThread = 1;
  /// Sustained memory bandwidth, bytes per second.
  double memoryBytesPerSecond = 1;
  /// Peak operations per second by element type; the slot of kInvalid serves untyped work.
  std::array<double, runtime::kElementTypeCount> peakOpsPerSecond = {};
  /// Share of the peak that each class of operation reaches, (0, 1].
  std::array<double, kOpClassCount> efficiency = {};
};

/// The model used where nothing was measured: the rates of the kind, of so many threads where they
/// are by thread. 0 threads count as one.
DeviceModel defaultDeviceModel(const DeviceKind& kind, int threads);

/// Measured values of one device; what is absent keeps the default.
struct DeviceCalibration {
  std::optional<double> opOverheadNs;
  std::optional<double> memoryBytesPerSecond;
  std::map<runtime::ElementType, double> peakOpsPerSecond;
  std::map<OpClass, double> efficiency;
};

/// `model` with the values of `calibration` put over it.
DeviceModel calibrated(DeviceModel model, const DeviceCalibration& calibration);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_DEVICE_MODEL_H_
