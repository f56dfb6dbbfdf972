#include "devices/cuda/compiler/recurrent_instructions.h"

#include "absl/strings/str_cat.h"
#include "devices/codegen/index_maps.h"
#include "devices/codegen/kernel_names.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/compiler/emit/recurrent_cell.h"
#include "ir/builders.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;

/// Most steps: a graph of twice as many launches, of some milliseconds.
constexpr int64_t kMostSteps = 2048;

mlir::Operation* makeProduct(mlir::OpBuilder& builder, ir::RecurrentOp op, mlir::Value rows,
                             mlir::Value weights) {
  mlir::NamedAttribute transposed =
      builder.getNamedAttr("transpose_rhs", builder.getBoolAttr(true));
  return ir::createOp(builder, op->getLoc(), "gr.matmul", {rows, weights}, {transposed})
      .value_or(nullptr);
}

Extent extentOf(const std::array<uint32_t, 3>& size) { return {size[0], size[1], size[2]}; }

}  // namespace

absl::StatusOr<LibraryChoice> chooseStepProduct(ir::RecurrentOp op, const LibraryOptions& options) {
  mlir::OpBuilder builder(op);
  mlir::Operation* product = makeProduct(builder, op, op.getHidden(), op.getRecurrent());
  if (product == nullptr) {
    return absl::InternalError("gr.recurrent has weights that do not fit its hidden values");
  }
  absl::StatusOr<LibraryChoice> choice = chooseLibrary(product, {}, product->getResult(0), options);
  product->erase();
  return choice;
}

std::string whyNotRecurrent(ir::RecurrentOp op) {
  if (!ir::hasStaticShapes(op)) {
    return "gr.recurrent has values of unknown shapes";
  }
  if (std::string why = whyNotCell(op); !why.empty()) {
    return why;
  }
  int64_t steps = tensorOf(op.getInput()).getDimSize(0);
  if (steps > kMostSteps) {
    return absl::StrCat("gr.recurrent has ", steps, " steps, more than ", kMostSteps);
  }
  return std::string(chooseStepProduct(op, {}).status().message());
}

llvm::SmallVector<mlir::Operation*> makeInputProduct(ir::RecurrentOp op) {
  mlir::OpBuilder builder(op);
  auto type = tensorOf(op.getInput());
  mlir::Value dims = ir::createInts(builder, op->getLoc(),
                                    {type.getDimSize(0) * type.getDimSize(1), type.getDimSize(2)});
  mlir::Operation* rows =
      ir::createOp(builder, op->getLoc(), "gr.reshape", {op.getInput(), dims}).value_or(nullptr);
  return {dims.getDefiningOp(), rows,
          makeProduct(builder, op, rows->getResult(0), op.getWeights())};
}

absl::StatusOr<Argument> RecurrentInstructions::copied(mlir::Value from, const Argument& to) {
  Instruction instruction;
  instruction.kernel = "copy";
  instruction.operation = "copy";
  instruction.label = "initial";
  GR_ASSIGN_OR_RETURN(instruction.inputs.emplace_back(), read_(from, to.desc));
  instruction.outputs = {to};
  values_.executable().instructions.push_back(std::move(instruction));
  return to;
}

absl::StatusOr<Argument> RecurrentInstructions::newTable(const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(uint32_t buffer, values_.newArenaBuffer(desc));
  return Argument{buffer, desc};
}

absl::Status RecurrentInstructions::addProduct(const Argument& hidden, const Argument& result) {
  Instruction instruction = product_;
  instruction.inputs[0] = hidden;
  instruction.outputs[0] = result;
  values_.executable().instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::Status RecurrentInstructions::addCell(ir::RecurrentOp op, const KernelLaunch& launch,
                                            int64_t number) {
  Instruction instruction;
  instruction.kernel = "generated";
  instruction.operation = "gr.recurrent";
  instruction.label = labelOf(op);
  for (const KernelArgument& argument : launch.arguments) {
    auto index = static_cast<unsigned>(argument.value);
    if (argument.kind == KernelArgument::Kind::kOperand) {
      mlir::Value operand = op->getOperand(index);
      GR_ASSIGN_OR_RETURN(instruction.inputs.emplace_back(), read_(operand, denseDesc(operand)));
    } else if (argument.kind == KernelArgument::Kind::kTable) {
      instruction.inputs.push_back(tables_[index]);
    } else if (argument.kind == KernelArgument::Kind::kResult) {
      instruction.outputs.push_back(results_[index]);
    } else {
      instruction.sizes.push_back(argument.value);
    }
  }
  instruction.sizes.back() = number;
  instruction.symbol = launch.symbol;
  instruction.grid = extentOf(launch.grid);
  instruction.block = extentOf(launch.block);
  values_.executable().instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::Status RecurrentInstructions::add(ir::RecurrentOp op, mlir::Value inputs,
                                        const LibraryChoice& choice) {
  product_ = choice.library.instruction;
  for (size_t i = 1; i < product_.inputs.size(); ++i) {
    Argument& input = product_.inputs[i];
    GR_ASSIGN_OR_RETURN(input, read_(choice.library.operands[i], input.desc));
  }
  GR_RETURN_IF_ERROR(writer_.addScratch(product_, choice.scratchBytes));
  for (mlir::Value result : op->getResults()) {
    GR_ASSIGN_OR_RETURN(results_.emplace_back(), values_.write(result, denseDesc(result)));
  }
  GR_RETURN_IF_ERROR(copied(op.getHidden(), results_[1]).status());
  if (op.getState()) {
    GR_RETURN_IF_ERROR(copied(op.getState(), results_[2]).status());
  }
  const TensorDesc gates = product_.outputs[0].desc;
  GR_ASSIGN_OR_RETURN(tables_.emplace_back(), values_.readDense(inputs));
  GR_ASSIGN_OR_RETURN(tables_.emplace_back(), newTable(gates));
  if (hasResetProduct(op)) {
    GR_ASSIGN_OR_RETURN(tables_.emplace_back(), newTable(results_[1].desc));
    GR_ASSIGN_OR_RETURN(tables_.emplace_back(), newTable(gates));
  }
  const KernelPlan& plan =
      code_.addAs("cell " + codegen::kernelKey(op), [&] { return buildCell(op); });
  for (int64_t step = 0; step < tensorOf(op.getInput()).getDimSize(0); ++step) {
    GR_RETURN_IF_ERROR(addProduct(results_[1], tables_[1]));
    if (hasResetProduct(op)) {
      GR_RETURN_IF_ERROR(addCell(op, plan.launches.front(), step));
      GR_RETURN_IF_ERROR(addProduct(tables_[2], tables_[3]));
    }
    GR_RETURN_IF_ERROR(addCell(op, plan.launches.back(), step));
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cuda
