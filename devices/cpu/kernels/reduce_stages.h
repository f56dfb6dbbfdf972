// Reductions of dims that lie next to each other, by threads. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_REDUCE_STAGES_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_REDUCE_STAGES_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace graphrun::devices::cpu {

/// outer x dim x inner floats become outer x inner. Lines of more than a thousand elements are
/// combined from parts, one after the other. The parts follow from the length of a line alone, so
/// that results have the same bits however many threads have made them.
class ReduceStage {
 public:
  /// For `threads` threads: where there are too few lines for them, they share the lines' parts.
  ReduceStage(int64_t outer, int64_t dim, int64_t inner, int threads);

  int64_t outer() const { return outer_; }
  int64_t dim() const { return dim_; }
  int64_t inner() const { return inner_; }
  int64_t results() const { return outer_ * inner_; }

  /// Lines that are combined side by side, a bundle, at most.
  int64_t width() const { return width_; }
  /// Bundles next to each other.
  int64_t blocks() const { return blocks_; }
  /// Elements of a line of a bundle: where the elements of a line follow each other, it is taken
  /// for `width` lines side by side, and what is left over.
  int64_t length() const { return inner_ == 1 ? dim_ / width_ : dim_; }
  /// Parts of such a line.
  int64_t parts() const;
  bool sharesParts() const { return sharesParts_; }
  /// Floats of what the parts that threads share come to, before they are combined.
  int64_t partialFloats() const;
  /// Returns how many parts or bundles threads share.
  int64_t pieces() const { return bundles() * (sharesParts_ ? parts() : 1); }

 private:
  int64_t bundles() const { return outer_ * blocks(); }

  int64_t outer_, dim_, inner_;
  int64_t width_, blocks_;
  bool sharesParts_ = false;
};

/// Runs a stage; `partials` has room for partialFloats().
using ReduceFunction = void (*)(const ReduceStage& stage, const float* x, float* partials,
                                float* to);

/// Returns the function of a kind of gr.reduce, "mean" being a sum; null: there is none.
ReduceFunction reduceFunction(absl::string_view kind);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_REDUCE_STAGES_H_
