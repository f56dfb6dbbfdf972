#include "runtime/session/not_finite.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

enum class Numbers { kFinite, kInfinite, kNan };

template <typename T>
Numbers numbersOf(const HostTensor& tensor) {
  Numbers found = Numbers::kFinite;
  for (T value : tensor.as<T>()) {
    if (std::isnan(value)) {
      return Numbers::kNan;
    }
    found = std::isinf(value) ? Numbers::kInfinite : found;
  }
  return found;
}

/// The same for a type of 16 bits whose exponent is `exponent`.
Numbers numbersOf(const HostTensor& tensor, uint16_t exponent) {
  Numbers found = Numbers::kFinite;
  const auto* bits = static_cast<const uint16_t*>(tensor.data());
  for (size_t i = 0; i < tensor.byteSize() / sizeof(uint16_t); ++i) {
    const uint32_t magnitude = bits[i] & 0x7FFFU;
    if (magnitude > exponent) {
      return Numbers::kNan;
    }
    found = magnitude == exponent ? Numbers::kInfinite : found;
  }
  return found;
}

/// The worst of a tensor's numbers.
Numbers worstOf(const HostTensor& tensor) {
  switch (tensor.spec().type) {
    case ElementType::kF64:
      return numbersOf<double>(tensor);
    case ElementType::kF32:
      return numbersOf<float>(tensor);
    case ElementType::kF16:
      return numbersOf(tensor, 0x7C00);
    case ElementType::kBF16:
      return numbersOf(tensor, 0x7F80);
    default:
      return Numbers::kFinite;
  }
}

/// Keeps the first value that has a NaN, and the first that has an infinity.
class Search {
 public:
  void add(const std::string& name, const HostTensor& value) {
    const Numbers numbers = worstOf(value);
    if (numbers == Numbers::kNan && nan_.empty()) {
      nan_ = name;
    }
    if (numbers == Numbers::kInfinite && infinite_.empty()) {
      infinite_ = name;
    }
  }
  /// NaN tells more: infinities may be meant, as in masks.
  const std::string& found() const { return nan_.empty() ? infinite_ : nan_; }

 private:
  std::string nan_;
  std::string infinite_;
};

}  // namespace

absl::StatusOr<std::string> firstNotFinite(const std::string& modelPath, SessionOptions options,
                                           const std::string& graph, const TensorMap& inputs,
                                           const TensorMap& states) {
  Search search;
  for (const auto& [name, value] : inputs) {
    search.add(absl::StrCat("input '", name, "'"), value);
  }
  for (const auto& [name, value] : states) {
    search.add(absl::StrCat("state '", name, "'"), value);
  }
  if (!search.found().empty()) {
    return search.found();
  }
  options.dumps = {"*"};
  options.dumped = [&](const std::string& name, const HostTensor& value) {
    search.add(absl::StrCat("'", name, "'"), value);
  };
  options.tuneBudget = std::chrono::milliseconds(0);
  options.learnCosts = false;
  options.memoryLimits.clear();  // all values are kept
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(modelPath, options));
  GR_RETURN_IF_ERROR(session->setStates(states));
  GR_RETURN_IF_ERROR(session->run(graph, inputs).status());
  return search.found();
}

}  // namespace graphrun::runtime
