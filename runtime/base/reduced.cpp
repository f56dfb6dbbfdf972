#include "runtime/base/reduced.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graphrun::runtime {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Specials say what the codes beyond the largest number mean.
enum class Specials : uint8_t {
  kIeee,     ///< infinities and NaNs, as in IEEE 754
  kNan,      ///< all ones is NaN, there is no infinity ("fn")
  kNoMinus,  ///< minus zero is NaN, there is neither infinity nor minus zero ("fnuz")
  kNone      ///< numbers only
};

/// A binary floating-point format of a sign, exponent and mantissa.
struct Format {
  int exponentBits;
  int mantissaBits;
  int bias;
  double most;  ///< the largest number
  Specials specials;
};

constexpr Format formatOf(ElementType type) {
  switch (type) {
    case ElementType::kF8E4M3FN:
      return {4, 3, 7, 448, Specials::kNan};
    case ElementType::kF8E4M3FNUZ:
      return {4, 3, 8, 240, Specials::kNoMinus};
    case ElementType::kF8E5M2:
      return {5, 2, 15, 57344, Specials::kIeee};
    case ElementType::kF8E5M2FNUZ:
      return {5, 2, 16, 57344, Specials::kNoMinus};
    case ElementType::kF6E2M3:
      return {2, 3, 1, 7.5, Specials::kNone};
    case ElementType::kF6E3M2:
      return {3, 2, 3, 28, Specials::kNone};
    default:  // kF4E2M1
      return {2, 1, 1, 6, Specials::kNone};
  }
}

double decodeFloat(const Format& format, unsigned bits) {
  unsigned sign = 1U << (format.exponentBits + format.mantissaBits);
  unsigned magnitude = bits & (sign - 1);
  bool negative = (bits & sign) != 0;
  if (format.specials == Specials::kNoMinus && negative && magnitude == 0) {
    return kNan;
  }
  unsigned fraction = magnitude & ((1U << format.mantissaBits) - 1);
  auto exponent = static_cast<int>(magnitude >> format.mantissaBits);
  double value = exponent == 0 ? std::ldexp(fraction, 1 - format.bias - format.mantissaBits)
                               : std::ldexp(fraction + (1U << format.mantissaBits),
                                            exponent - format.bias - format.mantissaBits);
  if (value > format.most) {
    value = format.specials == Specials::kIeee && fraction == 0 ? kInfinity : kNan;
  }
  return negative ? -value : value;
}

/// The code of a magnitude that is exact in the format.
unsigned exactCode(const Format& format, double magnitude) {
  if (magnitude == 0) {
    return 0;
  }
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  auto fraction = static_cast<unsigned>(std::ldexp(magnitude, format.mantissaBits - exponent));
  // A subnormal lacks the leading one that makes the exponent's code 1 instead of 0.
  return (static_cast<unsigned>(exponent + format.bias - 1) << format.mantissaBits) + fraction;
}

unsigned nanCode(const Format& format, unsigned sign) {
  switch (format.specials) {
    case Specials::kNoMinus:
    case Specials::kNone:  // minus zero, as ml_dtypes has it
      return sign;
    case Specials::kNan:
    case Specials::kIeee:
      break;
  }
  return sign - 1;
}

unsigned overflowCode(const Format& format, bool saturate, unsigned sign) {
  if (saturate || format.specials == Specials::kNone) {
    return exactCode(format, format.most);
  }
  return format.specials == Specials::kIeee ? exactCode(format, format.most) + 1
                                            : nanCode(format, sign);
}

unsigned encodeFloat(const Format& format, double value, bool saturate) {
  unsigned sign = 1U << (format.exponentBits + format.mantissaBits);
  if (std::isnan(value)) {
    return nanCode(format, sign);
  }
  double magnitude = std::fabs(value);
  unsigned code = 0;
  if (std::isinf(magnitude)) {
    code = overflowCode(format, saturate, sign);
  } else if (magnitude > 0) {
    int unit = std::max(std::ilogb(magnitude), 1 - format.bias) - format.mantissaBits;
    double rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, -unit)), unit);
    code =
        rounded > format.most ? overflowCode(format, saturate, sign) : exactCode(format, rounded);
  }
  bool unsignedZero = format.specials == Specials::kNoMinus && (code == 0 || code == sign);
  return std::signbit(value) && !unsignedZero ? code | sign : code;
}

constexpr int kPowerBias = 127;
constexpr unsigned kPowerNan = 255;

/// Only the magnitude counts: the type has no sign.
unsigned encodePower(double value, ReducedConversion conversion) {
  if (std::isnan(value)) {
    return kPowerNan;
  }
  if (std::isinf(value)) {
    return conversion.saturate ? kPowerNan - 1 : kPowerNan;
  }
  if (value == 0) {
    return conversion.saturate ? 0 : kPowerNan;
  }
  int exponent = std::ilogb(value);
  double fraction = std::ldexp(std::fabs(value), -exponent);  // in [1, 2)
  bool up = conversion.rounding == PowerRounding::kUp        ? fraction > 1
            : conversion.rounding == PowerRounding::kNearest ? fraction >= 1.5
                                                             : false;
  int code = exponent + (up ? 1 : 0) + kPowerBias;
  bool inRange = code >= 0 && code < static_cast<int>(kPowerNan);
  return inRange || conversion.saturate
             ? static_cast<unsigned>(std::clamp(code, 0, static_cast<int>(kPowerNan) - 1))
             : kPowerNan;
}

/// Towards zero; 0 for what no int64 holds.
uint8_t encodeInteger(unsigned bits, double value) {
  bool holds = std::fabs(value) < 0x1p63;
  auto whole = holds ? static_cast<uint64_t>(static_cast<int64_t>(value)) : 0;
  return static_cast<uint8_t>(whole & ((1U << bits) - 1));
}

double decodeInteger(const ElementTypeInfo& info, unsigned code) {
  bool negative = info.kind == NumberKind::kSigned && (code >> (info.bits - 1)) != 0;
  return static_cast<double>(code) - (negative ? static_cast<double>(1U << info.bits) : 0);
}

}  // namespace

std::optional<PowerRounding> parsePowerRounding(absl::string_view text) {
  return text == "up"        ? std::optional(PowerRounding::kUp)
         : text == "down"    ? std::optional(PowerRounding::kDown)
         : text == "nearest" ? std::optional(PowerRounding::kNearest)
                             : std::nullopt;
}

double decodeReduced(ElementType type, uint8_t bits) {
  const ElementTypeInfo& info = elementTypeInfo(type);
  unsigned code = bits & ((1U << info.bits) - 1);
  if (info.kind != NumberKind::kFloat) {
    return decodeInteger(info, code);
  }
  if (type == ElementType::kF8E8M0) {
    return code == kPowerNan ? kNan : std::ldexp(1.0, static_cast<int>(code) - kPowerBias);
  }
  return decodeFloat(formatOf(type), code);
}

uint8_t encodeReduced(ElementType type, double value, ReducedConversion conversion) {
  const ElementTypeInfo& info = elementTypeInfo(type);
  if (info.kind != NumberKind::kFloat) {
    return encodeInteger(info.bits, value);
  }
  return static_cast<uint8_t>(type == ElementType::kF8E8M0
                                  ? encodePower(value, conversion)
                                  : encodeFloat(formatOf(type), value, conversion.saturate));
}

std::vector<uint8_t> unpackReduced(ElementType type, absl::Span<const uint8_t> packed,
                                   size_t count) {
  unsigned bits = elementTypeInfo(type).bits;
  std::vector<uint8_t> elements(count);
  for (size_t i = 0; i < count; ++i) {
    size_t at = i * bits;
    unsigned window = packed[at / 8];
    if (at % 8 + bits > 8) {  // one of 6 bits may lie in two bytes
      window |= static_cast<unsigned>(packed[at / 8 + 1]) << 8;
    }
    elements[i] = static_cast<uint8_t>(window >> (at % 8) & ((1U << bits) - 1));
  }
  return elements;
}

size_t packedSize(ElementType type, size_t count) {
  size_t bits = elementTypeInfo(type).bits;
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

}  // namespace graphrun::runtime
