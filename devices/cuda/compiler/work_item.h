// A partition comes down to pieces of work, each with kernels that could compute it, before
// instructions are written.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_H_

#include <optional>
#include <vector>

#include "devices/cuda/compiler/emit/channels_last.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/library_choice.h"

namespace graphrun::devices::cuda {

/// A WorkCandidate is a kernel that could compute a piece of work, with the layouts it wants.
struct WorkCandidate {
  std::vector<TensorDesc> operands;  ///< as it reads them, one an operand of the work
  std::vector<TensorDesc> results;   ///< as it leaves them
  double nanos = 0;                  ///< that it takes longer than the fastest
  LibraryChoice library;             ///< Kind::kLibrary; Kind::kRecurrent: of a step's product
  MapLayouts layouts;                ///< Kind::kGenerated, of a map
  AloneOperation seen;  ///< Kind::kGenerated: what the kernel is built for, if not the operation
  bool isView = false;  ///< the result is where the operand is
};

/// A piece of work: becomes instructions, mostly one, or none (a view).
struct Work {
  enum class Kind : uint8_t {
    kLibrary,    ///< a kernel of the kernel list
    kGenerated,  ///< generated kernels
    kRecurrent,  ///< gr.recurrent: products through the library and generated cells
    kPlain       ///< a view, an edge, the return: dense in, dense out
  };
  Kind kind = Kind::kPlain;
  mlir::Operation* op = nullptr;
  /// Values that it reads: results of other work, constants, inputs of the partition. A library
  /// instruction's operands come first, then those of its post-ops; behind those of gr.recurrent is
  /// the product of all inputs and the weights.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Value> results;
  std::vector<WorkCandidate> candidates;  ///< at least one
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_H_
