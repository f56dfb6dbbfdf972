// The simulator's cuBLASLt: products of f64, f32, f16 and bf16, column by column, in the order of a
// stream.
#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

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
  int64_t rows, columns, ld, stride, batch;
  bool transposed;

  Operand(const void* data, const Object& layout, bool isTransposed)
      : address(reinterpret_cast<CUdeviceptr>(data)),
        rows(layout.made[1]),
        columns(layout.made[2]),
        ld(layout.made[3]),
        stride(layout.get<int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0)),
        batch(layout.get<int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)),
        transposed(isTransposed) {}

  size_t elements() const { return static_cast<size_t>((batch - 1) * stride + columns * ld); }
  int64_t seenRows() const { return transposed ? columns : rows; }
  int64_t seenColumns() const { return transposed ? rows : columns; }
  int64_t place(int64_t matrix, int64_t row, int64_t column) const {
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

template <typename T>
double valueOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return x.value();
  }
}

template <typename T>
T rounded(double x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else {
    return T::round(x);
  }
}

struct Product {
  Operand a, b, d;
  double alpha, beta;
  int epilogue;
  CUdeviceptr bias;
  bool tf32;  // factors are rounded

  double factor(double value) const { return tf32 ? ptx::roundToTf32(value) : value; }

  template <typename T>
  CUresult run() const {
    auto view = [](CUdeviceptr address, size_t count) {
      return static_cast<T*>(gpu().view(address, count * sizeof(T)));
    };
    const T* left = view(a.address, a.elements());
    const T* right = view(b.address, b.elements());
    T* result = view(d.address, d.elements());
    bool biased = (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
    const T* offsets = biased ? view(bias, static_cast<size_t>(d.rows)) : nullptr;
    if (left == nullptr || right == nullptr || result == nullptr ||
        (biased && offsets == nullptr)) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (int64_t m = 0; m < d.batch; ++m) {
      for (int64_t column = 0; column < d.columns; ++column) {
        for (int64_t row = 0; row < d.rows; ++row) {
          double sum = 0;
          for (int64_t k = 0; k < a.seenColumns(); ++k) {
            sum += factor(valueOf(left[a.place(m, row, k)])) *
                   factor(valueOf(right[b.place(m, k, column)]));
          }
          T& to = result[d.place(m, row, column)];
          sum = alpha * sum + (beta == 0 ? 0 : beta * valueOf(to)) +
                (biased ? valueOf(offsets[row]) : 0);
          to = rounded<T>(activate(epilogue, sum));
        }
      }
    }
    return CUDA_SUCCESS;
  }
};

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
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  bool shapes = fit({nullptr, object(a), isTransposed(operation, CUBLASLT_MATMUL_DESC_TRANSA)},
                    {nullptr, object(b), isTransposed(operation, CUBLASLT_MATMUL_DESC_TRANSB)},
                    {nullptr, object(d), false});
  if (!shapes) {
    return CUBLAS_STATUS_INVALID_VALUE;
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
                              cublasLtMatrixLayout_t bLayout, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t dLayout,
                              const cublasLtMatmulAlgo_t*, void* workspace, size_t workspaceBytes,
                              cudaStream_t stream) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  if (state.enterCall("cublasLtMatmul") != CUDA_SUCCESS) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (workspaceBytes < kWorkspaceBytes ||
      state.view(reinterpret_cast<CUdeviceptr>(workspace), workspaceBytes) == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Object& its = object(operation);
  const int64_t type = object(dLayout).made[0];
  const bool tf32 = its.made[0] == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (tf32 && type != CUDA_R_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  bool isDouble = type == CUDA_R_64F;
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
                  tf32};
  CUresult put = state.put(reinterpret_cast<CUstream>(stream), [product, type, &state] {
    ++state.counts.launches;
    return type == CUDA_R_64F    ? product.run<double>()
           : type == CUDA_R_16F  ? product.run<ptx::Half>()
           : type == CUDA_R_16BF ? product.run<ptx::Brain>()
                                 : product.run<float>();
  });
  return put == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
