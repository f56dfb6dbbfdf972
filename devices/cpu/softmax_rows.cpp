#include "devices/cpu/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "devices/cpu/exponential.h"
#include "devices/cpu/vector.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// `body(place)` for the whole vectors of a row; the place of what is left.
template <typename Body>
[[gnu::always_inline]] inline int64_t forVectors(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kVectorLanes <= count; i += kVectorLanes) {
    body(i);
  }
  return i;
}

/// y = change(x) for all elements of a row, `rest` standing for those behind its end.
template <typename Change>
[[gnu::always_inline]] inline void changeRow(const float* x, int64_t count, float rest, float* y,
                                             const Change& change) {
  int64_t i = forVectors(count, [&](int64_t at) __attribute__((always_inline)) {
    Vector v;
    loadVector(x + at, v);
    change(v);
    if (y != nullptr) {
      storeVector(v, y + at);
    }
  });
  if (i < count) {
    Vector v;
    loadPart(x + i, count - i, rest, v);
    change(v);
    if (y != nullptr) {
      storePart(v, count - i, y + i);
    }
  }
}

/// The largest element; NaN is passed over: it comes back with the exponentials.
[[gnu::always_inline]] inline float largest(const float* x, int64_t count) {
  Vector most = Vector{} - kInfinity;
  changeRow(x, count, -kInfinity, nullptr,
            [&](Vector& v) __attribute__((always_inline)) { most = v > most ? v : most; });
  return combineLanes(
      most, [](auto& a, const auto& b) __attribute__((always_inline)) { a = b > a ? b : a; });
}

/// The sum of the exponentials of x - most, which are left in y where that is not null.
[[gnu::always_inline]] inline float raise(const float* x, float most, int64_t count, float* y) {
  Vector sum = {};
  changeRow(x, count, -kInfinity, y, [&](Vector& v) __attribute__((always_inline)) {
    v -= most;
    raiseNegative(v);
    sum += v;
  });
  return combineLanes(sum, [](auto& a, const auto& b) __attribute__((always_inline)) { a += b; });
}

[[gnu::always_inline]] inline void softmax(const float* x, int64_t count, float* y) {
  float inverse = 1 / raise(x, largest(x, count), count, y);
  changeRow(y, count, 0, y, [&](Vector& v) __attribute__((always_inline)) { v *= inverse; });
}

[[gnu::always_inline]] inline void logSoftmax(const float* x, int64_t count, float* y) {
  float most = largest(x, count);
  float logSum = std::log(raise(x, most, count, nullptr));
  // One after the other: the sum of both would be rounded to what a large element can hold.
  changeRow(x, count, 0, y, [&](Vector& v) __attribute__((always_inline)) {
    v -= most;
    v -= logSum;
  });
}

}  // namespace

void softmaxRow(float* scores, const float* mask, int64_t count) {
  runWide([&] {
    if (mask != nullptr) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        scores[i] += mask[i];
      }
    }
    softmax(scores, count, scores);
  });
}

void softmaxRows(const float* x, int64_t rows, int64_t count, bool log, float* y) {
  runWide([&] {
    for (int64_t i = 0; i < rows * count; i += count) {
      log ? logSoftmax(x + i, count, y + i) : softmax(x + i, count, y + i);
    }
  });
}

}  // namespace graphrun::devices::cpu
