// Kernels that a device's library refuses for an instruction when a program is loaded, though the
// compiler chose them: another kernel has to do.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_KERNEL_REFUSALS_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_KERNEL_REFUSALS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "devices/executable/executable.h"

namespace graphrun::devices {

struct KernelRefusal {
  std::string label;        ///< of the instruction: the model's nodes
  std::string kernel;       ///< "cublaslt.matmul"
  std::string reason;       ///< what the library says
  std::string instruction;  ///< a line of RefusedKernels: what it holds for
};

/// RefusedKernels hold what was refused on devices of one fingerprint, by instruction in words: for
/// equal instructions of any model. One thread.
class RefusedKernels {
 public:
  RefusedKernels() = default;
  /// Reads `text` (see `text()`).
  explicit RefusedKernels(absl::string_view text);

  bool isEmpty() const { return instructions_.empty(); }
  /// Returns whether `kernel` was refused for `instruction`, with all layouts and without buffers;
  /// its own `kernel` is not looked at.
  bool contains(const Instruction& instruction, absl::string_view kernel) const;
  /// Returns whether that is new.
  bool add(const KernelRefusal& refusal);
  /// All of it, a line an instruction.
  std::string text() const;

 private:
  std::set<std::string, std::less<>> instructions_;
};

/// Collects what is refused while a program is loaded, so that one more compilation knows all of
/// it. One thread.
class RefusalCollector {
 public:
  /// OK where `made`, of making the kernel of `instruction`, the `index`th, is OK or a refusal,
  /// which is kept; else `made`, with the instruction before its message: want of memory, a failure
  /// of the driver, or a kernel that is no library's.
  absl::Status take(const absl::Status& made, const Instruction& instruction, size_t index);
  /// The first refusal, with all of them (refusalsOf); OK where there is none.
  absl::Status status() const;

 private:
  absl::Status first_;
  std::vector<KernelRefusal> refusals_;
};

/// Those that a failed load tells; nothing where it failed otherwise.
std::vector<KernelRefusal> refusalsOf(const absl::Status& status);

/// `status` with `context` before its message; unlike annotate, keeps the refusals.
absl::Status annotateKeepingRefusals(const absl::Status& status, absl::string_view context);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_KERNEL_REFUSALS_H_
