// Instructions for cuDNN's kernels, for tests.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_CUDNN_INSTRUCTIONS_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_CUDNN_INSTRUCTIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "devices/cuda/kernels/layouts.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

using Dims = std::vector<int64_t>;

/// A convolution, or with an empty filter a pool, with buffers 0 … for inputs, result, operands of
/// post-ops and scratch, in that order.
struct WindowCase {
  std::string operation = "gr.conv";
  Dims input, filter, result;
  Dims kernel;  ///< of a pool
  Dims strides = {}, dilations = {}, pads = {};
  int64_t groups = 1;
  bool bias = false;
  std::vector<PostOp> postOps = {};
  runtime::ElementType type = runtime::ElementType::kF32;
  bool ofBytes = false;  ///< u8 by i8 to i32, in place of `type`
  bool channelsLast = false;
  bool tf32 = false;
  Attributes attributes = {};  ///< further ones
};

inline TensorDesc imageDesc(const WindowCase& c, Dims dims) {
  bool strided = c.channelsLast && dims.size() > 2;
  Dims strides = strided ? channelsLastStrides(dims) : Dims();
  return strided ? stridedDesc(c.type, std::move(dims), strides)
                 : TensorDesc{c.type, std::move(dims), {}, false};
}

/// As `desc`, of another type.
inline TensorDesc retyped(TensorDesc desc, runtime::ElementType type) {
  desc.type = type;
  return desc;
}

inline PostOp eltwise(std::string algorithm, float alpha = 0) {
  return {PostOpKind::kEltwise, std::move(algorithm), alpha, 0, {}};
}

/// A post-op with an operand of `dims`, of the case's type and layout.
inline PostOp binary(PostOpKind kind, const Dims& dims) {
  return {kind, "", 0, 0, Argument{0, {runtime::ElementType::kInvalid, dims, {}, false}}};
}

inline Instruction instructionOf(const WindowCase& c) {
  Instruction instruction;
  instruction.operation = instruction.label = c.operation;
  instruction.attributes = c.attributes;
  uint32_t buffer = 0;
  instruction.inputs = {{buffer++, imageDesc(c, c.input)}};
  if (c.kernel.empty()) {
    instruction.inputs.push_back({buffer++, imageDesc(c, c.filter)});
    instruction.attributes["groups"] = c.groups;
    instruction.attributes["tf32"] = c.tf32;
  } else {
    instruction.attributes["kernel"] = c.kernel;
  }
  if (c.bias) {
    instruction.inputs.push_back({buffer++, {c.type, {c.result[1]}, {}, false}});
  }
  for (auto [name, values] :
       {std::pair{"strides", &c.strides}, {"dilations", &c.dilations}, {"pads", &c.pads}}) {
    if (!values->empty()) {
      instruction.attributes[name] = *values;
    }
  }
  instruction.outputs = {{buffer++, imageDesc(c, c.result)}};
  instruction.postOps = c.postOps;
  for (PostOp& post : instruction.postOps) {
    if (post.operand) {
      *post.operand = {buffer++, imageDesc(c, post.operand->desc.dims)};
    }
  }
  if (c.ofBytes) {
    for (auto [argument, type] : {std::pair{&instruction.inputs[0], runtime::ElementType::kU8},
                                  {&instruction.inputs[1], runtime::ElementType::kI8},
                                  {&instruction.outputs[0], runtime::ElementType::kI32}}) {
      argument->desc = retyped(argument->desc, type);
    }
  }
  return instruction;
}

/// Rows of bytes by a matrix that lies transposed, of these dims.
inline Instruction byteProduct(Dims rows, Dims matrix, Dims result) {
  using runtime::ElementType;
  Instruction instruction;
  instruction.operation = instruction.label = "gr.matmul";
  instruction.attributes["transpose_rhs"] = true;
  instruction.inputs = {{0, {ElementType::kU8, std::move(rows), {}, false}},
                        {1, {ElementType::kI8, std::move(matrix), {}, false}}};
  instruction.outputs = {{2, {ElementType::kI32, std::move(result), {}, false}}};
  return instruction;
}

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_CUDNN_INSTRUCTIONS_H_
