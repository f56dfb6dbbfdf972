// How long steps took on a device, as text that is kept between compilations.
#ifndef GRAPHRUN_DEVICES_CPU_TIMINGS_H_
#define GRAPHRUN_DEVICES_CPU_TIMINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/strings/string_view.h"
#include "devices/cpu/kernels.h"

namespace graphrun::devices::cpu {

/// Measured times of steps on one device. One thread.
class Timings {
 public:
  /// Most steps that are remembered; those that were not asked for longest are forgotten first.
  static constexpr size_t kMostSteps = 16384;

  /// What `text` (see `text()`) holds; nothing of a text of another version, and not the lines that
  /// are damaged: what is missing is measured again.
  explicit Timings(absl::string_view text = "");

  /// Nanoseconds of `step` by `kernel` on `threads` threads. Infinity: it cannot be used (its
  /// results are too far off).
  std::optional<double> find(const Step& step, absl::string_view kernel, int threads);
  void add(const Step& step, absl::string_view kernel, int threads, double nanos);

  /// Everything that is known, a line a step.
  std::string text() const;
  size_t size() const { return steps_.size(); }

 private:
  struct Entry {
    double nanos;
    uint64_t used;  ///< the higher, the later
  };
  std::unordered_map<std::string, Entry> steps_;
  uint64_t clock_ = 0;
};

/// A step in words: operation, attributes, types, shapes, layouts, post-ops; neither buffers nor
/// labels. Steps of one text are the same work, up to strides that a layout's name does not tell.
std::string describeStep(const Step& step);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_TIMINGS_H_
