#include "frontends/cli/elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontends/cli/compare.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/float16.h"
#include "runtime/base/reduced.h"
#include "runtime/base/round_to_odd.h"

namespace graphrun::cli {
namespace {

using runtime::ElementType;
using runtime::HostTensor;

/// Calls `work` with a value of the C++ type of integers of `type`; false for other types.
template <typename Work>
bool withInteger(ElementType type, Work work) {
  switch (type) {
    case ElementType::kI64:
      return work(int64_t{}), true;
    case ElementType::kI32:
      return work(int32_t{}), true;
    case ElementType::kI16:
      return work(int16_t{}), true;
    case ElementType::kI8:
      return work(int8_t{}), true;
    case ElementType::kU64:
      return work(uint64_t{}), true;
    case ElementType::kU32:
      return work(uint32_t{}), true;
    case ElementType::kU16:
      return work(uint16_t{}), true;
    case ElementType::kU8:
      return work(uint8_t{}), true;
    default:
      return false;
  }
}

absl::Status noValue(const std::string& text, ElementType type, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no ", runtime::elementTypeName(type), "; expected ", expected));
}

/// A whole number, which "1e3" and "2.0" are too.
template <typename Wide>
bool parseWhole(const std::string& text, Wide& value) {
  constexpr double kExact = 9007199254740992;  // 2^53: up to it doubles are whole numbers
  double number = 0;
  if (absl::SimpleAtoi(text, &value)) {
    return true;
  }
  bool isWhole = absl::SimpleAtod(text, &number) && std::fabs(number) <= kExact &&
                 std::trunc(number) == number && (std::is_signed_v<Wide> || number >= 0);
  value = isWhole ? static_cast<Wide>(number) : 0;
  return isWhole;
}

template <typename T>
absl::Status storeInteger(HostTensor& tensor, const std::string& text) {
  using Limits = std::numeric_limits<T>;
  std::conditional_t<Limits::is_signed, int64_t, uint64_t> value = 0;
  if (!parseWhole(text, value) || value < Limits::min() || value > Limits::max()) {
    return noValue(text, tensor.spec().type,
                   absl::StrCat("a whole number from ", Limits::min(), " to ", Limits::max()));
  }
  tensor.as<T>()[0] = static_cast<T>(value);
  return absl::OkStatus();
}

absl::Status storeBool(HostTensor& tensor, const std::string& text) {
  bool value = text == "1" || text == "true";
  if (!value && text != "0" && text != "false") {
    return noValue(text, tensor.spec().type, "0, 1, true or false");
  }
  tensor.as<uint8_t>()[0] = value ? 1 : 0;
  return absl::OkStatus();
}

absl::Status storeFloat(HostTensor& tensor, const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) {
    return noValue(text, tensor.spec().type, "a number, inf or nan");
  }
  setElement(tensor, 0, value);
  const bool isMeant = text.find_first_of("nN") != text.npos;  // of "inf", "infinity" and "nan"
  if (!isMeant && std::isinf(elementAt(tensor, 0))) {
    return noValue(text, tensor.spec().type, "a number that is within its range, inf or nan");
  }
  return absl::OkStatus();
}

/// Stores an integer of 4 or 2 bits.
absl::Status storeReducedInteger(HostTensor& tensor, const std::string& text) {
  ElementType type = tensor.spec().type;
  int64_t value = 0;
  bool isNumber = parseWhole(text, value);
  uint8_t bits = isNumber ? runtime::encodeReduced(type, static_cast<double>(value)) : uint8_t{0};
  if (!isNumber || runtime::decodeReduced(type, bits) != static_cast<double>(value)) {
    return noValue(
        text, type,
        absl::StrCat("a whole number of ", runtime::elementTypeInfo(type).bits, " bits"));
  }
  tensor.as<uint8_t>()[0] = bits;
  return absl::OkStatus();
}

absl::Status storeFirst(HostTensor& tensor, const std::string& text) {
  ElementType type = tensor.spec().type;
  absl::Status status;
  if (withInteger(type, [&](auto zero) { status = storeInteger<decltype(zero)>(tensor, text); })) {
    return status;
  }
  switch (runtime::elementTypeInfo(type).kind) {
    case runtime::NumberKind::kFloat:
      return storeFloat(tensor, text);
    case runtime::NumberKind::kBool:
      return storeBool(tensor, text);
    case runtime::NumberKind::kSigned:
    case runtime::NumberKind::kUnsigned:
      return storeReducedInteger(tensor, text);
    default:
      return absl::InvalidArgumentError("a tensor without a type has no elements");
  }
}

}  // namespace

void setElement(HostTensor& tensor, size_t index, double value) {
  ElementType type = tensor.spec().type;
  if (withInteger(type, [&](auto zero) {
        using T = decltype(zero);
        tensor.as<T>()[index] = static_cast<T>(value);
      })) {
    return;
  }
  switch (type) {
    case ElementType::kF64:
      tensor.as<double>()[index] = value;
      return;
    case ElementType::kF32:
      tensor.as<float>()[index] = static_cast<float>(value);
      return;
    case ElementType::kF16:
      tensor.as<uint16_t>()[index] = runtime::float16Bits(runtime::roundToOdd(value));
      return;
    case ElementType::kBF16:
      tensor.as<uint16_t>()[index] = runtime::bfloat16Bits(runtime::roundToOdd(value));
      return;
    case ElementType::kBool:
      tensor.as<uint8_t>()[index] = value != 0 ? 1 : 0;
      return;
    case ElementType::kString:
      tensor.strings()[index] = absl::StrCat(value);
      return;
    case ElementType::kInvalid:
      return;
    default:
      tensor.as<uint8_t>()[index] = runtime::encodeReduced(type, value);
  }
}

absl::Status fill(HostTensor& tensor, const std::string& text) {
  if (tensor.spec().type == ElementType::kString) {
    std::fill(tensor.strings().begin(), tensor.strings().end(), text);
    return absl::OkStatus();
  }
  HostTensor one(runtime::TensorSpec{tensor.spec().type, {}});  // `tensor` may have no element
  if (absl::Status stored = storeFirst(one, text); !stored.ok()) {
    return stored;
  }
  const size_t size = one.byteSize();
  auto* to = static_cast<uint8_t*>(tensor.data());
  for (size_t at = 0; at < tensor.byteSize(); at += size) {
    std::memcpy(to + at, one.data(), size);
  }
  return absl::OkStatus();
}

}  // namespace graphrun::cli
