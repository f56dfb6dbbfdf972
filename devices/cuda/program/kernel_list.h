// The kernels of a CUDA device: one ordered list. Asked by the compiler, by explain and by the
// loader.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_KERNEL_LIST_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_KERNEL_LIST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "devices/cuda/kernels/kernel.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// All kernels; for one operation best first.
absl::Span<const KernelEntry> kernels();

/// The kernel of that name, or null.
const KernelEntry* findKernel(absl::string_view name);

struct Candidate {
  const KernelEntry* kernel;
  absl::StatusOr<KernelChoice> choice;  ///< or why it declines
};

/// Asks each kernel that computes the instruction's operation, in order.
std::vector<Candidate> candidates(const Instruction& instruction);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_KERNEL_LIST_H_
