#include "tests/ir/gradients/reference_program.h"

#include "absl/strings/str_cat.h"
#include "devices/compiler/attributes.h"
#include "ir/dialect.h"
#include "passes/collectives.h"
#include "passes/passes.h"
#include "passes/serialization/type_codec.h"
#include "passes/weights.h"

namespace graphrun::ir {
namespace {

using devices::Argument;
using devices::Buffer;
using devices::BufferKind;
using devices::Instruction;
using devices::TensorDesc;

TensorDesc descOf(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return {passes::elementTypeOf(type.getElementType()), type.getShape().vec(), {}, false};
}

/// Makes an instruction of each operation, and memory of its own for each value.
class InstructionMaker {
 public:
  absl::StatusOr<devices::Executable> make(mlir::func::FuncOp func) {
    executable_.fingerprint = devices::cpu::testDevice().fingerprint();
    for (mlir::BlockArgument argument : func.getArguments()) {
      addEndpoint(BufferKind::kInput, argument, executable_.inputs);
    }
    mlir::Block& body = func.getBody().front();
    for (mlir::Operation& op : body.without_terminator()) {
      GR_RETURN_IF_ERROR(addInstruction(op));
    }
    for (mlir::Value result : body.getTerminator()->getOperands()) {
      Argument from = argumentOf(result);
      Argument to{addEndpoint(BufferKind::kOutput, executable_.outputs, from.desc), from.desc};
      addMove("copy", "reorder", std::move(from), std::move(to));
    }
    return std::move(executable_);
  }

 private:
  uint32_t addBuffer(Buffer buffer) {
    executable_.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(executable_.buffers.size() - 1);
  }

  void addEndpoint(BufferKind kind, mlir::Value value, std::vector<devices::Endpoint>& list) {
    buffers_[value] = addEndpoint(kind, list, descOf(value));
  }
  uint32_t addEndpoint(BufferKind kind, std::vector<devices::Endpoint>& list,
                       const TensorDesc& desc) {
    Buffer buffer;
    buffer.kind = kind;
    buffer.index = static_cast<uint32_t>(list.size());
    buffer.bytes = desc.spec().byteSize();
    uint32_t index = addBuffer(std::move(buffer));
    list.push_back({absl::StrCat("t", index), index, desc});
    return index;
  }

  void addMove(const char* kernel, const char* operation, Argument from, Argument to) {
    Instruction instruction;
    instruction.kernel = kernel;
    instruction.operation = operation;
    instruction.label = operation;
    instruction.inputs = {std::move(from)};
    instruction.outputs = {std::move(to)};
    executable_.instructions.push_back(std::move(instruction));
  }

  absl::Status addConstant(ConstantOp op) {
    std::optional<passes::ElementBytes> elements = passes::bytesOf(op.getValue());
    if (!elements) {
      return absl::InternalError("a constant without data");
    }
    Buffer buffer;
    buffer.kind = BufferKind::kConstant;
    buffer.desc = descOf(op);
    buffer.source = buffer.desc;
    buffer.bytes = buffer.desc.spec().byteSize();
    for (size_t at = 0; at < buffer.bytes;
         at += elements->bytes.size()) {  // a splat again and again
      buffer.data.insert(buffer.data.end(), elements->bytes.begin(), elements->bytes.end());
    }
    buffers_[op.getResult()] = addBuffer(std::move(buffer));
    return absl::OkStatus();
  }

  absl::Status addInstruction(mlir::Operation& op) {
    if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
      return addConstant(constant);
    }
    Instruction instruction;
    instruction.kernel = "reference";
    instruction.operation = op.getName().getStringRef().str();
    instruction.label = instruction.operation;
    GR_ASSIGN_OR_RETURN(instruction.attributes, devices::attributesOf(&op));
    for (mlir::Value operand : op.getOperands()) {
      instruction.inputs.push_back(argumentOf(operand));
    }
    for (mlir::Value result : op.getResults()) {
      TensorDesc desc = descOf(result);
      Buffer buffer;
      buffer.offset = executable_.arenaBytes;
      buffer.bytes = desc.spec().byteSize();
      executable_.arenaBytes += runtime::alignTensor(buffer.bytes);
      buffers_[result] = addBuffer(std::move(buffer));
      instruction.outputs.push_back({buffers_[result], std::move(desc)});
    }
    executable_.instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  Argument argumentOf(mlir::Value value) { return {buffers_.at(value), descOf(value)}; }

  devices::Executable executable_;
  llvm::DenseMap<mlir::Value, uint32_t> buffers_;
};

/// Puts what is in groups in their place.
void inlineGroups(mlir::func::FuncOp func) {
  func.walk([](GroupOp group) {
    mlir::Block& body = group.getBody().front();
    for (auto [argument, input] : llvm::zip(body.getArguments(), group.getInputs())) {
      argument.replaceAllUsesWith(input);
    }
    mlir::Operation* end = body.getTerminator();
    while (&body.front() != end) {
      body.front().moveBefore(group);
    }
    group->replaceAllUsesWith(end->getOperands());
    group->erase();
  });
}

/// Collectives have no kernels: on one device they are arithmetic.
void computeCollectives(mlir::func::FuncOp func) {
  llvm::SmallVector<mlir::Operation*> collectives;
  func.walk([&](mlir::Operation* op) {
    if (passes::isCollective(op)) {
      collectives.push_back(op);
    }
  });
  for (mlir::Operation* op : collectives) {
    mlir::OpBuilder builder(op);
    mlir::ValueRange inputs = op->getOperands();
    auto combine = [&](ReduceKind kind) {
      return passes::buildCombination(builder, op->getLoc(), kind, inputs,
                                      static_cast<int64_t>(inputs.size()));
    };
    llvm::SmallVector<mlir::Value> results;
    if (auto gather = llvm::dyn_cast<AllGatherOp>(op)) {
      mlir::Value all = passes::buildConcat(builder, op->getLoc(), inputs, gather.getAxis());
      results.assign(inputs.size(), all);
    } else if (auto reduce = llvm::dyn_cast<AllReduceOp>(op)) {
      results.assign(inputs.size(), combine(reduce.getKind()));
    } else {
      auto scatter = llvm::cast<ReduceScatterOp>(op);
      results = passes::buildEqualParts(builder, op->getLoc(), combine(scatter.getKind()),
                                        scatter.getAxis(), static_cast<int64_t>(inputs.size()));
    }
    op->replaceAllUsesWith(results);
    op->erase();
  }
  inlineGroups(func);
}

}  // namespace

absl::StatusOr<ReferenceProgram> ReferenceProgram::make(mlir::func::FuncOp func) {
  computeCollectives(func);
  GR_ASSIGN_OR_RETURN(devices::Executable executable, InstructionMaker().make(func));
  GR_RETURN_IF_ERROR(devices::cpu::testDevice().attachThread());
  devices::cpu::TestWeights weights;
  ReferenceProgram program;
  GR_ASSIGN_OR_RETURN(program.program_, devices::cpu::testDevice().load(
                                            devices::writeExecutable(executable), weights));
  return program;
}

absl::StatusOr<devices::cpu::Tensors> ReferenceProgram::run(const devices::cpu::Tensors& inputs) {
  devices::cpu::Tensors outputs;
  absl::Span<void*> buffers = program_->buffers();
  for (size_t i = 0; i < program_->inputs().size(); ++i) {
    buffers[program_->inputs()[i].buffer] = const_cast<void*>(inputs[i].data());
  }
  for (const devices::Binding& output : program_->outputs()) {
    outputs.emplace_back(output.spec);
    buffers[output.buffer] = outputs.back().data();
  }
  for (const devices::OpRecord& record : program_->records()) {
    if (int code = record.run(record.state, buffers.data()); code != 0) {
      return program_->errorMessage(record, code);
    }
  }
  return outputs;
}

}  // namespace graphrun::ir
