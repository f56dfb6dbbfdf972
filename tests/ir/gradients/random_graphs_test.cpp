// Gradients of whole random graphs: values with several users, shared operands, gradients that
// meet. Along a random direction they are the central difference of the loss.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "ir/builders.h"
#include "ir/gradients/builder.h"
#include "mlir/IR/Verifier.h"
#include "passes/expand_gradients.h"
#include "passes/pipelines.h"
#include "tests/ir/gradients/reference_program.h"

namespace graphrun::ir {
namespace {

using devices::cpu::Tensors;

constexpr int kGraphs = 500;
constexpr double kError = 1e-6;

/// Grows a graph of `operations` operations of f64 over matrices and small stacks of them.
class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {
    context_.loadDialect<GRDialect, mlir::func::FuncDialect>();
    context_.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) {
      absl::StrAppend(&errors_, diagnostic.str(), "\n");
      return mlir::success();
    });
  }

  /// The relative error of the gradient along a direction, the better one of two steps: a kink may
  /// lie within the larger one.
  absl::StatusOr<double> error() {
    const unsigned seed = random_();
    GR_ASSIGN_OR_RETURN(ReferenceProgram loss, program(seed, /*differentiates=*/false));
    GR_ASSIGN_OR_RETURN(ReferenceProgram gradients, program(seed, /*differentiates=*/true));
    Tensors inputs, direction;
    for (const runtime::TensorSpec& spec : inputs_) {
      inputs.push_back(randomTensor(spec));
      direction.push_back(randomTensor(spec));
    }
    GR_ASSIGN_OR_RETURN(Tensors found, gradients.run(inputs));
    double expected = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      for (size_t k = 0; k < found[i].as<double>().size(); ++k) {
        expected += found[i].as<double>()[k] * direction[i].as<double>()[k];
      }
    }
    double best = INFINITY;
    for (double step : {1e-3, 3e-5}) {
      double d[4];
      for (int k : {-2, -1, 1, 2}) {
        GR_ASSIGN_OR_RETURN(d[k < 0 ? k + 2 : k + 1], lossAt(loss, inputs, direction, k * step));
      }
      double difference = (8 * (d[2] - d[1]) - (d[3] - d[0])) / (12 * step);
      best = std::min(best, std::fabs(difference - expected) / (1 + std::fabs(difference)));
    }
    return best;
  }

 private:
  mlir::Value emit(llvm::StringRef name, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    auto op = createOp(*builder_, builder_->getUnknownLoc(), name, operands, attributes);
    return mlir::succeeded(op) ? (*op)->getResult(0) : mlir::Value();
  }
  mlir::NamedAttribute integers(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return builder_->getNamedAttr(name, builder_->getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute text(llvm::StringRef name, llvm::StringRef value) {
    return builder_->getNamedAttr(name, builder_->getStringAttr(value));
  }
  mlir::NamedAttribute flag(llvm::StringRef name, bool value) {
    return builder_->getNamedAttr(name, builder_->getBoolAttr(value));
  }
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value) {
    return builder_->getNamedAttr(name, builder_->getI64IntegerAttr(value));
  }

  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(graph_); }
  mlir::Value pick(const llvm::SmallVector<mlir::Value>& values) {
    return values[pick(values.size())];
  }
  static llvm::ArrayRef<int64_t> dims(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }

  /// One more operation on values so far; null where what was picked does not fit.
  mlir::Value grow(const llvm::SmallVector<mlir::Value>& values) {
    static constexpr const char* kUnary[] = {"gr.tanh", "gr.sigmoid", "gr.softplus", "gr.gelu",
                                             "gr.sin",  "gr.cos",     "gr.relu",     "gr.erf",
                                             "gr.abs",  "gr.swish",   "gr.neg",      "gr.atan"};
    static constexpr const char* kBinary[] = {"gr.add", "gr.sub", "gr.mul", "gr.max", "gr.min"};
    mlir::Value x = pick(values);
    auto rank = static_cast<int64_t>(dims(x).size());
    switch (pick(9)) {
      case 0:
      case 1:
        return emit(kUnary[pick(std::size(kUnary))], x);
      case 2:
      case 3:
        return emit(kBinary[pick(std::size(kBinary))], {x, pick(values)});
      case 4: {
        mlir::Value y = pick(values);
        bool areMatrices = rank > 1 && dims(y).size() > 1;
        bool left = pick(2) == 0 && areMatrices;
        bool right = pick(2) == 0 && areMatrices;
        return emit("gr.matmul", {x, y},
                    {flag("transpose_lhs", left), flag("transpose_rhs", right)});
      }
      case 5:
        return emit("gr.softmax", x, {integer("axis", static_cast<int64_t>(pick(rank)))});
      case 6:
        return emit("gr.reduce", x,
                    {text("kind", pick(2) == 0 ? "mean" : "log_sum_exp"),
                     integers("axes", {static_cast<int64_t>(pick(rank))}), flag("keepdims", true)});
      case 7: {
        llvm::SmallVector<int64_t> order = axesFrom(0, rank);
        std::shuffle(order.begin(), order.end(), graph_);
        return emit("gr.transpose", x, {integers("permutation", order)});
      }
      default:
        return emit("gr.concat", {x, pick(values)},
                    {integer("axis", static_cast<int64_t>(pick(rank)))});
    }
  }

  absl::StatusOr<ReferenceProgram> program(unsigned seed, bool differentiates) {
    graph_.seed(seed);
    mlir::Location loc = mlir::UnknownLoc::get(&context_);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    mlir::OpBuilder builder(module->getBodyRegion());
    builder_ = &builder;
    auto func = builder.create<mlir::func::FuncOp>(loc, "main", builder.getFunctionType({}, {}));
    mlir::Block& block = *func.addEntryBlock();
    builder.setInsertionPointToEnd(&block);
    llvm::SmallVector<mlir::Value> values;
    inputs_.clear();
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{3, 4}, {4, 3}, {3, 1}, {4}, {2, 3, 4}, {1, 1}}) {
      inputs_.push_back({runtime::ElementType::kF64, shape});
      values.push_back(
          block.addArgument(mlir::RankedTensorType::get(shape, builder.getF64Type()), loc));
    }
    const size_t size = values.size() + 4 + pick(12);
    for (int tries = 0; values.size() < size && tries < 400; ++tries) {
      mlir::Value next = grow(values);
      if (next && llvm::cast<mlir::RankedTensorType>(next.getType()).getNumElements() <= 200 &&
          !dims(next).empty()) {
        values.push_back(next);
      }
    }
    errors_.clear();
    // All last values count, so that gradients meet.
    mlir::Value loss;
    for (mlir::Value value : llvm::ArrayRef(values).take_back(3)) {
      mlir::Value part = emit("gr.tanh", value);
      part = emit("gr.reduce", part,
                  {text("kind", "mean"),
                   integers("axes", axesFrom(0, static_cast<int64_t>(dims(value).size()))),
                   flag("keepdims", false)});
      loss = loss ? emit("gr.add", {loss, part}) : part;
    }
    llvm::SmallVector<mlir::Value> results = {loss};
    if (differentiates) {
      mlir::ValueRange wrt = block.getArguments();
      results = builder.create<GradientOp>(loc, wrt.getTypes(), loss, wrt).getResults();
    }
    builder.create<mlir::func::ReturnOp>(loc, results);
    func.setType(
        builder.getFunctionType(block.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
    if (mlir::failed(mlir::verify(*module)) || mlir::failed(passes::differentiate(*module)) ||
        mlir::failed(passes::simplify(*module)) || mlir::failed(mlir::verify(*module))) {
      return absl::InternalError(errors_);
    }
    return ReferenceProgram::make(func);
  }

  runtime::HostTensor randomTensor(const runtime::TensorSpec& spec) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    runtime::HostTensor tensor(spec);
    for (double& x : tensor.as<double>()) {
      x = uniform(random_);
    }
    return tensor;
  }

  static absl::StatusOr<double> lossAt(ReferenceProgram& loss, const Tensors& inputs,
                                       const Tensors& direction, double distance) {
    Tensors moved;
    for (size_t i = 0; i < inputs.size(); ++i) {
      moved.push_back(inputs[i].clone());
      for (size_t k = 0; k < moved[i].as<double>().size(); ++k) {
        moved[i].as<double>()[k] += distance * direction[i].as<double>()[k];
      }
    }
    GR_ASSIGN_OR_RETURN(Tensors result, loss.run(moved));
    return result[0].as<double>()[0];
  }

  std::mt19937 random_;
  std::mt19937 graph_;  ///< of the choices that make the graph: both programs have the same
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OpBuilder* builder_ = nullptr;
  std::string errors_;
  std::vector<runtime::TensorSpec> inputs_;
};

TEST_CASE("gradients of random graphs") {
  for (unsigned seed = 1; seed <= kGraphs; ++seed) {
    absl::StatusOr<double> error = RandomGraph(seed).error();
    INFO("seed " << seed << " " << error.status());
    REQUIRE(error.ok());
    CHECK(*error <= kError);
  }
}

}  // namespace
}  // namespace graphrun::ir
