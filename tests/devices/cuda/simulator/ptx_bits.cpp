// Instructions on bits.
#include <algorithm>
#include <bit>

#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

template <typename V>
constexpr uint32_t kWidth = 8 * sizeof(V);

/// The lowest `count` bits.
template <typename V>
constexpr V lowBits(uint32_t count) {
  return count >= kWidth<V> ? static_cast<V>(-1) : static_cast<V>((V{1} << count) - 1);
}

constexpr auto kAnd = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto kOr = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto kXor = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
constexpr auto kNot = [](auto a) { return static_cast<decltype(a)>(~a); };

// Shifts by the width or more leave nothing, or the sign.
constexpr auto kLeft = [](auto a, uint32_t by) {
  return by >= kWidth<decltype(a)> ? decltype(a)(0) : static_cast<decltype(a)>(a << by);
};
constexpr auto kRight = [](auto a, uint32_t by) {
  using V = decltype(a);
  if (by >= kWidth<V>) {
    return static_cast<V>(a < 0 ? -1 : 0);
  }
  return static_cast<V>(a >> by);
};

/// `length` bits from `from` on, of which those beyond the width are the field's sign, or 0.
constexpr auto kExtract = [](auto a, uint32_t from, uint32_t length) {
  using V = decltype(a);
  using U = std::make_unsigned_t<V>;
  uint32_t begin = from & 0xff, count = length & 0xff;
  uint32_t top = std::min(begin + count - 1, kWidth<V> - 1);
  bool isNegative = std::is_signed_v<V> && count > 0 && (static_cast<U>(a) >> top & 1) != 0;
  U got = begin < kWidth<V> ? static_cast<U>(a) >> begin : U{0};
  uint32_t here = std::min(count, begin < kWidth<V> ? kWidth<V> - begin : 0);
  got &= lowBits<U>(here);
  return static_cast<V>(isNegative ? got | static_cast<U>(~lowBits<U>(here)) : got);
};

/// `a`'s lowest bits put into `b`.
constexpr auto kInsert = [](auto a, auto b, uint32_t to, uint32_t length) {
  using V = decltype(a);
  uint32_t begin = to & 0xff, count = length & 0xff;
  V field = begin < kWidth<V> ? static_cast<V>(lowBits<V>(count) << begin) : V{0};
  V moved = begin < kWidth<V> ? static_cast<V>(a << begin) : V{0};
  return static_cast<V>((b & ~field) | (moved & field));
};

constexpr auto kReverse = [](auto a) {
  decltype(a) reversed = 0;
  for (uint32_t i = 0; i < kWidth<decltype(a)>; ++i) {
    reversed = static_cast<decltype(a)>(reversed << 1 | (a >> i & 1));
  }
  return reversed;
};

/// Bytes of b:a by number; a number's highest bit asks for the byte's sign instead.
constexpr auto kPermute = [](uint32_t a, uint32_t b, uint32_t which) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t number = which >> 4 * i & 0xf;
    auto byte = static_cast<uint32_t>(bytes >> 8 * (number & 7) & 0xff);
    result |= ((number & 8) == 0 ? byte : byte >> 7 != 0 ? 0xff : 0) << 8 * i;
  }
  return result;
};

/// The upper half of b:a, shifted left; the lower, shifted right.
constexpr auto kFunnelLeft = [](uint32_t a, uint32_t b, uint32_t by) {
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) << (by & 31) >> 32);
};
constexpr auto kFunnelRight = [](uint32_t a, uint32_t b, uint32_t by) {
  return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> (by & 31));
};

template <typename T>
void addLogic(Operations& all) {
  addRow<T, T, T>(all, typed<T>("and"), kAnd);
  addRow<T, T, T>(all, typed<T>("or"), kOr);
  addRow<T, T, T>(all, typed<T>("xor"), kXor);
}

template <typename T>
void addCounts(Operations& all) {
  addRow<U32, T>(all, typed<T>("clz"),
                 [](auto a) { return static_cast<uint32_t>(std::countl_zero(a)); });
  addRow<U32, T>(all, typed<T>("popc"),
                 [](auto a) { return static_cast<uint32_t>(std::popcount(a)); });
  addRow<T, T>(all, typed<T>("brev"), kReverse);
  addRow<T, T, T, U32, U32>(all, typed<T>("bfi"), kInsert);
}

}  // namespace

void addBits(Operations& all) {
  forTypes<Pred, B16, B32, B64>([&](auto type) { addLogic<decltype(type)>(all); });
  forTypes<B16, B32, B64>([&](auto type) {
    using T = decltype(type);
    addRow<T, T>(all, typed<T>("not"), kNot);
    addRow<T, T, U32>(all, typed<T>("shl"), kLeft);
  });
  addRow<Pred, Pred>(all, "not.pred", [](uint8_t a) { return static_cast<uint8_t>(a ^ 1); });
  forTypes<B16, B32, B64, U16, U32, U64, S16, S32, S64>([&](auto type) {
    using T = decltype(type);
    addRow<T, T, U32>(all, typed<T>("shr"), kRight);
  });
  forTypes<U32, S32, U64, S64>([&](auto type) {
    using T = decltype(type);
    addRow<T, T, U32, U32>(all, typed<T>("bfe"), kExtract);
  });
  forTypes<B32, B64>([&](auto type) { addCounts<decltype(type)>(all); });
  addRow<B32, B32, B32, B32>(all, "prmt.b32", kPermute);
  addRow<B32, B32, B32, U32>(all, "shf.l.wrap.b32", kFunnelLeft);
  addRow<B32, B32, B32, U32>(all, "shf.r.wrap.b32", kFunnelRight);
}

}  // namespace graphrun::testing::ptx
