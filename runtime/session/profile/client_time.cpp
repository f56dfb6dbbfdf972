#include "runtime/session/profile/client_time.h"

#include <ctime>
#include <vector>

#include "runtime/base/median.h"

namespace graphrun::runtime {
namespace {

constexpr size_t kMostBatches = 16;

}  // namespace

uint64_t processNanos() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

void ClientTime::noteRun(bool beside, absl::FunctionRef<uint64_t()> worked) {
  if (!beside) {
    steps_ = 0;
    return;
  }
  if (steps_++ == 0) {
    began_ = worked();
    return;
  }
  if (steps_ <= kBatch) {
    return;
  }
  const uint64_t now = worked();
  perStep_.push_back(now > began_ ? (now - began_) / kBatch : 0);
  if (perStep_.size() > kMostBatches) {
    perStep_.pop_front();
  }
  began_ = now;
  steps_ = 1;
}

uint64_t ClientTime::typicalNanos() const {
  return median(std::vector<uint64_t>(perStep_.begin(), perStep_.end()));
}

}  // namespace graphrun::runtime
