// Instructions on values, against C++.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/simulator/ptx_fixture.h"

namespace graphrun::testing::ptx {
namespace {

constexpr size_t kCount = 1024;

template <size_t kBytes>
constexpr const char* kRegister = kBytes == 2   ? "%h"
                                  : kBytes == 4 ? "%r"
                                                : "%d";

/// Zeros, ones, limits, infinities, NaN, small numbers, and any bits.
template <typename V>
std::vector<V> operandsOf(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<V> values;
  for (size_t i = 0; i < kCount; ++i) {
    uint64_t bits = random();
    V value;
    std::memcpy(&value, &bits, sizeof(V));
    uint64_t choice = random() % 4;
    if constexpr (std::is_floating_point_v<V>) {
      using Limits = std::numeric_limits<V>;
      const V special[] = {0,
                           -V{0},
                           1,
                           -1,
                           V{0.5},
                           V{2.5},
                           V{-3.5},
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::denorm_min(),
                           Limits::max(),
                           V{65520},
                           V{2147483648.0}};
      value = choice == 0   ? special[bits % std::size(special)]
              : choice == 1 ? static_cast<V>(static_cast<double>(bits % 2000001) / 100 - 10000)
                            : value;
    } else {
      const V special[] = {
          0,  1, static_cast<V>(-1), std::numeric_limits<V>::min(), std::numeric_limits<V>::max(),
          31, 32};
      value = choice == 0   ? special[bits % std::size(special)]
              : choice == 1 ? static_cast<V>(bits % 64)
                            : value;
    }
    values.push_back(value);
  }
  return values;
}

template <typename V>
bool isSame(V got, V expected) {
  if constexpr (std::is_floating_point_v<V>) {
    if (std::isnan(expected)) {
      return sizeof(V) == 8 ? std::isnan(got)
                            : std::bit_cast<uint32_t>(static_cast<float>(got)) == 0x7fffffff;
    }
  }
  return bytesOf<V>({got}) == bytesOf<V>({expected});
}

/// `opcode` of random operands must give what `reference` does.
template <typename D, typename... S, typename F>
void check(const std::string& opcode, F reference) {
  INFO(opcode);
  std::tuple<std::vector<S>...> operands;
  Case run;
  std::string loads, names;
  unsigned number = 4;
  auto add = [&](auto& values) {
    using V = typename std::decay_t<decltype(values)>::value_type;
    values = operandsOf<V>(number + static_cast<unsigned>(opcode.size()));
    absl::StrAppend(&loads, "mad.wide.u32 %d3, %r0, ", sizeof(V), ", %d0; ld.global.b",
                    8 * sizeof(V), " ", kRegister<sizeof(V)>, number, ", [%d3+", run.from.size(),
                    "];\n");
    absl::StrAppend(&names, ", ", kRegister<sizeof(V)>, number++);
    std::vector<uint8_t> bytes = bytesOf(values);
    run.from.insert(run.from.end(), bytes.begin(), bytes.end());
  };
  std::apply([&](auto&... values) { (add(values), ...); }, operands);
  std::string target = absl::StrCat(kRegister<sizeof(D)>, 3);
  run.text = kernelText(absl::StrCat(loads, opcode, " ", target, names,
                                     ";\nmad.wide.u32 %d2, %r0, ", sizeof(D), ", %d1; st.global.b",
                                     8 * sizeof(D), " [%d2], ", target, ";"));
  run.threads = kCount;
  run.to.resize(kCount * sizeof(D));
  REQUIRE(run.run() == "OK");
  std::vector<D> got = valuesOf<D>(run.to);
  for (size_t i = 0; i < kCount; ++i) {
    auto values = std::apply([&](auto&... of) { return std::make_tuple(of[i]...); }, operands);
    D expected = std::apply(reference, values);
    if (!isSame(got[i], expected)) {
      CAPTURE(i, values, +got[i], +expected);
      FAIL();
    }
  }
}

// What f32 is given is NaN's one form: `isSame` sees to it.
TEST_CASE("arithmetic of f32 and f64 rounds once") {
  check<float, float, float>("add.rn.f32", [](float a, float b) { return a + b; });
  check<float, float, float>("sub.f32", [](float a, float b) { return a - b; });
  check<float, float, float>("mul.rn.f32", [](float a, float b) { return a * b; });
  check<float, float, float>("div.rn.f32", [](float a, float b) { return a / b; });
  check<float, float, float, float>("fma.rn.f32",
                                    [](float a, float b, float c) { return std::fma(a, b, c); });
  check<float, float>("sqrt.rn.f32", [](float a) { return std::sqrt(a); });
  check<float, float>("rcp.rn.f32", [](float a) { return 1 / a; });
  check<double, double, double>("add.rn.f64", [](double a, double b) { return a + b; });
  check<double, double, double>("div.rn.f64", [](double a, double b) { return a / b; });
  check<double, double, double, double>(
      "fma.rn.f64", [](double a, double b, double c) { return std::fma(a, b, c); });
  check<double, double>("sqrt.rn.f64", [](double a) { return std::sqrt(a); });
  check<float, float>("ex2.approx.f32", [](float a) {
    return static_cast<float>(std::exp2(static_cast<double>(a)));
  });
}

TEST_CASE("signs, minima and maxima of floats") {
  check<uint32_t, uint32_t>("neg.f32", [](uint32_t a) { return a ^ 0x80000000; });
  check<uint32_t, uint32_t>("abs.f32", [](uint32_t a) { return a & 0x7fffffff; });
  check<uint64_t, uint64_t>("neg.f64", [](uint64_t a) { return a ^ (uint64_t{1} << 63); });
  check<uint32_t, uint32_t>("neg.bf16x2", [](uint32_t a) { return a ^ 0x80008000; });
  check<uint32_t, uint32_t>("abs.f16x2", [](uint32_t a) { return a & 0x7fff7fff; });
  check<float, float, float>("min.f32", [](float a, float b) {
    return a != a || (b == b && (b < a || (a == b && std::signbit(b)))) ? b : a;
  });
  check<float, float, float>("max.NaN.f32", [](float a, float b) {
    return a != a || b != b ? NAN : a < b || (a == b && std::signbit(a)) ? b : a;
  });
  check<double, double, double>("max.f64", [](double a, double b) {
    return a != a || (b == b && (a < b || (a == b && std::signbit(a)))) ? b : a;
  });
  check<uint16_t, uint16_t, uint16_t>("min.NaN.f16", [](uint16_t a, uint16_t b) {
    double x = Half{a}.value(), y = Half{b}.value();
    return std::isnan(x) || std::isnan(y)      ? uint16_t{0x7fff}
           : x < y || (x == y && a >> 15 != 0) ? a
                                               : b;
  });
}

template <typename V>
void checkIntegers(const std::string& type) {
  using Big = __int128;
  check<V, V, V>("add." + type, [](V a, V b) { return static_cast<V>(Big{a} + b); });
  check<V, V, V>("sub." + type, [](V a, V b) { return static_cast<V>(Big{a} - b); });
  check<V, V, V>("mul.lo." + type, [](V a, V b) {
    return static_cast<V>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  });
  check<V, V, V>("mul.hi." + type, [](V a, V b) {
    using Product = std::conditional_t<std::is_signed_v<V>, Big, unsigned __int128>;
    return static_cast<V>((Product{a} * Product{b}) >> 8 * sizeof(V));
  });
  check<V, V, V, V>("mad.lo." + type, [](V a, V b, V c) {
    return static_cast<V>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) +
                          static_cast<unsigned __int128>(c));
  });
  check<V, V, V>("div." + type,
                 [](V a, V b) { return static_cast<V>(b == 0 ? Big{-1} : Big{a} / b); });
  check<V, V, V>("rem." + type,
                 [](V a, V b) { return static_cast<V>(b == 0 ? Big{a} : Big{a} % b); });
  check<V, V, V>("min." + type, [](V a, V b) { return a < b ? a : b; });
  check<V, V, V>("max." + type, [](V a, V b) { return a < b ? b : a; });
  check<V, V, uint32_t>(
      "shr." + type, [](V a, uint32_t by) { return static_cast<V>(Big{a} >> std::min(by, 64U)); });
  check<V, V, uint32_t>(absl::StrCat("shl.b", 8 * sizeof(V)), [](V a, uint32_t by) {
    return by >= 8 * sizeof(V) ? V{0} : static_cast<V>(static_cast<unsigned __int128>(a) << by);
  });
}

TEST_CASE("integers") {
  checkIntegers<uint16_t>("u16");
  checkIntegers<int16_t>("s16");
  checkIntegers<uint32_t>("u32");
  checkIntegers<int32_t>("s32");
  checkIntegers<uint64_t>("u64");
  checkIntegers<int64_t>("s64");
  check<int32_t, int32_t>("abs.s32",
                          [](int32_t a) { return static_cast<int32_t>(std::abs(int64_t{a})); });
  check<int16_t, int16_t>("neg.s16", [](int16_t a) { return static_cast<int16_t>(-a); });
  check<uint64_t, uint32_t, uint32_t>("mul.wide.u32",
                                      [](uint32_t a, uint32_t b) { return uint64_t{a} * b; });
  check<int32_t, int16_t, int16_t>("mul.wide.s16", [](int16_t a, int16_t b) { return a * b; });
}

/// A bit at a time, as PTX describes bfe and bfi.
template <typename V>
V extracted(V a, uint32_t from, uint32_t length) {
  uint32_t top = 8 * sizeof(V) - 1, begin = from & 255, count = length & 255;
  auto bit = [&](uint32_t at) { return static_cast<uint64_t>(a) >> at & 1; };
  uint64_t sign = std::is_unsigned_v<V> || count == 0 ? 0 : bit(std::min(begin + count - 1, top));
  uint64_t result = 0;
  for (uint32_t i = 0; i <= top; ++i) {
    result |= (i < count && begin + i <= top ? bit(begin + i) : sign) << i;
  }
  return static_cast<V>(result);
}

TEST_CASE("bits") {
  check<uint32_t, uint32_t, uint32_t, uint32_t>("bfe.u32", extracted<uint32_t>);
  check<int32_t, int32_t, uint32_t, uint32_t>("bfe.s32", extracted<int32_t>);
  check<uint64_t, uint64_t, uint32_t, uint32_t>("bfe.u64", extracted<uint64_t>);
  check<int64_t, int64_t, uint32_t, uint32_t>("bfe.s64", extracted<int64_t>);
  check<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(
      "bfi.b32", [](uint32_t a, uint32_t b, uint32_t to, uint32_t length) {
        for (uint32_t i = 0; i < (length & 255) && (to & 255) + i < 32; ++i) {
          uint32_t at = (to & 255) + i;
          b = (b & ~(1U << at)) | (a >> i & 1) << at;
        }
        return b;
      });
  check<uint32_t, uint64_t>("clz.b64",
                            [](uint64_t a) { return static_cast<uint32_t>(std::countl_zero(a)); });
  check<uint32_t, uint32_t>("popc.b32",
                            [](uint32_t a) { return static_cast<uint32_t>(std::popcount(a)); });
  check<uint32_t, uint32_t>("brev.b32", [](uint32_t a) {
    uint32_t b = 0;
    for (int i = 0; i < 32; ++i) {
      b |= (a >> i & 1) << (31 - i);
    }
    return b;
  });
  check<uint16_t, uint16_t, uint16_t>(
      "xor.b16", [](uint16_t a, uint16_t b) { return static_cast<uint16_t>(a ^ b); });
  check<uint64_t, uint64_t>("not.b64", [](uint64_t a) { return ~a; });
  check<uint32_t, uint32_t, uint32_t, uint32_t>(
      "shf.l.wrap.b32", [](uint32_t a, uint32_t b, uint32_t by) {
        return (by & 31) == 0 ? b : b << (by & 31) | a >> (32 - (by & 31));
      });
}

/// A comparison, by what it selects.
template <typename V, typename F>
void checkComparison(const std::string& name, F reference) {
  INFO(name);
  std::vector<V> a = operandsOf<V>(1), b = operandsOf<V>(2);
  std::copy_n(a.begin(), kCount / 8, b.begin());  // some that are equal
  Case run;
  run.from = bytesOf(a);
  std::vector<uint8_t> more = bytesOf(b);
  run.from.insert(run.from.end(), more.begin(), more.end());
  std::string bits = absl::StrCat("b", 8 * sizeof(V), " ", kRegister<sizeof(V)>);
  run.text = kernelText(
      absl::StrCat("mad.wide.u32 %d3, %r0, ", sizeof(V), ", %d0; ld.global.", bits,
                   "4, [%d3]; ld.global.", bits, "5, [%d3+", more.size(), "];\nsetp.", name,
                   " %p1, ", kRegister<sizeof(V)>, "4, ", kRegister<sizeof(V)>,
                   "5; selp.b32 %r3, 1, 0, %p1; cvt.u64.u32 %d2, %r0; add.s64 %d2, %d2, %d1; "
                   "st.global.u8 [%d2], %r3;"));
  run.threads = kCount;
  run.to.resize(kCount);
  REQUIRE(run.run() == "OK");
  for (size_t i = 0; i < kCount; ++i) {
    CAPTURE(i, a[i], b[i]);
    REQUIRE(run.to[i] == (reference(a[i], b[i]) ? 1 : 0));
  }
}

TEST_CASE("comparisons, with NaN too") {
  checkComparison<float>("lt.f32", [](float a, float b) { return a < b; });
  checkComparison<float>("ne.f32", [](float a, float b) { return a < b || a > b; });
  checkComparison<float>("neu.f32", [](float a, float b) { return a != b; });
  checkComparison<float>("geu.f32", [](float a, float b) { return !(a < b); });
  checkComparison<float>("nan.f32",
                         [](float a, float b) { return std::isnan(a) || std::isnan(b); });
  checkComparison<double>("num.f64",
                          [](double a, double b) { return !std::isnan(a) && !std::isnan(b); });
  checkComparison<double>("equ.f64", [](double a, double b) { return !(a < b || a > b); });
  checkComparison<int32_t>("lt.s32", [](int32_t a, int32_t b) { return a < b; });
  checkComparison<uint32_t>("ge.u32", [](uint32_t a, uint32_t b) { return a >= b; });
  checkComparison<uint32_t>("lo.u32", [](uint32_t a, uint32_t b) { return a < b; });
  checkComparison<uint32_t>("hs.u32", [](uint32_t a, uint32_t b) { return a >= b; });
  checkComparison<uint16_t>("eq.b16", [](uint16_t a, uint16_t b) { return a == b; });
  checkComparison<int64_t>("gt.s64", [](int64_t a, int64_t b) { return a > b; });
}

TEST_CASE("conversions clamp, and round as they say") {
  check<int32_t, float>("cvt.rzi.s32.f32", [](float a) {
    return a != a               ? 0
           : a >= 2147483648.0F ? INT32_MAX
           : a < -2147483648.0F ? INT32_MIN
                                : static_cast<int32_t>(a);
  });
  check<uint32_t, float>("cvt.rni.u32.f32", [](float a) {
    double whole = std::nearbyint(static_cast<double>(a));
    return whole != whole || whole < 0 ? 0
           : whole > UINT32_MAX        ? UINT32_MAX
                                       : static_cast<uint32_t>(whole);
  });
  check<int64_t, double>("cvt.rmi.s64.f64", [](double a) {
    return a != a || a < -0x1p63 ? INT64_MIN
           : a >= 0x1p63         ? INT64_MAX
                                 : static_cast<int64_t>(std::floor(a));
  });
  check<float, float>("cvt.rmi.f32.f32", [](float a) { return std::floor(a); });
  check<float, float>("cvt.rni.f32.f32", [](float a) { return std::nearbyint(a); });
  check<float, double>("cvt.rn.f32.f64", [](double a) { return static_cast<float>(a); });
  check<float, int64_t>("cvt.rn.f32.s64", [](int64_t a) { return static_cast<float>(a); });
  check<double, uint32_t>("cvt.rn.f64.u32", [](uint32_t a) { return static_cast<double>(a); });
  check<int16_t, int32_t>("cvt.s8.s32",
                          [](int32_t a) { return static_cast<int16_t>(static_cast<int8_t>(a)); });
  check<uint16_t, uint16_t>("cvt.u16.u8",
                            [](uint16_t a) { return static_cast<uint16_t>(a & 0xff); });
  check<int64_t, int64_t>("cvt.s64.s32",
                          [](int64_t a) { return int64_t{static_cast<int32_t>(a)}; });
  check<uint64_t, int32_t>("cvt.s64.s32",
                           [](int32_t a) { return static_cast<uint64_t>(int64_t{a}); });
}

TEST_CASE("bf16 of 64-bit integers rounds once") {
  Case run;
  run.text = kernelText(
      "ld.global.b64 %d2, [%d0]; cvt.rn.bf16.s64 %h1, %d2; cvt.f32.bf16 %r3, %h1; st.global.b32 "
      "[%d1], %r3;");
  run.threads = 1;
  run.to.resize(4);
  // Between 257 · 2^54 and the tie above it: through f32 or f64 it would be the tie.
  for (auto [value, expected] :
       {std::pair((int64_t{0x101} << 54) + 1, 0x1.02p62F), std::pair(int64_t{0x101} << 54, 0x1p62F),
        std::pair(-(int64_t{0x101} << 54) - 1, -0x1.02p62F)}) {
    run.from = bytesOf<int64_t>({value});
    REQUIRE(run.run() == "OK");
    CHECK(valuesOf<float>(run.to)[0] == expected);
  }
}

/// All values, the middles between neighbours, and what is beside these.
template <typename V>
void checkSmallFloat(double greatest) {
  double before = 0;
  for (uint32_t bits = 0; bits < V::kInfinity; ++bits) {
    V small{static_cast<uint16_t>(bits)};
    double value = small.value();
    REQUIRE(V::round(value).bits == bits);
    REQUIRE(V::round(-value).bits == (bits | 0x8000));
    if (bits > 0) {
      REQUIRE(value > before);
      double middle = (before + value) / 2;
      REQUIRE(V::round(middle).bits == (bits % 2 == 0 ? bits : bits - 1));
      REQUIRE(V::round(std::nextafter(middle, 1e300)).bits == bits);
      REQUIRE(V::round(std::nextafter(middle, 0)).bits == bits - 1);
    }
    before = value;
  }
  CHECK(before == greatest);
  double step = greatest - V{static_cast<uint16_t>(V::kInfinity - 2)}.value();
  CHECK(V::round(greatest + step / 2).bits == V::kInfinity);
  CHECK(V::round(std::nextafter(greatest + step / 2, 0)).bits == V::kInfinity - 1);
  CHECK(V::round(-1e300).bits == (V::kInfinity | 0x8000));
  CHECK(V::round(NAN).bits == 0x7fff);
  CHECK(std::isnan(V{V::kInfinity + 1}.value()));
  CHECK(V{V::kInfinity}.value() == INFINITY);
  CHECK(V::round(1e-300).bits == 0);
}

TEST_CASE("floats of 16 bits") {
  checkSmallFloat<Half>(65504);
  checkSmallFloat<Brain>(0x1.fep127);
  CHECK(Half::round(1).bits == 0x3c00);
  CHECK(Brain::round(1).bits == 0x3f80);
  check<uint16_t, float>("cvt.rn.f16.f32", [](float a) { return Half::round(a).bits; });
  check<uint16_t, float>("cvt.rn.bf16.f32", [](float a) { return Brain::round(a).bits; });
  check<float, uint16_t>("cvt.f32.f16",
                         [](uint16_t a) { return static_cast<float>(Half{a}.value()); });
  check<uint32_t, float, float>("cvt.rn.bf16x2.f32", [](float a, float b) {
    return static_cast<uint32_t>(Brain::round(a).bits) << 16 | Brain::round(b).bits;
  });
  check<uint16_t, uint16_t, uint16_t>("mul.f16", [](uint16_t a, uint16_t b) {
    return Half::round(Half{a}.value() * Half{b}.value()).bits;
  });
}

}  // namespace
}  // namespace graphrun::testing::ptx
