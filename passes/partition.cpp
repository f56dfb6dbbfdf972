// gr-partition-graph: one function a device, joined by gr.send and gr.recv.
#include "passes/partition.h"

#include <map>
#include <set>

#include "ir/dialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/rematerialize.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_PARTITIONGRAPH
#include "passes/passes.h.inc"

namespace {

using Device = std::string;

/// Weights, and operations on nothing but constants with small integer results: shape arithmetic
/// that is cheaper to repeat than to send.
bool isRepeatable(mlir::Operation* op) {
  if (isWeight(op)) {
    return true;
  }
  bool isSmall = llvm::all_of(op->getResultTypes(), [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getElementType().isInteger() &&
           tensor.getNumElements() <= kMaxInlineElements;
  });
  return isSmall && op->getNumRegions() == 0 && mlir::isPure(op) &&
         llvm::all_of(op->getOperands(), [](mlir::Value operand) {
           mlir::Operation* source = operand.getDefiningOp();
           return source != nullptr && isRepeatable(source);
         });
}

class Partitioner {
 public:
  Partitioner(mlir::func::FuncOp func, const PartitionOptions& options)
      : func_(func), options_(options), builder_(func.getContext()) {
    local_.insert(options.localDevices.begin(), options.localDevices.end());
    local_.insert(options.home);
  }

  mlir::FailureOr<Partitioning> run() {
    if (mlir::failed(readPlacement()) || mlir::failed(orderByRank())) {
      return mlir::failure();
    }
    findTransfers();
    numberEdges();
    Partitioning result{mlir::ModuleOp::create(func_.getLoc()), {}, communicatorsOf(func_)};
    setCommunicators(*result.module, result.communicators);
    for (auto& [device, ops] : order_) {
      if (mlir::failed(build(device, ops, *result.module))) {
        return mlir::failure();
      }
    }
    result.edges = std::move(edges_);
    if (mlir::failed(mlir::verify(*result.module)) ||
        mlir::failed(verifyPartition(*result.module, result.edges))) {
      return mlir::failure();
    }
    setEdges(*result.module, result.edges);
    return result;
  }

 private:
  mlir::Block& body() { return func_.getBody().front(); }
  mlir::Operation* terminator() { return body().getTerminator(); }

  mlir::LogicalResult readPlacement() {
    order_[options_.home];
    bool good = true;
    for (mlir::Operation& op : body().without_terminator()) {
      if (isRepeatable(&op)) {
        continue;
      }
      auto device = op.getAttrOfType<ir::DeviceAttr>(ir::kDeviceAttr);
      if (!device) {
        op.emitOpError() << "has no device (" << ir::kDeviceAttr << "): place the graph first";
        good = false;
        continue;
      }
      order_[device.getName().str()].push_back(&op);
      device_[&op] = device.getName().str();
    }
    return mlir::success(good);
  }

  mlir::LogicalResult orderByRank() {
    for (auto& [device, ops] : order_) {
      auto rank = [](mlir::Operation* op) {
        return op->getAttrOfType<mlir::IntegerAttr>(ir::kRankAttr);
      };
      size_t ranked = llvm::count_if(ops, rank);
      if (ranked != 0 && ranked != ops.size()) {
        mlir::Operation* op = *llvm::find_if_not(ops, rank);
        return op->emitOpError() << "has no rank, but other operations on " << device << " have";
      }
      if (ranked != 0) {
        llvm::stable_sort(ops, [&](mlir::Operation* a, mlir::Operation* b) {
          return rank(a).getInt() < rank(b).getInt();
        });
      }
    }
    return mlir::success();
  }

  bool isRepeated(mlir::Value value) {
    return value.getDefiningOp() != nullptr && !device_.contains(value.getDefiningOp());
  }

  /// The device that has `value` before any transfer, seen from `user`.
  Device sourceOf(mlir::Value value, const Device& user) {
    if (isRepeated(value)) {
      return user;
    }
    if (mlir::Operation* op = value.getDefiningOp()) {
      return device_[op];
    }
    return local_.contains(user) ? user : options_.home;
  }

  /// The device that returns an output.
  Device returnerOf(mlir::Value value) {
    Device source = sourceOf(value, options_.home);
    return local_.contains(source) ? source : options_.home;
  }

  void need(mlir::Value value, const Device& user) {
    if (sourceOf(value, user) != user) {
      targets_[value].insert(user);
    }
  }

  void findTransfers() {
    for (auto& [device, ops] : order_) {
      for (mlir::Operation* op : ops) {
        for (mlir::Value operand : op->getOperands()) {
          need(operand, device);
        }
      }
    }
    for (mlir::Value output : terminator()->getOperands()) {
      need(output, returnerOf(output));
    }
  }

  std::string nameOf(mlir::Value value) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      return inputName(func_, argument.getArgNumber());
    }
    mlir::Operation* op = value.getDefiningOp();
    std::string name = labelOf(op->getLoc());
    if (name.empty()) {
      name = op->getName().getStringRef();
    }
    unsigned number = llvm::cast<mlir::OpResult>(value).getResultNumber();
    return number == 0 ? name : name + ":" + std::to_string(number);
  }

  void addEdges(mlir::Value value) {
    for (const Device& target : targets_[value]) {
      auto id = static_cast<int64_t>(edges_.size());
      edgeIds_[{value, target}] = id;
      edges_.push_back({id, nameOf(value), sourceOf(value, target), target, value.getType()});
    }
  }

  /// Ids in the order of the graph.
  void numberEdges() {
    for (mlir::Value argument : body().getArguments()) {
      addEdges(argument);
    }
    for (mlir::Operation& op : body().without_terminator()) {
      for (mlir::Value result : op.getResults()) {
        addEdges(result);
      }
    }
  }

  /// The function of one device while it is built.
  struct Partition {
    Device device;
    mlir::func::FuncOp func;
    mlir::IRMapping values;
  };

  /// The graph's inputs that `device` reads itself: those that its operations use, that it sends,
  /// and that it returns as they are.
  llvm::SetVector<unsigned> argumentsOf(const Device& device,
                                        llvm::ArrayRef<mlir::Operation*> ops) {
    llvm::SetVector<unsigned> arguments;
    for (mlir::BlockArgument argument : body().getArguments()) {
      auto isMine = [&](mlir::Operation* user) { return llvm::is_contained(ops, user); };
      bool sends = device == options_.home && !targets_[argument].empty();
      bool returns = device == returnerOf(argument) &&
                     llvm::is_contained(terminator()->getOperands(), argument);
      bool reads = local_.contains(device) && llvm::any_of(argument.getUsers(), isMine);
      if (sends || returns || reads) {
        arguments.insert(argument.getArgNumber());
      }
    }
    return arguments;
  }

  llvm::SmallVector<unsigned> outputsOf(const Device& device) {
    llvm::SmallVector<unsigned> outputs;
    for (auto [i, value] : llvm::enumerate(terminator()->getOperands())) {
      if (returnerOf(value) == device) {
        outputs.push_back(i);
      }
    }
    return outputs;
  }

  mlir::LogicalResult build(const Device& device, llvm::ArrayRef<mlir::Operation*> ops,
                            mlir::ModuleOp module) {
    auto arguments = argumentsOf(device, ops);
    auto outputs = outputsOf(device);
    if (ops.empty() && arguments.empty() && outputs.empty()) {
      return mlir::success();
    }
    Partition part = start(device, arguments.getArrayRef(), outputs, module);
    for (unsigned argument : arguments) {
      sendFrom(body().getArgument(argument), part);
    }
    for (mlir::Operation* op : ops) {
      if (mlir::failed(bringOperands(op->getOperands(), op, part))) {
        return mlir::failure();
      }
      copyInto(op, part);
      for (mlir::Value result : op->getResults()) {
        sendFrom(result, part);
      }
    }
    return finish(outputs, part);
  }

  Partition start(const Device& device, llvm::ArrayRef<unsigned> arguments,
                  llvm::ArrayRef<unsigned> outputs, mlir::ModuleOp module) {
    llvm::SmallVector<mlir::Type> inputTypes, outputTypes;
    for (unsigned argument : arguments) {
      inputTypes.push_back(body().getArgument(argument).getType());
    }
    for (unsigned output : outputs) {
      outputTypes.push_back(terminator()->getOperand(output).getType());
    }
    builder_.setInsertionPointToEnd(module.getBody());
    Partition part{device,
                   builder_.create<mlir::func::FuncOp>(
                       func_.getLoc(), device, builder_.getFunctionType(inputTypes, outputTypes)),
                   {}};
    part.func->setAttr(ir::kDeviceAttr, ir::DeviceAttr::get(func_.getContext(), device));
    if (mlir::Attribute symbols = func_->getAttr(ir::kSymbolsAttr)) {
      part.func->setAttr(ir::kSymbolsAttr, symbols);
    }
    builder_.setInsertionPointToStart(part.func.addEntryBlock());
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      part.values.map(body().getArgument(argument), part.func.getArgument(i));
      part.func.setArgAttr(i, ir::kNameAttr, builder_.getStringAttr(inputName(func_, argument)));
    }
    for (auto [i, output] : llvm::enumerate(outputs)) {
      part.func.setResultAttr(i, ir::kNameAttr, builder_.getStringAttr(outputName(func_, output)));
    }
    return part;
  }

  void sendFrom(mlir::Value value, Partition& part) {
    for (const Device& target : targets_[value]) {
      if (sourceOf(value, target) == part.device) {
        builder_.create<ir::SendOp>(value.getLoc(), part.values.lookup(value),
                                    builder_.getI64IntegerAttr(edgeIds_.at({value, target})));
      }
    }
  }

  mlir::LogicalResult bringOperands(mlir::ValueRange operands, mlir::Operation* user,
                                    Partition& part) {
    // By edge id, which is the order in which most senders send.
    std::map<int64_t, mlir::Value> edges;
    for (mlir::Value operand : operands) {
      if (part.values.contains(operand)) {
        continue;
      }
      if (isRepeated(operand)) {
        repeat(operand.getDefiningOp(), part);
      } else if (auto edge = edgeIds_.find({operand, part.device}); edge != edgeIds_.end()) {
        edges[edge->second] = operand;
      } else {
        return user->emitOpError() << "comes before '" << nameOf(operand)
                                   << "', which it uses, in the ranks of " << part.device;
      }
    }
    for (auto [id, value] : edges) {
      part.values.map(value, builder_.create<ir::RecvOp>(value.getLoc(), value.getType(),
                                                         builder_.getI64IntegerAttr(id),
                                                         mlir::TypeAttr::get(value.getType())));
    }
    return mlir::success();
  }

  void repeat(mlir::Operation* op, Partition& part) {
    for (mlir::Value operand : op->getOperands()) {
      if (!part.values.contains(operand)) {
        repeat(operand.getDefiningOp(), part);
      }
    }
    copyInto(op, part);
  }

  /// `op` without what says where it runs: the partition does.
  void copyInto(mlir::Operation* op, Partition& part) {
    mlir::Operation* copy = builder_.clone(*op, part.values);
    for (llvm::StringRef name : {ir::kDeviceAttr, ir::kRankAttr, kAgainAttr, kPinAttr}) {
      copy->removeAttr(name);
    }
  }

  mlir::LogicalResult finish(llvm::ArrayRef<unsigned> outputs, Partition& part) {
    llvm::SmallVector<mlir::Value> values;
    for (unsigned output : outputs) {
      values.push_back(terminator()->getOperand(output));
    }
    if (mlir::failed(bringOperands(values, terminator(), part))) {
      return mlir::failure();
    }
    for (mlir::Value& value : values) {
      value = part.values.lookup(value);
    }
    builder_.create<mlir::func::ReturnOp>(terminator()->getLoc(), values);
    return mlir::success();
  }

  /// Orders values as the graph does.
  struct EdgeKeyLess {
    bool operator()(const std::pair<mlir::Value, Device>& a,
                    const std::pair<mlir::Value, Device>& b) const {
      return std::pair(a.first.getAsOpaquePointer(), a.second) <
             std::pair(b.first.getAsOpaquePointer(), b.second);
    }
  };

  mlir::func::FuncOp func_;
  const PartitionOptions& options_;
  mlir::OpBuilder builder_;
  std::set<Device> local_;
  /// Devices in order of first use, the home device first; the operations of each in order.
  llvm::MapVector<Device, std::vector<mlir::Operation*>, std::map<Device, unsigned>> order_;
  llvm::DenseMap<mlir::Operation*, Device> device_;
  /// The devices that each value is sent to.
  llvm::DenseMap<mlir::Value, std::set<Device>> targets_;
  std::map<std::pair<mlir::Value, Device>, int64_t, EdgeKeyLess> edgeIds_;
  std::vector<PartitionEdge> edges_;
};

struct PartitionGraphPass : impl::PartitionGraphBase<PartitionGraphPass> {
  using PartitionGraphBase::PartitionGraphBase;
  void runOnOperation() override {
    mlir::FailureOr<mlir::func::FuncOp> func = graphOf(getOperation());
    if (mlir::failed(func)) {
      return signalPassFailure();
    }
    PartitionOptions options{home, {local.begin(), local.end()}};
    mlir::FailureOr<Partitioning> result = partition(*func, options);
    if (mlir::failed(result)) {
      return signalPassFailure();
    }
    func->erase();
    mlir::ModuleOp parts = *result->module;
    getOperation().getBody()->getOperations().splice(getOperation().getBody()->end(),
                                                     parts.getBody()->getOperations());
    setEdges(getOperation(), result->edges);
    setCommunicators(getOperation(), result->communicators);
  }
};

}  // namespace

mlir::FailureOr<Partitioning> partition(mlir::func::FuncOp func, const PartitionOptions& options) {
  return Partitioner(func, options).run();
}

}  // namespace graphrun::passes
