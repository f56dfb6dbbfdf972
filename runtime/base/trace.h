// The flight recorder keeps what each stream did last; it records at all times.
#ifndef GRAPHRUN_RUNTIME_BASE_TRACE_H_
#define GRAPHRUN_RUNTIME_BASE_TRACE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace graphrun::runtime {

/// The kind says what an event is about; `TraceEvent::id` counts within its kind.
enum class TraceKind : uint8_t {
  kKernel = 0,   // id: the operation's position in its partition
  kSend = 1,     // id: the edge
  kReceive = 2,  // id: the edge
  kStep = 3,     // a whole step; id is 0
};

inline constexpr uint8_t kTraceKindCount = 4;

/// One thing that a stream did. Times are nowNanos() of the process that recorded it.
struct TraceEvent {
  TraceKind kind = TraceKind::kKernel;
  uint32_t id = 0;
  uint64_t step = 0;
  int64_t startNs = 0;
  int64_t endNs = 0;

  bool operator==(const TraceEvent&) const = default;
};

/// A KernelTime is the time of a kernel by the clock of the device that ran it: the median of some
/// runs.
struct KernelTime {
  std::string label;
  uint64_t ns = 0;

  bool operator==(const KernelTime&) const = default;
};

/// The last events of one stream. One thread records, without lock or allocation, in some
/// nanoseconds; any thread may take a snapshot at the same time.
class TraceRing {
 public:
  /// Room for `capacity` events, rounded up to a power of two, 32 bytes each.
  explicit TraceRing(size_t capacity = 4096);

  /// Appends; the oldest event gives way. Only one thread at a time.
  void record(const TraceEvent& event) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    Slot& slot = slots_[head & mask_];
    // Release: a reader that sees any of these words sees at least this head too, and so
    // knows that the slot's old event is gone (see snapshot).
    slot[0].store(uint64_t{event.id} << 8 | static_cast<uint8_t>(event.kind),
                  std::memory_order_release);
    slot[1].store(event.step, std::memory_order_release);
    slot[2].store(static_cast<uint64_t>(event.startNs), std::memory_order_release);
    slot[3].store(static_cast<uint64_t>(event.endNs), std::memory_order_release);
    head_.store(head + 1, std::memory_order_release);
  }

  /// The events that are still there, oldest first; at most capacity() - 1, as the oldest one may
  /// be giving way at this moment.
  std::vector<TraceEvent> snapshot() const;

  /// Events recorded since the beginning, those that have given way included.
  uint64_t recorded() const { return head_.load(std::memory_order_acquire); }
  size_t capacity() const { return mask_ + 1; }

 private:
  using Slot = std::array<std::atomic<uint64_t>, 4>;

  size_t mask_;
  std::unique_ptr<Slot[]> slots_;
  alignas(64) std::atomic<uint64_t> head_{0};
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_TRACE_H_
