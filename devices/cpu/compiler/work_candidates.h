// The kernels, algorithms and layouts that could compute a work item.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_WORK_CANDIDATES_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_WORK_CANDIDATES_H_

#include <string>
#include <unordered_map>

#include "devices/cpu/compiler/instruction_costs.h"

namespace graphrun::devices::cpu {

/// Finds candidates; asks the kernel list once for equal instructions. One thread.
class WorkCandidates {
 public:
  /// `sparesMemory`: also candidates that are only good for needing little, where that leaves the
  /// bits free. `refused`: kernels that are not to be chosen; outlives this.
  WorkCandidates(InstructionCosts& costs, bool sparesMemory, const RefusedKernels& refused);

  /// Returns the candidates for a library instruction, at least one: dense, and where the
  /// operation has channels also channels last and in blocks, by each algorithm. Unimplemented,
  /// with all reasons, when no kernel takes it.
  absl::StatusOr<std::vector<WorkCandidate>> ofLibrary(LibraryInstruction library,
                                                       mlir::Operation* op);

  /// Returns the candidates for a group or operation that a generated kernel computes.
  std::vector<WorkCandidate> ofMap(mlir::Operation* op) const;

  /// Returns the candidates for an item that reads and leaves its tensors dense.
  static std::vector<WorkCandidate> ofOther(const WorkItem& item);

 private:
  struct Request;
  static std::vector<Request> requestsFor(const LibraryInstruction& library, int64_t block,
                                          bool approximate);
  static std::optional<Instruction> apply(const Request& request,
                                          const LibraryInstruction& library);
  absl::StatusOr<Candidate> ask(const Instruction& instruction);
  absl::StatusOr<WorkCandidate> candidateFor(Instruction instruction,
                                             const LibraryInstruction& library);
  /// Notes when a concatenation in `layout`, whose result stays inside, needs no copies.
  static void addParts(KernelLayout layout, mlir::Value result, WorkCandidate& candidate);
  /// The split of a tensor that is made here in each layout where its results are pieces of it.
  std::vector<WorkCandidate> splitsInPlace(const LibraryInstruction& library) const;
  /// Adds the last of `candidates` on one thread, where that may be the faster.
  void addNarrow(const LibraryInstruction& library, std::vector<WorkCandidate>& candidates);
  /// Adds a candidate that leaves weights as they are.
  void addSparing(const LibraryInstruction& library, std::vector<WorkCandidate>& candidates);

  InstructionCosts& costs_;
  bool sparesMemory_;
  const RefusedKernels& refused_;
  int64_t block_;  ///< channels in a block of this CPU's convolutions
  std::unordered_map<std::string, absl::StatusOr<Candidate>> asked_;  // by all of an instruction
};

/// True for a candidate that the library or GraphRun has for completeness only.
bool isReference(const WorkCandidate& candidate);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_WORK_CANDIDATES_H_
