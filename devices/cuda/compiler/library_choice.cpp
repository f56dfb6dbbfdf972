#include "devices/cuda/compiler/library_choice.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/cublaslt/matrix_product.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/kernel_list.h"
#include "ir/cost.h"
#include "passes/quantized_forms.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// One value for each column of a product's result.
bool isByColumn(const TensorDesc& operand, const TensorDesc& result) {
  return !result.dims.empty() && !operand.dims.empty() &&
         operand.dims.back() == result.dims.back() &&
         operand.spec().elementCount() == operand.dims.back() && operand.type == result.type;
}

/// A product's first addition of one value a column becomes its bias, the third operand: sums may
/// be made in any order, so it may stand behind other additions.
void takeBias(LibraryInstruction& library) {
  Instruction& instruction = library.instruction;
  if (instruction.operation != "gr.matmul" || instruction.inputs.size() != 2) {
    return;
  }
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    const PostOp& post = instruction.postOps[i];
    if (post.kind != PostOpKind::kBinaryAdd && post.kind != PostOpKind::kSum) {
      return;
    }
    if (post.operand && isByColumn(post.operand->desc, instruction.outputs[0].desc)) {
      TensorDesc bias{post.operand->desc.type, {post.operand->desc.dims.back()}};
      instruction.inputs.push_back({0, std::move(bias)});
      library.operands.push_back(library.postOperands[i]);
      instruction.postOps.erase(instruction.postOps.begin() + static_cast<std::ptrdiff_t>(i));
      library.postOperands.erase(library.postOperands.begin() + i);
      return;
    }
  }
}

bool isProductOfF32(const Instruction& instruction) {
  return (instruction.operation == "gr.matmul" || instruction.operation == "gr.conv" ||
          instruction.operation == "gr.conv_transpose") &&
         instruction.outputs[0].desc.type == runtime::ElementType::kF32;
}

/// The images and the filter of an instruction, and what of the result's rank is read behind it.
void layChannelsLast(Instruction& instruction) {
  size_t rank = instruction.outputs[0].desc.dims.size();
  auto layOut = [&](TensorDesc& desc) {
    if (desc.dims.size() == rank) {
      desc = channelsLastDesc(desc.type, desc.dims);
    }
  };
  for (auto* list : {&instruction.inputs, &instruction.outputs}) {
    for (Argument& argument : *list) {
      layOut(argument.desc);
    }
  }
  for (PostOp& post : instruction.postOps) {
    if (post.operand) {
      layOut(post.operand->desc);
    }
  }
}

/// A matrix of bytes that is a weight is laid out once, as the library wants it.
void layByteMatrix(LibraryInstruction& library, mlir::Operation* op) {
  auto product = llvm::dyn_cast<ir::MatMulOp>(op);
  if (!product || !isConstant(product.getRhs()) || product.getTransposeRhs()) {
    return;
  }
  TensorDesc& matrix = library.instruction.inputs[1].desc;
  bool isOfBytes = matrix.type == runtime::ElementType::kI8 || isTensorCoreFloat8(matrix.type);
  if (isOfBytes && matrix.dims.size() == 2) {
    matrix = stridedDesc(matrix.type, matrix.dims, {1, matrix.dims[0]});
  }
}

absl::StatusOr<LibraryChoice> chooseFor(LibraryInstruction library, const RefusedKernels* refused) {
  takeBias(library);
  std::string reasons;
  for (Candidate& candidate : candidates(library.instruction)) {
    if (candidate.choice.ok() && refused != nullptr &&
        refused->contains(library.instruction, candidate.kernel->name)) {
      candidate.choice = absl::UnimplementedError(
          absl::StrCat("this GPU's library refused ", candidate.kernel->name));
    }
    if (candidate.choice.ok()) {
      library.instruction.kernel = std::string(candidate.kernel->name);
      return LibraryChoice{std::move(library), candidate.choice->scratchBytes};
    }
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", candidate.choice.status().message());
  }
  return absl::UnimplementedError(
      reasons.empty() ? absl::StrCat("no library has ", library.instruction.operation) : reasons);
}

/// With a sum made in place where that can be, else without.
absl::StatusOr<LibraryChoice> chooseSummed(LibraryInstruction library, mlir::Operation* op,
                                           const RefusedKernels* refused) {
  if (std::optional<LibraryInstruction> inPlace = summedInPlace(library, op)) {
    absl::StatusOr<LibraryChoice> choice = chooseFor(*std::move(inPlace), refused);
    if (choice.ok()) {
      return choice;
    }
  }
  return chooseFor(std::move(library), refused);
}

bool mayBeFloat8(ir::MatMulOp product, const GpuTarget& target) {
  constexpr int kAda = 89;  // the first with tensor cores for them
  bool mayRound = denseDesc(product.getResult()).type != runtime::ElementType::kF32 ||
                  target.precision == runtime::Precision::kTF32;
  return target.capability >= kAda && target.numerics == runtime::Numerics::kFast && mayRound;
}

}  // namespace

bool hasImages(mlir::Operation* op) {
  return llvm::isa<ir::ConvOp, ir::ConvTransposeOp, ir::MaxPoolOp, ir::AvgPoolOp>(op);
}

absl::StatusOr<LibraryChoice> chooseLibrary(mlir::Operation* op,
                                            llvm::ArrayRef<mlir::Operation*> epilogue,
                                            mlir::Value result, const LibraryOptions& options) {
  if (!ir::hasStaticShapes(op)) {
    return absl::UnimplementedError("a value is no tensor of a known shape");
  }
  GR_ASSIGN_OR_RETURN(LibraryInstruction library, libraryInstruction(op, epilogue, result));
  if (auto member = llvm::dyn_cast<ir::CollectiveMemberOp>(op)) {
    library.isInPlace =
        member.getCollective() == ir::CollectiveKind::kAllReduce && diesAt(member.getInput(), op);
  }
  if (options.precision == runtime::Precision::kTF32 && isProductOfF32(library.instruction)) {
    library.instruction.attributes["tf32"] = true;
  }
  if (options.channelsLast) {
    layChannelsLast(library.instruction);
  }
  layByteMatrix(library, op);
  return chooseSummed(std::move(library), op, options.refused);
}

absl::StatusOr<LibraryChoice> chooseFloat8Product(mlir::Operation* op,
                                                  llvm::ArrayRef<mlir::Operation*> epilogue,
                                                  mlir::Value result, const GpuTarget& target) {
  auto product = llvm::dyn_cast<ir::MatMulOp>(op);
  if (!product || !ir::hasStaticShapes(op) || !mayBeFloat8(product, target)) {
    return absl::UnimplementedError("the operation is no product of 8-bit floats");
  }
  std::optional<passes::DequantizedFloats> lhs = passes::dequantizedFloatsOf(product.getLhs());
  std::optional<passes::DequantizedFloats> rhs = passes::dequantizedFloatsOf(product.getRhs());
  if (!lhs || !rhs) {
    return absl::UnimplementedError("the operands are not dequantised from 8-bit floats");
  }
  GR_ASSIGN_OR_RETURN(LibraryInstruction library, libraryInstruction(op, epilogue, result));
  library.operands[0] = lhs->elements;
  library.operands[1] = rhs->elements;
  library.instruction.inputs[0].desc.type = denseDesc(lhs->elements).type;
  library.instruction.inputs[1].desc.type = denseDesc(rhs->elements).type;
  layByteMatrix(library, op);
  library.instruction.attributes[kScales] =
      std::vector<double>{static_cast<double>(lhs->factor) * rhs->factor};
  return chooseSummed(std::move(library), op, target.refused);
}

absl::StatusOr<LibraryChoice> chooseAttention(ir::GroupOp group, const RefusedKernels* refused) {
  GR_ASSIGN_OR_RETURN(LibraryInstruction library, attentionInstruction(group));
  return chooseFor(std::move(library), refused);
}

}  // namespace graphrun::devices::cuda
