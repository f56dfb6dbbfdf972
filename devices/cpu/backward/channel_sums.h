// Sums over the elements of channels, in f64 on vectors. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_BACKWARD_CHANNEL_SUMS_H_
#define GRAPHRUN_DEVICES_CPU_BACKWARD_CHANNEL_SUMS_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "devices/cpu/vectors/vector.h"
#include "devices/functions/lanes.h"

namespace graphrun::devices::cpu {

/// Two sums for each of so many channels that lie side by side.
struct LaneSums {
  std::array<double, kVectorLanes> first, second;

  void clear() {
    first.fill(0);
    second.fill(0);
  }
};

/// Reads as many floats as there are lanes as doubles.
template <int kLanes>
[[gnu::always_inline]] inline functions::Pack<double, kLanes> loadDoubles(const float* from) {
  if constexpr (kLanes == 1) {
    return static_cast<double>(*from);
  } else {
    functions::Pack<float, kLanes> floats;
    std::memcpy(&floats, from, sizeof(floats));
    return __builtin_convertvector(floats, functions::Pack<double, kLanes>);
  }
}

/// Adds `term(first, second, row, lane)`, a body that adds to two sums, over `rows` rows of the
/// lanes [lane, lane + kLanes * kGroups).
template <int kLanes, int kGroups, typename Term>
[[gnu::always_inline]] inline void addLanes(int64_t rows, int64_t lane, LaneSums& sums,
                                            const Term& term) {
  using Doubles = functions::Pack<double, kLanes>;
  std::array<Doubles, kGroups> first = {}, second = {};
  for (int64_t row = 0; row < rows; ++row) {
    unrolled<kGroups>([&](auto g) __attribute__((always_inline)) {
      term(first[g], second[g], row, lane + g * kLanes, std::integral_constant<int, kLanes>());
    });
  }
  unrolled<kGroups>([&](auto g) __attribute__((always_inline)) {
    std::array<double, kLanes> mine;
    std::memcpy(mine.data(), &first[g], sizeof(Doubles));
    for (int i = 0; i < kLanes; ++i) {
      sums.first[static_cast<size_t>(lane + g * kLanes + i)] += mine[static_cast<size_t>(i)];
    }
    std::memcpy(mine.data(), &second[g], sizeof(Doubles));
    for (int i = 0; i < kLanes; ++i) {
      sums.second[static_cast<size_t>(lane + g * kLanes + i)] += mine[static_cast<size_t>(i)];
    }
  });
}

/// Adds `term` over `rows` rows of `width` lanes, at most kVectorLanes, with vectors of `kBits`.
/// `term(first, second, row, lane, lanes)` adds to the two sums of so many lanes from `lane` on.
template <int kBits, typename Term>
[[gnu::always_inline]] inline void addRows(int64_t rows, int64_t width, LaneSums& sums,
                                           const Term& term) {
  constexpr int kLanes = kBits / 64;
  constexpr int kGroups = 2;
  if (width == kVectorLanes) {
    for (int64_t lane = 0; lane < kVectorLanes; lane += int64_t{kLanes} * kGroups) {
      addLanes<kLanes, kGroups>(rows, lane, sums, term);
    }
    return;
  }
  int64_t lane = 0;
  for (; lane + kLanes <= width; lane += kLanes) {
    addLanes<kLanes, 1>(rows, lane, sums, term);
  }
  for (; lane < width; ++lane) {
    addLanes<1, 1>(rows, lane, sums, term);
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_BACKWARD_CHANNEL_SUMS_H_
