// Elements of tensors, from numbers and from what a user writes.
#ifndef GRAPHRUN_FRONTENDS_CLI_ELEMENTS_H_
#define GRAPHRUN_FRONTENDS_CLI_ELEMENTS_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/base/tensor.h"

namespace graphrun::cli {

/// Sets element `index` of a tensor of numbers to the value of its type that is nearest to `value`,
/// ties to even. For integers `value` must be one that the type has.
void setElement(runtime::HostTensor& tensor, size_t index, double value);

/// Sets all elements to what `text` says: a number, for floats also inf and nan, true or false for
/// booleans, the text itself for strings. InvalidArgument where the type has no such value.
absl::Status fill(runtime::HostTensor& tensor, const std::string& text);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_ELEMENTS_H_
