#include "runtime/session/strings.h"

#include "absl/strings/str_cat.h"
#include "runtime/format/weight_table.h"

namespace graphrun::runtime {

PlanStrings::PlanStrings(const format::Plan& plan) {
  for (uint32_t i = 0; i < format::sizeOf(plan.strings()); ++i) {
    strings_.push_back(format::textOf(plan.strings()->Get(i)));
    numbers_.emplace(strings_.back(), i);
  }
  for (uint32_t i = 0; i < format::sizeOf(plan.string_values()); ++i) {
    values_.insert(format::textOf(plan.string_values()->Get(i)));
  }
}

int64_t RunStrings::numberOf(absl::string_view string) {
  if (auto known = plan_.numbers_.find(string); known != plan_.numbers_.end()) {
    return known->second;
  }
  auto next = static_cast<int64_t>(plan_.strings_.size() + strings_.size());
  auto [entry, isNew] = numbers_.emplace(string, next);
  if (isNew) {
    strings_.push_back(string);
  }
  return entry->second;
}

HostTensor RunStrings::numbersOf(const HostTensor& strings) {
  HostTensor numbers(TensorSpec{ElementType::kI64, strings.spec().dims});
  auto* number = static_cast<int64_t*>(numbers.data());
  for (const std::string& string : strings.strings()) {
    *number++ = numberOf(string);
  }
  return numbers;
}

absl::Status RunStrings::stringsOf(absl::string_view name, const HostTensor& numbers,
                                   HostTensor& strings) const {
  TensorSpec spec{ElementType::kString, numbers.spec().dims};
  if (strings.spec() != spec) {
    strings = HostTensor(spec);
  }
  absl::Span<const int64_t> from = numbers.as<int64_t>();
  const size_t planned = plan_.strings_.size();
  for (size_t i = 0; i < from.size(); ++i) {
    auto number = static_cast<uint64_t>(from[i]);  // a negative one becomes too large
    if (number >= planned + strings_.size()) {
      return absl::DataLossError(absl::StrCat("output '", name, "': element ", i, " is string ",
                                              from[i], ", expected 0 to ",
                                              planned + strings_.size(), " (exclusive)"));
    }
    strings.strings()[i] =
        std::string(number < planned ? plan_.strings_[number] : strings_[number - planned]);
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
