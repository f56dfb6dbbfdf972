#include "devices/executable/quantized_elements.h"

#include <array>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/float16.h"
#include "runtime/base/reduced.h"

namespace graphrun::devices {
namespace {

using runtime::ElementType;

constexpr unsigned kCodes = 256;

/// Each element as what its code stands for.
template <typename T, typename Round>
std::vector<uint8_t> convert(const Quantization& quantized, absl::Span<const uint8_t> given,
                             Round round) {
  std::array<T, kCodes> table;
  for (unsigned code = 0; code < kCodes; ++code) {
    double value = runtime::decodeReduced(quantized.type, static_cast<uint8_t>(code));
    table[code] = round(static_cast<float>(value) * quantized.factor);
  }
  std::vector<uint8_t> made(given.size() * sizeof(T));
  uint8_t* to = made.data();
  for (uint8_t code : given) {
    std::memcpy(to, &table[code], sizeof(T));
    to += sizeof(T);
  }
  return made;
}

}  // namespace

absl::Status checkQuantization(const Quantization& quantized, ElementType to) {
  bool isKnown =
      quantized.type == ElementType::kF8E4M3FN || quantized.type == ElementType::kF8E4M3FNUZ ||
      quantized.type == ElementType::kF8E5M2 || quantized.type == ElementType::kF8E5M2FNUZ;
  bool isComputed = to == ElementType::kF32 || to == ElementType::kF16 || to == ElementType::kBF16;
  if (isKnown && isComputed) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("elements of ", runtime::elementTypeName(quantized.type), " that stand for ",
                   runtime::elementTypeName(to),
                   ", expected an 8-bit floating-point type for f32, f16 or bf16"));
}

std::vector<uint8_t> dequantized(const Quantization& quantized, ElementType to,
                                 absl::Span<const uint8_t> given) {
  switch (to) {
    case ElementType::kF16:
      return convert<uint16_t>(quantized, given, runtime::float16Bits);
    case ElementType::kBF16:
      return convert<uint16_t>(quantized, given, runtime::bfloat16Bits);
    default:
      return convert<float>(quantized, given, [](float value) { return value; });
  }
}

absl::Span<const uint8_t> sourceElements(const Buffer& buffer, absl::Span<const uint8_t> given,
                                         std::vector<uint8_t>& made) {
  if (!buffer.quantized) {
    return given;
  }
  made = dequantized(*buffer.quantized, (buffer.source ? *buffer.source : buffer.desc).type, given);
  return made;
}

std::string quantizationKey(const Buffer& buffer) {
  return buffer.quantized
             ? absl::StrCat(" ", runtime::elementTypeName(buffer.quantized->type), "*",
                            absl::Hex(std::bit_cast<uint32_t>(buffer.quantized->factor)))
             : "";
}

}  // namespace graphrun::devices
