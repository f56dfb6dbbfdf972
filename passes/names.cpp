// Names of graphs, inputs, outputs and operations.
#include "ir/dialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/passes.h"

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
