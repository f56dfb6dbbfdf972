// What one device can do per second: the numbers behind the roofline.
#ifndef GRAPHRUN_PLACEMENT_DEVICE_MODEL_H_
#define GRAPHRUN_PLACEMENT_DEVICE_MODEL_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/string_view.h"
#include "runtime/base/element_type.h"

namespace graphrun::placement {

enum class DeviceKind : uint8_t { kCpu, kCuda };

/// "cpu", "cuda".
absl::string_view deviceKindName(DeviceKind kind);
/// The kind of this name, nothing for another.
std::optional<DeviceKind> deviceKindNamed(absl::string_view name);

/// Families of operations that reach a similar share of a device's peak.
enum class OpClass : uint8_t {
  kMatmul,
  kConvolution,
  kNormalization,
  kReduction,
  kElementwise,
  kDataMovement,
  kOther,
};
inline constexpr size_t kOpClassCount = 7;

/// "matmul", "convolution" …
absl::string_view opClassName(OpClass opClass);

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

/// The model used where nothing was measured: a generic vector core times `threads` (memory
/// bandwidth saturates earlier), or a generic data-centre GPU. `threads` is ignored for kCuda.
DeviceModel defaultDeviceModel(DeviceKind kind, int threads);

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

#endif  // GRAPHRUN_PLACEMENT_DEVICE_MODEL_H_
