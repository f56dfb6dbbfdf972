// Checks and choices of kernels that read their operands as these lie. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_GIVEN_LAYOUTS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_GIVEN_LAYOUTS_H_

#include <algorithm>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/base/onednn_layouts.h"

namespace graphrun::devices::cpu {

/// A choice that has the operands as they are given, and no result yet.
inline LayoutChoice givenLayouts(const Instruction& instruction) {
  LayoutChoice choice;
  for (const Argument& input : instruction.inputs) {
    choice.inputs.push_back(input.desc);
    choice.inputs.back().any = false;
    choice.sources.push_back(TensorDesc{input.desc.type, input.desc.dims, {}, false});
  }
  return choice;
}

/// True if the first result may lie as `desc` says: its layout is open, or is that one.
inline bool mayLieAs(const Instruction& instruction, const TensorDesc& desc) {
  const TensorDesc& result = instruction.outputs[0].desc;
  return result.any || sameLayout(desc, result);
}

/// True for an instruction of f32 throughout with two operands, perhaps a third, and one result.
inline bool isFloatProduct(const Instruction& instruction) {
  auto isFloat = [](const Argument& a) { return a.desc.type == runtime::ElementType::kF32; };
  return instruction.inputs.size() >= 2 && instruction.inputs.size() <= 3 &&
         instruction.outputs.size() == 1 && isFloat(instruction.outputs[0]) &&
         std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isFloat);
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_GIVEN_LAYOUTS_H_
