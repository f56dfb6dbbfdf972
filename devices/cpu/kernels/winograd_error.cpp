#include "devices/cpu/kernels/winograd_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "devices/cpu/kernels/winograd_filter.h"
#include "devices/cpu/kernels/winograd_transform.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kTaps = WinogradFilter::kTaps;
constexpr float kMostWeight = 0x1p40F;
constexpr float kLeastWeight = 0x1p-100F;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Magnitudes = std::array<double, kTaps>;

/// Returns the magnitude that the transforms of one dim make of that of tap `s`, in result `p`: the
/// matrices are what they make of unit vectors.
template <int64_t tile>
std::array<std::array<double, 3>, tile> amplification() {
  using Transform = WinogradTransform<tile>;
  constexpr int64_t kSide = tile + 2;
  std::array<double, kSide> source = {};
  for (size_t i = 0; i < kSide; ++i) {
    Line<kSide> unit = {};
    unit[i] += 1;
    Transform::source(unit);
    for (size_t r = 0; r < kSide; ++r) {
      source[r] += std::abs(unit[r][0]);
    }
  }
  std::array<std::array<double, 3>, tile> found = {};
  for (size_t s = 0; s < 3; ++s) {
    WideLine<3> tap = {};
    tap[s] += 1;
    WideLine<kSide> filter;
    Transform::filter(tap, filter);
    for (size_t r = 0; r < kSide; ++r) {
      Line<kSide> unit = {};
      unit[r] += 1;
      Line<tile> result;
      Transform::result(unit, result);
      for (size_t p = 0; p < tile; ++p) {
        found[p][s] += std::abs(result[p][0]) * source[r] * std::abs(filter[r][0]);
      }
    }
  }
  return found;
}

/// a_k of a channel with so much on each tap: the greatest of a tile's results.
template <int64_t tile>
double amplificationOf(const Magnitudes& taps) {
  static const auto kLine = amplification<tile>();
  double greatest = 0;
  double whole = 0;
  for (double tap : taps) {
    whole += tap;
  }
  for (const auto& row : kLine) {
    for (const auto& column : kLine) {
      double sum = 0;
      for (size_t t = 0; t < kTaps; ++t) {
        sum += row[t / 3] * column[t % 3] * taps[t];
      }
      greatest = std::max(greatest, sum);
    }
  }
  return whole == 0 ? 0 : greatest / whole;
}

/// Sums of magnitudes of one output channel's `in` x 9 taps, by vectors that hold 16 x 9 of them.
Magnitudes magnitudesOf(const float* taps, int64_t in) {
  constexpr int64_t kChunk = kVectorLanes * kTaps;
  std::array<float, kChunk> sums = {};
  int64_t count = in * kTaps;
  for (int64_t at = 0; at < count; at += kChunk) {
    int64_t here = std::min(kChunk, count - at);
#pragma omp simd
    for (int64_t i = 0; i < here; ++i) {
      sums[static_cast<size_t>(i)] += std::abs(taps[at + i]);
    }
  }
  Magnitudes found = {};
  for (size_t i = 0; i < kChunk; ++i) {
    found[i % kTaps] += sums[i];
  }
  return found;
}

template <int64_t tile>
double errorOf(int64_t out, int64_t in, absl::Span<const float> taps) {
  constexpr int64_t kRoundings = 2 * WinogradTransform<tile>::kRoundings + 2;
  const double perAmplification =
      static_cast<double>(in + kRoundings) / static_cast<double>(kTaps * in);
  double greatest = 0;
  double heaviest = 0;
  for (int64_t k = 0; k < out; ++k) {
    Magnitudes sums = magnitudesOf(taps.data() + k * in * kTaps, in);
    double most = *std::max_element(sums.begin(), sums.end());
    bool known = std::all_of(sums.begin(), sums.end(), [](double s) { return s <= kMostWeight; });
    if (!known) {
      return kInfinity;
    }
    heaviest = std::max(heaviest, most);
    greatest = std::max(greatest, perAmplification * amplificationOf<tile>(sums));
  }
  return heaviest > 0 && heaviest < kLeastWeight ? kInfinity : greatest;
}

}  // namespace

double winogradError(int64_t tile, int64_t out, int64_t in, absl::Span<const float> taps) {
  return tile == 2 ? errorOf<2>(out, in, taps) : errorOf<4>(out, in, taps);
}

}  // namespace graphrun::devices::cpu
