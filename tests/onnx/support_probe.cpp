// What support_table.py asks of the code: which operations are imported for which opsets, and
// whether a model of one operation reaches the kernels of a device, and whether gradients are
// computed at all. Answers in JSON, a line each.
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "devices/device_compiler.h"
#include "frontends/onnx/deferred.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/op_table.h"
#include "ir/dialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/cut_stages.h"
#include "passes/intern_strings.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "passes/shapes.h"
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

/// Whether there is a pass that makes the gradients of a graph.
void printGradients() {
  passes::registerGraphRunPasses();
  std::cout << Json{{"gradients", mlir::PassInfo::lookup("gr-differentiate") != nullptr}} << "\n";
}

bool isReal(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(value.getType()));
}

/// Why no gradient reaches the real inputs of a graph from its outputs, by operation; empty when
/// one does. A graph without real inputs has none to reach.
Json barriersOf(mlir::func::FuncOp function) {
  llvm::DenseSet<mlir::Value> active;
  llvm::for_each(llvm::make_filter_range(function.getArguments(), isReal),
                 [&](mlir::Value input) { active.insert(input); });
  Json on = Json::object();   // a path of real values
  Json off = Json::object();  // a path that ends there
  for (mlir::Operation& op : function.getBody().front().without_terminator()) {
    auto gr = llvm::dyn_cast<ir::GrOpInterface>(op);
    if (!gr || llvm::none_of(op.getOperands(), [&](mlir::Value v) { return active.contains(v); })) {
      continue;
    }
    std::string name = op.getName().getStringRef().str();
    bool goesOn = false;
    for (mlir::Value result : llvm::make_filter_range(op.getResults(), isReal)) {
      active.insert(result);
      goesOn = true;
    }
    if (!gr.noGradientReason().empty()) {
      (goesOn ? on : off)[name] = gr.noGradientReason().str();
    }
  }
  mlir::Operation* end = function.getBody().front().getTerminator();
  bool reached =
      llvm::any_of(end->getOperands(), [&](mlir::Value output) { return active.contains(output); });
  if (!reached && on.empty() && off.empty()) {
    off["no real output depends on a real input"] = "";
  }
  return reached ? on : off.empty() ? on : off;
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
  } else if (argc == 2 && std::string(argv[1]) == "gradients") {
    graphrun::printGradients();
  } else if (argc == 3 && std::string(argv[1]) == "probe") {
    graphrun::probeAll(argv[2]);
  } else {
    std::cerr << "usage: support_probe table | gradients | probe KIND < MODELS\n";
    return 2;
  }
  return 0;
}
