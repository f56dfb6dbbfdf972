// Defines a kernel of a GPU, and how it is chosen for an instruction, made and enqueued.
#ifndef GRAPHRUN_DEVICES_CUDA_KERNELS_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_KERNELS_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "devices/cuda/driver/symbols.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

class CodeModule;
class Communicators;
class CudnnLibrary;
class ProductLibrary;

/// One instruction, ready to run: all addresses are known.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Puts its work into `stream`, or into the graph that the stream records, where it can be
  /// recorded. The context must be the thread's.
  virtual absl::Status enqueue(CUstream stream) = 0;
  /// Which of the library's answers for the instruction it is (see algorithmOf); 0 where there is
  /// but one.
  virtual size_t plan() const { return 0; }
};

/// Attribute "plan" of an instruction, 0 where it is missing: the one of the answers of its
/// library's heuristic that the search for a plan begins with. It goes on behind it, then before
/// it: not all of them will do.
absl::StatusOr<size_t> algorithmOf(const Instruction& instruction);
/// There are fewer answers.
inline constexpr size_t kMostAlgorithms = 1024;

/// The parts of a program that its kernels share.
struct KernelContext {
  const DriverApi& driver;
  ProductLibrary& products;
  CudnnLibrary& cudnn;
  Communicators* communicators;             ///< null: there is no program, a kernel is tried
  const CodeModule* code;                   ///< null: the executable has no generated code
  absl::Span<const CUdeviceptr> addresses;  ///< of the executable's buffers
  CUdeviceptr errors = 0;                   ///< the ErrorRecord (kernel_errors.h); 0: there is none
  uint32_t instruction = 0;  ///< index of the instruction that a kernel is created for

  CUdeviceptr addressOf(const Argument& argument) const { return addresses[argument.buffer]; }
};

/// The answer of a kernel that takes an instruction.
struct KernelChoice {
  uint64_t scratchBytes = 0;   ///< of Instruction::scratch (u8, 1-D); 0: none
  std::string implementation;  ///< for explain
};

struct KernelEntry {
  absl::string_view name;
  absl::string_view operation;  ///< that it computes; "": none of its own
  /// The needs of the kernel for `instruction` (its `kernel` and `scratch` are not looked at, nor
  /// are buffers), or why the kernel declines: Unimplemented, or InvalidArgument for a malformed
  /// one. Needs no GPU.
  absl::StatusOr<KernelChoice> (*choose)(const Instruction& instruction);
  /// Makes the kernel of an instruction that `choose` accepts.
  absl::StatusOr<std::unique_ptr<Kernel>> (*create)(const Instruction& instruction,
                                                    const KernelContext& context);
  /// True if its library may have several plans for an instruction: attribute "plan" (algorithmOf).
  bool hasAlgorithms = false;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_KERNELS_KERNEL_H_
