// What a partition comes down to before steps are written: pieces of work, and ways to do each.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_H_

#include <optional>
#include <vector>

#include "devices/cuda/compiler/channels_last.h"
#include "devices/cuda/compiler/kernel_code.h"
#include "devices/cuda/compiler/library_choice.h"

namespace graphrun::devices::cuda {

/// One way to do a piece of work: how its tensors lie, and what does it then.
struct Way {
  std::vector<TensorDesc> operands;  ///< as it reads them, one an operand of the work
  std::vector<TensorDesc> results;   ///< as it leaves them
  double nanos = 0;                  ///< that it takes longer than the fastest way
  LibraryChoice library;             ///< Kind::kLibrary
  MapLayouts layouts;                ///< Kind::kGenerated, of a map
  AloneOperation seen;  ///< Kind::kGenerated: what the kernel is built for, if not the operation
  bool isView = false;  ///< the result is where the operand is
};

/// A piece of work: becomes one step, or none (a view).
struct Work {
  enum class Kind : uint8_t {
    kLibrary,    ///< a kernel of the kernel list
    kGenerated,  ///< a generated kernel
    kPlain       ///< a view, an edge, the return: dense in, dense out
  };
  Kind kind = Kind::kPlain;
  mlir::Operation* op = nullptr;
  /// Values that it reads: results of other work, constants, inputs of the partition. A library
  /// step's operands come first, then those of its post-ops.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Value> results;
  std::vector<Way> alternatives;  ///< at least one
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_H_
