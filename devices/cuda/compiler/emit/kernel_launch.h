// How a generated kernel is launched, as plain data: what goes into the executable.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_LAUNCH_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_LAUNCH_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace graphrun::devices::cuda {

/// One parameter of a kernel; each takes 8 bytes.
struct KernelArgument {
  enum class Kind : uint8_t {
    kOperand,  ///< device pointer to an operand of the operation, aligned to 16 bytes
    kTable,    ///< device pointer to a table of the operation's kernels, as an operand
    kResult,   ///< device pointer to a result, aligned to 16 bytes, apart from all operands
    kScratch,  ///< device pointer to what the operation's kernels leave each other, as a result
    kInteger,  ///< a 64-bit integer
    kErrors,   ///< device pointer to the program's ErrorRecord (kernel_errors.h)
    kStep      ///< a 64-bit integer: what the step adds its error to
  };
  Kind kind = Kind::kOperand;
  int64_t value = 0;  ///< index among operands, tables or results; kInteger: the number

  bool operator==(const KernelArgument&) const = default;
};

/// A launch of a kernel on a stream.
struct KernelLaunch {
  std::string symbol;                      ///< of the kernel, the name of its KernelText too
  std::array<uint32_t, 3> grid{1, 1, 1};   ///< blocks
  std::array<uint32_t, 3> block{1, 1, 1};  ///< threads of each; the code relies on it
  uint32_t sharedBytes = 0;                ///< dynamic shared memory of a block
  std::vector<KernelArgument> arguments;   ///< in the order of the parameters
};

/// The launches that compute an operation, and the memory that they need.
struct KernelPlan {
  std::vector<KernelLaunch> launches;        ///< that run one after the other
  uint64_t scratchBytes = 0;                 ///< of memory that they share, with any content
  std::vector<std::vector<uint8_t>> tables;  ///< constants that they read
};

/// The code of one kernel.
struct KernelText {
  std::string symbol;
  std::string ptx;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_LAUNCH_H_
