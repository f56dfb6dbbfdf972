// The median is the middle of some values.
#ifndef GRAPHRUN_RUNTIME_BASE_MEDIAN_H_
#define GRAPHRUN_RUNTIME_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace graphrun::runtime {

/// The median of `values`, which must not be empty; of an even number the upper one of the two in
/// the middle.
template <typename T>
T median(std::vector<T> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_MEDIAN_H_
