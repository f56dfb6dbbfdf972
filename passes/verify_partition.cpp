// The proof that partitions fit together and cannot deadlock.
#include <map>

#include "ir/dialect.h"
#include "mlir/IR/Builders.h"
#include "passes/partition.h"

namespace graphrun::passes {
namespace {

/// `gr.edges` holds these attributes for each edge.
constexpr llvm::StringLiteral kId = "id", kName = "name", kSource = "source", kTarget = "target",
                              kType = "type";

/// One end of an edge: the operation, and the device it runs on.
struct End {
  mlir::Operation* op = nullptr;
  std::string device;
};

class Checker {
 public:
  Checker(mlir::ModuleOp module, llvm::ArrayRef<PartitionEdge> edges)
      : module_(module),
        edges_(edges),
        communicators_(communicatorsOf(module)),
        sends_(edges.size()),
        receives_(edges.size()) {}

  mlir::LogicalResult run() {
    if (mlir::failed(collectEnds()) || mlir::failed(checkEdges())) {
      return mlir::failure();
    }
    return simulate();
  }

 private:
  mlir::LogicalResult collectEnds() {
    bool good = true;
    for (mlir::func::FuncOp func : module_.getOps<mlir::func::FuncOp>()) {
      func.walk([&](mlir::Operation* op) {
        if (auto send = llvm::dyn_cast<ir::SendOp>(op)) {
          good &= mlir::succeeded(note(sends_, send.getEdge(), {op, func.getSymName().str()}));
        } else if (auto receive = llvm::dyn_cast<ir::RecvOp>(op)) {
          good &=
              mlir::succeeded(note(receives_, receive.getEdge(), {op, func.getSymName().str()}));
        } else if (auto member = llvm::dyn_cast<ir::CollectiveMemberOp>(op)) {
          good &= mlir::succeeded(checkMember(member, func.getSymName()));
        }
      });
    }
    return mlir::success(good);
  }

  mlir::LogicalResult note(std::vector<End>& ends, int64_t edge, End end) {
    if (edge < 0 || edge >= static_cast<int64_t>(ends.size())) {
      return end.op->emitOpError() << "names edge " << edge << ", but there are " << ends.size();
    }
    if (ends[edge].op != nullptr) {
      return end.op->emitOpError() << "is the second of edge " << edge << ", expected one";
    }
    ends[edge] = std::move(end);
    return mlir::success();
  }

  mlir::LogicalResult checkMember(ir::CollectiveMemberOp member, llvm::StringRef device) {
    if (member.getCommunicator() >= static_cast<int64_t>(communicators_.size())) {
      return member.emitOpError() << "names communicator " << member.getCommunicator()
                                  << ", but there are " << communicators_.size();
    }
    if (!llvm::is_contained(devicesOf(member), device)) {
      return member.emitOpError() << "is on " << device << ", which communicator "
                                  << member.getCommunicator() << " does not have";
    }
    return mlir::success();
  }

  const Communicator& devicesOf(ir::CollectiveMemberOp member) const {
    return communicators_[static_cast<size_t>(member.getCommunicator())];
  }

  mlir::LogicalResult checkEdges() {
    bool good = true;
    for (auto [i, edge] : llvm::enumerate(edges_)) {
      if (edge.id != static_cast<int64_t>(i)) {
        module_.emitError() << "edge " << i << " has id " << edge.id << ", expected dense ids";
        return mlir::failure();
      }
      good &= mlir::succeeded(checkEnd(edge, sends_[i], "gr.send", edge.source));
      good &= mlir::succeeded(checkEnd(edge, receives_[i], "gr.recv", edge.target));
    }
    return mlir::success(good);
  }

  mlir::LogicalResult checkEnd(const PartitionEdge& edge, const End& end, llvm::StringRef kind,
                               llvm::StringRef device) {
    auto where = [&] { return ("edge " + llvm::Twine(edge.id) + " '" + edge.name + "'").str(); };
    if (end.op == nullptr) {
      return module_.emitError() << where() << " has no " << kind << ", expected one on " << device;
    }
    if (end.device != device) {
      return end.op->emitOpError()
             << "of " << where() << " is on " << end.device << ", expected on " << device;
    }
    mlir::Type type = end.op->getNumResults() == 0 ? end.op->getOperand(0).getType()
                                                   : end.op->getResult(0).getType();
    if (type != edge.type) {
      return end.op->emitOpError()
             << "of " << where() << " is of type " << type << ", expected " << edge.type;
    }
    return mlir::success();
  }

  /// Runs every device as far as it goes until none moves.
  mlir::LogicalResult simulate() {
    sent_.assign(edges_.size(), false);
    for (mlir::func::FuncOp func : module_.getOps<mlir::func::FuncOp>()) {
      at_[func.getSymName().str()] = &func.getBody().front().front();
    }
    bool good = true;
    for (bool moved = true; moved && good;) {
      moved = false;
      for (auto& [device, op] : at_) {
        for (; op != nullptr && !waits(op); op = op->getNextNode()) {
          if (auto send = llvm::dyn_cast<ir::SendOp>(op)) {
            sent_[send.getEdge()] = true;
          }
          moved = true;
        }
      }
      good = mlir::succeeded(meet(moved));
    }
    return good ? reportStuck() : mlir::failure();
  }

  bool waits(mlir::Operation* op) const {
    auto receive = llvm::dyn_cast<ir::RecvOp>(op);
    return llvm::isa<ir::CollectiveMemberOp>(op) || (receive && !sent_[receive.getEdge()]);
  }

  /// Returns the operation at which a device waits, where it is the device's part in a collective
  /// of this communicator.
  ir::CollectiveMemberOp waitingIn(const std::string& device, int64_t communicator) const {
    auto found = at_.find(device);
    auto member = found == at_.end() || found->second == nullptr
                      ? nullptr
                      : llvm::dyn_cast<ir::CollectiveMemberOp>(found->second);
    return member && member.getCommunicator() == communicator ? member : nullptr;
  }

  /// Members of communicators that all wait for each other have met, and go on.
  mlir::LogicalResult meet(bool& moved) {
    for (auto [i, devices] : llvm::enumerate(communicators_)) {
      llvm::SmallVector<ir::CollectiveMemberOp> met;
      for (const std::string& device : devices) {
        if (auto member = waitingIn(device, static_cast<int64_t>(i))) {
          met.push_back(member);
        }
      }
      if (met.size() < devices.size()) {
        continue;
      }
      for (auto [member, device] : llvm::zip(met, devices)) {
        if (mlir::failed(checkMeeting(met.front(), devices.front(), member, device))) {
          return mlir::failure();
        }
        at_[device] = member->getNextNode();
        moved = true;
      }
    }
    return mlir::success();
  }

  static mlir::LogicalResult checkMeeting(ir::CollectiveMemberOp first, const std::string& where,
                                          ir::CollectiveMemberOp member,
                                          const std::string& device) {
    if (member.getCollective() == first.getCollective() && member.getKind() == first.getKind() &&
        member.getInput().getType() == first.getInput().getType()) {
      return mlir::success();
    }
    auto describe = [](ir::CollectiveMemberOp op, mlir::InFlightDiagnostic& text) {
      text << ir::stringifyCollectiveKind(op.getCollective()) << " " << op.getKindAttr() << " of "
           << op.getInput().getType();
    };
    mlir::InFlightDiagnostic text = member.emitOpError() << "on " << device << " is ";
    describe(member, text);
    text << ", but on " << where << " it meets ";
    describe(first, text);
    return text;
  }

  mlir::LogicalResult reportStuck() {
    bool good = true;
    for (const auto& [device, op] : at_) {
      if (op == nullptr) {
        continue;
      }
      if (auto receive = llvm::dyn_cast<ir::RecvOp>(op)) {
        const PartitionEdge& edge = edges_[receive.getEdge()];
        op->emitOpError() << "deadlock: " << device << " waits for edge " << edge.id << " '"
                          << edge.name << "', which " << edge.source
                          << " sends only after it has waited itself";
      } else {
        reportAlone(device, llvm::cast<ir::CollectiveMemberOp>(op));
      }
      good = false;
    }
    return mlir::success(good);
  }

  void reportAlone(const std::string& device, ir::CollectiveMemberOp member) const {
    for (const std::string& other : devicesOf(member)) {
      if (!waitingIn(other, member.getCommunicator())) {
        member.emitOpError() << "deadlock: " << device << " waits in communicator "
                             << member.getCommunicator() << " for " << other
                             << ", which does not come to it";
        return;
      }
    }
  }

  mlir::ModuleOp module_;
  llvm::ArrayRef<PartitionEdge> edges_;
  std::vector<Communicator> communicators_;
  std::vector<End> sends_, receives_;
  // Of the simulation: the edges that were sent, and where each device is; null at its end.
  std::vector<bool> sent_;
  std::map<std::string, mlir::Operation*> at_;
};

}  // namespace

mlir::LogicalResult verifyPartition(mlir::ModuleOp module, llvm::ArrayRef<PartitionEdge> edges) {
  return Checker(module, edges).run();
}

void setEdges(mlir::ModuleOp module, llvm::ArrayRef<PartitionEdge> edges) {
  mlir::Builder builder(module.getContext());
  llvm::SmallVector<mlir::Attribute> entries;
  for (const PartitionEdge& edge : edges) {
    entries.push_back(builder.getDictionaryAttr({
        builder.getNamedAttr(kId, builder.getI64IntegerAttr(edge.id)),
        builder.getNamedAttr(kName, builder.getStringAttr(edge.name)),
        builder.getNamedAttr(kSource, builder.getStringAttr(edge.source)),
        builder.getNamedAttr(kTarget, builder.getStringAttr(edge.target)),
        builder.getNamedAttr(kType, mlir::TypeAttr::get(edge.type)),
    }));
  }
  module->setAttr(kEdgesAttr, builder.getArrayAttr(entries));
}

void setCommunicators(mlir::Operation* owner, llvm::ArrayRef<Communicator> communicators) {
  mlir::Builder builder(owner->getContext());
  llvm::SmallVector<mlir::Attribute> lists;
  for (const Communicator& devices : communicators) {
    lists.push_back(builder.getStrArrayAttr(
        llvm::SmallVector<llvm::StringRef>(devices.begin(), devices.end())));
  }
  if (!lists.empty()) {
    owner->setAttr(kCommunicatorsAttr, builder.getArrayAttr(lists));
  }
}

std::vector<Communicator> communicatorsOf(mlir::Operation* owner) {
  std::vector<Communicator> communicators;
  auto lists = owner->getAttrOfType<mlir::ArrayAttr>(kCommunicatorsAttr);
  for (mlir::Attribute list : lists ? lists.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    Communicator& devices = communicators.emplace_back();
    for (auto device : llvm::cast<mlir::ArrayAttr>(list).getAsRange<mlir::StringAttr>()) {
      devices.push_back(device.str());
    }
  }
  return communicators;
}

mlir::FailureOr<std::vector<PartitionEdge>> edgesOf(mlir::ModuleOp module) {
  std::vector<PartitionEdge> edges;
  auto entries = module->getAttrOfType<mlir::ArrayAttr>(kEdgesAttr);
  if (!entries) {
    return module.emitError() << "has no " << kEdgesAttr << ": it was not made by partition";
  }
  for (mlir::Attribute entry : entries) {
    auto fields = llvm::dyn_cast<mlir::DictionaryAttr>(entry);
    auto id = fields ? fields.getAs<mlir::IntegerAttr>(kId) : nullptr;
    auto name = fields ? fields.getAs<mlir::StringAttr>(kName) : nullptr;
    auto source = fields ? fields.getAs<mlir::StringAttr>(kSource) : nullptr;
    auto target = fields ? fields.getAs<mlir::StringAttr>(kTarget) : nullptr;
    auto type = fields ? fields.getAs<mlir::TypeAttr>(kType) : nullptr;
    if (!id || !name || !source || !target || !type) {
      return module.emitError() << kEdgesAttr << " has the entry " << entry
                                << ", expected {id, name, source, target, type}";
    }
    edges.push_back({id.getInt(), name.str(), source.str(), target.str(), type.getValue()});
  }
  return edges;
}

}  // namespace graphrun::passes
