#include "placement/planner/model_check.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/onnx/deferred.h"
#include "frontends/onnx/importer.h"
#include "ir/dims.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "passes/shapes.h"
#include "passes/training_check.h"
#include "placement/planner/context.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {
namespace {

using Shapes = std::vector<passes::InputShape>;

absl::StatusOr<Shapes> readShapes(absl::Span<const char* const> texts) {
  Shapes shapes;
  for (const char* text : texts) {
    std::optional<passes::InputShape> shape = passes::parseInputShape(text);
    if (!shape) {
      return absl::FailedPreconditionError(
          absl::StrCat("--shape '", text, "' is not of the form input:DxDx…"));
    }
    shapes.push_back(*std::move(shape));
  }
  return shapes;
}

/// Adds the inputs that are missing, with dims of 1 where theirs are not known.
void addInputs(mlir::func::FuncOp function, Shapes& shapes) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    std::string name = passes::inputName(function, argument.getArgNumber());
    std::optional<ir::Dims> dims = ir::dimsOf(argument.getType());
    bool isGiven =
        llvm::any_of(shapes, [&](const passes::InputShape& shape) { return shape.input == name; });
    if (isGiven || !dims) {
      continue;  // of an input of unknown rank, or a list, specialisation tells that it is missing
    }
    passes::InputShape shape{name, {}};
    for (const ir::Dim& dim : *dims) {
      shape.dims.push_back(dim.isStatic() ? dim.value() : 1);
    }
    shapes.push_back(std::move(shape));
  }
}

nlohmann::ordered_json inputsJson(mlir::func::FuncOp function) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::object();
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
    inputs[passes::inputName(function, argument.getArgNumber())] =
        type ? std::vector<int64_t>(type.getShape()) : std::vector<int64_t>();
  }
  return inputs;
}

}  // namespace

absl::StatusOr<std::string> checkModel(const std::string& path,
                                       absl::Span<const char* const> shapes, bool training) {
  GR_ASSIGN_OR_RETURN(Shapes inputs, readShapes(shapes));
  Context context;
  // Not simplified: that would fold parameters into others.
  GR_ASSIGN_OR_RETURN(auto module, absl::EndsWith(path, ".fb")
                                       ? passes::loadModel(path, context.mlir())
                                       : frontends::importOnnx(context.mlir(), path));
  auto function = passes::graphOf(*module);
  auto failure = [&](const std::string& what) {
    return context.takeError(absl::StatusCode::kInvalidArgument,
                             absl::StrCat("model '", path, "' ", what));
  };
  if (mlir::failed(function)) {
    return failure("is no graph");
  }
  addInputs(*function, inputs);
  if (mlir::failed(passes::specialize(*function, inputs, frontends::resolveDeferred))) {
    return failure("cannot be prepared for these inputs");
  }
  auto operations = llvm::range_size(function->getBody().front().without_terminator());
  nlohmann::ordered_json report = {{"inputs", inputsJson(*function)}, {"operations", operations}};
  if (training) {
    mlir::FailureOr<size_t> parameters = passes::differentiateByParameters(*function);
    if (mlir::failed(parameters)) {
      return failure("cannot be trained");
    }
    report["parameters"] = *parameters;
  }
  return report.dump(2);
}

}  // namespace graphrun::compiler
