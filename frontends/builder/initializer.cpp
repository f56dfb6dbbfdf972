#include "frontends/builder/initializer.h"

#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>

namespace graphrun::builder {
namespace {

/// FNV-1a: the same on every machine, unlike std::hash.
uint64_t hashOf(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text) {
    hash = (hash ^ c) * 0x100000001b3;
  }
  return hash;
}

/// Numbers that are the same with every standard library; its distributions are not.
class NumberStream {
 public:
  explicit NumberStream(uint64_t seed) : bits_(seed) {}

  /// In [0, 1).
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  /// Standard normal (Box and Muller, 1958).
  double normal() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 bits_;
};

int64_t productOf(absl::Span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

struct Fan {
  double in = 1;
  double out = 1;
};

Fan fanOf(absl::Span<const int64_t> dims) {
  if (dims.size() <= 2) {
    auto first = static_cast<double>(dims.empty() ? 1 : dims[0]);
    return {first, dims.size() == 2 ? static_cast<double>(dims[1]) : first};
  }
  auto window = static_cast<double>(productOf(dims.subspan(2)));
  return {static_cast<double>(dims[1]) * window, static_cast<double>(dims[0]) * window};
}

}  // namespace

std::vector<double> Initializer::values(absl::Span<const int64_t> dims,
                                        absl::string_view name) const {
  NumberStream random(seed_ ^ hashOf(name));
  Fan fan = fanOf(dims);
  double first = first_, second = second_;
  if (kind_ == Kind::kHeNormal) {
    first = 0;
    second = std::sqrt(2 / std::max(fan.in, 1.0));
  } else if (kind_ == Kind::kGlorotUniform) {
    second = std::sqrt(6 / std::max(fan.in + fan.out, 1.0));
    first = -second;
  }
  std::vector<double> values(static_cast<size_t>(productOf(dims)), first);
  for (double& value : values) {
    switch (kind_) {
      case Kind::kConstant:
        break;
      case Kind::kUniform:
      case Kind::kGlorotUniform:
        value = first + (second - first) * random.uniform();
        break;
      case Kind::kNormal:
      case Kind::kHeNormal:
        value = first + second * random.normal();
        break;
    }
  }
  return values;
}

namespace init {

using Kind = Initializer::Kind;

Initializer constant(double value) { return {Kind::kConstant, value, 0, 0}; }
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer uniform(double low, double high, uint64_t seed) {
  return {Kind::kUniform, low, high, seed};
}
Initializer normal(double mean, double deviation, uint64_t seed) {
  return {Kind::kNormal, mean, deviation, seed};
}
Initializer heNormal(uint64_t seed) { return {Kind::kHeNormal, 0, 0, seed}; }
Initializer glorotUniform(uint64_t seed) { return {Kind::kGlorotUniform, 0, 0, seed}; }

}  // namespace init
}  // namespace graphrun::builder
