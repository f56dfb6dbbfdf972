#include "tests/devices/cuda/simulator/cublaslt_float8.h"

#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace graphrun::testing {
namespace {

constexpr int64_t kAlignment = 16;

int64_t bytesOf(int64_t type) {
  return type == CUDA_R_32F ? 4 : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 1;
}

bool hasAlignedColumns(const ProductMatrix& matrix) {
  return matrix.rows * bytesOf(matrix.type) % kAlignment == 0 &&
         matrix.ld * bytesOf(matrix.type) % kAlignment == 0;
}

/// The table of types, results of 8 bits left out. A result of f32 has a bias of bf16.
bool haveKnownTypes(const ProductTerms& terms) {
  bool hasFine = terms.a.type == CUDA_R_8F_E4M3 || terms.b.type == CUDA_R_8F_E4M3;
  bool isResult =
      terms.d.type == CUDA_R_16F || terms.d.type == CUDA_R_16BF || terms.d.type == CUDA_R_32F;
  int64_t bias = terms.d.type == CUDA_R_32F ? int64_t{CUDA_R_16BF} : terms.d.type;
  bool isBiased = (terms.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  int64_t given = terms.biasType == -1 ? terms.d.type : terms.biasType;
  return isFloat8(terms.a.type) && isFloat8(terms.b.type) && hasFine && isResult &&
         terms.c.type == terms.d.type && (!isBiased || given == bias);
}

}  // namespace

bool isFloat8(int64_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

double valueOfFloat8(int64_t type, uint8_t bits) {
  const int mantissa = type == CUDA_R_8F_E4M3 ? 3 : 2;
  const int bias = type == CUDA_R_8F_E4M3 ? 7 : 15;
  const double sign = bits >= 0x80 ? -1 : 1;
  const int fraction = bits & ((1 << mantissa) - 1);
  const int exponent = (bits & 0x7f) >> mantissa;
  if (type == CUDA_R_8F_E4M3 && (bits & 0x7f) == 0x7f) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (type == CUDA_R_8F_E5M2 && exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias - mantissa)
                       : sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

bool multipliesFloat8(const ProductTerms& terms) {
  auto all = {terms.a, terms.b, terms.c, terms.d};
  return haveKnownTypes(terms) && terms.a.transposed && !terms.b.transposed &&
         terms.computeType == CUBLAS_COMPUTE_32F && terms.scaleType == CUDA_R_32F &&
         std::all_of(all.begin(), all.end(), hasAlignedColumns);
}

bool areAligned(std::initializer_list<const void*> addresses) {
  return std::all_of(addresses.begin(), addresses.end(), [](const void* address) {
    return reinterpret_cast<uintptr_t>(address) % kAlignment == 0;
  });
}

}  // namespace graphrun::testing
