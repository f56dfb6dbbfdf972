// Strings at the border: plans and devices know them as numbers.
#ifndef GRAPHRUN_RUNTIME_SESSION_STRINGS_H_
#define GRAPHRUN_RUNTIME_SESSION_STRINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/base/tensor.h"
#include "runtime/format/plan_generated.h"

namespace graphrun::runtime {

/// The strings of a plan by their numbers. Borrows the plan, which has passed the verifier.
class PlanStrings {
 public:
  PlanStrings() = default;
  explicit PlanStrings(const format::Plan& plan);

  /// True when the input or output of the plan called `name` is of strings.
  bool has(absl::string_view name) const { return values_.contains(name); }

 private:
  friend class RunStrings;
  absl::flat_hash_set<absl::string_view> values_;
  absl::flat_hash_map<absl::string_view, int64_t> numbers_;
  std::vector<absl::string_view> strings_;
};

/// The strings of one run of a plan: those of its inputs that the plan has not get the numbers
/// behind the plan's. They go with this object, so that nothing grows from run to run. Borrows the
/// plan's strings and the tensors that it is given.
class RunStrings {
 public:
  explicit RunStrings(const PlanStrings& plan) : plan_(plan) {}

  /// The numbers (i64) of a tensor of strings.
  HostTensor numbersOf(const HostTensor& strings);
  /// The strings that `numbers` (i64) stand for. DataLoss for a number that is no string's.
  absl::Status stringsOf(absl::string_view name, const HostTensor& numbers,
                         HostTensor& strings) const;

 private:
  int64_t numberOf(absl::string_view string);

  const PlanStrings& plan_;
  absl::flat_hash_map<absl::string_view, int64_t> numbers_;
  std::vector<absl::string_view> strings_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_STRINGS_H_
