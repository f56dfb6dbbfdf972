// The values of a graph, and what the operations' arguments are made of. Public.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_TENSOR_H_
#define GRAPHRUN_FRONTENDS_BUILDER_TENSOR_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/tensor.h"

namespace graphrun::builder {

using runtime::ElementType;
using runtime::HostTensor;

class GraphImpl;
class Index;
class Operand;

/// Name and source location of a call: the optional last argument of every operation. `relu(x)`
/// names the operation by itself, `relu(x, "act")` gives it a name, which must be new in its scope.
/// The source line is the caller's.
struct At {
  At(std::source_location here = std::source_location::current()) : location(here) {}
  At(const char* callName, std::source_location here = std::source_location::current())
      : name(callName == nullptr ? "" : callName), location(here) {}
  At(std::string callName, std::source_location here = std::source_location::current())
      : name(std::move(callName)), location(here) {}

  std::string name;  ///< "": "<op>_<n>"
  std::source_location location;
};

/// One dim of a shape: a number, a symbol, or unknown. Dims of one name are equal in a whole graph;
/// their size is known when the model runs.
class Dim {
 public:
  template <std::integral T>
  Dim(T size) : size_(static_cast<int64_t>(size)) {}
  /// Letters, digits and "_.-:"; not a digit first.
  explicit Dim(std::string name) : name_(std::move(name)) {}
  /// A size about which nothing is known before the model runs.
  static Dim unknown() { return Dim(-1); }

  bool isStatic() const { return name_.empty() && size_ >= 0; }
  bool isUnknown() const { return name_.empty() && size_ == -1; }
  /// Only of a static dim.
  int64_t size() const { return size_; }
  /// Returns the name of a symbolic dim, or an expression like "N floordiv 2"; else "".
  const std::string& name() const { return name_; }
  /// "32", "N" or "?".
  std::string toString() const;

  bool operator==(const Dim&) const = default;

 private:
  int64_t size_ = -1;
  std::string name_;
};

/// A value of a graph: an input, a constant or the result of an operation. Cheap to copy; keeps its
/// graph alive. A default-constructed one stands for "not given" where an argument is optional.
/// Used by one thread at a time, as its graph.
class Tensor {
 public:
  Tensor() = default;

  /// False for a default-constructed tensor and for the result of a call that failed; the queries
  /// below then answer as for an unknown tensor.
  bool valid() const { return value_ != nullptr; }
  /// kInvalid when the tensor is not valid.
  ElementType elementType() const;
  /// Returns whether the number of dims is known.
  bool ranked() const;
  /// Empty for a scalar, and when the rank is not known.
  std::vector<Dim> dims() const;
  /// "Nx3x32x32xf32", "f32" for a scalar, "*xf32" for an unknown rank, "invalid".
  std::string toString() const;
  /// The name of what makes it: of an input or an operation ("encoder/conv_0"); "" if not valid.
  std::string name() const;
  /// "encoder/conv_0: Nx16x32x32xf32".
  friend std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

  /// Element-wise, with NumPy's broadcasting. A number takes the tensor's element type.
  friend Tensor operator+(const Operand& x, const Operand& y);
  friend Tensor operator-(const Operand& x, const Operand& y);
  friend Tensor operator*(const Operand& x, const Operand& y);
  friend Tensor operator/(const Operand& x, const Operand& y);
  friend Tensor operator-(const Operand& x);
  /// The variable becomes the result; the graph's earlier value stays what it was.
  Tensor& operator+=(const Operand& y);
  Tensor& operator-=(const Operand& y);
  Tensor& operator*=(const Operand& y);
  Tensor& operator/=(const Operand& y);
  /// Element-wise, as bools: as in NumPy and PyTorch also `==`, which does not tell whether two
  /// variables are the same tensor. A tensor is no condition of `if`: that does not compile.
  friend Tensor operator==(const Operand& x, const Operand& y);
  friend Tensor operator!=(const Operand& x, const Operand& y);
  friend Tensor operator<(const Operand& x, const Operand& y);
  friend Tensor operator<=(const Operand& x, const Operand& y);
  friend Tensor operator>(const Operand& x, const Operand& y);
  friend Tensor operator>=(const Operand& x, const Operand& y);

  /// A part of the first dim, or one for each of the first dims, as in NumPy: `x[0]`,
  /// `x[Range(1, -1)]`, `x[{Range(), 2, Range(0, 10, 2)}]`.
  Tensor operator[](const Index& index) const;
  Tensor operator[](std::initializer_list<Index> indices) const;

 private:
  friend class GraphImpl;
  Tensor(std::shared_ptr<GraphImpl> graph, void* value) : graph_(std::move(graph)), value_(value) {}

  std::shared_ptr<GraphImpl> graph_;
  void* value_ = nullptr;
};

/// A number whose element type follows from where it is used.
class Scalar {
 public:
  template <std::integral T>
  Scalar(T value)
      : integer_(static_cast<int64_t>(value)),
        number_(static_cast<double>(value)),
        isInteger_(std::is_signed_v<T> || static_cast<uint64_t>(value) <= INT64_MAX) {}
  template <std::floating_point T>
  Scalar(T value) : number_(static_cast<double>(value)) {}

  /// Returns whether `integer` holds the value; else only `number` does.
  bool isInteger() const { return isInteger_; }
  int64_t integer() const { return integer_; }
  double number() const { return number_; }

 private:
  int64_t integer_ = 0;
  double number_ = 0;
  bool isInteger_ = false;
};

/// A tensor or a number: an argument of an element-wise operation.
class Operand {
 public:
  Operand(Tensor tensor, std::source_location here = std::source_location::current())
      : tensor_(std::move(tensor)), location_(here) {}
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Operand(T value, std::source_location here = std::source_location::current())
      : scalar_(value), isScalar_(true), location_(here) {}

  bool isScalar() const { return isScalar_; }
  const Tensor& tensor() const { return tensor_; }
  Scalar scalar() const { return scalar_; }
  std::source_location location() const { return location_; }

 private:
  Tensor tensor_;
  Scalar scalar_ = 0;
  bool isScalar_ = false;
  std::source_location location_;
};

/// The positions [begin, end) of a dim in steps: negative ones count from the end, those out of
/// range are clamped. `Range()` is all of them, `Range(0, INT64_MAX, 2)` every second one.
struct Range {
  Range() = default;
  Range(int64_t first, int64_t past, int64_t by = 1) : begin(first), end(past), step(by) {}

  int64_t begin = 0;
  int64_t end = INT64_MAX;
  int64_t step = 1;
};

/// Tensor::operator[] takes an Index for a dim: one position, which drops the dim, or a Range.
class Index {
 public:
  template <std::integral T>
  Index(T position, std::source_location here = std::source_location::current())
      : range_(static_cast<int64_t>(position), 0), isPosition_(true), location_(here) {}
  Index(Range range, std::source_location here = std::source_location::current())
      : range_(range), location_(here) {}

  bool isPosition() const { return isPosition_; }
  int64_t position() const { return range_.begin; }
  const Range& range() const { return range_; }
  std::source_location location() const { return location_; }

 private:
  Range range_;
  bool isPosition_ = false;
  std::source_location location_;
};

/// A list of numbers: written down (`{0, -1}`), or a 1-D tensor that is computed when the model
/// runs.
template <typename T>
class ListOrTensor {
 public:
  ListOrTensor() = default;
  ListOrTensor(std::initializer_list<T> list) : list_(list), given_(true) {}
  ListOrTensor(std::vector<T> list) : list_(std::move(list)), given_(true) {}
  ListOrTensor(Tensor tensor) : tensor_(std::move(tensor)), given_(true), isTensor_(true) {}

  /// False for a default-constructed one.
  bool given() const { return given_; }
  bool isTensor() const { return isTensor_; }
  const std::vector<T>& list() const { return list_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  std::vector<T> list_;
  Tensor tensor_;
  bool given_ = false;
  bool isTensor_ = false;
};
using Ints = ListOrTensor<int64_t>;
using Floats = ListOrTensor<double>;

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_TENSOR_H_
