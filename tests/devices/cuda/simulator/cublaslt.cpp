// The simulator's cuBLASLt: products of f64, f32, f16, bf16 and 8-bit floats, column by column, in
// the order of a stream.
#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "tests/devices/cuda/simulator/cublaslt_float8.h"
#include "tests/devices/cuda/simulator/gpu_state.h"
#include "tests/devices/cuda/simulator/small_float.h"

using graphrun::testing::gpu;
namespace ptx = graphrun::testing::ptx;

namespace {

/// Work memory that the one algorithm needs.
constexpr size_t kWorkspaceBytes = 1024;

/// A descriptor: what it was made with, and its attributes.
struct Object {
  int64_t made[4] = {};  // layout: type, rows, columns, ld; operation: compute type, scale type
  std::map<int, std::vector<uint8_t>> attributes;

  template <typename T>
  T get(int which, T otherwise) const {
    auto found = attributes.find(which);
    if (found == attributes.end() || found->second.size() != sizeof(T)) {
      return otherwise;
    }
    std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }
};

template <typename Handle>
Object& object(Handle handle) {
  return *reinterpret_cast<Object*>(handle);
}

template <typename Handle>
cublasStatus_t create(Handle* handle, std::initializer_list<int64_t> made) {
  auto* fresh = new Object();
  std::copy(made.begin(), made.end(), fresh->made);
  *handle = reinterpret_cast<Handle>(fresh);
  ++gpu().counts.libraryObjects;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle>
cublasStatus_t destroy(Handle handle) {
  delete &object(handle);
  --gpu().counts.libraryObjects;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle>
cublasStatus_t set(Handle handle, int which, const void* value, size_t bytes) {
  const auto* begin = static_cast<const uint8_t*>(value);
  object(handle).attributes[which].assign(begin, begin + bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// One operand as the product reads it.
struct Operand {
  CUdeviceptr address;
  int64_t type, rows, columns, ld, stride, batch;
  bool transposed;

  Operand(const void* data, const Object& layout, bool isTransposed)
      : address(reinterpret_cast<CUdeviceptr>(data)),
        type(layout.made[0]),
        rows(layout.made[1]),
        columns(layout.made[2]),
        ld(layout.made[3]),
        stride(layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0)),
        batch(layout.get<int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)),
        transposed(isTransposed) {}

  size_t elements() const { return static_cast<size_t>((batch - 1) * stride + columns * ld); }
  int64_t seenRows() const { return transposed ? columns : rows; }
  int64_t seenColumns() const { return transposed ? rows : columns; }
  int64_t offset(int64_t matrix, int64_t row, int64_t column) const {
    return matrix * stride + (transposed ? row * ld + column : column * ld + row);
  }
};

bool fit(const Operand& a, const Operand& b, const Operand& d) {
  return a.seenColumns() == b.seenRows() && a.seenRows() == d.rows && b.seenColumns() == d.columns;
}

double activate(int epilogue, double value) {
  if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0) {
    return 0.5 * value * (1 + std::tanh(0.7978845608 * (value + 0.044715 * value * value * value)));
  }
  return (epilogue & CUBLASLT_EPILOGUE_RELU) != 0 ? std::max(value, 0.0) : value;
}

size_t bytesOf(int64_t type) {
  return type == CUDA_R_64F                          ? 8
         : type == CUDA_R_32F                        ? 4
         : type == CUDA_R_16F || type == CUDA_R_16BF ? 2
                                                     : 1;
}

/// The number in memory as an element of `type`.
double read(const uint8_t* address, int64_t type) {
  auto load = [&](auto value) {
    std::memcpy(&value, address, sizeof(value));
    return value;
  };
  switch (type) {
    case CUDA_R_64F:
      return load(double());
    case CUDA_R_32F:
      return load(float());
    case CUDA_R_16F:
      return load(ptx::Half()).value();
    case CUDA_R_16BF:
      return load(ptx::Brain()).value();
    default:
      return graphrun::testing::valueOfFloat8(type, *address);
  }
}

void write(double x, uint8_t* address, int64_t type) {
  auto store = [&](auto value) { std::memcpy(address, &value, sizeof(value)); };
  switch (type) {
    case CUDA_R_64F:
      return store(x);
    case CUDA_R_16F:
      return store(ptx::Half::round(x));
    case CUDA_R_16BF:
      return store(ptx::Brain::round(x));
    default:
      return store(static_cast<float>(x));
  }
}

/// A tensor's bytes on the GPU, or null.
uint8_t* view(CUdeviceptr address, size_t count, int64_t type) {
  return static_cast<uint8_t*>(gpu().view(address, count * bytesOf(type)));
}

struct Product {
  Operand a, b, d;
  double alpha, beta;
  int epilogue;
  CUdeviceptr bias;
  bool tf32;  // factors are rounded

  /// All elements of a factor, or nothing where it is outside of memory.
  std::optional<std::vector<double>> factors(const Operand& operand) const {
    const uint8_t* bytes = view(operand.address, operand.elements(), operand.type);
    if (bytes == nullptr) {
      return std::nullopt;
    }
    std::vector<double> values(operand.elements());
    for (size_t i = 0; i < values.size(); ++i) {
      double value = read(bytes + i * bytesOf(operand.type), operand.type);
      values[i] = tf32 ? ptx::roundToTf32(value) : value;
    }
    return values;
  }

  CUresult run() const {
    auto left = factors(a), right = factors(b);
    uint8_t* result = view(d.address, d.elements(), d.type);
    bool biased = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
    const uint8_t* offsets = biased ? view(bias, static_cast<size_t>(d.rows), d.type) : nullptr;
    if (!left || !right || result == nullptr || (biased && offsets == nullptr)) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (int64_t m = 0; m < d.batch; ++m) {
      for (int64_t column = 0; column < d.columns; ++column) {
        for (int64_t row = 0; row < d.rows; ++row) {
          double sum = 0;
          for (int64_t k = 0; k < a.seenColumns(); ++k) {
            sum += (*left)[a.offset(m, row, k)] * (*right)[b.offset(m, k, column)];
          }
          uint8_t* to = result + d.offset(m, row, column) * bytesOf(d.type);
          sum = alpha * sum + (beta == 0 ? 0 : beta * read(to, d.type)) +
                (biased ? read(offsets + row * bytesOf(d.type), d.type) : 0);
          write(activate(epilogue, sum), to, d.type);
        }
      }
    }
    return CUDA_SUCCESS;
  }
};

/// What the rules for 8-bit floats are about.
graphrun::testing::ProductTerms termsOf(const Object& operation, const Operand& a, const Operand& b,
                                        const Operand& c, const Operand& d) {
  return {{a.type, a.rows, a.columns, a.ld, a.transposed},
          {b.type, b.rows, b.columns, b.ld, b.transposed},
          {c.type, c.rows, c.columns, c.ld, false},
          {d.type, d.rows, d.columns, d.ld, false},
          operation.made[0],
          operation.made[1],
          operation.get<int32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT),
          operation.get<int32_t>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1)};
}

/// Whether the library has the product, in these types.
bool isKnown(const Object& operation, const Operand& a, const Operand& b, const Operand& c,
             const Operand& d) {
  if (graphrun::testing::isFloat8(a.type) || graphrun::testing::isFloat8(b.type)) {
    return graphrun::testing::multipliesFloat8(termsOf(operation, a, b, c, d));
  }
  const auto& refusals = gpu().refusals;
  const auto epilogue =
      operation.get<int32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  if (refusals.contains("products") ||
      (refusals.contains("epilogues") && epilogue != CUBLASLT_EPILOGUE_DEFAULT)) {
    return false;
  }
  bool isOne = a.type == d.type && b.type == d.type && c.type == d.type;
  return isOne && (operation.made[0] != CUBLAS_COMPUTE_32F_FAST_TF32 || d.type == CUDA_R_32F);
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130100; }
const char* cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_OF_SOME_KIND"; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "as the simulator was told"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return create(handle, {}); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  return create(operation, {compute, scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return destroy(operation);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  return set(operation, which, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  return create(layout, {type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t bytes) {
  return set(layout, which, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, {});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void* value, size_t bytes) {
  return set(preference, which, value, bytes);
}

static bool isTransposed(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which) {
  return object(operation).get<int32_t>(which, CUBLAS_OP_N) == CUBLAS_OP_T;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  const Operand left(nullptr, object(a), isTransposed(operation, CUBLASLT_MATMUL_DESC_TRANSA));
  const Operand right(nullptr, object(b), isTransposed(operation, CUBLASLT_MATMUL_DESC_TRANSB));
  const Operand result(nullptr, object(d), false);
  if (!fit(left, right, result)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!isKnown(object(operation), left, right, {nullptr, object(c), false}, result)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (object(preference).get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0) <
      kWorkspaceBytes) {
    return CUBLAS_STATUS_SUCCESS;
  }
  results[0] = {};
  results[0].workspaceSize = kWorkspaceBytes;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t aLayout, const void* b,
                              cublasLtMatrixLayout_t bLayout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t cLayout, void* d,
                              cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t*,
                              void* workspace, size_t workspaceBytes, cudaStream_t stream) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  if (state.enterCall("cublasLtMatmul") != CUDA_SUCCESS) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  constexpr uintptr_t kWorkspaceAlignment = 256;
  if (workspaceBytes < kWorkspaceBytes ||
      reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0 ||
      state.view(reinterpret_cast<CUdeviceptr>(workspace), workspaceBytes) == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Object& its = object(operation);
  const bool isDouble = object(dLayout).made[0] == CUDA_R_64F;
  auto factor = [&](const void* value) {
    return isDouble ? *static_cast<const double*>(value)
                    : static_cast<double>(*static_cast<const float*>(value));
  };
  Product product{{a, object(aLayout), isTransposed(operation, CUBLASLT_MATMUL_DESC_TRANSA)},
                  {b, object(bLayout), isTransposed(operation, CUBLASLT_MATMUL_DESC_TRANSB)},
                  {d, object(dLayout), false},
                  factor(alpha),
                  factor(beta),
                  its.get<int32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT),
                  its.get<CUdeviceptr>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 0),
                  its.made[0] == CUBLAS_COMPUTE_32F_FAST_TF32};
  if (!isKnown(its, product.a, product.b, {c, object(cLayout), false}, product.d)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (graphrun::testing::isFloat8(product.a.type) && !graphrun::testing::areAligned({a, b, c, d})) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  CUresult put = state.put(reinterpret_cast<CUstream>(stream), [product, &state] {
    ++state.counts.launches;
    return product.run();
  });
  return put == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
