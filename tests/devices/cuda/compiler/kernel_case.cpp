#include "tests/devices/cuda/compiler/kernel_case.h"

#include <catch2/catch.hpp>

#include "devices/codegen/lowering_passes.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/compiler/emit/ptx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/serialization/type_codec.h"
#include "tests/devices/cuda/compiler/interpreted_kernel.h"

namespace graphrun::devices::cuda {
namespace {

runtime::TensorSpec specOf(mlir::Value value) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return {passes::elementTypeOf(type.getElementType()), type.getShape().vec()};
}

cpu::HostTensor constantTensor(ir::ConstantOp op) {
  auto bytes = denseBytes(op.getValue());
  REQUIRE(bytes.ok());
  cpu::HostTensor tensor(specOf(op.getResult()));
  REQUIRE(bytes->size() == tensor.byteSize());
  std::copy(bytes->begin(), bytes->end(), static_cast<uint8_t*>(tensor.data()));
  return tensor;
}

cpu::HostTensor randomTensor(const runtime::TensorSpec& spec, std::mt19937& random, bool whole) {
  bool isBool = spec.type == runtime::ElementType::kBool;
  bool isUnsigned = spec.type == runtime::ElementType::kU8;
  std::uniform_real_distribution<double> floats(-3, 3);
  std::uniform_int_distribution<int> numbers(isBool || isUnsigned ? 0 : -3, isBool ? 1 : 3);
  std::vector<double> values(static_cast<size_t>(spec.elementCount()));
  for (double& value : values) {
    value = whole ? numbers(random) : floats(random);
  }
  return cpu::tensor(spec.type, spec.dims, values);
}

/// Of the first function, but for constants.
mlir::Operation* firstOperation(mlir::ModuleOp module) {
  auto function = *module.getOps<mlir::func::FuncOp>().begin();
  return &*llvm::find_if(function.front(),
                         [](mlir::Operation& op) { return !llvm::isa<ir::ConstantOp>(op); });
}

}  // namespace

std::string whyDeclined(const std::string& text) {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  return whyNotGenerated(firstOperation(*module));
}

KernelCase::KernelCase(const std::string& text, const MapLayouts& layouts) {
  context_.loadDialect<ir::GRDialect, mlir::func::FuncDialect, mlir::NVVM::NVVMDialect>();
  codegen::loadKernelDialects(context_);
  module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  REQUIRE(module_);
  op_ = firstOperation(*module_);
  REQUIRE_THAT(whyNotGenerated(op_), Catch::Equals(""));
  kernels_ = buildKernels(op_, layouts);
}

std::string KernelCase::ptx(int computeCapability, size_t kernel) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = kernels_->modules[kernel]->clone();
  auto ptx = emitPtx(*copy, ptxTarget(computeCapability).value());
  REQUIRE(ptx.status().ToString() == "OK");
  return *ptx;
}

cpu::Tensors KernelCase::operands(unsigned seed, bool whole) const {
  std::mt19937 random(seed);
  cpu::Tensors tensors;
  for (mlir::Value operand : op_->getOperands()) {
    auto constant = operand.getDefiningOp<ir::ConstantOp>();
    tensors.push_back(constant ? constantTensor(constant)
                               : randomTensor(specOf(operand), random, whole));
  }
  return tensors;
}

cpu::Tensors KernelCase::interpreted(const cpu::Tensors& operands, int computeCapability) {
  cpu::Tensors results;
  for (mlir::Value result : op_->getResults()) {
    results.emplace_back(specOf(result));
  }
  auto bytesOf = [](const cpu::Tensors& tensors) {
    std::vector<Bytes> bytes;
    for (const cpu::HostTensor& tensor : tensors) {
      bytes.emplace_back(static_cast<uint8_t*>(const_cast<void*>(tensor.data())),
                         tensor.byteSize());
    }
    return bytes;
  };
  std::vector<std::vector<uint8_t>> tables = plan().tables;
  std::vector<uint8_t> scratch(plan().scratchBytes, 0xA5);  // what was there before
  KernelMemory memory{bytesOf(operands), {}, bytesOf(results), {}, {}};
  for (std::vector<uint8_t>& table : tables) {
    memory.tables.emplace_back(table.data(), table.size());
  }
  memory.scratch.emplace_back(scratch.data(), scratch.size());
  error_ = {};
  memory.errors = Bytes(reinterpret_cast<uint8_t*>(&error_), sizeof(error_));
  for (size_t i = 0; i < plan().launches.size(); ++i) {
    interpretKernel(ptx(computeCapability, i), plan().launches[i], memory);
  }
  return results;
}

cpu::Tensors KernelCase::expected(const cpu::Tensors& operands) const {
  llvm::DenseMap<mlir::Value, const cpu::HostTensor*> known;
  std::vector<std::unique_ptr<cpu::Tensors>> made;
  auto group = llvm::dyn_cast<ir::GroupOp>(op_);
  for (size_t i = 0; i < operands.size(); ++i) {
    auto index = static_cast<unsigned>(i);
    known[group ? group.getBody().front().getArgument(index) : op_->getOperand(index)] =
        &operands[i];
  }
  auto compute = [&](mlir::Operation* op) {
    cpu::Operation operation{op->getName().getStringRef().str(), attributesOf(op).value(), {}, {}};
    for (mlir::Value result : op->getResults()) {
      operation.outputs.push_back(specOf(result));
    }
    cpu::Tensors inputs;
    for (mlir::Value operand : op->getOperands()) {
      inputs.push_back(known.at(operand)->clone());
    }
    auto results = cpu::runOperation(operation, inputs);
    REQUIRE(results.status().ToString() == "OK");
    made.push_back(std::make_unique<cpu::Tensors>(*std::move(results)));
    for (auto [result, tensor] : llvm::zip(op->getResults(), *made.back())) {
      known[result] = &tensor;
    }
  };
  if (!group) {
    compute(op_);
    return std::move(*made.back());
  }
  cpu::Tensors results;
  for (mlir::Operation& inner : group.getBody().front().without_terminator()) {
    if (auto constant = llvm::dyn_cast<ir::ConstantOp>(inner)) {
      made.push_back(std::make_unique<cpu::Tensors>());
      made.back()->push_back(constantTensor(constant));
      known[constant.getResult()] = &made.back()->front();
    } else {
      compute(&inner);
    }
  }
  for (mlir::Value result : group.getBody().front().getTerminator()->getOperands()) {
    results.push_back(known.at(result)->clone());
  }
  return results;
}

cpu::HostTensor channelsLast(const cpu::HostTensor& dense) {
  const std::vector<int64_t>& dims = dense.spec().dims;
  std::vector<double> from = cpu::values(dense), to(from.size());
  int64_t positions = dims[2] * dims[3];
  for (size_t i = 0; i < from.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    int64_t image = at / (dims[1] * positions), channel = at / positions % dims[1];
    to[static_cast<size_t>((image * positions + at % positions) * dims[1] + channel)] = from[i];
  }
  return cpu::tensor(dense.spec().type, dims, to);
}

}  // namespace graphrun::devices::cuda
