// The compiler of CPU devices: a partition becomes instructions over buffers.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_CPU_COMPILER_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_CPU_COMPILER_H_

#include "devices/cpu/vectors/instructions.h"
#include "devices/device_compiler.h"

namespace graphrun::devices::cpu {

/// See devices/device_compiler.h. Layouts: each operation takes the layout its best kernel wants; a
/// reorder stands only where producer and consumer differ.
class CpuCompiler final : public DeviceCompiler {
 public:
  /// `code`: of generated kernels; may be null.
  explicit CpuCompiler(runtime::CodeStore* code = nullptr) : code_(code) {}

  std::string kind() const override { return "cpu"; }
  std::string whyUnsupported(mlir::Operation* op) const override;
  bool multipliesBytes() const override { return sumsBytesExactly(); }
  absl::StatusOr<std::vector<uint8_t>> compile(mlir::func::FuncOp partition,
                                               const DeviceDescription& device,
                                               const std::string& fingerprint,
                                               const WeightIndex& weightIndex,
                                               Tuning& tuning) const override;

 private:
  runtime::CodeStore* code_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_CPU_COMPILER_H_
