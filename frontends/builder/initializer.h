// Initialisers give weights their first values. Public.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_INITIALIZER_H_
#define GRAPHRUN_FRONTENDS_BUILDER_INITIALIZER_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace graphrun::builder {

/// An Initializer fills a weight. A random one is the same for the same seed, name of the weight
/// and shape, on every machine up to the rounding of its log and cos; weights of other names get
/// other numbers.
class Initializer {
 public:
  enum class Kind { kConstant, kUniform, kNormal, kHeNormal, kGlorotUniform };

  Initializer(Kind kind, double first, double second, uint64_t seed)
      : kind_(kind), first_(first), second_(second), seed_(seed) {}

  /// Returns whether all elements are `constant()`.
  bool isConstant() const { return kind_ == Kind::kConstant; }
  double constant() const { return first_; }
  /// The elements of a weight, row-major. `dims` are in x out for a matrix, O x C x K1 … for a
  /// filter; their product must fit into memory.
  std::vector<double> values(absl::Span<const int64_t> dims, absl::string_view name) const;

 private:
  Kind kind_;
  double first_;
  double second_;
  uint64_t seed_;
};

namespace init {

Initializer constant(double value);
Initializer zeros();
Initializer ones();
/// Between `low` and `high`.
Initializer uniform(double low, double high, uint64_t seed = 0);
Initializer normal(double mean, double deviation, uint64_t seed = 0);
/// Normal with variance 2 / fan-in (He et al., 2015): for layers followed by relu.
Initializer heNormal(uint64_t seed = 0);
/// Uniform within sqrt(6 / (fan-in + fan-out)) (Glorot and Bengio, 2010).
Initializer glorotUniform(uint64_t seed = 0);

}  // namespace init
}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_INITIALIZER_H_
