// These functions compare a result with the expected one.
#ifndef GRAPHRUN_FRONTENDS_CLI_COMPARE_H_
#define GRAPHRUN_FRONTENDS_CLI_COMPARE_H_

#include <string>

#include "runtime/base/tensor.h"

namespace graphrun::cli {

/// |actual - expected| <= atol + rtol * |expected|, as ONNX's tests compare; or, for results that
/// are rounded coarsely on the way, what holds for the whole tensor.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-7;
  /// Above 0, in place of both for floats: the 2-norm of the errors, relative to the expected one.
  double l2 = 0;
  /// Above 0: one step of a quantised result. An element may be off by so much, 1 % of them at
  /// most.
  double step = 0;
};

/// Describes the difference ("12 of 1000 elements differ, the most at [0, 3]: got …"); "" if there
/// is none. NaN equals NaN and an infinity itself; types, shapes and booleans must be equal,
/// integers too where no step is given. bfloat16 is given a relative tolerance of at least 1/64, as
/// ONNX's own runner does.
std::string difference(const runtime::HostTensor& actual, const runtime::HostTensor& expected,
                       const Tolerance& tolerance);

/// Differences say how far numbers are from those that were expected: the largest difference, the
/// largest one relative to what was expected there, and the 2-norm of the errors relative to the
/// expected one. Infinite where one of two numbers is none, relative to zeros, and for other types
/// or shapes; of strings 0.
struct Differences {
  double absolute = 0;
  double relative = 0;
  double l2 = 0;
};
Differences differencesOf(const runtime::HostTensor& actual, const runtime::HostTensor& expected);

/// True for a tensor of floating-point numbers.
bool isFloat(const runtime::HostTensor& tensor);

/// Element `index` of a tensor for people to read: a number, or a quoted string.
std::string elementText(const runtime::HostTensor& tensor, size_t index);

/// Element `index` of a tensor of numbers as a double.
double elementAt(const runtime::HostTensor& tensor, size_t index);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_COMPARE_H_
