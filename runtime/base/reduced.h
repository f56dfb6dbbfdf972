// Reduced element types have 8, 4 or 2 bits; files pack their values.
#ifndef GRAPHRUN_RUNTIME_BASE_REDUCED_H_
#define GRAPHRUN_RUNTIME_BASE_REDUCED_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/element_type.h"

namespace graphrun::runtime {

/// Rounding to f8e8m0, which holds powers of two; the other types round to nearest, ties to even.
enum class PowerRounding : uint8_t { kUp, kDown, kNearest };

/// "up", "down" and "nearest", as ONNX's Cast has them; nothing for another text.
std::optional<PowerRounding> parsePowerRounding(absl::string_view text);

/// A ReducedConversion says how a number becomes an element of a reduced type.
struct ReducedConversion {
  /// When true, a number out of range becomes the largest value of its sign; else infinity, or NaN
  /// where the type has none.
  bool saturate = true;
  PowerRounding rounding = PowerRounding::kUp;
};

/// The value of the element `bits` of a reduced type, exact. Bits above the type's are ignored.
double decodeReduced(ElementType type, uint8_t bits);

/// The element nearest to `value`, as ONNX's Cast defines it (onnx.ai/onnx/operators/onnx__Cast).
/// Integers truncate towards zero and keep the low bits; NaN is 0 for them and -0 for floats
/// of less than 8 bits.
uint8_t encodeReduced(ElementType type, double value, ReducedConversion conversion = {});

/// Elements of a reduced type packed without gaps, the first in the lowest bits of the first byte
/// (ONNX's raw_data), one a byte. `packed` must have packedSize(type, count) bytes.
std::vector<uint8_t> unpackReduced(ElementType type, absl::Span<const uint8_t> packed,
                                   size_t count);

/// Bytes of `count` packed elements of any type.
size_t packedSize(ElementType type, size_t count);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_REDUCED_H_
