// Attributes that are one of a few words.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_ENUM_ATTRIBUTE_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_ENUM_ATTRIBUTE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "devices/executable/executable.h"
#include "runtime/base/status.h"

namespace graphrun::devices {

/// The enumerator of attribute `name`, whose word stands at its position in `words`;
/// InvalidArgument for any other word.
template <typename Enum, size_t N>
absl::StatusOr<Enum> enumAttribute(const Instruction& instruction, const char* name,
                                   const absl::string_view (&words)[N]) {
  GR_ASSIGN_OR_RETURN(std::string word, attribute<std::string>(instruction, name));
  for (size_t i = 0; i < N; ++i) {
    if (words[i] == word) {
      return static_cast<Enum>(i);
    }
  }
  return invalidInstruction(instruction,
                            absl::StrCat(name, " is \"", word, "\", which is unknown"));
}

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_ENUM_ATTRIBUTE_H_
