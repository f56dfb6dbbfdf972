#include "devices/cuda/cublaslt/cublaslt_matmul.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "devices/cuda/cublaslt/matrix_product.h"
#include "devices/cuda/cublaslt/product_library.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

/// NVIDIA recommends this size for its newer GPUs (cuBLAS documentation, workspace).
constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;

/// The heuristic is asked for this many algorithms.
constexpr int kMostAnswers = 8;

#define GR_LT(use, function, ...) \
  cublasLtStatus(*(use).api, (use).api->function(__VA_ARGS__), #function)

template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, cublasStatus_t (*)(Handle)>;

cudaDataType dataType(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return CUDA_R_64F;
    case ElementType::kF16:
      return CUDA_R_16F;
    case ElementType::kBF16:
      return CUDA_R_16BF;
    case ElementType::kF8E4M3FN:
      return CUDA_R_8F_E4M3;
    case ElementType::kF8E5M2:
      return CUDA_R_8F_E5M2;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t computeType(const MatrixProduct& product) {
  if (product.type == ElementType::kF64) {
    return CUBLAS_COMPUTE_64F;
  }
  return product.type == ElementType::kF32 && product.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                           : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogueOf(const MatrixProduct& product) {
  switch (product.activation) {
    case Activation::kRelu:
      return product.hasBias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh:
      return product.hasBias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::kNone:
      break;
  }
  return product.hasBias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/// A factor in the type that the library sums in.
union Factor {
  float f32;
  double f64;
};

Factor factorOf(const MatrixProduct& product, double value) {
  Factor factor{};
  if (product.type == ElementType::kF64) {
    factor.f64 = value;
  } else {
    factor.f32 = static_cast<float>(value);
  }
  return factor;
}

/// The largest power of two that divides an address, up to what the arena gives all tensors: the
/// heuristic answers alike wherever they lie.
uint32_t alignmentOf(CUdeviceptr address) {
  constexpr uint64_t kMost = 64;
  uint64_t lowest = address & (~address + 1);
  return static_cast<uint32_t>(lowest == 0 ? kMost : std::min(lowest, kMost));
}

class ProductKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> create(const Instruction& instruction,
                                                        const KernelContext& context) {
    GR_ASSIGN_OR_RETURN(MatrixProduct product, matrixProductOf(instruction));
    GR_ASSIGN_OR_RETURN(ProductLibrary::Use use, context.products.use());
    std::unique_ptr<ProductKernel> kernel(new ProductKernel(use, product));
    kernel->left_ = context.addressOf(instruction.inputs[1]);
    kernel->right_ = context.addressOf(instruction.inputs[0]);
    kernel->bias_ = product.hasBias ? context.addressOf(instruction.inputs[2]) : 0;
    kernel->result_ = context.addressOf(instruction.outputs[0]);
    if (instruction.scratch) {
      kernel->workspace_ = context.addressOf(*instruction.scratch);
      kernel->workspaceBytes_ = instruction.scratch->desc.spec().byteSize();
    }
    GR_RETURN_IF_ERROR(kernel->describe(product));
    GR_ASSIGN_OR_RETURN(kernel->plan_, algorithmOf(instruction));
    GR_RETURN_IF_ERROR(runtime::annotate(kernel->findAlgorithm(), instruction.label));
    return kernel;
  }

  absl::Status enqueue(CUstream stream) override {
    return GR_LT(use_, cublasLtMatmul, use_.handle, operation_.get(), &alpha_, pointer(left_),
                 leftLayout_.get(), pointer(right_), rightLayout_.get(), &beta_, pointer(result_),
                 resultLayout_.get(), pointer(result_), resultLayout_.get(), &algorithm_,
                 pointer(workspace_), workspaceBytes_, reinterpret_cast<cudaStream_t>(stream));
  }

  size_t plan() const override { return plan_; }

 private:
  ProductKernel(const ProductLibrary::Use& use, const MatrixProduct& product)
      : use_(use),
        operation_(nullptr, use.api->cublasLtMatmulDescDestroy),
        leftLayout_(nullptr, use.api->cublasLtMatrixLayoutDestroy),
        rightLayout_(nullptr, use.api->cublasLtMatrixLayoutDestroy),
        resultLayout_(nullptr, use.api->cublasLtMatrixLayoutDestroy),
        alpha_(factorOf(product, product.factor)),
        beta_(factorOf(product, product.accumulates ? 1 : 0)) {}

  static void* pointer(CUdeviceptr address) { return std::bit_cast<void*>(address); }

  /// Describes the product to the library. The scales of 8-bit floats are in alpha. Fast
  /// accumulation stays off, which is its default: then sums of few products, which have 14 bits or
  /// so, are added in f32.
  absl::Status describe(const MatrixProduct& product) {
    cublasLtMatmulDesc_t operation = nullptr;
    GR_RETURN_IF_ERROR(GR_LT(use_, cublasLtMatmulDescCreate, &operation, computeType(product),
                             product.type == ElementType::kF64 ? CUDA_R_64F : CUDA_R_32F));
    operation_.reset(operation);
    GR_RETURN_IF_ERROR(setTranspose(CUBLASLT_MATMUL_DESC_TRANSA, product.left));
    GR_RETURN_IF_ERROR(setTranspose(CUBLASLT_MATMUL_DESC_TRANSB, product.right));
    GR_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(product)));
    if (product.hasBias) {
      GR_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_));
    }
    GR_RETURN_IF_ERROR(
        layOut(product.left, product.batch, dataType(product.leftType), leftLayout_));
    GR_RETURN_IF_ERROR(
        layOut(product.right, product.batch, dataType(product.rightType), rightLayout_));
    return layOut(product.result, product.batch, dataType(product.type), resultLayout_);
  }

  template <typename Value>
  absl::Status set(cublasLtMatmulDescAttributes_t which, Value value) {
    return GR_LT(use_, cublasLtMatmulDescSetAttribute, operation_.get(), which, &value,
                 sizeof(value));
  }

  absl::Status setTranspose(cublasLtMatmulDescAttributes_t which, const ColumnMatrix& matrix) {
    return set(which, matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  }

  absl::Status layOut(const ColumnMatrix& matrix, int64_t batch, cudaDataType type,
                      Owned<cublasLtMatrixLayout_t>& layout) {
    cublasLtMatrixLayout_t made = nullptr;
    GR_RETURN_IF_ERROR(GR_LT(use_, cublasLtMatrixLayoutCreate, &made, type,
                             static_cast<uint64_t>(matrix.rows),
                             static_cast<uint64_t>(matrix.columns), matrix.rows));
    layout.reset(made);
    if (batch == 1) {
      return absl::OkStatus();
    }
    auto count = static_cast<int32_t>(batch);
    GR_RETURN_IF_ERROR(GR_LT(use_, cublasLtMatrixLayoutSetAttribute, made,
                             CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
    return GR_LT(use_, cublasLtMatrixLayoutSetAttribute, made,
                 CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batchStride,
                 sizeof(matrix.batchStride));
  }

  absl::Status findAlgorithm() {
    cublasLtMatmulPreference_t made = nullptr;
    GR_RETURN_IF_ERROR(GR_LT(use_, cublasLtMatmulPreferenceCreate, &made));
    Owned<cublasLtMatmulPreference_t> preference(made, use_.api->cublasLtMatmulPreferenceDestroy);
    GR_RETURN_IF_ERROR(prefer(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspaceBytes_));
    GR_RETURN_IF_ERROR(
        prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(left_)));
    GR_RETURN_IF_ERROR(
        prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(right_)));
    GR_RETURN_IF_ERROR(
        prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignmentOf(result_)));
    GR_RETURN_IF_ERROR(
        prefer(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignmentOf(result_)));
    std::array<cublasLtMatmulHeuristicResult_t, kMostAnswers> results{};
    int found = 0;
    GR_RETURN_IF_ERROR(GR_LT(use_, cublasLtMatmulAlgoGetHeuristic, use_.handle, operation_.get(),
                             leftLayout_.get(), rightLayout_.get(), resultLayout_.get(),
                             resultLayout_.get(), made, kMostAnswers, results.data(), &found));
    auto end = results.begin() + found;
    auto first = results.begin() + std::min(static_cast<int>(plan_), found);
    auto does = [](const cublasLtMatmulHeuristicResult_t& answer) {
      return answer.state == CUBLAS_STATUS_SUCCESS;
    };
    auto best = std::find_if(first, end, does);
    best = best == end ? std::find_if(results.begin(), first, does) : best;
    if (best == end || !does(*best)) {
      return absl::UnimplementedError(absl::StrCat(
          "cuBLASLt has no algorithm for the product with ", workspaceBytes_, " bytes to work in"));
    }
    plan_ = static_cast<size_t>(best - results.begin());
    algorithm_ = best->algo;
    return absl::OkStatus();
  }

  template <typename Value>
  absl::Status prefer(cublasLtMatmulPreference_t preference,
                      cublasLtMatmulPreferenceAttributes_t which, Value value) {
    return GR_LT(use_, cublasLtMatmulPreferenceSetAttribute, preference, which, &value,
                 sizeof(value));
  }

  ProductLibrary::Use use_;
  Owned<cublasLtMatmulDesc_t> operation_;
  Owned<cublasLtMatrixLayout_t> leftLayout_;
  Owned<cublasLtMatrixLayout_t> rightLayout_;
  Owned<cublasLtMatrixLayout_t> resultLayout_;
  Factor alpha_;
  Factor beta_;
  CUdeviceptr left_ = 0;
  CUdeviceptr right_ = 0;
  CUdeviceptr bias_ = 0;
  CUdeviceptr result_ = 0;
  CUdeviceptr workspace_ = 0;
  uint64_t workspaceBytes_ = 0;
  size_t plan_ = 0;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace

absl::StatusOr<KernelChoice> chooseProduct(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(matrixProductOf(instruction).status());
  return KernelChoice{kWorkspaceBytes, "cublasLt"};
}

absl::StatusOr<std::unique_ptr<Kernel>> createProduct(const Instruction& instruction,
                                                      const KernelContext& context) {
  return ProductKernel::create(instruction, context);
}

}  // namespace graphrun::devices::cuda
