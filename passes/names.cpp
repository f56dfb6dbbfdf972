// Names of graphs, inputs, outputs and operations.
#include <set>

#include "ir/dialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "passes/passes.h"
#include "runtime/base/names.h"

namespace graphrun::passes {

std::string inputName(mlir::func::FuncOp func, unsigned index) {
  auto name = func.getArgAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
  return name ? name.str() : ("input" + llvm::Twine(index)).str();
}

std::string outputName(mlir::func::FuncOp func, unsigned index) {
  auto name = func.getResultAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
  return name ? name.str() : ("output" + llvm::Twine(index)).str();
}

std::string labelOf(mlir::Location loc) {
  return llvm::TypeSwitch<mlir::LocationAttr, std::string>(loc)
      .Case([](mlir::NameLoc name) { return name.getName().str(); })
      .Case([](mlir::FusedLoc fused) {
        llvm::SmallVector<std::string> parts;
        for (mlir::Location part : fused.getLocations()) {
          if (std::string label = labelOf(part); !label.empty()) {
            parts.push_back(label);
          }
        }
        return llvm::join(parts, "+");
      })
      .Case([](mlir::CallSiteLoc site) { return labelOf(site.getCallee()); })
      .Default([](mlir::LocationAttr) { return std::string(); });
}

namespace {

void addNames(mlir::LocationAttr loc, llvm::StringSet<>& names) {
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc)) {
    names.insert(name.getName().getValue());
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc)) {
    for (mlir::Location part : fused.getLocations()) {
      addNames(part, names);
    }
  } else if (auto site = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    addNames(site.getCallee(), names);
  }
}

}  // namespace

llvm::StringSet<> operationNames(mlir::func::FuncOp func) {
  llvm::StringSet<> names;
  func.walk([&](mlir::Operation* op) {
    if (!llvm::isa<mlir::func::FuncOp, mlir::func::ReturnOp, ir::ConstantOp>(op)) {
      addNames(op->getLoc(), names);
    }
  });
  return names;
}

std::vector<std::string> foldedNames(mlir::func::FuncOp func) {
  std::vector<std::string> names;
  if (auto list = func->getAttrOfType<mlir::ArrayAttr>(kFoldedAttr)) {
    for (auto name : list.getAsRange<mlir::StringAttr>()) {
      names.push_back(name.str());
    }
  }
  return names;
}

bool isFolded(mlir::func::FuncOp func, const std::string& glob) {
  return llvm::any_of(foldedNames(func),
                      [&](const std::string& name) { return runtime::matchesGlob(glob, name); });
}

std::string foldedText(const std::string& glob) {
  return "nothing of '" + glob +
         "' runs after the model has been simplified: it is a constant or a part of other nodes, "
         "and has no device";
}

void noteFolded(mlir::func::FuncOp func, const llvm::StringSet<>& names) {
  const llvm::StringSet<> left = operationNames(func);
  std::set<std::string> folded;
  for (const std::string& name : foldedNames(func)) {
    folded.insert(name);
  }
  for (const auto& entry : names) {
    if (!left.contains(entry.getKey())) {
      folded.insert(entry.getKey().str());
    }
  }
  llvm::SmallVector<llvm::StringRef> list(folded.begin(), folded.end());
  if (!list.empty()) {
    func->setAttr(kFoldedAttr, mlir::Builder(func.getContext()).getStrArrayAttr(list));
  }
}

mlir::FailureOr<mlir::func::FuncOp> graphOf(mlir::ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<mlir::func::FuncOp>());
  if (functions.size() != 1) {
    return module.emitError() << "module has " << functions.size()
                              << " functions, expected the one graph";
  }
  if (functions[0].isExternal() || !functions[0].getBody().hasOneBlock()) {
    return functions[0].emitError() << "the graph must be one block of operations";
  }
  return functions[0];
}

}  // namespace graphrun::passes
