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

/// All kernels, best first, the reference last: the first that accepts a step is the one to use,
/// unless measurements say otherwise.
absl::Span<const KernelEntry> kernels();

/// The kernel of that name, or null.
const KernelEntry* findKernel(absl::string_view name);

/// `entry`'s kernel for `step`, which runs on as many threads as the step says: those of the
/// calling thread's ScopedThreads, or step.threads.
absl::StatusOr<std::unique_ptr<Kernel>> createKernel(const KernelEntry& entry, const Step& step,
                                                     KernelContext& context);

struct Candidate {
  const KernelEntry* kernel;
  absl::StatusOr<LayoutChoice> choice;  ///< or why it declines
};

/// Asks each kernel that computes operations (not "copy" and "generated") for `step`, in order.
std::vector<Candidate> candidates(const Step& step);

/// The first kernel that accepts `step`, with its layouts, and is not `refused` (may be null) for
/// the step with these; Unimplemented with all reasons if none does.
absl::StatusOr<Candidate> bestCandidate(const Step& step, const RefusedKernels* refused = nullptr);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_KERNEL_LIST_H_
