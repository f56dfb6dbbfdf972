// Instructions of gr.attention, for tests.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_ATTENTION_INSTRUCTIONS_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_ATTENTION_INSTRUCTIONS_H_

#include <vector>

#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

/// N, H, G, S, T, D and V as in the operation's description; buffers 0 … for query, key, value,
/// mask and result.
struct AttentionCase {
  int64_t batch = 2, heads = 4, keyHeads = 4, rows = 5, keys = 5, width = 16, valueWidth = 16;
  std::vector<int64_t> mask = {};  ///< its dims; empty: none
  bool wideMask = false;           ///< of f32, whatever the type
  bool causal = false;
  /// Query, key and value are columns of N x S x 3HD, the result is N x S x HV.
  bool packed = false;
  runtime::ElementType type = runtime::ElementType::kBF16;
};

inline Instruction instructionOf(const AttentionCase& c) {
  Instruction instruction;
  instruction.operation = instruction.label = "gr.attention";
  instruction.attributes = {{"scale", 0.25}, {"causal", c.causal}};
  uint32_t buffer = 0;
  auto argument = [&](std::vector<int64_t> dims) {
    return Argument{buffer++, {c.type, std::move(dims), {}, false}};
  };
  int64_t columns = c.heads * c.width;
  if (c.packed) {
    instruction.inputs.assign(3, {});
    for (Argument& input : instruction.inputs) {
      input = argument({c.batch, c.rows, 3 * columns});
    }
    instruction.attributes["sizes"] =
        std::vector<int64_t>{c.batch, c.heads, c.heads, c.rows, c.rows, c.width, c.width};
    std::vector<int64_t> views;
    for (int64_t i = 0; i < 3; ++i) {
      views.insert(views.end(), {i * columns, c.rows * 3 * columns, c.width, 3 * columns, 1});
    }
    views.insert(views.end(), {0, c.rows * columns, c.width, columns, 1});
    instruction.attributes["views"] = views;
  } else {
    instruction.inputs = {argument({c.batch, c.heads, c.rows, c.width}),
                          argument({c.batch, c.keyHeads, c.keys, c.width}),
                          argument({c.batch, c.keyHeads, c.keys, c.valueWidth})};
  }
  if (!c.mask.empty()) {
    instruction.inputs.push_back(argument(c.mask));
    instruction.inputs[3].desc.type = c.wideMask ? runtime::ElementType::kF32 : c.type;
  }
  instruction.outputs = {c.packed ? argument({c.batch, c.rows, columns})
                                  : argument({c.batch, c.heads, c.rows, c.valueWidth})};
  return instruction;
}

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_ATTENTION_INSTRUCTIONS_H_
