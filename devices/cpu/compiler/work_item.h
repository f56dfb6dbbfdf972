// The work items of a CPU's compiler, each with kernels that could compute it.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_WORK_ITEM_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_WORK_ITEM_H_

#include <vector>

#include "devices/compiler/work_item.h"
#include "devices/cpu/base/kernel.h"
#include "devices/cpu/compiler/channel_blocks.h"

namespace graphrun::devices::cpu {

enum class WorkKind : uint8_t {
  kLibrary,  ///< a kernel of the kernel list
  kMap,      ///< a generated loop nest
  kOther     ///< a view, an edge, the return: dense in, dense out
};

/// A WorkCandidate is a kernel that could compute a work item, with the layouts it wants.
struct WorkCandidate : CandidateLayouts {
  Instruction instruction;              ///< kLibrary: with the layouts that were asked for
  const KernelEntry* kernel = nullptr;  ///< kLibrary
  LayoutChoice choice;                  ///< kLibrary
  MapLayouts map;                       ///< kMap
  /// A concatenation in place: where each operand lies in the result, in bytes; a split in place:
  /// where each result lies in the operand. Empty: a copy.
  std::vector<uint64_t> parts;
};

/// A work item of the CPU becomes one instruction, or none.
struct WorkItem : WorkItemOf<WorkKind, WorkCandidate> {
  LibraryInstruction library;  ///< kLibrary
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_WORK_ITEM_H_
