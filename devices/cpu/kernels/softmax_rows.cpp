#include "devices/cpu/kernels/softmax_rows.h"

#include <cstring>
#include <limits>

#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/functions/exponentials.h"
#include "devices/functions/lanes.h"

namespace graphrun::devices::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// kVectorLanes elements, in vectors that a machine has: sums are the same on all.
template <int kLanes>
struct Block {
  static constexpr int64_t kParts = kVectorLanes / kLanes;
  functions::Pack<float, kLanes> part[kParts];
};

/// The parts of `block` combined by `combine(a, b)`, which leaves its result in a.
template <int kLanes, typename Combine>
[[gnu::always_inline]] inline float combineBlock(const Block<kLanes>& block,
                                                 const Combine& combine) {
  Vector v;
  std::memcpy(&v, &block, sizeof(v));
  return combineLanes(v, combine);
}

/// y = change(x) for kVectorLanes elements, part by part; `change` is given the part's number too.
template <int kLanes, typename Change>
[[gnu::always_inline]] inline void changeBlock(const float* x, float* y, const Change& change) {
  unrolled<Block<kLanes>::kParts>([&](auto k) __attribute__((always_inline)) {
    functions::Pack<float, kLanes> v;
    std::memcpy(&v, x + k * kLanes, sizeof(v));
    change(v, k);
    if (y != nullptr) {
      std::memcpy(y + k * kLanes, &v, sizeof(v));
    }
  });
}

/// The same for all elements of a row, `rest` standing for those behind its end.
template <int kLanes, typename Change>
[[gnu::always_inline]] inline void changeRow(const float* x, int64_t count, float rest, float* y,
                                             const Change& change) {
  int64_t i = 0;
  for (; i + kVectorLanes <= count; i += kVectorLanes) {
    changeBlock<kLanes>(x + i, y == nullptr ? y : y + i, change);
  }
  if (i < count) {
    Vector last;
    loadPart(x + i, count - i, rest, last);
    auto* lanes = reinterpret_cast<float*>(&last);
    changeBlock<kLanes>(lanes, lanes, change);
    if (y != nullptr) {
      storePart(last, count - i, y + i);
    }
  }
}

/// The largest element; NaN is passed over: it comes back with the exponentials.
template <int kLanes>
[[gnu::always_inline]] inline float largest(const float* x, int64_t count) {
  Block<kLanes> most;
  unrolled<Block<kLanes>::kParts>([&](auto k) __attribute__((always_inline)) {
    most.part[k] = functions::filled<functions::Pack<float, kLanes>>(-kInfinity);
  });
  changeRow<kLanes>(x, count, -kInfinity, nullptr,
                    [&](auto& v, auto k) __attribute__((always_inline)) {
                      most.part[k] = v > most.part[k] ? v : most.part[k];
                    });
  return combineBlock(
      most, [](auto& a, const auto& b) __attribute__((always_inline)) { a = b > a ? b : a; });
}

/// The sum of the exponentials of x - most, which are left in y where that is not null.
template <int kLanes>
[[gnu::always_inline]] inline float raise(const float* x, float most, int64_t count, float* y) {
  Block<kLanes> sum = {};
  changeRow<kLanes>(x, count, -kInfinity, y, [&](auto& v, auto k) __attribute__((always_inline)) {
    v = functions::exponentialBelow(functions::Lanes<float, kLanes>{v - most}).held;
    sum.part[k] += v;
  });
  return combineBlock(sum, [](auto& a, const auto& b) __attribute__((always_inline)) { a += b; });
}

template <int kLanes>
[[gnu::always_inline]] inline void softmax(const float* x, int64_t count, float* y) {
  float inverse = 1 / raise<kLanes>(x, largest<kLanes>(x, count), count, y);
  changeRow<kLanes>(y, count, 0, y,
                    [&](auto& v, auto) __attribute__((always_inline)) { v *= inverse; });
}

template <int kLanes>
[[gnu::always_inline]] inline void logSoftmax(const float* x, int64_t count, float* y) {
  float most = largest<kLanes>(x, count);
  float logSum =
      functions::logarithm(functions::Lanes<float>{raise<kLanes>(x, most, count, nullptr)}).held;
  // One after the other: the sum of both would be rounded to what a large element can hold.
  changeRow<kLanes>(x, count, 0, y, [&](auto& v, auto) __attribute__((always_inline)) {
    v -= most;
    v -= logSum;
  });
}

/// Lanes of a vector of so many bits.
template <typename Bits>
constexpr int kLanesOf = Bits::value / 32;

}  // namespace

void softmaxRow(float* scores, const float* mask, int64_t count) {
  runVectors([&](auto bits) {
    if (mask != nullptr) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) {
        scores[i] += mask[i];
      }
    }
    softmax<kLanesOf<decltype(bits)>>(scores, count, scores);
  });
}

void softmaxRows(const float* x, int64_t rows, int64_t count, bool log, float* y) {
  runVectors([&](auto bits) {
    constexpr int kLanes = kLanesOf<decltype(bits)>;
    for (int64_t i = 0; i < rows * count; i += count) {
      log ? logSoftmax<kLanes>(x + i, count, y + i) : softmax<kLanes>(x + i, count, y + i);
    }
  });
}

}  // namespace graphrun::devices::cpu
