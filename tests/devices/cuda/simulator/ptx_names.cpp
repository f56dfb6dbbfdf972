#include "tests/devices/cuda/simulator/ptx_names.h"

#include <algorithm>

#include "absl/strings/numbers.h"

namespace graphrun::testing::ptx {
namespace {

constexpr std::array<absl::string_view, static_cast<size_t>(Special::kCount)> kSpecials = {
    "%tid.x",  "%tid.y",  "%tid.z",    "%ctaid.x",  "%ctaid.y",  "%ctaid.z", "%ntid.x",
    "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid",  "%warpid"};

Operand registerOperand(size_t index) {
  return {Operand::Kind::kRegister, "", static_cast<int64_t>(index), {}};
}

}  // namespace

void Names::declareRegister(absl::string_view name, Type type, std::vector<Type>& registers) {
  scopes_.back().names[std::string(name)] = registerOperand(registers.size());
  registers.push_back(type);
}

void Names::declareFamily(absl::string_view prefix, Type type, uint64_t count) {
  scopes_.back().families[std::string(prefix)] = {type, count};
}

void Names::declareAddress(absl::string_view name, Operand::Kind kind, uint64_t address) {
  scopes_.back().names[std::string(name)] = {
      kind, std::string(name), static_cast<int64_t>(address), {}};
}

std::optional<Operand> Names::find(absl::string_view name, std::vector<Type>& registers) {
  size_t prefix = name.find_last_not_of("0123456789") + 1;
  uint64_t number = 0;
  bool isNumbered = absl::SimpleAtoi(name.substr(prefix), &number);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->names.find(name); found != scope->names.end()) {
      return found->second;
    }
    auto family = scope->families.find(name.substr(0, prefix));
    if (isNumbered && family != scope->families.end() && number < family->second.count) {
      Operand made = registerOperand(registers.size());
      registers.push_back(family->second.type);
      return scope->names[std::string(name)] = made;
    }
  }
  return std::nullopt;
}

std::optional<Special> specialNamed(absl::string_view name) {
  const auto* found = std::find(kSpecials.begin(), kSpecials.end(), name);
  return found == kSpecials.end() ? std::nullopt
                                  : std::optional(static_cast<Special>(found - kSpecials.begin()));
}

}  // namespace graphrun::testing::ptx
