#include "placement/from_ir/build_cost_graph.h"

#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/collectives.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/serialization/type_codec.h"
#include "passes/weights.h"
#include "placement/cluster/roofline.h"
#include "placement/from_ir/node_names.h"
#include "placement/from_ir/op_signature.h"
#include "placement/from_ir/step_example.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"

namespace graphrun::placement {
namespace {

/// The key of several things; of one it is that one's.
uint64_t combined(uint64_t key, uint64_t next) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  return key * kOdd + next;
}

/// The type that is computed in: of products that of their factors, whose sums may be of a wider
/// one.
runtime::ElementType numberType(mlir::Operation* op) {
  if (op->getNumResults() == 0) {
    return runtime::ElementType::kInvalid;
  }
  mlir::Value value = op->getResult(0);
  std::vector<mlir::Operation*> members = membersOf(op);
  members.push_back(op);
  auto product = llvm::find_if(members, [](mlir::Operation* member) {
    return llvm::isa<ir::ConvOp, ir::ConvTransposeOp, ir::MatMulOp>(member);
  });
  if (product != members.end()) {
    value = (*product)->getOperand(0);
  }
  return passes::elementTypeOf(llvm::cast<mlir::TensorType>(value.getType()).getElementType());
}

/// OpWork::steps.
int64_t stepsOf(mlir::Operation* op) {
  // The steps are the first dim of a layer's inputs, and of the sums that its gradients begin with.
  return llvm::isa<ir::RecurrentOp, ir::RecurrentBackwardOp>(op)
             ? std::max<int64_t>(
                   1, llvm::cast<mlir::ShapedType>(op->getOperand(0).getType()).getDimSize(0))
             : 1;
}

/// "1x64x56x56xf32".
std::string typeText(mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  return runtime::TensorSpec{passes::elementTypeOf(tensor.getElementType()),
                             tensor.getShape().vec()}
      .toString();
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
    for (auto& [weight, shared] : readers_) {
      if (shared.nodes.size() > 1) {
        result_.graph.sharedWeights.push_back(std::move(shared));
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
    tensor.type = typeText(type);
    tensors_[value] = result_.graph.addTensor(std::move(tensor));
    return absl::OkStatus();
  }

  static std::string nameOf(mlir::Operation* op) {
    std::string label = passes::labelOf(op->getLoc());
    return label.empty() ? op->getName().getStringRef().str() : label;
  }

  std::string uniqueName(const std::string& label) {
    int count = ++names_[label];
    return count == 1 ? label : absl::StrCat(label, "#", count);
  }

  absl::Status addNode(mlir::Operation* op) {
    if (passes::isCollective(op)) {
      return addCollective(op);
    }
    CostNode node;
    node.name = uniqueName(nameOf(op));
    std::vector<mlir::Operation*> members = membersOf(op);
    node.members = memberLabels(members);
    node.label = members.empty() ? passes::labelOf(op->getLoc()) : "";
    std::string name = node.name;
    std::vector<int> inputs = inputsOf(op->getOperands(), node);
    node.weightBytes += stateBytes(op);
    int id = add(std::move(node), op, {op});
    read(id, inputs);
    if (auto update = llvm::dyn_cast<ir::UpdateOp>(op)) {
      addUpdate(update, id);
    }
    for (mlir::OpResult output : op->getResults()) {
      std::string suffix =
          op->getNumResults() > 1 ? absl::StrCat(":", output.getResultNumber()) : "";
      GR_RETURN_IF_ERROR(addTensor(output, id, name + suffix));
      tensorOf(output).isResident = llvm::isa<ir::StateOp>(op);
    }
    return absl::OkStatus();
  }

  CostTensor& tensorOf(mlir::Value value) {
    return result_.graph.tensors[static_cast<size_t>(tensors_.at(value))];
  }

  /// The memory that a state has all the time: for its value, and where it is updated for the next
  /// one.
  static int64_t stateBytes(mlir::Operation* op) {
    if (!llvm::isa<ir::StateOp, ir::UpdateOp>(op)) {
      return 0;
    }
    mlir::Type type =
        llvm::isa<ir::StateOp>(op) ? op->getResult(0).getType() : op->getOperand(0).getType();
    return static_cast<int64_t>(runtime::alignTensor(static_cast<size_t>(ir::byteSize(type))));
  }

  /// A state and its update are on one device; the next value is written where it stays.
  void addUpdate(ir::UpdateOp update, int id) {
    result_.graph.colocation.push_back({tensorOf(update.getState()).producer, id});
    if (auto next = tensors_.find(update.getValue()); next != tensors_.end()) {
      CostTensor& tensor = result_.graph.tensors[static_cast<size_t>(next->second)];
      tensor.isResident = tensor.producer >= 0;
      if (mlir::Value sum = devices_.sumsInPlace ? summedInPlace(update.getValue()) : nullptr) {
        tensorOf(sum).isResident = true;
      }
    }
  }

  /// The value to which a product is added where it lies, and becomes `next`; null: there is none.
  mlir::Value summedInPlace(mlir::Value next) const {
    auto group = next.getDefiningOp<ir::GroupOp>();
    if (!group || group.getKind() == ir::GroupKind::kMap) {
      return nullptr;
    }
    for (auto add : group.getBody().front().getOps<ir::AddOp>()) {
      for (mlir::Value side : add->getOperands()) {
        auto argument = llvm::dyn_cast<mlir::BlockArgument>(side);
        mlir::Value value = argument ? group->getOperand(argument.getArgNumber()) : nullptr;
        mlir::Operation* made = value ? value.getDefiningOp() : nullptr;
        if (made != nullptr && value.hasOneUse() && value.getType() == next.getType() &&
            tensors_.contains(value) && !llvm::isa<ir::StateOp>(made)) {
          return value;
        }
      }
    }
    return nullptr;
  }

  /// The node that comes next reads a weight; what it holds more for that, bytes.
  int64_t noteReader(mlir::Value weight) {
    const auto bytes = static_cast<int64_t>(
        runtime::alignTensor(static_cast<size_t>(ir::byteSize(weight.getType()))));
    SharedWeights& shared = readers_[weight];
    shared.bytes = bytes;
    const int node = result_.graph.nodeCount();
    if (!shared.nodes.empty() && shared.nodes.back() == node) {
      return 0;
    }
    shared.nodes.push_back(node);
    return bytes;
  }

  /// The tensors among the operands of a node; what are constants of it counts as its weights.
  std::vector<int> inputsOf(mlir::ValueRange operands, CostNode& node) {
    std::vector<int> inputs;
    for (mlir::Value operand : operands) {
      if (passes::weightOf(operand)) {
        node.weightBytes += noteReader(operand);
      } else {
        inputs.push_back(tensors_.at(operand));
      }
    }
    return inputs;
  }

  /// A node for `op`, or for a step of it, that takes what `work` takes.
  int add(CostNode node, mlir::Operation* op, llvm::ArrayRef<mlir::Operation*> work) {
    node.op = op->getName().getStringRef().str();
    node.kind = kindName(op, membersOf(op));
    result_.leastWeightBytes.push_back(node.weightBytes);
    addTimes(work, node);
    int id = result_.graph.addNode(std::move(node));
    result_.ops.push_back(op);
    pin(id, op);
    return id;
  }

  void read(int node, const std::vector<int>& inputs) {
    for (int input : inputs) {
      result_.graph.tensors[static_cast<size_t>(input)].consumers.push_back(node);
    }
  }

  /// A node for each of a collective's steps: that the operation is one until it has been placed
  /// is nothing that placement has to know of.
  absl::Status addCollective(mlir::Operation* op) {
    const std::string name = uniqueName(nameOf(op));
    parts_.clear();
    std::vector<int> cut;
    std::map<unsigned, std::vector<int>> together;  // by member
    std::map<bool, SharedWork> shared;              // by whether the steps join
    CollectiveGroup collective = collectiveOf(op);
    for (const passes::CollectiveStep& step : passes::stepsOf(op)) {
      CostNode node;
      node.name = uniqueName(name + step.suffix);
      node.label = passes::labelOf(op->getLoc());
      node.members = {name, absl::StrCat(name, "/", step.member)};
      std::string nodeName = node.name;
      std::vector<int> inputs = step.joins ? cut : stepInputs(op, step, node);
      int id = add(std::move(node), op, StepExample(op, step).ops());
      read(id, inputs);
      together[step.member].push_back(id);
      CollectiveMember& member = collective.members[step.member];
      member.nodes.push_back(id);
      member.operand = step.joins ? member.operand : ownOperand(op, step);
      if (!step.isOwn) {
        shared[step.joins].nodes.push_back(id);
        shared[step.joins].onlyApart = step.joins;
      }
      if (step.gives) {
        GR_RETURN_IF_ERROR(addTensor(op->getResult(step.member), id, nodeName));
      } else {
        cut.push_back(addPart(op, step.member, id, nodeName));
      }
    }
    wishTogether(op, std::move(together));
    for (auto& [joins, work] : shared) {
      result_.graph.shared.push_back(std::move(work));
    }
    if (mayUseLibrary() && passes::isCarried(op)) {
      addCollective(op, std::move(collective));
    }
    return absl::OkStatus();
  }

  /// Returns whether two devices have one library.
  bool mayUseLibrary() const {
    std::set<std::string> libraries;
    for (const Device& device : cluster_.devices) {
      if (!device.library.empty() && !libraries.insert(device.library).second) {
        return true;
      }
    }
    return false;
  }

  /// The tensor that the step's member brings, or its part of that; -1 if that is a constant.
  int ownOperand(mlir::Operation* op, const passes::CollectiveStep& step) const {
    mlir::Value operand = op->getOperand(step.member);
    if (auto part = parts_.find({operand, step.member}); part != parts_.end()) {
      return part->second;
    }
    auto whole = tensors_.find(operand);
    return whole == tensors_.end() ? -1 : whole->second;
  }

  static CollectiveGroup collectiveOf(mlir::Operation* op) {
    const auto count = static_cast<int64_t>(op->getNumOperands());
    CollectiveGroup collective;
    collective.members.resize(op->getNumOperands());
    collective.bytes =
        ir::byteSize(op->getOperand(0).getType()) * (llvm::isa<ir::AllGatherOp>(op) ? count : 1);
    collective.rounds = llvm::isa<ir::AllReduceOp>(op) ? 2 : 1;
    collective.ordered = !llvm::isa<ir::AllReduceOp>(op);
    return collective;
  }

  /// With what was measured of it by so many devices, or of others of its family.
  void addCollective(mlir::Operation* op, CollectiveGroup collective) {
    const OpKey key = {opSignature(op) ^ devices_.numericsKey, opFamily(op) ^ devices_.numericsKey};
    OpWork work;
    work.bytesRead = collective.bytes;
    for (size_t count = 2; count <= collective.members.size(); ++count) {
      const OpKey ofSoMany = collectiveKey(key, count);
      std::vector<int64_t>& known = collective.measuredNs.emplace_back(cluster_.devices.size(), -1);
      for (size_t d = 0; d < devices_.measured.size(); ++d) {
        if (devices_.measured[d] == nullptr || cluster_.devices[d].library.empty()) {
          continue;
        }
        MeasuredCosts::Estimate estimate = devices_.measured[d]->estimate(
            ofSoMany.signature, ofSoMany.family, work, cluster_.devices[d].model);
        known[d] = estimate.source == CostSource::kEstimated ? -1 : estimate.ns;
      }
    }
    result_.graph.collectives.push_back(std::move(collective));
    result_.collectiveKeys.push_back(key);
  }

  int addPart(mlir::Operation* op, unsigned member, int producer, std::string name) {
    CostTensor part;
    part.name = std::move(name);
    part.producer = producer;
    part.bytes = ir::byteSize(passes::partType(op, member));
    part.type = typeText(passes::partType(op, member));
    return result_.graph.addTensor(std::move(part));
  }

  /// Returns the operands that a step reads.
  std::vector<int> stepInputs(mlir::Operation* op, const passes::CollectiveStep& step,
                              CostNode& node) {
    std::vector<int> inputs;
    for (mlir::Value operand : op->getOperands()) {
      if (!step.cuts || !passes::isCutAtSource(operand)) {
        std::vector<int> whole = inputsOf(operand, node);
        inputs.insert(inputs.end(), whole.begin(), whole.end());
        continue;
      }
      auto [found, isNew] = parts_.try_emplace({operand, step.member});
      if (isNew) {
        const CostTensor source = result_.graph.tensor(tensors_.at(operand));
        found->second =
            addPart(op, step.member, source.producer, absl::StrCat(source.name, "/", step.member));
      }
      inputs.push_back(found->second);
    }
    return inputs;
  }

  /// A member's steps are best where its operand is made; unless several members have theirs of
  /// one node, which is no reason to be together.
  void wishTogether(mlir::Operation* op, std::map<unsigned, std::vector<int>> nodesOf) {
    std::map<int, int> made;  // operands by producer
    auto producerOf = [&](unsigned member) {
      auto found = tensors_.find(op->getOperand(member));
      return found == tensors_.end() ? -1 : result_.graph.tensor(found->second).producer;
    };
    for (const auto& [member, nodes] : nodesOf) {
      ++made[producerOf(member)];
    }
    for (auto& [member, nodes] : nodesOf) {
      int producer = producerOf(member);
      if (producer >= 0 && made[producer] == 1) {
        nodes.push_back(producer);
      }
      result_.memberGroups.push_back(std::move(nodes));
    }
  }

  void pin(int id, mlir::Operation* op) {
    passes::Pin pin = passes::pinOf(op);
    if (std::optional<int> device = cluster_.findDevice(pin.device.str())) {
      result_.graph.pins.push_back({id, *device, pin.source.str(), /*fromModel=*/true});
    }
  }

  /// The times of operations that run as one node; of one in nearly all cases.
  void addTimes(llvm::ArrayRef<mlir::Operation*> ops, CostNode& node) {
    OpWork work;
    OpKey key;
    for (mlir::Operation* op : ops) {
      ir::OpCost cost = llvm::cast<ir::GrOpInterface>(op).cost();
      work.flops += cost.flops;
      work.bytesRead += cost.bytesRead;
      work.bytesWritten += cost.bytesWritten;
      work.opClass = classOf(op);
      work.type = numberType(op);
      work.steps = stepsOf(op);
      key.signature = combined(key.signature, opSignature(op));
      key.family = combined(key.family, opFamily(op));
    }
    node.flops = work.flops;
    node.bytesTouched = work.bytesRead + work.bytesWritten;
    key = {key.signature ^ devices_.numericsKey, key.family ^ devices_.numericsKey};
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
      if (llvm::any_of(ops, llvm::IsaPred<ir::StateOp, ir::UpdateOp>)) {
        estimate.ns = 0;  // nothing is moved
      }
      std::string why = whyUnsupported(device.kind.name, ops);
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

  std::string whyUnsupported(absl::string_view kind, llvm::ArrayRef<mlir::Operation*> ops) const {
    for (mlir::Operation* op : ops) {
      if (std::string why = devices_.whyUnsupported(kind, op); !why.empty()) {
        return why;
      }
    }
    return "";
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
  llvm::MapVector<mlir::Value, SharedWeights> readers_;  // of weights
  // Of the operands of the collective that is being added, by member: the parts for its steps.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, int> parts_;
  std::map<std::string, int> names_;
};

}  // namespace

OpKey collectiveKey(const OpKey& collective, size_t devices) {
  return {combined(collective.signature, devices), combined(collective.family, devices)};
}

bool GraphOfOps::relax() {
  bool changed = !memberGroups.empty();
  memberGroups.clear();
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
