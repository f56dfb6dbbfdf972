// The device contract of the compile world: what a placer asks, and what a compiler gives.
#ifndef GRAPHRUN_DEVICES_DEVICE_COMPILER_H_
#define GRAPHRUN_DEVICES_DEVICE_COMPILER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/device.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/base/code_store.h"
#include "runtime/base/numerics.h"

namespace graphrun::devices {

/// Index into the plan's weights of what an operation has as an attribute: of a gr.constant, or of
/// the first value of a gr.state. Nothing for one that is not there.
using WeightIndex = std::function<std::optional<uint32_t>(mlir::Operation*)>;

/// Tuning is what a compiler knows, and may find out, about the time that kernels take on the
/// device.
struct Tuning {
  /// In and out: what was measured on devices of this fingerprint, in a form of the compiler's own;
  /// empty at first.
  std::string timings;
  uint64_t budgetNanos = 0;  ///< to be spent on measuring; 0: estimates do
  runtime::Numerics numerics = runtime::Numerics::kFast;
  runtime::Precision precision = runtime::Precision::kF32;  ///< that the partition was made for
  bool complete = false;  ///< out: no choice waits for a measurement
  /// In: what devices of this fingerprint refused when they loaded it (RefusedKernels::text): other
  /// kernels are chosen.
  std::string refused;
};

/// The compiler of one kind of device. Stateless: thread-safe as long as each thread has its own
/// MLIR context.
class DeviceCompiler {
 public:
  virtual ~DeviceCompiler() = default;

  /// The name of its kind.
  virtual std::string kind() const = 0;

  /// Why the device cannot run `op` (a gr operation or group with static shapes); empty when it
  /// can.
  virtual std::string whyUnsupported(mlir::Operation* op) const = 0;

  /// Returns whether devices of this kind on this machine multiply u8 by i8, exactly and fast.
  virtual bool multipliesBytes() const { return false; }

  /// Turns a partition (static shapes, operations in execution order) into an executable for the
  /// device that `device` and `fingerprint` describe; its limit is for weights and arena, which
  /// keep within it if at all possible. Must run on the machine that has the device;
  /// while it measures, nothing else should.
  virtual absl::StatusOr<std::vector<uint8_t>> compile(mlir::func::FuncOp partition,
                                                       const DeviceDescription& device,
                                                       const std::string& fingerprint,
                                                       const WeightIndex& weightIndex,
                                                       Tuning& tuning) const = 0;
};

/// The compiler for a kind of device; NotFound when it is not built in. `code` may be null, and
/// must outlive it.
absl::StatusOr<std::unique_ptr<DeviceCompiler>> createDeviceCompiler(
    const std::string& kind, runtime::CodeStore* code = nullptr);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_DEVICE_COMPILER_H_
