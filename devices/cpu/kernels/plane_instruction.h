// Convolutions over planes ask this of an instruction, and give this back. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_INSTRUCTION_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_INSTRUCTION_H_

#include <optional>
#include <vector>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/kernels/plane_strips.h"

namespace graphrun::devices::cpu {

/// Unimplemented: planes are summed `what` alone.
absl::Status declinedByPlanes(const Instruction& instruction, absl::string_view what);

/// Takes f32 over one or two spatial dims, not empty, with or without a bias, in any layout.
absl::Status checkFloatImages(const Instruction& instruction);

/// The same of dense tensors.
absl::Status checkPlaneInstruction(const Instruction& instruction);

/// Checks that input, result, bias and the filter's packed dims, G x I/G x kernel x O/G, fit each
/// other.
absl::Status checkPlaneFilter(const Instruction& instruction, const std::vector<int64_t>& filter,
                              int64_t groups);

/// The choice of a kernel that reads dense planes and a filter of the dims `packed`, made from
/// `source`, and sums planes in strips of `shape`.
absl::StatusOr<LayoutChoice> planeLayouts(const Instruction& instruction,
                                          std::vector<int64_t> packed,
                                          absl::StatusOr<TensorDesc> source, int64_t scratchFloats,
                                          absl::string_view implementation,
                                          const PlaneShape& shape);

/// The bias of an instruction, zeros for one that has none.
class PlaneBias {
 public:
  explicit PlaneBias(const Instruction& instruction);
  const float* in(void* const* buffers) const {
    return buffer_ ? static_cast<const float*>(buffers[*buffer_]) : zeros_.data();
  }

 private:
  std::optional<uint32_t> buffer_;
  std::vector<float> zeros_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_INSTRUCTION_H_
