#include "tests/ir/gradients/central_differences.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/builders.h"
#include "ir/gradients/builder.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "passes/expand_gradients.h"
#include "passes/pipelines.h"
#include "tests/ir/gradients/reference_program.h"

namespace graphrun::ir {
namespace {

using devices::cpu::Tensors;

constexpr double kStep = 1e-3;

/// A case as two graphs: of the loss alone, and of the gradients.
class Case {
 public:
  explicit Case(const RuleCase& rule) : rule_(rule) {
    context_.loadDialect<GRDialect, mlir::func::FuncDialect>();
    context_.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) {
      absl::StrAppend(&errors_, diagnostic.str(), "\n");
      return mlir::success();
    });
  }

  absl::Status check(unsigned seed) {
    GR_ASSIGN_OR_RETURN(ReferenceProgram loss, program(/*differentiates=*/false));
    GR_ASSIGN_OR_RETURN(ReferenceProgram gradients, program(/*differentiates=*/true));
    Tensors inputs = randomInputs(seed);
    GR_ASSIGN_OR_RETURN(Tensors found, gradients.run(inputs));
    for (size_t i = 0; i < found.size(); ++i) {
      GR_RETURN_IF_ERROR(compare(loss, inputs, i, found[i]));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status failed(const std::string& what) {
    return absl::InternalError(absl::StrCat(what, "\n", errors_));
  }

  static std::vector<int64_t> dimsOf(absl::string_view text) {
    std::vector<int64_t> dims;
    for (absl::string_view part : absl::StrSplit(text, 'x', absl::SkipEmpty())) {
      dims.push_back(std::stoll(std::string(part)));
    }
    return dims;
  }

  /// The operands of the operation; makes inputs of those that are no constants, in two rounds:
  /// what is differentiated by comes first.
  llvm::SmallVector<mlir::Value> operands(mlir::OpBuilder& builder, mlir::Block& block) {
    llvm::SmallVector<mlir::Value> values(rule_.operands.size());
    inputs_.clear();
    for (bool isWanted : {true, false}) {
      for (auto [text, value] : llvm::zip(rule_.operands, values)) {
        absl::string_view dims = text;
        bool isFixed = absl::ConsumePrefix(&dims, "constant ");
        if (text.starts_with("dense") || isFixed == isWanted) {
          continue;
        }
        value = addInput(block, dimsOf(dims), builder.getF64Type());
      }
      wanted_ = isWanted ? inputs_.size() : wanted_;
    }
    for (auto [text, value] : llvm::zip(rule_.operands, values)) {
      if (text.starts_with("dense")) {
        auto elements = llvm::cast<mlir::ElementsAttr>(mlir::parseAttribute(text, &context_));
        value = builder.create<ConstantOp>(builder.getUnknownLoc(), elements.getType(), elements);
      }
    }
    return values;
  }

  mlir::Value addInput(mlir::Block& block, const std::vector<int64_t>& dims, mlir::Type element) {
    inputs_.push_back({runtime::ElementType::kF64, dims});
    return block.addArgument(mlir::RankedTensorType::get(dims, element),
                             mlir::UnknownLoc::get(&context_));
  }

  /// The sum of all elements of the results that are no integers, times inputs that are weights.
  mlir::Value lossOf(GradientBuilder& b, mlir::Block& block, mlir::Operation* op) {
    Term loss;
    for (mlir::Value result : op->getResults()) {
      if (isDifferentiable(result.getType())) {
        auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
        mlir::Value weights = addInput(block, type.getShape().vec(), type.getElementType());
        Term products = b.wrap(result) * b.wrap(weights);
        loss = loss + b.sumTo(products, {});
      }
    }
    return loss.value();
  }

  absl::StatusOr<ReferenceProgram> program(bool differentiates) {
    mlir::Location loc = mlir::UnknownLoc::get(&context_);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    mlir::OpBuilder builder(module->getBodyRegion());
    auto func = builder.create<mlir::func::FuncOp>(loc, "main", builder.getFunctionType({}, {}));
    mlir::Block& block = *func.addEntryBlock();
    builder.setInsertionPointToEnd(&block);
    llvm::SmallVector<mlir::Value> values = operands(builder, block);
    auto attributes = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(
        mlir::parseAttribute(absl::StrCat("{", rule_.attributes, "}"), &context_));
    if (!attributes) {
      return failed("attributes");
    }
    mlir::FailureOr<mlir::Operation*> op =
        createOp(builder, loc, rule_.op, values, attributes.getValue(), rule_.results);
    if (mlir::failed(op)) {
      return failed("the operation does not fit");
    }
    llvm::SmallVector<GradientRefusal> refusals;
    GradientBuilder b(builder, loc, *op, (*op)->getResults(), refusals);
    llvm::SmallVector<mlir::Value> results = {lossOf(b, block, *op)};
    if (differentiates) {
      mlir::ValueRange wrt = block.getArguments().take_front(wanted_);
      results = builder.create<GradientOp>(loc, wrt.getTypes(), results[0], wrt).getResults();
    }
    builder.create<mlir::func::ReturnOp>(loc, results);
    func.setType(
        builder.getFunctionType(block.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
    if (mlir::failed(mlir::verify(*module)) || mlir::failed(passes::expandGradients(func)) ||
        mlir::failed(mlir::verify(*module)) || mlir::failed(passes::simplify(*module))) {
      return failed("differentiation");
    }
    return ReferenceProgram::make(func);
  }

  /// Different numbers, evenly spread: so no two are nearly equal where that makes a kink.
  Tensors randomInputs(unsigned seed) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> jitter(0.3, 0.7);
    int64_t total = 0;
    for (const runtime::TensorSpec& spec : inputs_) {
      total += spec.elementCount();
    }
    std::vector<int64_t> places(static_cast<size_t>(total));
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    Tensors inputs;
    size_t next = 0;
    for (const runtime::TensorSpec& spec : inputs_) {
      inputs.emplace_back(spec);
      for (double& x : inputs.back().as<double>()) {
        double at =
            (static_cast<double>(places[next++]) + jitter(random)) / static_cast<double>(total);
        x = rule_.low + (rule_.high - rule_.low) * at;
      }
    }
    return inputs;
  }

  static absl::StatusOr<double> lossAt(ReferenceProgram& loss, Tensors& inputs, double& x,
                                       double value) {
    double before = x;
    x = value;
    absl::StatusOr<Tensors> result = loss.run(inputs);
    x = before;
    GR_RETURN_IF_ERROR(result.status());
    return (*result)[0].as<double>()[0];
  }

  absl::Status compare(ReferenceProgram& loss, Tensors& inputs, size_t operand,
                       const runtime::HostTensor& gradient) const {
    absl::Span<double> x = inputs[operand].as<double>();
    std::vector<double> differences;
    double largest = 0;
    for (double& at : x) {
      double d[4];
      for (int k : {-2, -1, 1, 2}) {
        GR_ASSIGN_OR_RETURN(d[k < 0 ? k + 2 : k + 1], lossAt(loss, inputs, at, at + k * kStep));
      }
      differences.push_back((8 * (d[2] - d[1]) - (d[3] - d[0])) / (12 * kStep));
      largest = std::max(largest, std::fabs(differences.back()));
    }
    for (size_t i = 0; i < differences.size(); ++i) {
      double got = gradient.as<double>()[i];
      if (!(std::fabs(got - differences[i]) <= kLargestError * largest + kErrorFloor)) {
        return absl::InternalError(absl::StrCat("operand ", operand, " element ", i, ": got ", got,
                                                " expected ", differences[i]));
      }
    }
    return absl::OkStatus();
  }

  const RuleCase& rule_;
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  std::string errors_;
  std::vector<runtime::TensorSpec> inputs_;
  size_t wanted_ = 0;  ///< of the inputs, the first
};

}  // namespace

absl::Status checkRule(const RuleCase& rule, unsigned seed) {
  absl::Status status = Case(rule).check(seed);
  return status.ok() ? status
                     : absl::Status(status.code(),
                                    absl::StrCat(rule.op, " (", absl::StrJoin(rule.operands, ", "),
                                                 ") {", rule.attributes, "}: ", status.message()));
}

}  // namespace graphrun::ir
