#include "devices/cpu/vectors/instructions.h"

#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace graphrun::devices::cpu {
namespace {

using Limit = absl::StatusOr<std::optional<InstructionSet>>;

struct NamedSet {
  const char* name;
  InstructionSet set;
  dnnl_cpu_isa_t library;
};

/// The sets of this processor's family, narrowest first.
const std::vector<NamedSet>& namedSets() {
  static const std::vector<NamedSet> kSets = {
#if defined(__x86_64__)
      {"sse2", InstructionSet::kSse2, dnnl_cpu_isa_sse41},
      {"avx2", InstructionSet::kAvx2, dnnl_cpu_isa_avx2},
      {"avx2_vnni", InstructionSet::kAvx2Vnni, dnnl_cpu_isa_avx2_vnni},
      {"avx512", InstructionSet::kAvx512, dnnl_cpu_isa_avx512_core},
      {"avx512_vnni", InstructionSet::kAvx512Vnni, dnnl_cpu_isa_avx512_core_vnni},
      {"avx512_bf16", InstructionSet::kAvx512Bf16, dnnl_cpu_isa_avx512_core_bf16},
      {"amx", InstructionSet::kAmx, dnnl_cpu_isa_avx512_core_amx},
#endif
  };
  return kSets;
}

std::string namesOfSets() {
  std::string names;
  for (const NamedSet& named : namedSets()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", named.name);
  }
  return names;
}

const NamedSet* find(InstructionSet set) {
  for (const NamedSet& named : namedSets()) {
    if (named.set == set) {
      return &named;
    }
  }
  return nullptr;
}

Limit readLimit() {
  const char* text = std::getenv(kInstructionLimitVariable);
  Limit limit = parseInstructionLimit(text == nullptr ? "" : text);
  if (limit.ok() && limit->has_value() &&
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
      dnnl_set_max_cpu_isa(find(**limit)->library) != dnnl_success) {
    return absl::InternalError(
        absl::StrCat(kInstructionLimitVariable, ": oneDNN was used before it was limited"));
  }
  return limit;
}

InstructionSet machineLoops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kSse2;
}

InstructionSet limitedLoops() {
  const Limit& limit = instructionLimit();
  InstructionSet machine = machineLoops();
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  if (!limit.ok() || !limit->has_value() || **limit >= machine) {
    return machine;
  }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
  return **limit >= InstructionSet::kAvx2 ? InstructionSet::kAvx2 : InstructionSet::kSse2;
}

std::string nameOfLibrarySet() {
  for (const NamedSet& named : namedSets()) {
    if (static_cast<int>(named.library) == libraryInstructions()) {
      return named.set == InstructionSet::kSse2 ? "sse4.1" : named.name;
    }
  }
  return absl::StrCat("of number ", absl::Hex(libraryInstructions()));
}

}  // namespace

Limit parseInstructionLimit(absl::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  for (const NamedSet& named : namedSets()) {
    if (absl::EqualsIgnoreCase(text, named.name)) {
      return named.set;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(kInstructionLimitVariable, ": got \"", text, "\", expected ",
                   namedSets().empty() ? "nothing: this processor has no narrower instructions"
                                       : absl::StrCat("one of ", namesOfSets()),
                   "; unset it to use all that the processor has"));
}

const Limit& instructionLimit() {
  static const Limit kLimit = readLimit();
  return kLimit;
}

InstructionSet loopInstructions() {
  static const InstructionSet kSet = limitedLoops();
  return kSet;
}

int libraryInstructions() {
  static_cast<void>(instructionLimit());
  return static_cast<int>(dnnl_get_effective_cpu_isa());
}

std::string describeInstructions() {
  const Limit& limit = instructionLimit();
  if (!limit.ok()) {
    return std::string(limit.status().message());
  }
  const NamedSet* loops = find(loopInstructions());
  std::string text =
      absl::StrCat("instructions: ", loops == nullptr ? "the machine's" : loops->name,
                   " in loops, ", nameOfLibrarySet(), " in oneDNN");
  if (limit->has_value()) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was checked before
    absl::StrAppend(&text, "; ", kInstructionLimitVariable, " allows ", find(**limit)->name);
  } else if (!namedSets().empty()) {
    absl::StrAppend(&text, "; ", kInstructionLimitVariable, " may limit them to ", namesOfSets());
  }
  return text;
}

bool sumsBytesExactly() {
  switch (libraryInstructions()) {
    case dnnl_cpu_isa_avx2_vnni:
    case dnnl_cpu_isa_avx512_core_vnni:
    case dnnl_cpu_isa_avx512_core_bf16:
    case dnnl_cpu_isa_avx512_core_amx:
      return true;
    default:
      return false;
  }
}

bool multipliesBFloat16() {
  switch (libraryInstructions()) {
    case dnnl_cpu_isa_avx512_core_bf16:
    case dnnl_cpu_isa_avx512_core_amx:
      return true;
    default:
      return false;
  }
}

}  // namespace graphrun::devices::cpu
