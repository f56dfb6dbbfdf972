// Timings say how long instructions took on a device, as text that is kept between compilations.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_TIMINGS_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_TIMINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "devices/cpu/base/kernel.h"

namespace graphrun::devices::cpu {

/// Measured times of instructions on one device. One thread.
///
/// Instructions that differ in nothing but batch and positions (the dims that are neither channels
/// nor a weight's) are of one class, as long as neither has more than four times the other's
/// elements nor 1.5 times its width: the time of one tells the other's, in proportion to the
/// elements. So a model is not measured again for every shape of its inputs, but each of its own
/// instructions is: networks halve their images.
class Timings {
 public:
  /// Most instructions that are remembered; those that were not asked for longest are forgotten
  /// first.
  static constexpr size_t kMostInstructions = 16384;

  /// Reads `text` (see `text()`); nothing of a text of another version, and not the lines that are
  /// damaged: what is missing is measured again.
  explicit Timings(absl::string_view text = "");

  /// Nanoseconds of `instruction` by `kernel` on `threads` threads, from the nearest instruction of
  /// its class. Infinity: it cannot be used (its results are too far off).
  std::optional<double> find(const Instruction& instruction, absl::string_view kernel, int threads);
  void add(const Instruction& instruction, absl::string_view kernel, int threads, double nanos);

  /// Everything that is known, a line an instruction.
  std::string text() const;
  size_t size() const { return size_; }

 private:
  struct Measured {
    int64_t elements;  ///< of the instruction's tensors but weights
    int64_t width;     ///< last dim of its result
    double nanos;
    uint64_t used;  ///< the higher, the later
  };
  void insert(const std::string& key, Measured measured);

  std::unordered_map<std::string, std::vector<Measured>> classes_;
  size_t size_ = 0;
  uint64_t clock_ = 0;
};

/// An instruction in words: operation, attributes, types, shapes, layouts, post-ops; neither
/// buffers nor labels. Instructions of one text are the same work, up to strides that a layout's
/// name does not tell.
std::string describeInstruction(const Instruction& instruction);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_TIMINGS_H_
