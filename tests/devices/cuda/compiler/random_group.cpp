#include "tests/devices/cuda/compiler/random_group.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphrun::devices::cuda {
namespace {

using Dims = std::vector<int64_t>;

/// A value in the text: its name and type.
struct Value {
  std::string name, type;
};

class Generator {
 public:
  Generator(unsigned seed, std::string element, bool exact)
      : random_(seed), element_(std::move(element)), exact_(exact) {
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 33, 64};
    for (int64_t rank = 1 + pick(4); rank > 0; --rank) {
      shape_.push_back(kSizes[pick(std::size(kSizes))]);
    }
    while (product(shape_) > 20000) {
      shape_.erase(shape_.begin());
    }
  }

  std::string make() {
    Value value = whole();
    for (int64_t count = 1 + pick(4); count > 0; --count) {
      value = operation(value);
    }
    value = pick(3) == 0 && exact_ ? cast(value) : value;
    return text(value);
  }

 private:
  int64_t pick(int64_t count) {
    return std::uniform_int_distribution<int64_t>(0, count - 1)(random_);
  }
  std::string pick(const std::vector<std::string>& list) {
    return list[static_cast<size_t>(pick(static_cast<int64_t>(list.size())))];
  }
  static int64_t product(const Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  static std::string type(const Dims& dims, const std::string& element) {
    return absl::StrCat("tensor<", absl::StrJoin(dims, "x"), dims.empty() ? "" : "x", element, ">");
  }

  Value define(const std::string& expression, const std::vector<Value>& operands,
               const std::string& attributes, const std::string& result) {
    auto join = [&](std::string Value::* part) {
      return absl::StrJoin(operands, ", ",
                           [&](std::string* out, const Value& value) { out->append(value.*part); });
    };
    Value value{absl::StrCat("%v", values_++), result};
    absl::StrAppend(&body_, "      ", value.name, " = gr.", expression, " ", join(&Value::name),
                    attributes, " : (", join(&Value::type), ") -> ", result, "\n");
    return value;
  }

  /// An operand of the group that is a parameter of the function.
  Value parameter(const Dims& dims) {
    Value inside{absl::StrCat("%a", parameters_.size()), type(dims, element_)};
    parameters_.push_back(inside);
    return inside;
  }

  /// An operand of the group that is a constant.
  Value constant(const Dims& numbers) {
    Value inside{absl::StrCat("%k", constants_.size()),
                 type({static_cast<int64_t>(numbers.size())}, "i64")};
    absl::StrAppend(&outside_, "    %c", constants_.size(), " = gr.constant dense<[",
                    absl::StrJoin(numbers, ", "), "]> : ", inside.type, " : ", inside.type, "\n");
    constants_.push_back(inside);
    return inside;
  }

  /// A value of the whole shape, moved or not.
  Value whole() {
    switch (pick(6)) {
      case 0:
        return transposed();
      case 1:
        return sliced();
      case 2:
        return define("reshape", {parameter({product(shape_)}), constant(shape_)}, "",
                      type(shape_, element_));
      default:
        return parameter(shape_);
    }
  }

  Value transposed() {
    Dims permutation(shape_.size()), from(shape_.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    for (size_t i = 0; i < shape_.size(); ++i) {
      from[static_cast<size_t>(permutation[i])] = shape_[i];
    }
    return define(
        "transpose", {parameter(from)},
        absl::StrCat(" {permutation = array<i64: ", absl::StrJoin(permutation, ", "), ">}"),
        type(shape_, element_));
  }

  /// A part of a larger tensor, forwards or backwards.
  Value sliced() {
    auto axis = static_cast<size_t>(pick(static_cast<int64_t>(shape_.size())));
    Dims from = shape_;
    int64_t step = 1 + pick(3);
    int64_t start = pick(5);
    from[axis] = start + (shape_[axis] - 1) * step + 1 + pick(3);
    int64_t end = start + (shape_[axis] - 1) * step + 1;
    if (pick(3) == 0) {  // the same elements, the last first
      std::swap(start, --end);
      end = end == 0 ? -from[axis] - 1 : end - 1;
      step = -step;
    }
    return define("slice",
                  {parameter(from), constant({start}), constant({end}),
                   constant({static_cast<int64_t>(axis)}), constant({step})},
                  "", type(shape_, element_));
  }

  /// A value that broadcasts to the shape.
  Value broadcast() {
    if (pick(2) == 0) {
      return whole();
    }
    Dims dims(shape_.begin() + pick(static_cast<int64_t>(shape_.size()) + 1), shape_.end());
    for (int64_t& dim : dims) {
      dim = pick(2) == 0 ? 1 : dim;
    }
    return parameter(dims);
  }

  bool isBool() const { return element_ == "i1"; }
  bool isFloat() const { return element_.find('f') != std::string::npos; }

  Value operation(const Value& value) {
    std::vector<std::string> unary = {"abs", "neg", "sign"};
    std::vector<std::string> binary = {"add", "sub", "mul", "min", "max"};
    if (isBool()) {
      unary = {"not"};
      binary = {"and", "or", "xor"};
    } else if (isFloat() && !exact_) {
      unary = {"relu", "tanh", "sigmoid", "erf", "floor", "leaky_relu", "gelu", "hard_sigmoid"};
    }
    int64_t kind = pick(4);
    if (kind == 0) {
      return define(pick(unary), {value}, "", value.type);
    }
    if (kind == 1 && !isBool()) {
      Value other = broadcast();
      Value below = define("less", {value, other}, "", type(shape_, "i1"));
      return define("where", {below, value, other}, "", value.type);
    }
    return define(pick(binary), {value, broadcast()}, "", value.type);
  }

  Value cast(const Value& value) {
    std::vector<std::string> wider = {"f32", "i32", "i64", "f64", "bf16", "f16"};
    std::string to = pick(wider);
    return define("cast", {value}, absl::StrCat(" {to = ", to, "}"), type(shape_, to));
  }

  std::string text(const Value& result) const {
    std::vector<std::string> declared, given, inside, types;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      declared.push_back(absl::StrCat("%p", i, ": ", parameters_[i].type));
      given.push_back(absl::StrCat("%p", i));
    }
    for (size_t i = 0; i < constants_.size(); ++i) {
      given.push_back(absl::StrCat("%c", i));
    }
    for (const auto* list : {&parameters_, &constants_}) {
      for (const Value& value : *list) {
        inside.push_back(absl::StrCat(value.name, ": ", value.type));
        types.push_back(value.type);
      }
    }
    return absl::StrCat("func.func @f(", absl::StrJoin(declared, ", "), ") -> ", result.type,
                        " {\n", outside_, "    %r = gr.group (", absl::StrJoin(given, ", "),
                        ") attributes {kind = \"map\"} {\n    ^bb0(", absl::StrJoin(inside, ", "),
                        "):\n", body_, "      gr.yield ", result.name, " : ", result.type,
                        "\n    } : (", absl::StrJoin(types, ", "), ") -> ", result.type,
                        "\n    return %r : ", result.type, "\n}");
  }

  std::mt19937 random_;
  std::string element_;
  bool exact_;
  Dims shape_;
  std::vector<Value> parameters_, constants_;
  std::string outside_, body_;
  int values_ = 0;
};

}  // namespace

std::string randomGroup(unsigned seed, const std::string& element, bool exact) {
  return Generator(seed, element, exact).make();
}

}  // namespace graphrun::devices::cuda
