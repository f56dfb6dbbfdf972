// A window is the sliding window of convolutions and pools, with its padding resolved.
#ifndef GRAPHRUN_DEVICES_EXECUTABLE_WINDOW_H_
#define GRAPHRUN_DEVICES_EXECUTABLE_WINDOW_H_

#include <vector>

#include "devices/executable/executable.h"

namespace graphrun::devices {

/// One entry a spatial dim.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> padsBegin;
  std::vector<int64_t> padsEnd;       ///< as given, or as "same" says
  std::vector<int64_t> padsCovering;  ///< at the end: what the windows of the output reach into

  /// Elements from the first to the last one that the window covers along spatial dim `i`.
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }

  /// Elements between two neighbours of the window, which is how oneDNN counts dilations.
  std::vector<int64_t> skipped() const {
    std::vector<int64_t> between;
    between.reserve(dilations.size());
    for (int64_t dilation : dilations) {
      between.push_back(dilation - 1);
    }
    return between;
  }
};

/// The window of `instruction`'s attributes over spatial dims `input` with results `output` (both
/// without N and C). Checks that they fit each other; `ceilMode` allows windows beyond the end.
absl::StatusOr<Window> windowOf(const Instruction& instruction, absl::Span<const int64_t> input,
                                absl::Span<const int64_t> kernel, absl::Span<const int64_t> output,
                                bool ceilMode);

/// The same for a transposed convolution, where the window slides over the output: its pads are
/// what the result is cropped by.
absl::StatusOr<Window> transposedWindowOf(const Instruction& instruction,
                                          absl::Span<const int64_t> input,
                                          absl::Span<const int64_t> kernel,
                                          absl::Span<const int64_t> output);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_EXECUTABLE_WINDOW_H_
