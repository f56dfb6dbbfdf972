// The work items of a GPU's compiler, each with kernels that could compute it.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_ITEM_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_ITEM_H_

#include "devices/compiler/work_item.h"
#include "devices/cuda/compiler/emit/channels_last.h"
#include "devices/cuda/compiler/emit/kernel_code.h"
#include "devices/cuda/compiler/library_choice.h"

namespace graphrun::devices::cuda {

enum class WorkKind : uint8_t {
  kLibrary,    ///< a kernel of the kernel list
  kGenerated,  ///< generated kernels
  kRecurrent,  ///< gr.recurrent: products through the library and generated cells
  kPlain       ///< a view, an edge, the return: dense in, dense out
};

/// A WorkCandidate is a kernel that could compute a work item, with the layouts it wants. Its
/// `nanos` are what it takes longer than the fastest.
struct WorkCandidate : CandidateLayouts {
  LibraryChoice library;  ///< kLibrary; kRecurrent: of a step's product
  MapLayouts layouts;     ///< kGenerated, of a map
  AloneOperation seen;    ///< kGenerated: what the kernel is built for, if not the operation
  bool isView = false;    ///< the result is where the operand is
};

/// Behind the operands of gr.recurrent is the product of all inputs and the weights.
using WorkItem = WorkItemOf<WorkKind, WorkCandidate>;

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_ITEM_H_
