// The median is the middle of some values.
#ifndef GRAPHRUN_RUNTIME_BASE_MEDIAN_H_
#define GRAPHRUN_RUNTIME_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace graphrun::runtime {

/// The value that stands at `index` when `values`, which must be more, are sorted.
template <typename T>
T sortedAt(std::vector<T> values, size_t index) {
  auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// The median of `values`, which must not be empty; of an even number the upper one of the two in
/// the middle.
template <typename T>
T median(std::vector<T> values) {
  const size_t middle = values.size() / 2;
  return sortedAt(std::move(values), middle);
}

/// The same, of an even number the lower one.
template <typename T>
T lowerMedian(std::vector<T> values) {
  const size_t middle = (values.size() - 1) / 2;
  return sortedAt(std::move(values), middle);
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_MEDIAN_H_
