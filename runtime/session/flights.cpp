#include "runtime/session/flights.h"

#include <algorithm>

namespace graphrun::runtime {

void Flights::waitAlone(Lock& lock) {
  if (count_ > 0) {
    ++waitAlone_;
    changed_.wait(lock, [this] { return count_ == 0; });
    --waitAlone_;
    changed_.notify_all();  // who waited for this caller, and comes once it lets go of the mutex
  }
}

std::optional<size_t> Flights::take(const ActivePlan& plan) {
  if (waitAlone_ > 0 || (plan_ != nullptr && plan_ != &plan)) {
    return std::nullopt;
  }
  taken_.resize(plan.own->lanes(), false);
  auto lane = std::find(taken_.begin(), taken_.end(), false);
  if (lane == taken_.end()) {
    return std::nullopt;
  }
  *lane = true;
  plan_ = &plan;
  ++count_;
  return static_cast<size_t>(lane - taken_.begin());
}

bool Flights::wantsLanes(const ActivePlan& plan) const {
  return plan_ == &plan && count_ == plan.own->lanes() && count_ < plan.own->mostLanes();
}

bool Flights::giveBack(size_t lane) {
  taken_[lane] = false;
  if (--count_ == 0) {
    plan_ = nullptr;
  }
  changed_.notify_all();
  return count_ == 0;
}

}  // namespace graphrun::runtime
