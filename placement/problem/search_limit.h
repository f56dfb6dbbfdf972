// A search limit says what a search may use, and when it ends.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_SEARCH_LIMIT_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_SEARCH_LIMIT_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/base/clock.h"

namespace graphrun::placement {

/// SearchOptions hold the budget and seed of a strategy. The same seed and no budget give the same
/// placement. With a budget the clock decides where the same work ends, so that a longer one gives
/// no worse a placement, but two runs may differ.
struct SearchOptions {
  uint64_t seed = 0;
  int64_t budgetNs = 0;  ///< of a search or of "auto"; 0: as much work as the strategy sees fit
  /// When list schedules give up with DeadlineExceeded, by runtime::nowNanos; 0: never.
  int64_t endNs = 0;
  /// Work of a search, as a multiple of what it sees fit; 0: once that, or all that the budget
  /// allows if there is one.
  double effort = 0;
  /// A budget in units of work in place of time: searches count it down and end below 0. May be
  /// null; not owned.
  int64_t* workLeft = nullptr;

  /// Returns whether there is an end that the work itself does not know.
  bool isLimited() const { return budgetNs > 0 || workLeft != nullptr; }
};

/// Ends a search after some time or some work, whichever comes first. Without a time the search
/// does the same on every machine. What a search does before it ends must not depend on the limit:
/// then more time never makes its answer worse. One thread.
class SearchLimit {
 public:
  /// `budgetNs` from now on, 0: no time; `work` in units of some microseconds.
  SearchLimit(int64_t budgetNs, int64_t work) : left_(work) {
    if (budgetNs > 0) {
      end_ = runtime::nowNanos() + budgetNs;
    }
  }

  /// Limits a search, or a part of one, that sees `fit` units of work fit.
  SearchLimit(const SearchOptions& options, int64_t fit)
      : SearchLimit(options.budgetNs, workOf(options, fit)) {
    workLeft_ = options.workLeft;
  }

  /// Counts a unit of work. True from the moment on when the search has to end.
  bool spend() {
    constexpr int64_t kUnitsPerLook = 16;
    --left_;
    bool isOver = workLeft_ != nullptr && --*workLeft_ < 0;
    bool looks = end_.has_value() && left_ % kUnitsPerLook == 0;
    isCut_ = isCut_ || isOver || (looks && runtime::nowNanos() > *end_);
    return spent();
  }
  bool spent() const { return left_ < 0 || isCut_; }
  /// Returns whether it ended before its work was done.
  bool isCut() const { return isCut_; }

 private:
  static int64_t workOf(const SearchOptions& options, int64_t fit) {
    if (options.effort > 0) {
      constexpr double kMost = 1e18;
      double work = options.effort * static_cast<double>(fit);
      return static_cast<int64_t>(std::clamp(work, 1.0, kMost));
    }
    return options.isLimited() ? std::numeric_limits<int64_t>::max() : fit;
  }

  std::optional<int64_t> end_;  // by runtime::nowNanos
  int64_t left_;
  int64_t* workLeft_ = nullptr;
  bool isCut_ = false;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_SEARCH_LIMIT_H_
