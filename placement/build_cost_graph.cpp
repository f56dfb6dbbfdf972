#include "placement/build_cost_graph.h"

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/passes.h"
#include "passes/type_codec.h"
#include "passes/weights.h"
#include "passes/wishes.h"
#include "placement/op_signature.h"
#include "placement/roofline.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"

namespace graphrun::placement {
namespace {

OpClass classOf(mlir::Operation* op) {
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
    llvm::StringRef kind = group.getKind();
    return kind == "conv"     ? OpClass::kConvolution
           : kind == "matmul" ? OpClass::kMatmul
                              : OpClass::kElementwise;
  }
  if (op->hasTrait<ir::IsElementwise>()) {
    return OpClass::kElementwise;
  }
  return llvm::TypeSwitch<mlir::Operation*, OpClass>(op)
      .Case<ir::ConvOp, ir::ConvTransposeOp, ir::DeformConvOp>(
          [](auto) { return OpClass::kConvolution; })
      .Case([](ir::MatMulOp) { return OpClass::kMatmul; })
      .Case<ir::BatchNormOp, ir::InstanceNormOp, ir::LayerNormOp, ir::LrnOp, ir::SoftmaxOp>(
          [](auto) { return OpClass::kNormalization; })
      .Case<ir::ReduceOp, ir::MaxPoolOp, ir::AvgPoolOp, ir::LpPoolOp, ir::MaxPoolWithIndicesOp>(
          [](auto) { return OpClass::kReduction; })
      .Case<ir::TransposeOp, ir::ConcatOp, ir::SplitOp, ir::SliceOp, ir::PadOp, ir::GatherOp,
            ir::ExpandOp, ir::TileOp, ir::ReshapeOp, ir::SqueezeOp, ir::UnsqueezeOp>(
          [](auto) { return OpClass::kDataMovement; })
      .Default([](mlir::Operation*) { return OpClass::kOther; });
}

runtime::ElementType numberType(mlir::Operation* op) {
  if (op->getNumResults() == 0) {
    return runtime::ElementType::kInvalid;
  }
  return passes::elementTypeOf(
      llvm::cast<mlir::TensorType>(op->getResult(0).getType()).getElementType());
}

/// OpWork::steps.
int64_t stepsOf(mlir::Operation* op) {
  auto layer = llvm::dyn_cast<ir::RecurrentOp>(op);
  return layer ? std::max<int64_t>(
                     1, llvm::cast<mlir::ShapedType>(layer.getInput().getType()).getDimSize(0))
               : 1;
}

/// The operations in a group.
std::vector<mlir::Operation*> membersOf(mlir::Operation* op) {
  std::vector<mlir::Operation*> members;
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
    for (mlir::Operation& member : group.getBody().front().without_terminator()) {
      members.push_back(&member);
    }
  }
  return members;
}

/// Labels of the operations in a group.
std::vector<std::string> memberLabels(const std::vector<mlir::Operation*>& members) {
  std::vector<std::string> labels;
  for (mlir::Operation* member : members) {
    std::string label = passes::labelOf(member->getLoc());
    if (!label.empty() && !llvm::is_contained(labels, label)) {
      labels.push_back(label);
    }
  }
  return labels;
}

/// Builds a graph in one walk over the function.
class Builder {
 public:
  Builder(const Cluster& cluster, const DeviceKnowledge& devices)
      : cluster_(cluster), devices_(devices) {}

  absl::StatusOr<GraphOfOps> build(mlir::func::FuncOp function) {
    for (mlir::BlockArgument argument : function.getArguments()) {
      GR_RETURN_IF_ERROR(addTensor(argument, -1, absl::StrCat("input ", argument.getArgNumber())));
    }
    for (mlir::Operation& op : function.front().without_terminator()) {
      if (!passes::isWeight(&op)) {
        GR_RETURN_IF_ERROR(addNode(&op));
      }
    }
    for (mlir::Value output : function.front().getTerminator()->getOperands()) {
      if (auto found = tensors_.find(output); found != tensors_.end()) {
        result_.graph.tensors[found->second].isOutput = true;
      }
    }
    GR_RETURN_IF_ERROR(result_.graph.finish(static_cast<int>(cluster_.devices.size())));
    return std::move(result_);
  }

 private:
  absl::Status addTensor(mlir::Value value, int producer, const std::string& name) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name,
                       " has a shape that is not known before the run; placement needs static "
                       "shapes: give the shapes of all inputs"));
    }
    CostTensor tensor;
    tensor.name = name;
    tensor.producer = producer;
    tensor.bytes = ir::byteSize(type);
    tensors_[value] = result_.graph.addTensor(std::move(tensor));
    return absl::OkStatus();
  }

  std::string uniqueName(mlir::Operation* op) {
    std::string label = passes::labelOf(op->getLoc());
    label = label.empty() ? op->getName().getStringRef().str() : label;
    int count = ++names_[label];
    return count == 1 ? label : absl::StrCat(label, "#", count);
  }

  absl::Status addNode(mlir::Operation* op) {
    CostNode node;
    node.name = uniqueName(op);
    node.op = op->getName().getStringRef().str();
    std::vector<mlir::Operation*> members = membersOf(op);
    node.members = memberLabels(members);
    node.label = members.empty() ? passes::labelOf(op->getLoc()) : "";
    std::string name = node.name;
    std::vector<mlir::Value> inputs;
    for (mlir::Value operand : op->getOperands()) {
      if (passes::weightOf(operand)) {
        auto bytes = static_cast<size_t>(ir::byteSize(operand.getType()));
        node.weightBytes += static_cast<int64_t>(runtime::alignTensor(bytes));
      } else {
        inputs.push_back(operand);
      }
    }
    result_.leastWeightBytes.push_back(node.weightBytes);
    addTimes(op, node);
    int id = result_.graph.addNode(std::move(node));
    result_.ops.push_back(op);
    members.push_back(op);
    pin(id, members);
    for (mlir::Value input : inputs) {
      result_.graph.tensors[tensors_.at(input)].consumers.push_back(id);
    }
    for (mlir::OpResult output : op->getResults()) {
      std::string suffix =
          op->getNumResults() > 1 ? absl::StrCat(":", output.getResultNumber()) : "";
      GR_RETURN_IF_ERROR(addTensor(output, id, name + suffix));
    }
    return absl::OkStatus();
  }

  /// Where a member has a pin, and groups have members with one alone, the node has it.
  void pin(int id, const std::vector<mlir::Operation*>& members) {
    for (mlir::Operation* member : members) {
      passes::Pin pin = passes::pinOf(member->getLoc());
      std::optional<int> device = cluster_.findDevice(pin.device.str());
      if (device) {
        result_.graph.pins.push_back({id, *device, pin.source.str(), /*fromModel=*/true});
        return;
      }
    }
  }

  void addTimes(mlir::Operation* op, CostNode& node) {
    ir::OpCost cost = llvm::cast<ir::GrOpInterface>(op).cost();
    node.flops = cost.flops;
    node.bytesTouched = cost.bytesRead + cost.bytesWritten;
    OpWork work{cost.flops,  cost.bytesRead, cost.bytesWritten,
                classOf(op), numberType(op), stepsOf(op)};
    const OpKey key = {opSignature(op) ^ devices_.way, opFamily(op) ^ devices_.way};
    result_.keys.push_back(key);
    static const MeasuredCosts kNothing;
    for (size_t d = 0; d < cluster_.devices.size(); ++d) {
      const Device& device = cluster_.devices[d];
      const MeasuredCosts* measured = d < devices_.measured.size() ? devices_.measured[d] : nullptr;
      MeasuredCosts::Estimate estimate =
          (measured != nullptr ? *measured : kNothing)
              .estimate(key.signature, key.family, work, device.model);
      if (device.whole >= 0 && estimate.source == CostSource::kEstimated) {
        estimate.ns = scaledNs(node, work, device);
      }
      std::string why = devices_.whyUnsupported(device.kind, op);
      node.timeNs.push_back(why.empty() ? estimate.ns : kUnsupported);
      node.sources.push_back(estimate.source);
      if (estimate.measured != nullptr) {
        node.weightBytes = std::max(node.weightBytes, estimate.measured->weightBytes);
        node.workspaceBytes = std::max(node.workspaceBytes, estimate.measured->scratchBytes);
      }
      if (!why.empty()) {
        node.unsupported.emplace_back(static_cast<int>(d), why);
      }
    }
  }

  /// The time on a part of a device by that on the whole, which comes before it and may have been
  /// measured: with fewer threads an operation takes as much longer as the models say.
  int64_t scaledNs(const CostNode& node, const OpWork& work, const Device& part) const {
    const Device& whole = cluster_.devices[static_cast<size_t>(part.whole)];
    double longer = static_cast<double>(rooflineNs(work, part.model)) /
                    static_cast<double>(rooflineNs(work, whole.model));
    int64_t ns = node.timeNs[static_cast<size_t>(part.whole)];
    return ns == kUnsupported ? ns : std::llround(static_cast<double>(ns) * longer);
  }

  const Cluster& cluster_;
  const DeviceKnowledge& devices_;
  GraphOfOps result_;
  llvm::DenseMap<mlir::Value, int> tensors_;
  std::map<std::string, int> names_;
};

}  // namespace

bool GraphOfOps::takeLeastWeights() {
  bool changed = false;
  for (size_t n = 0; n < leastWeightBytes.size(); ++n) {
    changed |= graph.nodes[n].weightBytes != leastWeightBytes[n];
    graph.nodes[n].weightBytes = leastWeightBytes[n];
  }
  return changed;
}

absl::StatusOr<GraphOfOps> buildCostGraph(mlir::func::FuncOp function, const Cluster& cluster,
                                          const DeviceKnowledge& devices) {
  return Builder(cluster, devices).build(function);
}

}  // namespace graphrun::placement
