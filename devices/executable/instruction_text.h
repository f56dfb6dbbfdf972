// Instructions in words, to tell what is the same work.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_INSTRUCTION_TEXT_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_INSTRUCTION_TEXT_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "devices/executable/executable.h"

namespace graphrun::devices {

/// A TensorRole is what a tensor is to an instruction.
enum class TensorRole : uint8_t { kInput, kOther };
using TensorText = absl::FunctionRef<std::string(const TensorDesc& desc, TensorRole role)>;

/// Operation, attributes, tensors (as `tensor` tells them), post-ops; neither buffers nor labels,
/// nor numbers that decide nothing but values. One line, without tabs.
std::string textOfInstruction(const Instruction& instruction, TensorText tensor);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_INSTRUCTION_TEXT_H_
