#include "devices/cuda/compiler/algorithm_tuning.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "devices/cuda/program/kernel_list.h"
#include "devices/executable/instruction_text.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace graphrun::devices::cuda {
namespace {

constexpr absl::string_view kHeader = "graphrun plans 1";
/// Another plan has to save this share of the first plan's time: a smaller difference is noise.
constexpr double kLeastGain = 0.02;

std::string tensorText(const TensorDesc& desc, TensorRole) {
  return absl::StrCat(" ", desc.spec().toString(), desc.layout.empty() ? "" : " channels last");
}

/// The instruction in words, with the room that plans have.
std::string keyOf(const Instruction& instruction) {
  return absl::StrCat(instruction.kernel, " ", textOfInstruction(instruction, tensorText), " in ",
                      instruction.scratch ? instruction.scratch->desc.spec().byteSize() : 0);
}

bool hasAlgorithms(const Instruction& instruction) {
  const KernelEntry* entry = findKernel(instruction.kernel);
  return entry != nullptr && entry->hasAlgorithms;
}

/// One compilation's measuring: the GPU is asked for when there is something to measure.
class Tuner {
 public:
  Tuner(uint32_t index, Libraries& libraries, Tuning& tuning)
      : index_(index),
        libraries_(libraries),
        tuning_(tuning),
        leftNanos_(static_cast<int64_t>(tuning.budgetNanos)),
        choices_(tuning.timings) {
    tuning_.complete = true;
  }

  void choose(Instruction& instruction) {
    std::optional<size_t> plan = choices_.find(instruction);
    if (!plan && leftNanos_ > 0) {
      plan = measure(instruction);
    }
    if (!plan) {
      tuning_.complete = false;
    } else if (*plan > 0) {
      instruction.attributes["plan"] = static_cast<int64_t>(*plan);
    }
  }

  void finish() {
    if (measured_) {
      tuning_.timings = choices_.text();
    }
  }

 private:
  std::optional<size_t> measure(const Instruction& instruction) {
    int64_t begin = runtime::nowNanos();
    absl::StatusOr<size_t> plan = tryPlans(instruction);
    leftNanos_ -= runtime::nowNanos() - begin;
    if (!plan.ok()) {
      runtime::log(runtime::LogLevel::kWarning,
                   absl::StrCat("the plans of ", instruction.label,
                                " are not measured: ", plan.status().message()));
      leftNanos_ = 0;
      return std::nullopt;
    }
    choices_.add(instruction, *plan);
    measured_ = true;
    return *plan;
  }

  absl::StatusOr<size_t> tryPlans(const Instruction& instruction) {
    if (trials_ == nullptr) {
      GR_ASSIGN_OR_RETURN(trials_, AlgorithmTrials::create(index_, libraries_));
    }
    GR_ASSIGN_OR_RETURN(std::vector<PlanTime> times, trials_->run(instruction));
    return fastestPlan(times);
  }

  uint32_t index_;
  Libraries& libraries_;
  Tuning& tuning_;
  int64_t leftNanos_;
  PlanChoices choices_;
  bool measured_ = false;
  std::unique_ptr<AlgorithmTrials> trials_;
};

}  // namespace

PlanChoices::PlanChoices(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.front() != kHeader) {
    return;
  }
  for (size_t i = 1; i < lines.size() && plans_.size() < kMostInstructions; ++i) {
    std::vector<absl::string_view> parts = absl::StrSplit(lines[i], '\t');
    size_t plan = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &plan) && plan < kMostAlgorithms) {
      plans_[std::string(parts[1])] = {plan, ++clock_};
    }
  }
}

std::optional<size_t> PlanChoices::find(const Instruction& instruction) {
  auto found = plans_.find(keyOf(instruction));
  if (found == plans_.end()) {
    return std::nullopt;
  }
  found->second.used = ++clock_;
  return found->second.plan;
}

void PlanChoices::add(const Instruction& instruction, size_t plan) {
  plans_[keyOf(instruction)] = {plan, ++clock_};
  if (plans_.size() > kMostInstructions) {
    plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
}

std::string PlanChoices::text() const {
  std::map<uint64_t, std::string> lines;  // by use
  for (const auto& [instruction, known] : plans_) {
    lines[known.used] = absl::StrCat(known.plan, "\t", instruction, "\n");
  }
  std::string text = absl::StrCat(kHeader, "\n");
  for (const auto& [used, line] : lines) {
    text += line;
  }
  return text;
}

size_t fastestPlan(const std::vector<PlanTime>& times) {
  auto fastest =
      std::min_element(times.begin(), times.end(),
                       [](const PlanTime& a, const PlanTime& b) { return a.nanos < b.nanos; });
  auto first = static_cast<double>(times[0].nanos);
  bool gains = static_cast<double>(fastest->nanos) < (1 - kLeastGain) * first;
  return gains ? fastest->plan : times[0].plan;
}

void choosePlans(Executable& executable, uint32_t index, Libraries& libraries, Tuning& tuning) {
  if (tuning.numerics == runtime::Numerics::kDeterministic) {
    tuning.complete = true;
    return;
  }
  Tuner tuner(index, libraries, tuning);
  for (Instruction& instruction : executable.instructions) {
    if (hasAlgorithms(instruction)) {
      tuner.choose(instruction);
    }
  }
  tuner.finish();
}

}  // namespace graphrun::devices::cuda
