#include "devices/cpu/kernels/winograd_filter.h"

#include "devices/cpu/kernels/winograd_transform.h"
#include "devices/cpu/threading/parallel.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kTaps = WinogradFilter::kTaps;

/// One tap of a vector of results.
using Taps = std::array<std::array<float, kVectorLanes>, kTaps>;

/// The taps of one input channel for `count` results, zeros for the others of the vector.
[[gnu::always_inline]] inline void readTaps(const float* from, int64_t stride, int64_t count,
                                            Taps& taps) {
  for (int64_t lane = 0; lane < kVectorLanes; ++lane) {
    for (size_t k = 0; k < kTaps; ++k) {
      taps[k][static_cast<size_t>(lane)] = lane < count ? from[lane * stride + k] : 0;
    }
  }
}

/// Both dims of the transform, rounded to f32 once; element e goes to to[e * stride], and tap t as
/// it is to plain[t * stride].
template <int64_t tile>
[[gnu::always_inline]] inline void transformTaps(const Taps& taps, float* to, float* plain,
                                                 int64_t stride) {
  using Transform = WinogradTransform<tile>;
  constexpr int64_t kSide = tile + 2;
  std::array<WideLine<kSide>, 3> columns;
  unrolled<3>([&](auto j) __attribute__((always_inline)) {
    WideLine<3> column;
    unrolled<3>([&](auto i) __attribute__((always_inline)) {
      Vector tap;
      loadVector(taps[i * 3 + j].data(), tap);
      storeVector(tap, plain + (i * 3 + j) * stride);
      column[i] = __builtin_convertvector(tap, WideVector);
    });
    Transform::filter(column, columns[j]);
  });
  unrolled<kSide>([&](auto i) __attribute__((always_inline)) {
    WideLine<kSide> row;
    Transform::filter({columns[0][i], columns[1][i], columns[2][i]}, row);
    unrolled<kSide>([&](auto j) __attribute__((always_inline)) {
      storeVector(__builtin_convertvector(row[j], Vector), to + (i * kSide + j) * stride);
    });
  });
}

template <int64_t tile>
void transformResults(const WinogradFilter& filter, int64_t first, int64_t count, const float* from,
                      float* to) {
  int64_t vectors = (count + kVectorLanes - 1) / kVectorLanes;
  parallelFor(vectors, filter.in * kVectorLanes * kTaps, [&](int64_t v) {
    int64_t result = first + v * kVectorLanes;
    int64_t panel = result / kPanel;
    int64_t width = filter.widthOf(panel);
    const float* taps = from + v * kVectorLanes * filter.in * kTaps;
    float* elements = to + filter.panelAt(panel) + result % kPanel;
    float* plain = to + filter.tapsAt(panel) + result % kPanel;
    runWide([&] {
      for (int64_t c = 0; c < filter.depth(); ++c) {
        Taps read;
        bool has = c < filter.in;
        readTaps(taps + (has ? c : 0) * kTaps, filter.in * kTaps,
                 has ? count - v * kVectorLanes : 0, read);
        transformTaps<tile>(read, elements + c * width, plain + c * width, filter.depth() * width);
      }
    });
  });
}

}  // namespace

void transformFilter(const WinogradFilter& filter, int64_t first, int64_t count, const float* from,
                     float* to) {
  filter.tile == 2 ? transformResults<2>(filter, first, count, from, to)
                   : transformResults<4>(filter, first, count, from, to);
}

}  // namespace graphrun::devices::cpu
