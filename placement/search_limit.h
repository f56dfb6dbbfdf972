// When a search ends.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_LIMIT_H_
#define GRAPHRUN_PLACEMENT_SEARCH_LIMIT_H_

#include <cstdint>
#include <optional>

#include "runtime/base/clock.h"

namespace graphrun::placement {

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

  /// Counts a unit of work. True from the moment on when the search has to end.
  bool spend() {
    constexpr int64_t kUnitsPerLook = 16;
    --left_;
    bool looks = end_.has_value() && left_ % kUnitsPerLook == 0;
    spent_ = spent_ || left_ < 0 || (looks && runtime::nowNanos() > *end_);
    return spent_;
  }
  bool spent() const { return spent_; }

 private:
  std::optional<int64_t> end_;  // by runtime::nowNanos
  int64_t left_;
  bool spent_ = false;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_LIMIT_H_
