// The threads of kernels: a team for each thread that runs programs. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_THREADING_KERNEL_TEAM_H_
#define GRAPHRUN_DEVICES_CPU_THREADING_KERNEL_TEAM_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace graphrun::devices::cpu {

/// Threads wait at a Doorbell for a condition: awake at first, then asleep, so that their cores are
/// free for others. `wake` must follow each change of what the condition reads (sequentially
/// consistent).
class Doorbell {
 public:
  /// Waits awake for as long as the others of a region may take, once `busy` no longer holds for as
  /// long as the next region may take to come.
  template <typename Condition, typename Busy>
  void await(const Condition& condition, const Busy& busy) {
    if (!spin(condition, busy)) {
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      bell_.wait(lock, condition);
      sleepers_.fetch_sub(1);
    }
  }
  void wake() {
    if (sleepers_.load() > 0) {
      std::lock_guard lock(mutex_);
      bell_.notify_all();
    }
  }

 private:
  template <typename Condition, typename Busy>
  static bool spin(const Condition& condition, const Busy& busy);

  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable bell_;
};

/// The threads that help one thread, its master. They start with its first region that wants them
/// and end with it, or by `end`.
class KernelTeam {
 public:
  using Region = void (*)(void*);

  /// A thread's position in the innermost region that it runs.
  struct Position {
    KernelTeam* team = nullptr;  ///< null: outside of all regions
    int index = 0;
    int size = 1;
  };

  KernelTeam() = default;
  ~KernelTeam();

  /// The calling thread's position.
  static const Position& position();
  /// Calls `region(data)` on `size` threads at once, inside a region for one; for fewer, with a
  /// warning, where the system gives no more threads. Returns when all have
  /// returned. A part that its helper has not begun when the calling thread is done with its own
  /// is run by this one: a helper that sleeps, or that has no core, is not waited for. Invalid
  /// floating-point operations of helpers are raised on the calling thread too, as if it had run
  /// all parts.
  static void run(Region region, void* data, int size);
  /// Inside a region: waits until all of its threads are here.
  static void barrier();
  /// Ends the threads that help the calling thread, outside of regions.
  static void end();
  /// Points the library's regions here, the first time, and tells whether they run here: else what
  /// their threads raise stays with them.
  static bool takesRegions();

 private:
  /// A call of all: its number, and how many threads it wants in the low bits. One word, so that a
  /// helper that is not wanted reads nothing else.
  static constexpr int kSizeBits = 16;
  static uint64_t nextCall(uint64_t call, int size) {
    return (((call >> kSizeBits) + 1) << kSizeBits) | static_cast<uint64_t>(size);
  }
  static int sizeOf(uint64_t call) {
    return static_cast<int>(call & ((uint64_t{1} << kSizeBits) - 1));
  }

  /// A helper and the last call in which its part was begun.
  struct Helper {
    std::atomic<uint64_t> begun{0};
    std::thread thread;
  };

  void runAll(Region region, void* data, int size);
  /// Starts helpers for a region of `size`; how many it can have, fewer where the system gives no
  /// more threads.
  int grow(int size);
  void help(int index, Helper& self, uint64_t seen);
  static bool begins(Helper& helper, uint64_t call);
  void runPart(int index, int size);

  std::vector<std::unique_ptr<Helper>> helpers_;  ///< of the parts from 1 on
  Region region_ = nullptr;
  void* data_ = nullptr;
  alignas(64) std::atomic<uint64_t> call_{0};  ///< of 0 threads: end
  Doorbell called_;
  alignas(64) std::atomic<int> running_{0};  ///< parts but the first
  std::atomic<bool> invalid_{false};         ///< a part made an invalid operation
  Doorbell done_;
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<uint64_t> barriers_{0};  ///< that all have passed
  Doorbell passed_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_THREADING_KERNEL_TEAM_H_
