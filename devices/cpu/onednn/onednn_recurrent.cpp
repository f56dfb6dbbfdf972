// Recurrent cells with their usual activations.
#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/onednn/onednn_kernels.h"
#include "devices/functions/activations.h"

namespace graphrun::devices::cpu {
namespace {

using Dims = std::vector<int64_t>;

absl::Status decline(const Instruction& instruction, absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat(instruction.operation, ": oneDNN's cells have no ", what));
}

/// The options that the library has no cell for.
absl::Status checkOptions(const Instruction& instruction, absl::string_view cell) {
  for (const auto* list : {&instruction.inputs, &instruction.outputs}) {
    for (const Argument& argument : *list) {
      if (argument.desc.type != runtime::ElementType::kF32) {
        return decline(instruction, "operand of another type than f32");
      }
    }
  }
  GR_ASSIGN_OR_RETURN(bool keepSums, attributeOr(instruction, "keep_sums", false));
  if (keepSums) {
    return decline(instruction, "sums to keep");
  }
  GR_ASSIGN_OR_RETURN(double clip, attributeOr(instruction, "clip", 0.0));
  GR_ASSIGN_OR_RETURN(bool inputForget, attributeOr(instruction, "input_forget", false));
  if (clip > 0 || inputForget) {
    return decline(instruction, "clip or coupled gates");
  }
  GR_ASSIGN_OR_RETURN(auto names, attribute<std::vector<std::string>>(instruction, "activations"));
  const auto* row = functions::activations::cellOf({cell.data(), cell.size()});
  if (row == nullptr || (cell != "rnn" && !row->isUsual(names))) {
    return decline(instruction, "other activations than the usual ones");
  }
  return absl::OkStatus();
}

/// Dims of one layer, checked against the operands. The library wants none of them to be 0.
struct Sizes {
  int64_t steps, batch, inputs, gates, hidden;
};

absl::StatusOr<Sizes> sizesOf(const Instruction& instruction, absl::string_view cell) {
  bool lstm = cell == "lstm";
  size_t least = lstm ? 6 : 5;
  bool ok = instruction.inputs.size() >= least &&
            instruction.inputs.size() <= least + (lstm ? 1 : 0) &&
            instruction.outputs.size() == (lstm ? 3U : 2U);
  if (!ok || instruction.inputs[0].desc.dims.size() != 3 ||
      instruction.outputs[1].desc.dims.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(instruction.operation, ": the operands do not fit the cell"));
  }
  const Dims& x = instruction.inputs[0].desc.dims;
  Sizes sizes{x[0], x[1], x[2], functions::activations::cellOf({cell.data(), cell.size()})->gates,
              instruction.outputs[1].desc.dims[1]};
  if (sizes.steps < 1 || sizes.batch < 1 || sizes.inputs < 1 || sizes.hidden < 1) {
    return decline(instruction, "empty tensors");
  }
  return sizes;
}

/// A layer's operands as the library sees them, in the order of the instruction.
struct Layer {
  std::vector<PlannedOperand> inputs;
  std::vector<PlannedOperand> outputs;
};

/// The matrix of G*H rows as L x D x columns x G x H: in a layout that the library chooses, or
/// dense in these dims.
absl::StatusOr<PlannedOperand> planMatrix(const TensorDesc& desc, const Sizes& s, int64_t columns,
                                          bool chosen) {
  int64_t all = s.gates * s.hidden * columns;
  Dims dims = {1, 1, columns, s.gates, s.hidden};
  GR_ASSIGN_OR_RETURN(PlannedOperand planned,
                      planOperand(desc, dims, {all, all, 1, s.hidden * columns, columns}));
  if (desc.any && !chosen) {
    GR_ASSIGN_OR_RETURN(planned.desc, memoryDesc(TensorDesc{desc.type, dims}));
  }
  return planned;
}

/// An operand whose layout the library does not choose.
absl::StatusOr<PlannedOperand> planFixed(TensorDesc desc, const Dims& dims) {
  desc.any = false;
  return planOperand(desc, dims);
}

absl::StatusOr<Layer> planLayer(const Instruction& instruction, const Sizes& s, int64_t biases,
                                bool chosen) {
  Layer layer;
  auto add = [](std::vector<PlannedOperand>& list, absl::StatusOr<PlannedOperand> operand) {
    GR_RETURN_IF_ERROR(operand.status());
    list.push_back(*std::move(operand));
    return absl::OkStatus();
  };
  auto in = [&](size_t i) -> const TensorDesc& { return instruction.inputs[i].desc; };
  Dims last = {1, 1, s.batch, s.hidden};
  GR_RETURN_IF_ERROR(add(layer.inputs, planFixed(in(0), {s.steps, s.batch, s.inputs})));
  GR_RETURN_IF_ERROR(add(layer.inputs, planMatrix(in(1), s, s.inputs, chosen)));
  GR_RETURN_IF_ERROR(add(layer.inputs, planMatrix(in(2), s, s.hidden, chosen)));
  GR_RETURN_IF_ERROR(add(layer.inputs, planFixed(in(3), {1, 1, biases, s.hidden})));
  for (size_t i = 4; i < instruction.inputs.size(); ++i) {
    GR_RETURN_IF_ERROR(
        add(layer.inputs, planFixed(in(i), i == 6 ? Dims{1, 1, 3, s.hidden} : last)));
  }
  GR_RETURN_IF_ERROR(
      add(layer.outputs, planFixed(instruction.outputs[0].desc, {s.steps, s.batch, s.hidden})));
  for (size_t i = 1; i < instruction.outputs.size(); ++i) {
    GR_RETURN_IF_ERROR(add(layer.outputs, planFixed(instruction.outputs[i].desc, last)));
  }
  return layer;
}

constexpr auto kInference = dnnl::prop_kind::forward_inference;

/// Makes the primitive of one of the three cells without a state.
template <typename Primitive, typename... First>
dnnl::primitive_desc_base makeCell(const Layer& l, const dnnl::primitive_attr& attributes,
                                   const dnnl::engine& engine, First... first) {
  typename Primitive::desc desc(kInference, first..., l.inputs[0].desc, l.inputs[4].desc,
                                l.inputs[1].desc, l.inputs[2].desc, l.inputs[3].desc,
                                l.outputs[0].desc, l.outputs[1].desc);
  return typename Primitive::primitive_desc(desc, attributes, engine);
}

dnnl::primitive_desc_base makeLstm(const Layer& l, const dnnl::primitive_attr& attributes,
                                   const dnnl::engine& engine, dnnl::rnn_direction direction) {
  using Primitive = dnnl::lstm_forward;
  auto in = [&](size_t i) { return l.inputs[i].desc; };
  auto out = [&](size_t i) { return l.outputs[i].desc; };
  auto desc = l.inputs.size() == 7
                  ? Primitive::desc(kInference, direction, in(0), in(4), in(5), in(1), in(2), in(6),
                                    in(3), out(0), out(1), out(2))
                  : Primitive::desc(kInference, direction, in(0), in(4), in(5), in(1), in(2), in(3),
                                    out(0), out(1), out(2));
  return Primitive::primitive_desc(desc, attributes, engine);
}

absl::StatusOr<dnnl::algorithm> rnnActivation(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(auto names, attribute<std::vector<std::string>>(instruction, "activations"));
  if (names == std::vector<std::string>{"tanh"}) {
    return dnnl::algorithm::eltwise_tanh;
  }
  if (names == std::vector<std::string>{"relu"}) {
    return dnnl::algorithm::eltwise_relu;
  }
  if (names == std::vector<std::string>{"sigmoid"}) {
    return dnnl::algorithm::eltwise_logistic;
  }
  return decline(instruction, "such activation");
}

/// The cell's primitive for operands laid out as in `layer`.
absl::StatusOr<PrimitivePlan> planCell(const Instruction& instruction, const std::string& cell,
                                       const Layer& layer, const dnnl::engine& engine) {
  GR_ASSIGN_OR_RETURN(bool reverse, attributeOr(instruction, "reverse", false));
  GR_ASSIGN_OR_RETURN(bool linear, attributeOr(instruction, "linear_before_reset", false));
  auto direction = reverse ? dnnl::rnn_direction::unidirectional_right2left
                           : dnnl::rnn_direction::unidirectional_left2right;
  dnnl::algorithm activation = dnnl::algorithm::undef;
  if (cell == "rnn") {
    GR_ASSIGN_OR_RETURN(activation, rnnActivation(instruction));
  }
  return planWithPostOps(
      instruction, instruction.outputs[0].desc.dims,
      [&](const dnnl::primitive_attr& attributes) -> dnnl::primitive_desc_base {
        if (cell == "lstm") {
          return makeLstm(layer, attributes, engine, direction);
        }
        if (cell == "rnn") {
          return makeCell<dnnl::vanilla_rnn_forward>(layer, attributes, engine, activation,
                                                     direction);
        }
        return linear ? makeCell<dnnl::lbr_gru_forward>(layer, attributes, engine, direction)
                      : makeCell<dnnl::gru_forward>(layer, attributes, engine, direction);
      });
}

/// True when the library wants a matrix of weights in a form without strides, which a buffer's desc
/// cannot hold.
bool hasPackedWeights(const PrimitivePlan& plan) {
  auto isPacked = [&](int argument) {
    dnnl::memory::desc desc = plan.descriptor.query_md(dnnl::query::exec_arg_md, argument);
    return desc.data.format_kind == dnnl_format_kind_rnn_packed;
  };
  return isPacked(DNNL_ARG_WEIGHTS_LAYER) || isPacked(DNNL_ARG_WEIGHTS_ITER);
}

}  // namespace

absl::StatusOr<PrimitivePlan> planRecurrent(const Instruction& instruction,
                                            const dnnl::engine& engine) {
  GR_ASSIGN_OR_RETURN(std::string cell, attribute<std::string>(instruction, "cell"));
  GR_RETURN_IF_ERROR(requireNoPostOps(instruction));
  GR_RETURN_IF_ERROR(checkOptions(instruction, cell));
  GR_ASSIGN_OR_RETURN(Sizes sizes, sizesOf(instruction, cell));
  GR_ASSIGN_OR_RETURN(bool linear, attributeOr(instruction, "linear_before_reset", false));
  int64_t biases = sizes.gates + (linear ? 1 : 0);
  // Of one matrix alone the library may choose a layout that its kernel for the other's cannot
  // read.
  bool chosen = instruction.inputs[1].desc.any && instruction.inputs[2].desc.any;
  GR_ASSIGN_OR_RETURN(Layer layer, planLayer(instruction, sizes, biases, chosen));
  GR_ASSIGN_OR_RETURN(PrimitivePlan plan, planCell(instruction, cell, layer, engine));
  if (hasPackedWeights(plan)) {
    GR_ASSIGN_OR_RETURN(layer, planLayer(instruction, sizes, biases, false));
    GR_ASSIGN_OR_RETURN(plan, planCell(instruction, cell, layer, engine));
  }
  static constexpr int kInputs[] = {
      DNNL_ARG_SRC_LAYER, DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER,    DNNL_ARG_BIAS,
      DNNL_ARG_SRC_ITER,  DNNL_ARG_SRC_ITER_C,    DNNL_ARG_WEIGHTS_PEEPHOLE};
  static constexpr int kOutputs[] = {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C};
  auto bind = [&](int id, Operand operand, const PlannedOperand& planned) {
    plan.arguments.push_back(
        {id, operand, plan.descriptor.query_md(dnnl::query::exec_arg_md, id), planned.source});
  };
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    bind(kInputs[i], {Operand::Role::kInput, i}, layer.inputs[i]);
  }
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    bind(kOutputs[i], {Operand::Role::kOutput, i}, layer.outputs[i]);
  }
  return plan;
}

}  // namespace graphrun::devices::cpu
