#include "runtime/executor/transfer_order.h"

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {

TransferOrder::TransferOrder(size_t transfers, uint64_t first)
    : turns_(new std::atomic<uint64_t>[transfers + 1]), end_(transfers) {
  for (size_t i = 0; i <= end_; ++i) {
    turns_[i].store(first);
  }
}

// Asleep at once: the step before waits for the network, which may take as long as a step does.
absl::Status TransferOrder::await(uint64_t step, size_t index, const WaitOptions& options) {
  while (!isTurn(step, index)) {
    if (options.cancel != nullptr && options.cancel->load()) {
      return absl::CancelledError(absl::StrCat("step ", step, " was stopped"));
    }
    if (nowNanos() >= options.deadlineNanos) {
      return absl::DeadlineExceededError(
          absl::StrCat("step ", step, " waited for step ", step - 1, ", which is not done with ",
                       index == end_ ? "its end" : absl::StrCat("its transfer ", index)));
    }
    const uint32_t ticket = passed_.prepare();
    if (!isTurn(step, index) && !(options.cancel != nullptr && options.cancel->load())) {
      passed_.wait(ticket, options.deadlineNanos);
    }
    passed_.done();
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
