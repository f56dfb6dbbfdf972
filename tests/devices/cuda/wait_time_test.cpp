// How long waits sleep, on a clock that the test moves.
#include "devices/cuda/driver/wait_time.h"

#include <catch2/catch.hpp>

#include <algorithm>

using graphrun::devices::cuda::WaitTime;

namespace {

constexpr int64_t kMicro = 1000, kLateMicros = 60;  // what a sleeping thread wakes later

/// What a wait for something that takes `nanos` loses, and for how long the thread is awake.
struct Waited {
  int64_t lost = 0;
  int64_t awake = 0;
};

Waited wait(WaitTime& time, int64_t nanos) {
  const int64_t sleep = time.sleepNanos();
  const int64_t woken = sleep == 0 ? 0 : sleep + kLateMicros * kMicro;
  const bool overslept = woken >= nanos;
  const int64_t ended = std::max(woken, nanos);
  const bool isAwake = ended <= time.awakeNanos();
  const Waited waited{ended - nanos + (overslept || isAwake ? 0 : 80 * kMicro),
                      std::min(ended, time.awakeNanos()) - woken};
  time.note(ended, overslept);
  return waited;
}

}  // namespace

TEST_CASE("a wait that is known loses nothing and sleeps most of its time") {
  const int64_t nanos = GENERATE(10, 120, 300, 700, 5000, 200000) * kMicro;
  WaitTime time;
  for (int i = 0; i < 4; ++i) {
    wait(time, nanos);
  }
  for (int i = 0; i < 10; ++i) {
    const Waited waited = wait(time, nanos);
    CHECK(waited.lost == 0);
    CHECK(waited.awake <= 300 * kMicro);
  }
}

TEST_CASE("waits that become shorter or longer are soon known again") {
  WaitTime time;
  for (int i = 0; i < 5; ++i) {
    wait(time, 10'000 * kMicro);
  }
  const int64_t nanos = GENERATE(20, 400, 2500, 30'000) * kMicro;
  for (int i = 0; i < 20; ++i) {
    wait(time, nanos);
  }
  CHECK(wait(time, nanos).lost == 0);
}

TEST_CASE("one wait that is much longer costs those behind it little") {
  WaitTime time;
  for (int i = 0; i < 5; ++i) {
    wait(time, 1000 * kMicro);
  }
  wait(time, 50'000 * kMicro);
  int64_t lost = 0;
  for (int i = 0; i < 10; ++i) {
    lost += wait(time, 1000 * kMicro).lost;
  }
  CHECK(lost <= 1000 * kMicro / 4);
}
