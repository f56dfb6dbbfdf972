// Says how reductions combine two elements, or what was made of two parts of them, for all that
// computes in C++. The rows of reductions.def name them.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_REDUCTIONS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_REDUCTIONS_H_

#include <limits>

#include "devices/functions/scalars.h"

namespace graphrun::devices::functions::reductions {

/// `start` is what leaves every element as it is. `kGrows`: results have more digits than elements,
/// and are kept in a wider type where there is one.
struct Add {
  static constexpr bool kGrows = true;
  template <typename C>
  static constexpr C start() {
    return 0;
  }
  template <typename C>
  static C apply(C all, C x) {
    return scalars::Add::apply(all, x);
  }
};
struct Mul {
  static constexpr bool kGrows = true;
  template <typename C>
  static constexpr C start() {
    return 1;
  }
  template <typename C>
  static C apply(C all, C x) {
    return scalars::Mul::apply(all, x);
  }
};
/// A NaN stays. The last of equal elements counts, which 0 and -0 are.
struct Max {
  static constexpr bool kGrows = false;
  template <typename C>
  static constexpr C start() {
    using Limits = std::numeric_limits<C>;
    return Limits::has_infinity ? static_cast<C>(-Limits::infinity()) : Limits::lowest();
  }
  template <typename C>
  static C apply(C all, C x) {
    C larger = all > x ? all : x;
    return all == all ? larger : all;
  }
};
struct Min {
  static constexpr bool kGrows = false;
  template <typename C>
  static constexpr C start() {
    using Limits = std::numeric_limits<C>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  template <typename C>
  static C apply(C all, C x) {
    C smaller = all < x ? all : x;
    return all == all ? smaller : all;
  }
};

}  // namespace graphrun::devices::functions::reductions

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_REDUCTIONS_H_
