// A partition comes down to pieces of work, each with kernels that could compute it, before
// instructions are written.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_WORK_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_WORK_H_

#include <vector>

#include "devices/compiler/library_instruction.h"
#include "devices/cpu/base/kernel.h"
#include "devices/cpu/compiler/channel_blocks.h"

namespace graphrun::devices::cpu {

/// A WorkCandidate is a kernel that could compute a piece of work, with the layouts it wants.
struct WorkCandidate {
  std::vector<TensorDesc> operands;     ///< as it reads them, one an operand of the work
  std::vector<TensorDesc> results;      ///< as it leaves them
  double nanos = 0;                     ///< estimated or measured
  Instruction instruction;              ///< Kind::kLibrary: with the layouts that were asked for
  const KernelEntry* kernel = nullptr;  ///< Kind::kLibrary
  LayoutChoice choice;                  ///< Kind::kLibrary
  MapLayouts map;                       ///< Kind::kMap
  /// A concatenation in place: where each operand lies in the result, in bytes; a split in place:
  /// where each result lies in the operand. Empty: a copy.
  std::vector<uint64_t> parts;
};

/// A piece of work: becomes one instruction, or none (a view).
struct Work {
  enum class Kind : uint8_t {
    kLibrary,  ///< a kernel of the kernel list
    kMap,      ///< a generated loop nest
    kOther     ///< a view, an edge, the return: dense in, dense out
  };
  Kind kind = Kind::kOther;
  mlir::Operation* op = nullptr;
  /// Values that it reads: produced by other work, or constants, inputs of the partition. A library
  /// instruction's operands come first, then those of its post-ops.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Value> results;
  LibraryInstruction library;             ///< Kind::kLibrary
  std::vector<WorkCandidate> candidates;  ///< at least one
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_WORK_H_
