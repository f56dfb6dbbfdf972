// An attention instruction is read here, its operands seen through views or not.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_ATTENTION_INSTRUCTION_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_ATTENTION_INSTRUCTION_H_

#include <array>

#include "devices/executable/executable.h"

namespace graphrun::devices {

/// An AttentionView says where the element (n, head, row, column) of an operand or result lies, in
/// elements.
struct AttentionView {
  int64_t offset = 0;
  std::array<int64_t, 4> strides = {};

  int64_t at(int64_t n, int64_t head, int64_t row) const {
    return offset + n * strides[0] + head * strides[1] + row * strides[2];
  }
};

/// Sizes as in the operation's description: N, H, G, S, T, D and V.
struct Attention {
  int64_t batch = 0, heads = 0, keyHeads = 0, rows = 0, keys = 0, width = 0, valueWidth = 0;
  AttentionView query, key, value, output;
  bool hasMask = false, causal = false;
  std::array<int64_t, 4> mask = {};  ///< its strides, 0 where it broadcasts
  double scale = 1;

  /// The head of keys and values that head `head` of the queries has.
  int64_t keyHead(int64_t head) const { return head / (heads / keyHeads); }
};

/// Reads an instruction with dense query, key and value, perhaps a mask, and a result; attributes
/// "scale" and "causal". Two more let it read and write views of them, so that heads need no
/// transposition and packed projections no copies: "sizes" holds N, H, G, S, T, D and V; "views"
/// holds for query, key, value and result the first element and the strides of N, heads, rows and
/// columns. Types are the caller's to check. InvalidArgument for what does not fit.
absl::StatusOr<Attention> attentionOf(const Instruction& instruction);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_ATTENTION_INSTRUCTION_H_
