// The proof that partitions fit together and cannot deadlock.
#include <map>

#include "ir/dialect.h"
#include "mlir/IR/Builders.h"
#include "passes/partition.h"

namespace graphrun::passes {
namespace {

/// What `gr.edges` holds for each edge.
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
      : module_(module), edges_(edges), sends_(edges.size()), receives_(edges.size()) {}

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
    std::vector<bool> sent(edges_.size(), false);
    std::map<std::string, mlir::Operation*> at;
    for (mlir::func::FuncOp func : module_.getOps<mlir::func::FuncOp>()) {
      at[func.getSymName().str()] = &func.getBody().front().front();
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [device, op] : at) {
        for (; op != nullptr && !waits(op, sent); op = op->getNextNode()) {
          if (auto send = llvm::dyn_cast<ir::SendOp>(op)) {
            sent[send.getEdge()] = true;
          }
          moved = true;
        }
      }
    }
    return reportStuck(at);
  }

  static bool waits(mlir::Operation* op, const std::vector<bool>& sent) {
    auto receive = llvm::dyn_cast<ir::RecvOp>(op);
    return receive && !sent[receive.getEdge()];
  }

  mlir::LogicalResult reportStuck(const std::map<std::string, mlir::Operation*>& at) {
    bool good = true;
    for (const auto& [device, op] : at) {
      if (op != nullptr) {
        const PartitionEdge& edge = edges_[llvm::cast<ir::RecvOp>(op).getEdge()];
        op->emitOpError() << "deadlock: " << device << " waits for edge " << edge.id << " '"
                          << edge.name << "', which " << edge.source
                          << " sends only after it has waited itself";
        good = false;
      }
    }
    return mlir::success(good);
  }

  mlir::ModuleOp module_;
  llvm::ArrayRef<PartitionEdge> edges_;
  std::vector<End> sends_, receives_;
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
