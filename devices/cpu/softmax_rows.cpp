#include "devices/cpu/softmax_rows.h"

#include <algorithm>
#include <limits>

#include "devices/cpu/exponential.h"
#include "devices/cpu/vector.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// `body(place, width)` for vectors of a row; `width` is less than their lanes for the last one.
template <typename Body>
[[gnu::always_inline]] inline void forVectors(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kVectorLanes <= count; i += kVectorLanes) {
    body(i, std::integral_constant<int64_t, kVectorLanes>());
  }
  if (i < count) {
    body(i, count - i);
  }
}

/// The largest element; NaN is passed over: it comes back with the exponentials. y becomes x plus
/// the mask where there is one.
[[gnu::always_inline]] inline float largest(const float* x, const float* mask, int64_t count,
                                            float* y) {
  Vector most = Vector{} - kInfinity;
  forVectors(count, [&](int64_t i, auto width) __attribute__((always_inline)) {
    Vector v = Vector{} - kInfinity;
    loadVector(x + i, v, width);
    if (mask != nullptr) {
      Vector added = {};
      loadVector(mask + i, added, width);
      v += added;
      storeVector(v, y + i, width);
    }
    most = v > most ? v : most;
  });
  return combineLanes(
      most, [](auto& a, const auto& b) __attribute__((always_inline)) { a = b > a ? b : a; });
}

/// The sum of the exponentials of x - most, left in y where that is not null.
[[gnu::always_inline]] inline float raise(const float* x, float most, int64_t count, float* y) {
  Vector sum = {};
  forVectors(count, [&](int64_t i, auto width) __attribute__((always_inline)) {
    Vector v = Vector{} - kInfinity;
    loadVector(x + i, v, width);
    v -= most;
    raiseNegative(v);
    if (y != nullptr) {
      storeVector(v, y + i, width);
    }
    sum += v;
  });
  return combineLanes(sum, [](auto& a, const auto& b) __attribute__((always_inline)) { a += b; });
}

[[gnu::always_inline]] inline void softmax(const float* x, const float* mask, int64_t count,
                                           float* y) {
  float most = largest(x, mask, count, y);
  float inverse = 1 / raise(mask == nullptr ? x : y, most, count, y);
  forVectors(count, [&](int64_t i, auto width) __attribute__((always_inline)) {
    Vector v = {};
    loadVector(y + i, v, width);
    v *= inverse;
    storeVector(v, y + i, width);
  });
}

[[gnu::always_inline]] inline void logSoftmax(const float* x, int64_t count, float* y) {
  float most = largest(x, nullptr, count, y);
  float shift = most + std::log(raise(x, most, count, nullptr));
  forVectors(count, [&](int64_t i, auto width) __attribute__((always_inline)) {
    Vector v = {};
    loadVector(x + i, v, width);
    v -= shift;
    storeVector(v, y + i, width);
  });
}

}  // namespace

void softmaxRow(const float* x, const float* mask, int64_t count, float* y) {
  runWide([&] { softmax(x, mask, count, y); });
}

void softmaxRows(const float* x, int64_t rows, int64_t count, bool log, float* y) {
  runWide([&] {
    for (int64_t i = 0; i < rows * count; i += count) {
      log ? logSoftmax(x + i, count, y + i) : softmax(x + i, nullptr, count, y + i);
    }
  });
}

}  // namespace graphrun::devices::cpu
