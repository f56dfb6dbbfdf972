#include "frontends/cli/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/float16.h"
#include "runtime/base/reduced.h"

namespace graphrun::cli {
namespace {

using runtime::ElementType;
using runtime::HostTensor;

/// Elements of a quantised result, of 100, that may be off by one step.
constexpr size_t kMostOff = 1;

/// ONNX's own runner allows bfloat16 an error in its last two bits.
constexpr double kBFloat16Rtol = 1.0 / 64;

template <typename T>
double load(const HostTensor& tensor, size_t index) {
  return static_cast<double>(tensor.as<T>()[index]);
}

std::string position(const runtime::TensorSpec& spec, size_t index) {
  std::vector<int64_t> at(spec.dims.size());
  for (size_t d = at.size(); d-- > 0;) {
    at[d] = static_cast<int64_t>(index) % spec.dims[d];
    index /= static_cast<size_t>(spec.dims[d]);
  }
  return absl::StrCat("[", absl::StrJoin(at, ", "), "]");
}

/// Returns how far a float is beyond the tolerance; <= 0: within.
double excess(double actual, double expected, const Tolerance& tolerance) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) {
    return 0;
  }
  double error =
      std::fabs(actual - expected) - tolerance.atol - tolerance.rtol * std::fabs(expected);
  return std::isfinite(actual) && std::isfinite(expected) ? error
                                                          : std::numeric_limits<double>::infinity();
}

/// Returns how far element `index` is from what it should be; <= 0: near enough. Integers must be
/// equal.
double wrongness(const HostTensor& actual, const HostTensor& expected, size_t index,
                 const Tolerance& tolerance) {
  ElementType type = actual.spec().type;
  double got = elementAt(actual, index);
  double wanted = elementAt(expected, index);
  if (isFloat(actual)) {
    return excess(got, wanted, tolerance);
  }
  size_t size = elementSize(type);
  auto* a = static_cast<const char*>(actual.data()) + index * size;
  auto* b = static_cast<const char*>(expected.data()) + index * size;
  return std::memcmp(a, b, size) == 0 ? 0 : std::max(std::fabs(got - wanted), 0.5);
}

/// The 2-norm of the errors, relative to that of what is expected; infinite where one of two
/// numbers is none, or nothing but zeros is expected and there is an error.
double relativeNorm(const HostTensor& actual, const HostTensor& expected) {
  double errors = 0;
  double sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(expected.spec().elementCount()); ++i) {
    double got = elementAt(actual, i);
    double wanted = elementAt(expected, i);
    if (got == wanted || (std::isnan(got) && std::isnan(wanted))) {
      sum += std::isfinite(wanted) ? wanted * wanted : 0;
      continue;
    }
    if (!std::isfinite(got) || !std::isfinite(wanted)) {
      return std::numeric_limits<double>::infinity();
    }
    errors += (got - wanted) * (got - wanted);
    sum += wanted * wanted;
  }
  return errors == 0 ? 0 : std::sqrt(errors / sum);
}

/// Returns whether element `index` is off by no more than a step of a quantised result.
bool isWithinStep(const HostTensor& actual, const HostTensor& expected, size_t index,
                  const Tolerance& tolerance) {
  constexpr double kRounding = 1e-5;  // steps are written in a few digits
  return tolerance.step > 0 && std::fabs(elementAt(actual, index) - elementAt(expected, index)) <=
                                   tolerance.step * (1 + kRounding);
}

std::string differentStrings(const HostTensor& actual, const HostTensor& expected) {
  size_t count = actual.strings().size();
  size_t wrong = 0;
  size_t first = 0;
  for (size_t i = count; i-- > 0;) {
    if (actual.strings()[i] != expected.strings()[i]) {
      ++wrong;
      first = i;
    }
  }
  return wrong == 0
             ? ""
             : absl::StrCat(wrong, " of ", count, " strings differ, the first at ",
                            position(actual.spec(), first), ": got \"",
                            absl::Utf8SafeCEscape(actual.strings()[first]), "\", expected \"",
                            absl::Utf8SafeCEscape(expected.strings()[first]), "\"");
}

}  // namespace

bool isFloat(const HostTensor& tensor) {
  return runtime::elementTypeInfo(tensor.spec().type).kind == runtime::NumberKind::kFloat;
}

std::string elementText(const HostTensor& tensor, size_t index) {
  switch (tensor.spec().type) {
    case ElementType::kString:
      return absl::StrCat("\"", absl::Utf8SafeCEscape(tensor.strings()[index]), "\"");
    case ElementType::kI64:  // not by way of a double: all digits
      return absl::StrCat(tensor.as<int64_t>()[index]);
    case ElementType::kU64:
      return absl::StrCat(tensor.as<uint64_t>()[index]);
    case ElementType::kI32:
    case ElementType::kU32:
      return absl::StrCat(static_cast<int64_t>(elementAt(tensor, index)));
    default:
      return absl::StrCat(elementAt(tensor, index));
  }
}

double elementAt(const HostTensor& tensor, size_t index) {
  switch (tensor.spec().type) {
    case ElementType::kF64:
      return load<double>(tensor, index);
    case ElementType::kF32:
      return load<float>(tensor, index);
    case ElementType::kF16:
      return runtime::float16Value(tensor.as<uint16_t>()[index]);
    case ElementType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(tensor.as<uint16_t>()[index]) << 16);
    case ElementType::kI64:
      return load<int64_t>(tensor, index);
    case ElementType::kI32:
      return load<int32_t>(tensor, index);
    case ElementType::kI16:
      return load<int16_t>(tensor, index);
    case ElementType::kI8:
      return load<int8_t>(tensor, index);
    case ElementType::kU64:
      return load<uint64_t>(tensor, index);
    case ElementType::kU32:
      return load<uint32_t>(tensor, index);
    case ElementType::kU16:
      return load<uint16_t>(tensor, index);
    case ElementType::kU8:
    case ElementType::kBool:
      return load<uint8_t>(tensor, index);
    case ElementType::kString:
    case ElementType::kInvalid:
      break;
    default:
      return runtime::decodeReduced(tensor.spec().type, tensor.as<uint8_t>()[index]);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Differences differencesOf(const HostTensor& actual, const HostTensor& expected) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (actual.spec() != expected.spec()) {
    return {kInfinite, kInfinite, kInfinite};
  }
  Differences found;
  if (actual.spec().type == ElementType::kString) {
    return found;
  }
  for (size_t i = 0; i < static_cast<size_t>(expected.spec().elementCount()); ++i) {
    const double got = elementAt(actual, i);
    const double wanted = elementAt(expected, i);
    if (got == wanted || (std::isnan(got) && std::isnan(wanted))) {
      continue;
    }
    const double off = std::fabs(got - wanted);
    const bool counts = std::isfinite(off);
    found.absolute = std::max(found.absolute, counts ? off : kInfinite);
    found.relative =
        std::max(found.relative, counts && wanted != 0 ? off / std::fabs(wanted) : kInfinite);
  }
  found.l2 = relativeNorm(actual, expected);
  return found;
}

std::string difference(const HostTensor& actual, const HostTensor& expected,
                       const Tolerance& tolerance) {
  if (actual.spec() != expected.spec()) {
    return absl::StrCat("got ", actual.spec().toString(), ", expected ",
                        expected.spec().toString());
  }
  if (actual.spec().type == ElementType::kString) {
    return differentStrings(actual, expected);
  }
  if (tolerance.l2 > 0 && isFloat(actual)) {
    double norm = relativeNorm(actual, expected);
    return norm <= tolerance.l2 ? ""
                                : absl::StrCat("the relative 2-norm of the errors is ", norm,
                                               ", expected at most ", tolerance.l2);
  }
  Tolerance allowed = tolerance;
  if (actual.spec().type == ElementType::kBF16) {
    allowed.rtol = std::max(allowed.rtol, kBFloat16Rtol);
  }
  auto count = static_cast<size_t>(actual.spec().elementCount());
  size_t wrong = 0;
  size_t off = 0;  // by no more than a step
  size_t worst = 0;
  double most = 0;
  for (size_t i = 0; i < count; ++i) {
    double over = wrongness(actual, expected, i, allowed);
    if (over > 0 && isWithinStep(actual, expected, i, allowed)) {
      ++off;
    } else if (over > 0) {
      ++wrong;
      if (over > most) {
        most = over;
        worst = i;
      }
    }
  }
  if (wrong == 0) {
    return 100 * off <= kMostOff * count
               ? ""
               : absl::StrCat(off, " of ", count, " elements are off by a step of ", allowed.step,
                              ", expected at most ", kMostOff, " %");
  }
  return absl::StrCat(wrong, " of ", count, " elements differ, the most at ",
                      position(actual.spec(), worst), ": got ", elementAt(actual, worst),
                      ", expected ", elementAt(expected, worst), " (rtol ", allowed.rtol, ", atol ",
                      allowed.atol, ")");
}

}  // namespace graphrun::cli
