// A kernel of the CPU is chosen for an instruction, made and run.
#ifndef GRAPHRUN_DEVICES_CPU_BASE_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_BASE_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

class CodeImage;
struct OneDnn;

/// One instruction, ready to run. Owns all that it needs; one run at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Computes from and into `buffers` (the program's table). 0, or a code for `errorMessage`.
  /// Does not block on others, allocate, lock or build strings.
  virtual int run(void* const* buffers) = 0;
  /// Returns the error that a code other than 0 means.
  virtual absl::Status errorMessage(int code) const;
};

/// A kernel whose codes are statuses of oneDNN (dnnl_status_t).
class OneDnnKernel : public Kernel {
 public:
  absl::Status errorMessage(int code) const override;
};

/// Kernels of one program share a KernelContext.
struct KernelContext {
  OneDnn& onednn;
  const CodeImage* code = nullptr;  ///< null: the executable has no generated code
};

/// A LayoutChoice is what a kernel wants of an instruction: layouts where the instruction left them
/// open (TensorDesc::any), else as given. A packed weight may have other dims than the operation's
/// operand: groups as a dim of its own (G x O/G x I/G x …), a transposed matrix as K x N.
struct LayoutChoice {
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::vector<TensorDesc> postOps;  ///< one a post-op; default where it has no operand
  /// The operand's dense bytes are read like this when it is packed into inputs[i] at load:
  /// Buffer::source.
  std::vector<TensorDesc> sources;
  uint64_t scratchBytes = 0;   ///< of Instruction::scratch (u8, 1-D); 0: none
  std::string implementation;  ///< "jit:avx512_core", for explain
  /// Estimates of its time go by these, where the kernel knows more than its implementation's name
  /// tells; 0: it does not. The parts that threads can share, and the share of a core's peak.
  int64_t parts = 0;
  double share = 0;
};

struct KernelEntry {
  absl::string_view name;
  /// The layouts for `instruction` (its `kernel` and `scratch` are not looked at, nor are buffers),
  /// or why the kernel declines: Unimplemented, or InvalidArgument for a malformed instruction.
  /// Threads: see ScopedThreads.
  absl::StatusOr<LayoutChoice> (*choose)(const Instruction& instruction);
  /// Makes the kernel; the instruction's layouts must be those that `choose` gave or would accept.
  absl::StatusOr<std::unique_ptr<Kernel>> (*create)(const Instruction& instruction,
                                                    KernelContext& context);
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BASE_KERNEL_H_
