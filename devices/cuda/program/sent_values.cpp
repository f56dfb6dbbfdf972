#include "devices/cuda/program/sent_values.h"

#include <utility>

#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

absl::StatusOr<Event*> SentValues::makeArrival(uint32_t buffer) {
  std::unique_ptr<Event>& arrival = arrivals_[buffer];
  if (arrival == nullptr) {
    GR_ASSIGN_OR_RETURN(arrival, Event::create(context_));
  }
  return arrival.get();
}

absl::StatusOr<void*> SentValues::stage(uint64_t bytes) {
  GR_ASSIGN_OR_RETURN(void* memory, pinned_->allocate(bytes));
  staging_.push_back(PinnedMemory(memory, GiveBack{pinned_}));
  return memory;
}

bool SentValues::unstage(const void* memory) {
  return std::erase_if(staging_, [&](const PinnedMemory& one) { return one.get() == memory; }) != 0;
}

DeviceValue* SentValues::peerValue(uint32_t buffer) const {
  auto found = peerValues_.find(buffer);
  return found == peerValues_.end() ? nullptr : &found->second->value;
}

absl::StatusOr<Event*> SentValues::makePeerValue(uint32_t buffer, CUdeviceptr address) {
  auto value = std::make_unique<PeerValue>();
  GR_ASSIGN_OR_RETURN(value->made, Event::create(context_));
  value->value = {address, context_->handle(), value->made.get()};
  Event* made = value->made.get();
  peerValues_[buffer] = std::move(value);
  return made;
}

absl::StatusOr<void*> SentValues::allocateForNetwork(uint64_t bytes) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<OwnMemory> memory, OwnMemory::allocate(context_, bytes));
  networkBytes_ += bytes;
  forNetwork_.push_back(std::move(memory));
  return forNetwork_.back()->bound();
}

}  // namespace graphrun::devices::cuda
