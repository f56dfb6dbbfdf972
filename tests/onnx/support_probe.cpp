// What support_table.py asks of the code: which operations are imported for which opsets, and
// whether a model of one operation reaches the kernels of a device, and whether it is
// differentiated. Answers in JSON, a line each.
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "devices/device_compiler.h"
#include "frontends/onnx/deferred.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/op_table.h"
#include "ir/dialect.h"
#include "passes/cut_stages.h"
#include "passes/intern_strings.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "passes/shapes.h"
#include "passes/training_check.h"
#include "placement/planner/context.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;

void printTable() {
  for (const frontends::OpRow* row : frontends::OpTable().all()) {
    if (row->isRefusal) {
      continue;
    }
    std::cout << Json{{"name", row->name}, {"first", row->first}, {"last", row->last}} << "\n";
  }
}

bool isReal(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value.getType()));
}

/// Differentiates the real outputs of a copy of `function` with respect to its real inputs. Why
/// that cannot be done, by operation; empty when it can. A graph without real inputs has none to
/// reach.
Json barriersOf(mlir::func::FuncOp function) {
  mlir::OwningOpRef<mlir::func::FuncOp> copy = function.clone();
  llvm::SmallVector<mlir::Value> inputs;
  llvm::copy_if(copy->getArguments(), std::back_inserter(inputs), isReal);
  Json barriers = Json::object();
  size_t independent = 0;  // inputs that play no part
  auto note = [&](mlir::Diagnostic& diagnostic) {
    llvm::StringRef operation = "no real output depends on a real input";
    std::string text = diagnostic.str();
    llvm::StringRef why;
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Note) {
      return;
    }
    if (llvm::StringRef(text).contains("op has no gradient")) {
      operation = llvm::StringRef(text).split("'").second.split("'").first;
      why = llvm::StringRef(text).rsplit("): ").second;
    } else if (llvm::StringRef(text).contains("derivative is zero")) {
      operation = llvm::StringRef(text).rsplit("zero (").second.split(")").first.split(",").first;
      why = "its derivative is zero";
    } else if (llvm::StringRef(text).contains("cannot be computed")) {
      return;  // what it sums up has been told
    } else {
      ++independent;
    }
    barriers[operation.str()] = why.str();
  };
  mlir::ScopedDiagnosticHandler handler(function.getContext(), [&](mlir::Diagnostic& diagnostic) {
    note(diagnostic);
    return mlir::success();
  });
  if (inputs.empty()) {
    barriers["no real output depends on a real input"] = "";
  } else if (mlir::succeeded(passes::differentiateResults(*copy, inputs)) &&
             independent < inputs.size()) {
    return Json::object();
  }
  return barriers;
}

/// Whether the model in `bytes` can be planned for one device of `kind`; in `barriers` why it has
/// no gradient.
absl::Status probe(const std::string& bytes, const std::string& kind, Json& barriers) {
  compiler::Context context;
  GR_ASSIGN_OR_RETURN(auto module, frontends::importOnnxBytes(context.mlir(), bytes, "probe"));
  auto failed = [&] { return context.takeError(absl::StatusCode::kInvalidArgument, "planning"); };
  auto function = passes::graphOf(*module);
  if (mlir::failed(function) ||
      mlir::failed(passes::specialize(*function, {}, frontends::resolveDeferred))) {
    return failed();
  }
  barriers = barriersOf(*function);
  auto stages = passes::cutAtData(*function);
  if (mlir::failed(stages)) {
    return failed();
  }
  if (!stages->neededInputs.empty()) {
    return absl::FailedPreconditionError("depends on the elements of " + stages->neededInputs[0]);
  }
  passes::internStrings(*function);
  if (mlir::failed(passes::simplifyAndGroup(*module))) {
    return failed();
  }
  GR_ASSIGN_OR_RETURN(auto compiler, devices::createDeviceCompiler(kind));
  for (mlir::Operation& op : function->getBody().front().without_terminator()) {
    std::string why = compiler->whyUnsupported(&op);
    if (!why.empty()) {
      return absl::UnimplementedError(why);
    }
  }
  return absl::OkStatus();
}

/// Answers for each model on stdin: 8 bytes of its length, then the model.
void probeAll(const std::string& kind) {
  uint64_t size = 0;
  while (std::cin.read(reinterpret_cast<char*>(&size), sizeof(size))) {
    std::string bytes(size, '\0');
    std::cin.read(bytes.data(), static_cast<std::streamsize>(size));
    Json barriers = Json::object();
    absl::Status status = probe(bytes, kind, barriers);
    std::cout << Json{{"why", std::string(status.message())}, {"barriers", barriers}} << "\n";
  }
}

}  // namespace
}  // namespace graphrun

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "table") {
    graphrun::printTable();
  } else if (argc == 3 && std::string(argv[1]) == "probe") {
    graphrun::probeAll(argv[2]);
  } else {
    std::cerr << "usage: support_probe table | probe KIND < MODELS\n";
    return 2;
  }
  return 0;
}
