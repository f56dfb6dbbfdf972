// Runs a graph with states by the reference kernels, step after step, for tests.
#ifndef GRAPHRUN_TESTS_FRONTENDS_BUILDER_STEP_RUNNER_H_
#define GRAPHRUN_TESTS_FRONTENDS_BUILDER_STEP_RUNNER_H_

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catch2/catch.hpp"
#include "frontends/builder/graph_builder.h"
#include "frontends/builder/graph_impl.h"
#include "ir/dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/passes.h"
#include "passes/pipelines.h"
#include "passes/serialization/type_codec.h"
#include "passes/shapes.h"
#include "passes/weights.h"
#include "tests/ir/gradients/reference_program.h"

namespace graphrun::builder {

/// In the graph's copy each state is an argument behind the inputs, and what updates it a result
/// behind the outputs.
class StepRunner {
 public:
  /// All shapes of the graph are static; `tensor` is any of its tensors. Fails the test where the
  /// graph has problems.
  explicit StepRunner(const Tensor& tensor) {
    absl::Status copied =
        GraphImpl::graphOf(tensor)->save([this](mlir::ModuleOp module) -> absl::Status {
          module_ = module.clone();
          return absl::OkStatus();
        });
    INFO(copied.message());
    REQUIRE(copied.ok());
    function_ = *passes::graphOf(*module_);
    exposeStates();
    REQUIRE(mlir::succeeded(passes::specialize(function_, {})));
    REQUIRE(mlir::succeeded(passes::differentiate(*module_)));
    REQUIRE(mlir::succeeded(passes::simplify(*module_)));
    auto program = ir::ReferenceProgram::make(function_);
    INFO(program.status().message());
    REQUIRE(program.ok());
    program_ = *std::move(program);
  }

  /// One step: the outputs; states become what they are updated to.
  std::vector<HostTensor> run(std::vector<HostTensor> inputs) {
    for (const std::string& name : names_) {
      inputs.push_back(states_.at(name).clone());
    }
    auto results = program_->run(inputs);
    INFO(results.status().message());
    REQUIRE(results.ok());
    std::vector<HostTensor> outputs;
    const size_t own = results->size() - updated_.size();
    for (size_t i = 0; i < results->size(); ++i) {
      if (i < own) {
        outputs.push_back(std::move((*results)[i]));
      } else {
        states_.at(updated_[i - own]) = std::move((*results)[i]);
      }
    }
    return outputs;
  }

  const HostTensor& state(const std::string& name) const { return states_.at(name); }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void exposeStates() {
    llvm::SmallVector<ir::StateOp> states;
    llvm::SmallVector<ir::UpdateOp> updates;
    function_.walk([&](ir::StateOp op) { states.push_back(op); });
    function_.walk([&](ir::UpdateOp op) { updates.push_back(op); });
    for (ir::UpdateOp update : updates) {
      const std::string name = update.getState().getDefiningOp<ir::StateOp>().getName().str();
      mlir::Operation* end = function_.getBody().front().getTerminator();
      end->insertOperands(end->getNumOperands(), update.getValue());
      function_.insertResult(function_.getNumResults(), update.getValue().getType(), {});
      updated_.push_back(name);
      update.erase();
    }
    for (ir::StateOp state : states) {
      const unsigned index = function_.getNumArguments();
      function_.insertArgument(index, state.getType(), {}, state.getLoc());
      names_.push_back(state.getName().str());
      states_.emplace(names_.back(), firstOf(state));
      state.getValue().replaceAllUsesWith(function_.getArgument(index));
      state.erase();
    }
  }

  static HostTensor firstOf(ir::StateOp state) {
    auto type = llvm::cast<mlir::RankedTensorType>(state.getInit().getType());
    HostTensor first({passes::elementTypeOf(type.getElementType()), type.getShape().vec()});
    auto elements = passes::bytesOf(state.getInit());
    REQUIRE(elements.has_value());
    for (size_t at = 0; at < first.byteSize(); at += elements->bytes.size()) {
      std::memcpy(static_cast<char*>(first.data()) + at, elements->bytes.data(),
                  elements->bytes.size());
    }
    return first;
  }

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  std::optional<ir::ReferenceProgram> program_;
  std::map<std::string, HostTensor> states_;
  std::vector<std::string> names_;
  std::vector<std::string> updated_;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_TESTS_FRONTENDS_BUILDER_STEP_RUNNER_H_
