#include "devices/cpu/compiler/lowering.h"

#include "absl/strings/str_cat.h"
#include "devices/cpu/compiler/attributes.h"
#include "devices/cpu/compiler/channel_blocks.h"
#include "devices/cpu/onednn_layouts.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::cpu {
namespace {

bool isConstant(mlir::Value value) {
  return ValueTable::resolve(value).getDefiningOp<ir::ConstantOp>() != nullptr;
}

/// Operations that choose the layout of their input instead of taking it as it comes.
bool choosesLayout(mlir::Operation* op) {
  bool poolsBytes = llvm::isa<ir::MaxPoolOp>(op) &&
                    mlir::getElementTypeOrSelf(op->getOperand(0).getType()).isInteger(8);
  return poolsBytes || llvm::isa<ir::ConvOp, ir::ConvTransposeOp>(op);
}

/// Appends the post-op for an element-wise operation of one operand; false when there is none.
bool appendEltwise(Step& step, mlir::Operation* op) {
  PostOp post;
  post.algorithm = op->getName().getStringRef().str();
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case<ir::LeakyReluOp, ir::EluOp>(
          [&](auto a) { post.alpha = static_cast<float>(a.getAlpha().convertToDouble()); })
      .Case([&](ir::ClipOp a) {
        post.alpha = static_cast<float>(a.getLow().convertToDouble());
        post.beta = static_cast<float>(a.getHigh().convertToDouble());
      })
      .Case([&](ir::HardSigmoidOp a) {
        post.alpha = static_cast<float>(a.getAlpha().convertToDouble());
        post.beta = static_cast<float>(a.getBeta().convertToDouble());
      })
      .Case([&](ir::GeluOp a) { post.alpha = a.getApproximate() ? 1.0F : 0.0F; });
  step.postOps.push_back(std::move(post));
  return op->getNumOperands() == 1;
}

std::optional<PostOpKind> binaryKind(mlir::Operation* op) {
  using Result = std::optional<PostOpKind>;
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([](ir::AddOp) { return PostOpKind::kBinaryAdd; })
      .Case([](ir::MulOp) { return PostOpKind::kBinaryMul; })
      .Case([](ir::SubOp) { return PostOpKind::kBinarySub; })
      .Case([](ir::DivOp) { return PostOpKind::kBinaryDiv; })
      .Case([](ir::MaxOp) { return PostOpKind::kBinaryMax; })
      .Case([](ir::MinOp) { return PostOpKind::kBinaryMin; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

/// The desc of `value` with leading dims of 1 up to `rank`.
TensorDesc extendRank(TensorDesc desc, size_t rank) {
  if (desc.dims.size() < rank) {
    desc.layout.clear();
    desc.dims.insert(desc.dims.begin(), rank - desc.dims.size(), 1);
  }
  return desc;
}

bool isReference(const Candidate& candidate) {
  return candidate.kernel->name == "reference" ||
         candidate.choice->implementation.starts_with("ref");
}

absl::Status annotateWith(mlir::Operation* op, const absl::Status& status) {
  return runtime::annotate(
      status, absl::StrCat(labelOf(op), " (", op->getName().getStringRef().str(), ")"));
}

}  // namespace

absl::Status Lowering::lower(mlir::func::FuncOp partition) {
  for (mlir::BlockArgument argument : partition.getArguments()) {
    uint32_t index = argument.getArgNumber();
    TensorDesc desc = denseDesc(argument);
    Buffer buffer;
    buffer.kind = BufferKind::kInput;
    buffer.index = index;
    GR_ASSIGN_OR_RETURN(buffer.bytes, layoutBytes(desc));
    uint32_t id = values_.newBuffer(std::move(buffer));
    values_.define(argument, id, desc);
    auto name = partition.getArgAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
    executable_.inputs.push_back({name ? name.str() : absl::StrCat("input", index), id, desc});
  }
  for (mlir::Operation& op : partition.front().without_terminator()) {
    if (absl::Status status = lowerOperation(&op); !status.ok()) {
      return annotateWith(&op, status);
    }
  }
  auto end = llvm::cast<mlir::func::ReturnOp>(partition.front().getTerminator());
  return lowerReturn(end, partition);
}

absl::Status Lowering::lowerOperation(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, absl::Status>(op)
      .Case([](ir::ConstantOp) { return absl::OkStatus(); })  // read where it is used
      .Case([&](ir::GroupOp group) { return lowerGroup(group); })
      .Case<ir::ReshapeOp, ir::SqueezeOp, ir::UnsqueezeOp>(
          [&](auto view) { return lowerView(view); })
      .Case([&](ir::SendOp send) { return lowerSend(send); })
      .Case([&](ir::RecvOp receive) { return lowerReceive(receive); })
      .Case([&](ir::ReduceOp reduce) {
        return isSpatialMean(reduce)
                   ? lowerSpatialMean(reduce)
                   : lowerLibrary(reduce, op->getOperands(), op->getResult(0), {});
      })
      .Default([&](mlir::Operation*) {
        return whyNotMapKernel(op).empty()
                   ? lowerMap(op)
                   : lowerLibrary(op, op->getOperands(), op->getResult(0), {});
      });
}

absl::Status Lowering::lowerGroup(ir::GroupOp group) {
  mlir::Block& block = group.getBody().front();
  auto body = llvm::to_vector(llvm::make_pointer_range(block.without_terminator()));
  absl::Status fused = absl::UnimplementedError("no operation");
  if (group.getKind() == "map" && whyNotMapKernel(group).empty()) {
    return lowerMap(group);
  }
  llvm::erase_if(body, [](mlir::Operation* op) { return llvm::isa<ir::ConstantOp>(op); });
  if (group.getKind() != "map" && group.getNumResults() == 1) {
    fused = lowerLibrary(body[0], body[0]->getOperands(), group.getResult(0),
                         llvm::ArrayRef(body).drop_front());
  }
  if (!absl::IsUnimplemented(fused)) {
    return fused;
  }
  // No kernel takes the group as a whole: its operations one by one.
  for (mlir::Operation* op : body) {
    GR_RETURN_IF_ERROR(lowerOperation(op));
  }
  for (auto [result, inner] : llvm::zip(group.getResults(), block.getTerminator()->getOperands())) {
    TensorDesc desc = values_.produced(inner);
    GR_ASSIGN_OR_RETURN(Argument place, values_.read(inner, desc));
    values_.define(result, place.buffer, desc);
  }
  return absl::OkStatus();
}

bool Lowering::diesAt(mlir::Value value, mlir::Operation* user) {
  value = ValueTable::resolve(value);
  mlir::Operation* producer = value.getDefiningOp();
  mlir::Operation* last = user->getParentOfType<ir::GroupOp>();
  last = last != nullptr ? last : user;
  if (producer == nullptr || producer->getBlock() != last->getBlock() ||
      llvm::isa<ir::ConstantOp, ir::ReshapeOp, ir::SqueezeOp, ir::UnsqueezeOp, ir::RecvOp,
                ir::ReduceOp>(producer)) {
    return false;
  }
  return llvm::all_of(value.getUsers(),
                      [&](mlir::Operation* other) {
                        bool shares =
                            llvm::isa<ir::ReshapeOp, ir::SqueezeOp, ir::UnsqueezeOp>(other);
                        // Whoever receives a sent tensor may read it until the step has ended.
                        bool lasts = shares || llvm::isa<ir::SendOp>(other);
                        return other == last || (!lasts && other->isBeforeInBlock(last));
                      }) &&
         llvm::count(last->getOperands(), value) == 1;
}

absl::Status Lowering::addPostOps(Step& step, llvm::ArrayRef<mlir::Operation*> epilogue,
                                  mlir::Value anchorResult,
                                  llvm::SmallVectorImpl<mlir::Value>& operands) {
  mlir::Value current = anchorResult;
  size_t rank = denseDesc(anchorResult).dims.size();
  for (mlir::Operation* op : epilogue) {
    mlir::Value other;
    if (op->getNumOperands() == 2) {
      std::optional<PostOpKind> kind = binaryKind(op);
      bool onLeft = op->getOperand(0) == current;
      other = op->getOperand(onLeft ? 1 : 0);
      bool swapped = !onLeft && !op->hasTrait<mlir::OpTrait::IsCommutative>();
      if (!kind || swapped || other == current) {
        return absl::UnimplementedError("an operation of the group is no post-operation");
      }
      PostOp post;
      post.kind = *kind;
      TensorDesc desc = extendRank(denseDesc(other), rank);
      desc.any = desc.dims == denseDesc(anchorResult).dims;
      post.operand = Argument{0, desc};
      step.postOps.push_back(std::move(post));
    } else if (op->getNumOperands() != 1 || !appendEltwise(step, op)) {
      return absl::UnimplementedError("an operation of the group is no post-operation");
    }
    operands.push_back(other);
    current = op->getResult(0);
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerLibrary(mlir::Operation* op, mlir::ValueRange operands,
                                    mlir::Value result, llvm::ArrayRef<mlir::Operation*> epilogue) {
  Step step;
  step.operation = op->getName().getStringRef().str();
  step.label = labelOf(result.getDefiningOp());
  GR_ASSIGN_OR_RETURN(step.attributes, attributesOf(op));
  llvm::SmallVector<mlir::Value> postOperands;
  GR_RETURN_IF_ERROR(addPostOps(step, epilogue, op->getResult(0), postOperands));
  llvm::SmallVector<mlir::Value> results = {result};
  if (epilogue.empty() && op->getNumResults() != 1) {
    results.assign(op->result_begin(), op->result_end());
  }
  for (mlir::Value value : results) {
    step.outputs.push_back({0, denseDesc(value)});
    step.outputs.back().desc.any = true;
  }
  // First as the operation likes it, or as the operands lie; then all dense.
  absl::Status refused;
  for (bool dense : {false, true}) {
    step.inputs.clear();
    for (mlir::Value operand : operands) {
      TensorDesc desc = dense ? denseDesc(operand) : values_.produced(operand);
      desc.any = isConstant(operand) || (!dense && choosesLayout(op));
      step.inputs.push_back({0, desc});
    }
    // A residual that is not needed again is added in place.
    for (auto [i, other] : llvm::enumerate(postOperands)) {
      Step inPlace = step;
      PostOp& post = inPlace.postOps[i];
      if (post.kind != PostOpKind::kBinaryAdd || !post.operand->desc.any || isConstant(other) ||
          !diesAt(other, op)) {
        continue;
      }
      post.kind = PostOpKind::kSum;
      post.operand.reset();
      absl::StatusOr<Candidate> candidate = bestCandidate(inPlace);
      if (candidate.ok() && sameLayout(candidate->choice->outputs[0], values_.produced(other))) {
        return emitChosen(inPlace, *candidate, operands, postOperands, results);
      }
      break;
    }
    absl::StatusOr<Candidate> candidate = bestCandidate(step);
    if (candidate.ok() && !epilogue.empty() && isReference(*candidate)) {
      // Two good kernels beat one that the library has only for completeness.
      candidate = absl::UnimplementedError("only a reference implementation takes the group");
    }
    if (candidate.ok()) {
      return emitChosen(step, *candidate, operands, postOperands, results);
    }
    refused = candidate.status();
  }
  return refused;
}

absl::Status Lowering::emitChosen(Step step, const Candidate& candidate, mlir::ValueRange operands,
                                  llvm::ArrayRef<mlir::Value> postOperands,
                                  llvm::ArrayRef<mlir::Value> results) {
  const LayoutChoice& choice = *candidate.choice;
  step.kernel = std::string(candidate.kernel->name);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool hasSource = i < choice.sources.size() && !choice.sources[i].dims.empty();
    GR_ASSIGN_OR_RETURN(step.inputs[i], values_.read(operand, choice.inputs[i],
                                                     hasSource ? &choice.sources[i] : nullptr));
  }
  std::optional<Argument> inPlace;
  for (auto [i, operand] : llvm::enumerate(postOperands)) {
    if (step.postOps[i].kind == PostOpKind::kSum) {
      GR_ASSIGN_OR_RETURN(inPlace, values_.read(operand, choice.outputs[0]));
    } else if (operand) {
      GR_ASSIGN_OR_RETURN(step.postOps[i].operand, values_.read(operand, choice.postOps[i]));
    }
  }
  for (auto [i, result] : llvm::enumerate(results)) {
    if (inPlace) {
      values_.define(result, inPlace->buffer, choice.outputs[i]);
      step.outputs[i] = *inPlace;
      continue;
    }
    GR_ASSIGN_OR_RETURN(step.outputs[i], values_.write(result, choice.outputs[i]));
  }
  if (choice.scratchBytes > 0) {
    TensorDesc desc{runtime::ElementType::kU8, {static_cast<int64_t>(choice.scratchBytes)}};
    GR_ASSIGN_OR_RETURN(uint32_t buffer, values_.newArenaBuffer(desc));
    step.scratch = Argument{buffer, desc};
  }
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::lowerMap(mlir::Operation* op) {
  MapLayouts layouts = chooseMapLayouts(op, values_);
  Step step;
  step.kernel = "generated";
  step.operation = op->getName().getStringRef().str();
  step.label = labelOf(op);
  for (auto [operand, desc] : llvm::zip(op->getOperands(), layouts.operands)) {
    GR_ASSIGN_OR_RETURN(Argument argument, values_.read(operand, desc));
    step.inputs.push_back(argument);
  }
  for (auto [result, desc] : llvm::zip(op->getResults(), layouts.results)) {
    GR_ASSIGN_OR_RETURN(Argument argument, values_.write(result, desc));
    step.outputs.push_back(argument);
  }
  GeneratedKernel kernel = code_.add(op, layouts.operandKernels, layouts.resultKernel);
  step.symbol = kernel.symbol;
  step.extent = kernel.extent;
  step.grain = kernel.grain;
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::lowerSpatialMean(ir::ReduceOp op) {
  // A mean over all spatial dims is a pooling with one window: it keeps the input's layout.
  Step step;
  step.operation = "gr.avg_pool";
  step.label = labelOf(op);
  TensorDesc in = values_.produced(op.getInput());
  std::vector<int64_t> spatial(in.dims.begin() + 2, in.dims.end());
  step.attributes = {{"kernel", spatial},
                     {"strides", std::vector<int64_t>(spatial.size(), 1)},
                     {"dilations", std::vector<int64_t>(spatial.size(), 1)},
                     {"pads", std::vector<int64_t>(2 * spatial.size(), 0)},
                     {"padding", std::string("explicit")},
                     {"ceil_mode", false},
                     {"count_include_pad", false}};
  std::vector<int64_t> dims = in.dims;
  std::fill(dims.begin() + 2, dims.end(), 1);
  GR_ASSIGN_OR_RETURN(TensorDesc out, descIn(in.type, dims, kernelLayoutOf(in)));
  step.inputs = {{0, in}};
  step.outputs = {{0, out}};
  absl::StatusOr<Candidate> candidate = bestCandidate(step);
  if (!candidate.ok()) {
    return lowerLibrary(op, op->getOperands(), op.getResult(), {});
  }
  return emitChosen(step, *candidate, {op.getInput()}, {}, {op.getResult()});
}

absl::Status Lowering::lowerView(mlir::Operation* op) {
  GR_ASSIGN_OR_RETURN(Argument input, values_.readDense(op->getOperand(0)));
  values_.define(op->getResult(0), input.buffer, denseDesc(op->getResult(0)));
  return absl::OkStatus();
}

absl::Status Lowering::lowerSend(ir::SendOp op) {
  Step step;
  step.kernel = "send";
  step.operation = "gr.send";
  step.label = labelOf(op);
  step.edge = static_cast<uint32_t>(op.getEdge());
  GR_ASSIGN_OR_RETURN(Argument input, values_.readDense(op.getInput()));
  step.inputs = {input};
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::lowerReceive(ir::RecvOp op) {
  Step step;
  step.kernel = "receive";
  step.operation = "gr.recv";
  step.label = labelOf(op);
  step.edge = static_cast<uint32_t>(op.getEdge());
  TensorDesc desc = denseDesc(op.getResult());
  Buffer buffer;
  buffer.kind = BufferKind::kReceive;
  buffer.index = step.edge;
  GR_ASSIGN_OR_RETURN(buffer.bytes, layoutBytes(desc));
  uint32_t id = values_.newBuffer(std::move(buffer));
  values_.define(op.getResult(), id, desc);
  step.outputs = {{id, desc}};
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::StatusOr<Argument> Lowering::outputBuffer(mlir::Value value, uint32_t index) {
  GR_ASSIGN_OR_RETURN(Argument argument, values_.readDense(value));
  Buffer& buffer = executable_.buffers[argument.buffer];
  if (buffer.kind == BufferKind::kArena) {
    // Written by its producer straight into the caller's memory.
    buffer.kind = BufferKind::kOutput;
    buffer.index = index;
    return argument;
  }
  Buffer copy;
  copy.kind = BufferKind::kOutput;
  copy.index = index;
  copy.bytes = buffer.bytes;
  Step step;
  step.kernel = "copy";
  step.operation = "copy";
  step.label = "output";
  step.inputs = {argument};
  step.outputs = {{values_.newBuffer(std::move(copy)), argument.desc}};
  Argument output = step.outputs[0];
  executable_.steps.push_back(std::move(step));
  return output;
}

absl::Status Lowering::lowerReturn(mlir::func::ReturnOp op, mlir::func::FuncOp partition) {
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    GR_ASSIGN_OR_RETURN(Argument output, outputBuffer(value, static_cast<uint32_t>(index)));
    auto name = partition.getResultAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
    executable_.outputs.push_back(
        {name ? name.str() : absl::StrCat("output", index), output.buffer, output.desc});
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cpu
