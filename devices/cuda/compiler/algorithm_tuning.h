// Which of its plans a library runs an instruction by: measured on the GPU, and remembered.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_ALGORITHM_TUNING_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_ALGORITHM_TUNING_H_

#include <map>
#include <optional>
#include <string>

#include "devices/cuda/program/algorithm_trials.h"
#include "devices/device_compiler.h"

namespace graphrun::devices::cuda {

/// The fastest plan of instructions on one kind of GPU with libraries of one version. One thread.
class PlanChoices {
 public:
  /// Most instructions that are remembered; those that were not asked for longest are forgotten
  /// first.
  static constexpr size_t kMostInstructions = 16384;

  /// Reads what `text()` wrote. A text of another version is ignored as a whole, and of any text
  /// the lines that are damaged.
  explicit PlanChoices(absl::string_view text = "");

  std::optional<size_t> find(const Instruction& instruction);
  void add(const Instruction& instruction, size_t plan);

  /// Everything that is known, a line an instruction; what was asked for last comes last.
  std::string text() const;

 private:
  struct Known {
    size_t plan;
    uint64_t used;  ///< the higher, the later
  };
  std::map<std::string, Known> plans_;  ///< by the instruction in words
  uint64_t clock_ = 0;
};

/// The fastest of these plans, at least one; the first, which the library would choose, where
/// another one is faster by less than what measuring is wrong by.
size_t fastestPlan(const std::vector<PlanTime>& times);

/// Tells the libraries' instructions of `executable` their fastest plan (attribute "plan") as far
/// as it is known from `tuning`, or can be measured within its budget on GPU `index` of this
/// machine, and leaves there what is known then. In deterministic sessions all have their library's
/// first.
void choosePlans(Executable& executable, uint32_t index, Libraries& libraries, Tuning& tuning);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_ALGORITHM_TUNING_H_
