// The kernels of a CPU device form one ordered list. Asked by the compiler, by explain and by the
// loader.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_KERNEL_LIST_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_KERNEL_LIST_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "devices/cpu/base/kernel.h"
#include "devices/executable/executable.h"
#include "devices/executable/kernel_refusals.h"

namespace graphrun::devices::cpu {

/// All kernels, best first, the reference last: the first that accepts an instruction is the one to
/// use, unless measurements say otherwise.
absl::Span<const KernelEntry> kernels();

/// The kernel of that name, or null.
const KernelEntry* findKernel(absl::string_view name);

/// `entry`'s kernel for `instruction`, which runs on as many threads as the instruction says: those
/// of the calling thread's ScopedThreads, or instruction.threads.
absl::StatusOr<std::unique_ptr<Kernel>> createKernel(const KernelEntry& entry,
                                                     const Instruction& instruction,
                                                     KernelContext& context);

struct Candidate {
  const KernelEntry* kernel;
  absl::StatusOr<LayoutChoice> choice;  ///< or why it declines
};

/// Asks each kernel that computes operations (not "copy" and "generated") for `instruction`, in
/// order.
std::vector<Candidate> candidates(const Instruction& instruction);

/// The first kernel that accepts `instruction`, with its layouts, and is not `refused` (may be
/// null) for the instruction with these; Unimplemented with all reasons if none does.
absl::StatusOr<Candidate> bestCandidate(const Instruction& instruction,
                                        const RefusedKernels* refused = nullptr);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_KERNEL_LIST_H_
