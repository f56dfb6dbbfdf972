#include "runtime/session/flights.h"

#include <algorithm>
#include <utility>

namespace graphrun::runtime {

void Flights::waitAlone(Lock& lock) {
  if (count_ > 0) {
    ++waitAlone_;
    changed_.wait(lock, [this] { return count_ == 0; });
    --waitAlone_;
  }
  // Who waited for this caller comes once it lets go of the mutex, and may find other plans then.
  changed_.notify_all();
  freed_.notify_all();
}

std::optional<size_t> Flights::take(const ActivePlan& plan) {
  if (waitAlone_ > 0 || (count_ > 0 && plan_ != &plan)) {
    return std::nullopt;
  }
  if (std::exchange(plan_, &plan) != &plan) {
    freed_.notify_all();  // they wait for another plan's lanes
  }
  taken_.resize(plan.own->lanes(), false);
  auto lane = std::find(taken_.begin(), taken_.end(), false);
  if (lane == taken_.end()) {
    return std::nullopt;
  }
  *lane = true;
  ++count_;
  return static_cast<size_t>(lane - taken_.begin());
}

bool Flights::wantsLanes(const ActivePlan& plan) const {
  return plan_ == &plan && count_ == plan.own->lanes() && count_ < plan.own->mostLanes();
}

void Flights::wait(Lock& lock, const ActivePlan& plan) {
  (plan_ == &plan && waitAlone_ == 0 ? freed_ : changed_).wait(lock);
}

bool Flights::giveBack(size_t lane) {
  taken_[lane] = false;
  if (--count_ == 0) {
    changed_.notify_all();
  }
  if (waitAlone_ == 0) {
    freed_.notify_one();
  }
  return count_ == 0;
}

}  // namespace graphrun::runtime
