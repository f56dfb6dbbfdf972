#include "runtime/base/trace.h"

#include <algorithm>
#include <bit>

namespace graphrun::runtime {

TraceRing::TraceRing(size_t capacity)
    : mask_(std::bit_ceil(std::max<size_t>(capacity, 2)) - 1),
      slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

std::vector<TraceEvent> TraceRing::snapshot() const {
  uint64_t end = head_.load(std::memory_order_acquire);
  uint64_t begin = end - std::min<uint64_t>(end, capacity());
  std::vector<TraceEvent> events;
  events.reserve(end - begin);
  for (uint64_t i = begin; i < end; ++i) {
    const Slot& slot = slots_[i & mask_];
    uint64_t head = slot[0].load(std::memory_order_acquire);
    TraceEvent event;
    event.kind = static_cast<TraceKind>(head & 0xff);
    event.id = static_cast<uint32_t>(head >> 8);
    event.step = slot[1].load(std::memory_order_acquire);
    event.startNs = static_cast<int64_t>(slot[2].load(std::memory_order_acquire));
    event.endNs = static_cast<int64_t>(slot[3].load(std::memory_order_acquire));
    events.push_back(event);
  }
  // The writer may have come round: event i is whole only if event i + capacity has not been begun,
  // which it may be as soon as the head is there.
  uint64_t now = head_.load(std::memory_order_acquire);
  uint64_t intact = now < capacity() ? 0 : now - capacity() + 1;
  uint64_t drop = intact > begin ? std::min(intact - begin, end - begin) : 0;
  events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(drop));
  return events;
}

}  // namespace graphrun::runtime
