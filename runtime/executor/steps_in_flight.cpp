#include "runtime/executor/steps_in_flight.h"

#include <algorithm>
#include <limits>

#include "runtime/base/clock.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kNoDeadline = std::numeric_limits<int64_t>::max();
/// A thread that sleeps is woken when its step is over; this is only a net under it.
constexpr int64_t kSleepNanos = 500'000'000;

}  // namespace

bool StepsInFlight::run(Executor& executor, uint64_t step, int64_t deadlineNanos,
                        absl::FunctionRef<bool()> others) {
  Ticket own{executor, step, deadlineNanos, others};
  executor.setDeadline(deadlineNanos);
  executor.beginStep(step);
  Slot& slot = slotOf(step);
  slot.step.store(step);
  slot.ticket.store(&own);
  auto isOver = [&] { return own.state.load() != State::kUnderWay; };
  bool isTold = false;
  while (!isOver()) {
    if (tryDrive()) {
      drive(own);
      driven_.store(false);
      handOver();
      continue;
    }
    if (!isTold) {  // who drives may sleep by now
      isTold = true;
      transport_->wakeWaiters();
    }
    const uint32_t ticket = slot.sleepers.prepare();
    if (!isOver() && driven_.load()) {
      slot.sleepers.wait(ticket, nowNanos() + kSleepNanos);
    }
    slot.sleepers.done();
  }
  if (own.state.load() == State::kFailed) {
    executor.synchronize();
    return false;
  }
  return true;
}

/// Moves all steps along until the own one is over.
void StepsInFlight::drive(Ticket& own) {
  auto isOver = [&] { return own.state.load() != State::kUnderWay; };
  own.executor.enter();  // where that fails, so do all steps
  for (advanceAll(); !isOver(); advanceAll()) {
    const int64_t until = earliestDeadline_;
    auto ready = [&] {
      advanceAll();
      return isOver() || earliestDeadline_ < until;
    };
    const WaitOptions options{until, control_->waitOptions().cancel};
    if (absl::IsDeadlineExceeded(transport_->wait(ready, options))) {
      expire(nowNanos());
    }
  }
}

/// To the latest step, whose thread waits longest. Whoever comes meanwhile may be faster.
void StepsInFlight::handOver() {
  Slot* latest = nullptr;
  for (Slot& slot : slots_) {
    if (slot.ticket.load() != nullptr &&
        (latest == nullptr || slot.step.load() > latest->step.load())) {
      latest = &slot;
    }
  }
  if (latest != nullptr) {
    latest->sleepers.notify();
  }
}

/// Visits the tickets of the steps from the first that is not over on, up to one that has not come
/// yet, with the transfers that the step before it leaves free.
template <typename Visit>
void StepsInFlight::forEach(Visit visit) {
  size_t limit = Executor::kNoLimit;
  for (uint64_t step = lowest_; step < lowest_ + slots_.size(); ++step) {
    Slot& slot = slotOf(step);
    if (slot.over == step + 1) {
      continue;
    }
    Ticket* ticket = slot.ticket.load();
    if (ticket == nullptr || slot.step.load() != step) {
      limit = 0;  // of this and those behind it
      continue;
    }
    visit(*ticket, limit);
    if (slot.over != step + 1) {
      limit = std::min(limit, ticket->ran ? Executor::kNoLimit : ticket->executor.nextTransfer());
    }
  }
  while (slotOf(lowest_).over == lowest_ + 1) {
    ++lowest_;
  }
}

void StepsInFlight::advanceAll() {
  earliestDeadline_ = kNoDeadline;
  forEach([&](Ticket& ticket, size_t limit) {
    switch (advance(ticket, limit)) {
      case Executor::Progress::kDone:
        return end(ticket, State::kDone);
      case Executor::Progress::kFailed:
        return end(ticket, State::kFailed);
      case Executor::Progress::kWaits:
        earliestDeadline_ = std::min(earliestDeadline_, ticket.deadlineNanos);
    }
  });
}

Executor::Progress StepsInFlight::advance(Ticket& ticket, size_t limit) {
  using Progress = Executor::Progress;
  if (!ticket.ran) {
    const Progress progress = ticket.executor.advance(limit);
    if (progress != Progress::kDone) {
      return progress;
    }
    ticket.ran = true;
  }
  return ticket.others()       ? Progress::kDone
         : control_->stopped() ? Progress::kFailed
                               : Progress::kWaits;
}

/// Ends the steps whose deadline has passed: those that wait for a transfer fail, and with them
/// all.
void StepsInFlight::expire(int64_t now) {
  forEach([&](Ticket& ticket, size_t limit) {
    if (now < ticket.deadlineNanos) {
      return;
    }
    if (ticket.ran) {
      return end(ticket, State::kDone);
    }
    if (ticket.executor.nextTransfer() >= limit) {
      ticket.executor.failTurn(ticket.step - 1);
    } else {
      ticket.executor.block();
    }
    end(ticket, State::kFailed);
  });
}

/// The thread of the ticket may be gone, and the ticket with it, as soon as it has its state.
void StepsInFlight::end(Ticket& ticket, State state) {
  Slot& slot = slotOf(ticket.step);
  slot.over = ticket.step + 1;
  slot.ticket.store(nullptr);
  ticket.state.store(state);
  slot.sleepers.notify();
}

}  // namespace graphrun::runtime
