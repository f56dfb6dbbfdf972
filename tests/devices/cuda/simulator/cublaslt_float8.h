// What cuBLASLt demands of products of 8-bit floats (its documentation, cublasLtMatmul), on GPUs of
// sm_90.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUBLASLT_FLOAT8_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUBLASLT_FLOAT8_H_

#include <cstdint>
#include <initializer_list>

namespace graphrun::testing {

/// A matrix as its layout says, column by column; types are those of cudaDataType.
struct ProductMatrix {
  int64_t type, rows, columns, ld;
  bool transposed;
};

/// d = a * b + c, and what is said of how.
struct ProductTerms {
  ProductMatrix a, b, c, d;
  int64_t computeType, scaleType;
  int epilogue;
  int64_t biasType;  ///< -1: not said
};

/// CUDA_R_8F_E4M3 or CUDA_R_8F_E5M2.
bool isFloat8(int64_t type);

double valueOfFloat8(int64_t type, uint8_t bits);

/// Whether the types go together, the first factor alone is transposed, columns begin at multiples
/// of 16 bytes and sums are of f32.
bool multipliesFloat8(const ProductTerms& terms);

/// Whether all of them are multiples of 16.
bool areAligned(std::initializer_list<const void*> addresses);

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_CUBLASLT_FLOAT8_H_
