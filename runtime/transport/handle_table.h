// A handle table finds the edge for the handle in a message, without a lock, safe against a
// concurrent close.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_HANDLE_TABLE_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_HANDLE_TABLE_H_

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace graphrun::runtime {

/// A handle is a random secret above an index, so stale and guessed handles find nothing. Entries
/// live in chunks that never move. add and remove are serialised by the caller; enter is not.
template <typename T>
class HandleTable {
  struct Entry {
    std::atomic<uint64_t> handle{0};
    std::atomic<uint32_t> users{0};
    T* value = nullptr;
  };

 public:
  static constexpr uint32_t kIndexBits = 20;

  /// Keeps the edge from being removed while it lives.
  class Ref {
   public:
    explicit Ref(Entry* entry, T* value) : entry_(entry), value_(value) {}
    Ref(const Ref&) = delete;
    Ref& operator=(const Ref&) = delete;
    ~Ref() {
      if (entry_ != nullptr) {
        entry_->users.fetch_sub(1);
      }
    }
    T* get() const { return value_; }
    T* operator->() const { return value_; }
    explicit operator bool() const { return value_ != nullptr; }

   private:
    Entry* entry_;
    T* value_;
  };

  /// The handle of `value` from now on, never 0; 0 if 2^20 edges are open.
  uint64_t add(T* value) {
    uint32_t index = takeIndex();
    if (index >> kIndexBits != 0) {
      return 0;
    }
    Entry& entry = *at(index);
    entry.value = value;
    uint64_t secret = static_cast<uint64_t>(random_()) << 32 | random_() | 1ULL << 63;
    uint64_t handle = (secret >> kIndexBits << kIndexBits) | index;
    entry.handle.store(handle);
    return handle;
  }

  /// After this returns, no Ref to the handle exists or can be made.
  void remove(uint64_t handle) {
    uint32_t index = handle & ((1U << kIndexBits) - 1);
    Entry& entry = *at(index);
    entry.handle.store(0);
    while (entry.users.load() != 0) {
      sched_yield();
    }
    free_.push_back(index);
  }

  /// The edge of `handle`, or an empty Ref.
  Ref enter(uint64_t handle) {
    Entry* entry = handle == 0 ? nullptr : at(handle & ((1U << kIndexBits) - 1));
    if (entry == nullptr) {
      return Ref(nullptr, nullptr);
    }
    entry->users.fetch_add(1);
    bool known = entry->handle.load() == handle;
    return Ref(entry, known ? entry->value : nullptr);
  }

 private:
  static constexpr uint32_t kChunk = 1024;
  using Chunk = std::array<Entry, kChunk>;

  Entry* at(uint32_t index) {
    Chunk* chunk = chunks_[index / kChunk].load();
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunk];
  }

  uint32_t takeIndex() {
    if (!free_.empty()) {
      uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    uint32_t index = next_;
    if (index >> kIndexBits != 0) {
      return index;
    }
    ++next_;
    if (index % kChunk == 0) {
      owned_.push_back(std::make_unique<Chunk>());
      chunks_[index / kChunk].store(owned_.back().get());
    }
    return index;
  }

  std::array<std::atomic<Chunk*>, (1U << kIndexBits) / kChunk> chunks_{};
  std::vector<std::unique_ptr<Chunk>> owned_;
  std::vector<uint32_t> free_;
  uint32_t next_ = 0;
  std::random_device random_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_HANDLE_TABLE_H_
