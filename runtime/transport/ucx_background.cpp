// The thread that moves messages while no one else does.
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/transport/ucx_transport.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kNapNanos = 100'000;
// The background thread sleeps on UCX's event fd; this is only a net under it.
constexpr int64_t kBackgroundSleepNanos = 500'000'000;

}  // namespace

void UcxTransport::kickBackground() {
  uint64_t one = 1;
  // The only failure is a full counter, which wakes as well.
  [[maybe_unused]] ssize_t written = write(kickFd_, &one, sizeof one);
}

void UcxTransport::kickIfAsleep() {
  if (backgroundState_.load() == Background::kAsleep) {
    kickBackground();
  }
}

// A waiter that goes to sleep leaves the driving to the background thread, at once.
void UcxTransport::sleep(uint32_t ticket, int64_t untilNanos) {
  if (backgroundState_.load() == Background::kNapping) {
    kickBackground();
  }
  events_.wait(ticket, untilNanos);
}

// Sleeps on UCX's event fd too, unless it only naps. True if kicked.
bool UcxTransport::rest(Background how, int64_t nanos) {
  pollfd fds[] = {{kickFd_, POLLIN, 0}, {eventFd_, POLLIN, 0}};
  timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
  bool kicked = false;
  if (ppoll(fds, how == Background::kAsleep ? 2 : 1, &timeout, nullptr) > 0 &&
      fds[0].revents != 0) {
    uint64_t count = 0;
    kicked = read(kickFd_, &count, sizeof count) > 0;
  }
  backgroundState_.store(Background::kRunning);
  return kicked;
}

bool UcxTransport::tryOwnAWhile() {
  for (int i = 0; i < 16; ++i) {
    if (tryOwn()) {
      return true;
    }
    sched_yield();
  }
  return false;
}

// While waiters drive, naps, as waking for each message would only take their time. Once they have
// stopped for the length of a nap, or one went to sleep and kicked, drives until nothing moves,
// then sleeps on UCX's event fd.
void UcxTransport::runBackground() {
  while (!stop_.load()) {
    if (drivers_.load() > 0 || !tryOwnAWhile()) {
      napWhileOthersDrive();
      continue;
    }
    while (drain() || sendHeld() || ucx().ucp_worker_progress(worker_) != 0) {
      tend(/*listened=*/true);
    }
    pending_ = false;
    backgroundState_.store(Background::kAsleep);  // before disown, so that later senders see it
    ucs_status_t armed = ucx().ucp_worker_arm(worker_);
    disown();
    tend(/*listened=*/true);
    if (armed == UCS_OK) {
      rest(Background::kAsleep,
           std::clamp<int64_t>(nextTended_ - nowNanos(), 0, kBackgroundSleepNanos));
    }
    backgroundState_.store(Background::kRunning);
  }
}

void UcxTransport::napWhileOthersDrive() {
  bool driven = true;
  bool kicked = false;
  while (driven && !kicked && !stop_.load()) {
    uint64_t before = driven_.load(std::memory_order_relaxed);
    backgroundState_.store(Background::kNapping);
    kicked = rest(Background::kNapping, kNapNanos);
    driven = driven_.load(std::memory_order_relaxed) != before;
    tend(driven);
  }
}

void UcxTransport::tend(bool listened) {
  if (int64_t now = nowNanos(); now >= nextTended_) {
    nextTended_ = std::clamp(keepAlive(now, listened), now + kBeatNanos / 10, now + kBeatNanos);
  }
}

}  // namespace graphrun::runtime
