// Matrix products as the library takes them, column by column.
#include "devices/cuda/cublaslt/matrix_product.h"

#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/kernel_list.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

Instruction product(std::vector<int64_t> lhs, std::vector<int64_t> rhs,
                    std::vector<int64_t> result) {
  Instruction instruction;
  instruction.operation = instruction.label = "gr.matmul";
  instruction.kernel = "cublaslt.matmul";
  instruction.inputs = {{0, f32(std::move(lhs))}, {1, f32(std::move(rhs))}};
  instruction.outputs = {{2, f32(std::move(result))}};
  return instruction;
}

ColumnMatrix matrix(int64_t rows, int64_t columns, bool transposed = false, int64_t stride = 0) {
  return {rows, columns, transposed, stride};
}

std::string whyNot(const Instruction& instruction) {
  return std::string(matrixProductOf(instruction).status().message());
}

}  // namespace

TEST_CASE("a row-major product is a column-major one with its factors exchanged") {
  MatrixProduct p = matrixProductOf(product({2, 3}, {3, 5}, {2, 5})).value();
  CHECK(p.left == matrix(5, 3));
  CHECK(p.right == matrix(3, 2));
  CHECK(p.result == matrix(5, 2));
  CHECK(p.batch == 1);
}

TEST_CASE("transposed operands lie the other way round") {
  Instruction instruction = product({3, 2}, {5, 3}, {2, 5});
  instruction.attributes["transpose_lhs"] = true;
  instruction.attributes["transpose_rhs"] = true;
  MatrixProduct p = matrixProductOf(instruction).value();
  CHECK(p.left == matrix(3, 5, true));
  CHECK(p.right == matrix(2, 3, true));
}

TEST_CASE("vectors are a row on the left and a column on the right") {
  CHECK(matrixProductOf(product({3}, {3, 5}, {5})).value().right == matrix(3, 1));
  CHECK(matrixProductOf(product({2, 3}, {3}, {2})).value().left == matrix(1, 3));
  CHECK(matrixProductOf(product({3}, {3}, {})).ok());
}

TEST_CASE("rows of many matrices against one are rows of one; else batches have strides") {
  MatrixProduct flat = matrixProductOf(product({4, 2, 3}, {3, 5}, {4, 2, 5})).value();
  CHECK(flat.batch == 1);
  CHECK(flat.right == matrix(3, 8));
  MatrixProduct both = matrixProductOf(product({4, 7, 2, 3}, {4, 7, 3, 5}, {4, 7, 2, 5})).value();
  CHECK(both.batch == 28);
  CHECK(both.left == matrix(5, 3, false, 15));
  CHECK(both.right == matrix(3, 2, false, 6));
  CHECK(both.result == matrix(5, 2, false, 10));
  MatrixProduct right = matrixProductOf(product({1, 2, 3}, {4, 3, 5}, {4, 2, 5})).value();
  CHECK(right.batch == 4);
  CHECK(right.right == matrix(3, 2));
  Instruction transposed = product({4, 3, 2}, {3, 5}, {4, 2, 5});
  transposed.attributes["transpose_lhs"] = true;
  CHECK(matrixProductOf(transposed).value().right == matrix(2, 3, true, 6));
}

TEST_CASE("8-bit floats are multiplied as tensor cores take them") {
  using runtime::ElementType;
  auto typed = [](ElementType lhs, ElementType rhs, ElementType result, std::vector<int64_t> dims) {
    Instruction instruction = product({5, dims[0]}, dims, {5, dims[1]});
    instruction.inputs[0].desc.type = lhs;
    instruction.inputs[1].desc = stridedDesc(rhs, dims, {1, dims[0]});
    instruction.outputs[0].desc.type = result;
    instruction.attributes["scales"] = std::vector<double>{0.25};
    return instruction;
  };
  constexpr ElementType kFine = ElementType::kF8E4M3FN, kCoarse = ElementType::kF8E5M2;
  Instruction instruction = typed(kFine, kCoarse, ElementType::kF16, {32, 48});
  MatrixProduct p = matrixProductOf(instruction).value();
  CHECK(p.type == ElementType::kF16);
  CHECK(p.leftType == kCoarse);
  CHECK(p.rightType == kFine);
  CHECK(p.left == matrix(32, 48, true));
  CHECK(p.right == matrix(32, 5));
  CHECK(p.factor == 0.25);
  instruction.inputs.push_back({3, {ElementType::kF16, {48}, {}, false}});
  CHECK(matrixProductOf(instruction).value().hasBias);
  Instruction dense = instruction;
  dense.inputs[1].desc = {kCoarse, {48, 32}, {}, false};
  dense.attributes["transpose_rhs"] = true;
  CHECK(matrixProductOf(dense).value().left == matrix(32, 48, true));
  dense.inputs[1].desc.dims = {32, 48};
  dense.attributes["transpose_rhs"] = false;
  CHECK_THAT(whyNot(dense), Catch::Contains("by one that lies transposed"));
  CHECK_THAT(whyNot(typed(kCoarse, kCoarse, ElementType::kF16, {32, 48})),
             Catch::Contains("one of them f8e4m3fn"));
  CHECK_THAT(whyNot(typed(kFine, ElementType::kF16, ElementType::kF16, {32, 48})),
             Catch::Contains("expected dense operands"));
  CHECK_THAT(whyNot(typed(kFine, kFine, ElementType::kF64, {32, 48})),
             Catch::Contains("one of them f8e4m3fn"));
  CHECK_THAT(whyNot(typed(kFine, kFine, ElementType::kF32, {24, 48})),
             Catch::Contains("multiples of 16 only, not of 24 x 48"));
  CHECK_THAT(whyNot(typed(kFine, kFine, ElementType::kF32, {32, 40})),
             Catch::Contains("multiples of 16 only, not of 32 x 40"));
  Instruction biased = typed(kFine, kFine, ElementType::kF32, {32, 48});
  CHECK(matrixProductOf(biased).ok());
  biased.inputs.push_back({3, f32({48})});
  CHECK_THAT(whyNot(biased), Catch::Contains("no bias of f32"));
}

TEST_CASE("a bias, a sum and an activation go with the product") {
  Instruction instruction = product({2, 3}, {3, 5}, {2, 5});
  instruction.inputs.push_back({3, f32({5})});
  instruction.postOps.push_back({PostOpKind::kSum, "", 0, 0, {}});
  instruction.postOps.push_back({PostOpKind::kEltwise, "gelu_tanh", 0, 0, {}});
  instruction.attributes["tf32"] = true;
  MatrixProduct p = matrixProductOf(instruction).value();
  CHECK(p.hasBias);
  CHECK(p.accumulates);
  CHECK(p.activation == Activation::kGeluTanh);
  CHECK(p.tf32);
  instruction.inputs[2].desc = f32({4});
  CHECK_THAT(whyNot(instruction), Catch::Contains("do not fit"));
}

TEST_CASE("what the library does not do in one call is declined with the reason") {
  CHECK_THAT(whyNot(product({2, 3}, {4, 5}, {2, 5})), Catch::Contains("do not fit"));
  CHECK_THAT(whyNot(product({2, 3}, {3, 5}, {2, 6})), Catch::Contains("do not fit"));
  CHECK_THAT(whyNot(product({}, {3, 5}, {5})), Catch::Contains("do not fit"));
  CHECK_THAT(whyNot(product({4, 1, 2, 3}, {1, 7, 3, 5}, {4, 7, 2, 5})),
             Catch::Contains("do not fit") || Catch::Contains("broadcast"));
  CHECK_THAT(whyNot(product({2, 0}, {0, 5}, {2, 5})), Catch::Contains("one of nothing"));
  Instruction strided = product({2, 3}, {3, 5}, {2, 5});
  strided.inputs[0].desc.layout.assign(16, 0);
  CHECK_THAT(whyNot(strided), Catch::Contains("dense"));
  Instruction bytes = product({2, 3}, {3, 5}, {2, 5});
  bytes.outputs[0].desc.type = runtime::ElementType::kI32;
  CHECK_THAT(whyNot(bytes), Catch::Contains("not the library's"));
  Instruction post = product({2, 3}, {3, 5}, {2, 5});
  post.postOps.push_back({PostOpKind::kBinaryMul, "", 0, 0, {}});
  CHECK_THAT(whyNot(post), Catch::Contains("only a sum, then relu or gelu_tanh"));
}

TEST_CASE("the list of kernels answers for an operation without a GPU") {
  std::vector<Candidate> found = candidates(product({2, 3}, {3, 5}, {2, 5}));
  REQUIRE(found.size() == 2);
  CHECK(absl::IsUnimplemented(found[1].choice.status()));  // of bytes alone
  CHECK(found[0].kernel->name == "cublaslt.matmul");
  CHECK(found[0].choice.value().scratchBytes == uint64_t{32} << 20);
  Instruction none = product({2, 3}, {3, 5}, {2, 5});
  none.operation = "gr.einsum";
  CHECK(candidates(none).empty());
  CHECK(findKernel("onednn.conv") == nullptr);
  CHECK(kernels().back().name == "copy");
}

}  // namespace graphrun::devices::cuda
