// Windows that slide over the spatial dims of a tensor, position by position. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_WINDOWS_H_
#define GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_WINDOWS_H_

#include <algorithm>
#include <array>

#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {

inline constexpr size_t kMostSpatial = 8;
using Position = std::array<int64_t, kMostSpatial>;

/// Spatial dims of input, window and result, for loops over positions.
struct Spatial {
  size_t rank = 0;
  Window window;
  Position in{}, out{};
  int64_t inCount = 1, outCount = 1, kernelCount = 1;
};

/// The first operand, over which windows slide, and the windows' tensor `windows` have batch,
/// channels and as many spatial dims as can be looped over.
inline absl::Status checkSpatialRank(const Instruction& instruction, const Dims& windows) {
  size_t rank = instruction.inputs[0].desc.dims.size();
  if (rank < 3 || rank > kMostSpatial + 2 || windows.size() != rank) {
    return invalidInstruction(instruction, absl::StrCat("expected rank 3 to ", kMostSpatial + 2,
                                                        " for input and result"));
  }
  return absl::OkStatus();
}

/// The loops over windows on `in` whose results are `out`, both with batch and channels.
inline Spatial spatialOf(const Dims& in, const Dims& out, Window window) {
  Spatial s;
  s.rank = in.size() - 2;
  s.inCount = countOf(absl::MakeConstSpan(in).subspan(2));
  s.outCount = countOf(absl::MakeConstSpan(out).subspan(2));
  s.kernelCount = countOf(window.kernel);
  std::copy(in.begin() + 2, in.end(), s.in.begin());
  std::copy(out.begin() + 2, out.end(), s.out.begin());
  s.window = std::move(window);
  return s;
}

/// Index of `flat` in each of `dims`.
template <typename List>
Position unflatten(int64_t flat, const List& dims, size_t rank) {
  Position at{};
  for (size_t d = rank; d > 0; --d) {
    at[d - 1] = flat % dims[d - 1];
    flat /= dims[d - 1];
  }
  return at;
}

/// Offset in the input that element `k` of the window at result position `o` covers, or -1 in the
/// padding.
inline int64_t covered(const Spatial& s, const Position& o, const Position& k) {
  int64_t flat = 0;
  for (size_t d = 0; d < s.rank; ++d) {
    int64_t at = o[d] * s.window.strides[d] - s.window.padsBegin[d] + k[d] * s.window.dilations[d];
    if (at < 0 || at >= s.in[d]) {
      return -1;
    }
    flat = flat * s.in[d] + at;
  }
  return flat;
}

/// The other way round: of so many windows in each dim as `windows` says the one that has element
/// `k` at position `at`, flat, or -1.
inline int64_t windowOver(const Spatial& s, const Position& windows, const Position& at,
                          const Position& k) {
  int64_t flat = 0;
  for (size_t d = 0; d < s.rank; ++d) {
    int64_t from = at[d] + s.window.padsBegin[d] - k[d] * s.window.dilations[d];
    if (from < 0 || from % s.window.strides[d] != 0 || from / s.window.strides[d] >= windows[d]) {
      return -1;
    }
    flat = flat * windows[d] + from / s.window.strides[d];
  }
  return flat;
}

/// Elements that the divisor of a mean counts: those of the window within the padded input.
inline int64_t countPadded(const Spatial& s, const Position& o) {
  int64_t count = 1;
  for (size_t d = 0; d < s.rank; ++d) {
    int64_t start = o[d] * s.window.strides[d] - s.window.padsBegin[d];
    int64_t inside = 0;
    for (int64_t k = 0; k < s.window.kernel[d]; ++k) {
      int64_t at = start + k * s.window.dilations[d];
      inside += at < s.in[d] + s.window.padsEnd[d] ? 1 : 0;
    }
    count *= inside;
  }
  return count;
}

/// Returns where the largest element of the window at result position `o` is in the plane, the
/// first of equal ones and NaN before all; -1 when all of it is padding.
template <typename T>
int64_t offsetOfMax(const Spatial& s, const T* in, const Position& o) {
  int64_t best = -1;
  for (int64_t k = 0; k < s.kernelCount; ++k) {
    int64_t from = covered(s, o, unflatten(k, s.window.kernel, s.rank));
    if (from < 0) {
      continue;
    }
    Compute<T> x = load(in[from]);
    Compute<T> most = best < 0 ? x : load(in[best]);
    if (best < 0 || (most == most && !(most >= x))) {
      best = from;
    }
  }
  return best;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_REFERENCE_REFERENCE_WINDOWS_H_
