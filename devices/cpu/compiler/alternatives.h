// The ways to do a piece of work: kernels, algorithms, layouts.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_ALTERNATIVES_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_ALTERNATIVES_H_

#include <string>
#include <unordered_map>

#include "devices/cpu/compiler/instruction_costs.h"

namespace graphrun::devices::cpu {

/// Finds alternatives; asks the kernel list once for equal instructions. One thread.
class Alternatives {
 public:
  /// `sparesMemory`: also ways that are only good for needing little, where that leaves the bits
  /// free. `refused`: kernels that are not to be chosen; outlives this.
  Alternatives(InstructionCosts& costs, bool sparesMemory, const RefusedKernels& refused);

  /// Returns the alternatives for a library instruction, at least one: dense, and where the
  /// operation has channels also channels last and in blocks, by each algorithm. Unimplemented,
  /// with all reasons, when no kernel takes it.
  absl::StatusOr<std::vector<Alternative>> ofLibrary(const LibraryInstruction& library,
                                                     mlir::Operation* op);

  /// Returns the alternatives for a group or operation that a generated kernel computes.
  std::vector<Alternative> ofMap(mlir::Operation* op) const;

  /// Returns the alternatives for work that reads and leaves its tensors dense.
  static std::vector<Alternative> ofOther(const Work& work);

 private:
  struct Request;
  static std::vector<Request> requestsFor(const LibraryInstruction& library, int64_t block,
                                          bool approximate);
  static std::optional<Instruction> apply(const Request& request,
                                          const LibraryInstruction& library);
  absl::StatusOr<Candidate> ask(const Instruction& instruction);
  absl::StatusOr<Alternative> alternative(Instruction instruction,
                                          const LibraryInstruction& library);
  /// Notes when a concatenation in `layout`, whose result stays inside, needs no copies.
  static void addParts(KernelLayout layout, mlir::Value result, Alternative& way);
  /// The split of a tensor that is made here in each layout where its results are pieces of it.
  std::vector<Alternative> splitsInPlace(const LibraryInstruction& library) const;
  /// Adds the last of `ways` on one thread, where that may be the faster.
  void addNarrow(const LibraryInstruction& library, std::vector<Alternative>& ways);
  /// Adds a way that leaves weights as they are.
  void addSparing(const LibraryInstruction& library, std::vector<Alternative>& ways);

  InstructionCosts& costs_;
  bool sparesMemory_;
  const RefusedKernels& refused_;
  int64_t block_;  ///< channels in a block of this CPU's convolutions
  std::unordered_map<std::string, absl::StatusOr<Candidate>> asked_;  // by all of an instruction
};

/// True for an alternative that the library or GraphRun has for completeness only.
bool isReference(const Alternative& alternative);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_ALTERNATIVES_H_
