// These scalars implement element-wise operations that are plain arithmetic on one element of any
// type: numbers that are computed in themselves. For all that computes in C++: reference kernels,
// folding of constants. The rows of elementwise.def name them.
#ifndef GRAPHRUN_DEVICES_FUNCTIONS_SCALARS_H_
#define GRAPHRUN_DEVICES_FUNCTIONS_SCALARS_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace graphrun::devices::functions::scalars {

// One operand. Integers wrap.

template <typename C>
C wrappingNeg(C x) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(std::make_unsigned_t<C>{0} - static_cast<std::make_unsigned_t<C>>(x));
  } else {
    return -x;
  }
}

struct Abs {
  template <typename C>
  static C apply(C x) {
    if constexpr (std::is_floating_point_v<C>) {
      return std::fabs(x);
    } else {
      return x < 0 ? wrappingNeg(x) : x;
    }
  }
};
struct Neg {
  template <typename C>
  static C apply(C x) {
    return wrappingNeg(x);
  }
};
struct Sign {
  template <typename C>
  static C apply(C x) {
    if constexpr (std::is_floating_point_v<C>) {
      return x > 0 ? C{1} : x < 0 ? C{-1} : x;
    } else {
      return static_cast<C>((x > 0) - (x < 0));
    }
  }
};
struct Relu {
  template <typename C>
  static C apply(C x) {
    return x < 0 ? C{0} : x;  // NaN stays
  }
};
struct Reciprocal {
  template <typename C>
  static C apply(C x) {
    return 1 / x;
  }
};
struct Not {
  template <typename C>
  static C apply(C x) {
    if constexpr (std::is_same_v<C, bool>) {
      return !x;
    } else {
      return static_cast<C>(~x);
    }
  }
};

// Two operands. Integers wrap; one that must not be divided by zero has kDivides.

template <typename C, typename F>
C wrapping(C x, C y, F f) {
  if constexpr (std::is_integral_v<C>) {
    // At least 32 unsigned bits: narrower types would be promoted to int, which may overflow.
    using U = std::common_type_t<std::make_unsigned_t<C>, unsigned>;
    return static_cast<C>(f(static_cast<U>(x), static_cast<U>(y)));
  } else {
    return f(x, y);
  }
}

struct Add {
  template <typename C>
  static C apply(C x, C y) {
    return wrapping(x, y, [](auto a, auto b) { return a + b; });
  }
};
struct Sub {
  template <typename C>
  static C apply(C x, C y) {
    return wrapping(x, y, [](auto a, auto b) { return a - b; });
  }
};
struct Mul {
  template <typename C>
  static C apply(C x, C y) {
    return wrapping(x, y, [](auto a, auto b) { return a * b; });
  }
};
struct Div {
  static constexpr bool kDivides = true;
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_integral_v<C> && std::is_signed_v<C>) {
      if (y == -1) {
        return wrappingNeg(x);  // the smallest number has no opposite
      }
    }
    return static_cast<C>(x / y);
  }
};
/// The remainder of the quotient rounded down (of the sign of y) or towards zero (of that of x).
template <bool kTruncate>
struct Mod {
  static constexpr bool kDivides = true;
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_floating_point_v<C>) {
      C rest = std::fmod(x, y);
      if (kTruncate || std::isnan(rest)) {
        return rest;
      }
      return rest == 0 ? std::copysign(C{0}, y) : (rest < 0) != (y < 0) ? rest + y : rest;
    } else {
      if constexpr (std::is_signed_v<C>) {
        if (y == -1) {
          return 0;  // the smallest number has no opposite
        }
      }
      auto rest = static_cast<C>(x % y);
      return !kTruncate && rest != 0 && (rest < 0) != (y < 0) ? static_cast<C>(rest + y) : rest;
    }
  }
};
/// NaN where one is NaN; -0 is less than 0.
struct Min {
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_floating_point_v<C>) {
      return std::isnan(x) || x < y || (x == y && std::signbit(x)) ? x : y;
    } else {
      return x < y ? x : y;
    }
  }
};
struct Max {
  template <typename C>
  static C apply(C x, C y) {
    if constexpr (std::is_floating_point_v<C>) {
      return std::isnan(x) || x > y || (x == y && !std::signbit(x)) ? x : y;
    } else {
      return x > y ? x : y;
    }
  }
};
struct PRelu {
  template <typename C>
  static C apply(C x, C slope) {
    return x >= 0 ? x : Mul::apply(x, slope);
  }
};
struct Equal {
  template <typename C>
  static bool apply(C x, C y) {
    return x == y;
  }
};
struct Less {
  template <typename C>
  static bool apply(C x, C y) {
    return x < y;
  }
};
struct LessEqual {
  template <typename C>
  static bool apply(C x, C y) {
    return x <= y;
  }
};
struct And {
  template <typename C>
  static C apply(C x, C y) {
    return static_cast<C>(x & y);
  }
};
struct Or {
  template <typename C>
  static C apply(C x, C y) {
    return static_cast<C>(x | y);
  }
};
struct Xor {
  template <typename C>
  static C apply(C x, C y) {
    return static_cast<C>(x ^ y);
  }
};

/// An amount that is negative or not below the width, that of C where none is given, shifts all
/// out.
template <typename C>
bool isShift(C amount, uint64_t width) {
  return amount >= 0 && static_cast<uint64_t>(amount) < width;
}
struct ShiftLeft {
  template <typename C>
  static C apply(C x, C amount, uint64_t width = 8 * sizeof(C)) {
    auto bits = static_cast<uint64_t>(static_cast<int64_t>(x));
    return isShift(amount, width) ? static_cast<C>(bits << static_cast<uint64_t>(amount)) : C{0};
  }
};
struct ShiftRight {
  template <typename C>
  static C apply(C x, C amount, uint64_t width = 8 * sizeof(C)) {
    C sign = static_cast<C>(x < 0 ? -1 : 0);
    return isShift(amount, width) ? static_cast<C>(x >> amount) : sign;
  }
};

}  // namespace graphrun::devices::functions::scalars

#endif  // GRAPHRUN_DEVICES_FUNCTIONS_SCALARS_H_
