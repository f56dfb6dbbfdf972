#include "devices/cpu/threading/kernel_team.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/cpu/threading/invalid_operations.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace graphrun::devices::cpu {
namespace {

/// Enough for the next kernel to begin. Twice that gains nothing on an idle machine, and costs
/// where another process wants the cores.
constexpr int64_t kIdleNanos = 20'000;
/// A region counts as going on for so long: waking a thread takes longer than most kernels. A
/// thread that misses one, and sleeps again meanwhile, would miss the next as well.
constexpr int64_t kBusyNanos = 200'000;

/// Lets the core's other thread, or a machine below, know that this one waits.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#elif defined(__powerpc64__)
  __asm__ volatile("or 27,27,27");
#endif
}

thread_local KernelTeam::Position threadPosition;
thread_local std::unique_ptr<KernelTeam> threadTeam;

}  // namespace

template <typename Condition, typename Busy>
bool Doorbell::spin(const Condition& condition, const Busy& busy) {
  constexpr int kLooks = 64;  // between two looks at the clock
  int64_t begin = 0;
  int64_t idle = 0;
  while (true) {
    for (int i = 0; i < kLooks; ++i) {
      if (condition()) {
        return true;
      }
      relax();
    }
    const int64_t now = runtime::nowNanos();
    begin = begin == 0 ? now : begin;
    idle = idle == 0 || busy() ? now : idle;
    if (now - idle > kIdleNanos || now - begin > kBusyNanos) {
      return false;
    }
  }
}

const KernelTeam::Position& KernelTeam::position() { return threadPosition; }

void KernelTeam::run(Region region, void* data, int size) {
  const Position outer = threadPosition;
  if (size > 1 && outer.team == nullptr) {
    if (threadTeam == nullptr) {
      threadTeam = std::make_unique<KernelTeam>();
    }
    threadTeam->runAll(region, data, size);
  } else {
    threadPosition = {outer.team, 0, 1};
    region(data);
    threadPosition = outer;
  }
}

void KernelTeam::runAll(Region region, void* data, int size) {
  size = grow(size);
  region_ = region;
  data_ = data;
  running_.store(size - 1, std::memory_order_relaxed);
  const uint64_t call = nextCall(call_.load(std::memory_order_relaxed), size);
  call_.store(call);
  called_.wake();
  threadPosition = {this, 0, size};
  region(data);
  // Threads that meet at a barrier have all begun, once the first is past it.
  for (int index = 1; index < size; ++index) {
    if (begins(*helpers_[static_cast<size_t>(index) - 1], call)) {
      runPart(index, size);
    }
  }
  threadPosition = {};
  done_.await([&] { return running_.load() == 0; }, [] { return true; });
  if (invalid_.load(std::memory_order_relaxed)) {
    invalid_.store(false, std::memory_order_relaxed);
    raiseInvalid();
  }
}

int KernelTeam::grow(int size) {
  while (static_cast<int>(helpers_.size()) < size - 1) {
    auto helper = std::make_unique<Helper>();
    int index = static_cast<int>(helpers_.size()) + 1;
    // The library's frames lie between here and whoever could catch anything.
    try {
      helper->thread = std::thread([this, index, helper = helper.get(), seen = call_.load()] {
        help(index, *helper, seen);
      });
    } catch (const std::system_error& error) {
      runtime::logOnce(runtime::LogLevel::kWarning, "kernel threads",
                       absl::StrCat("a kernel runs on ", index, " threads, not on ", size,
                                    ": the system gives no more (", error.what(),
                                    "); --threads asks for fewer"));
      return index;
    }
    helpers_.push_back(std::move(helper));
  }
  return size;
}

/// Returns whether the part is the calling thread's to run: nobody has begun it in this call. A
/// helper that comes late finds its part begun, of this call or of a later one.
bool KernelTeam::begins(Helper& helper, uint64_t call) {
  uint64_t last = helper.begun.load();
  return last < call && helper.begun.compare_exchange_strong(last, call);
}

void KernelTeam::runPart(int index, int size) {
  threadPosition = {this, index, size};
  region_(data_);
  if (invalidRaised()) {
    invalid_.store(true, std::memory_order_relaxed);
  }
  if (running_.fetch_sub(1) == 1) {
    done_.wake();
  }
}

void KernelTeam::help(int index, Helper& self, uint64_t seen) {
  while (true) {
    called_.await([&] { return call_.load() != seen; }, [&] { return running_.load() != 0; });
    seen = call_.load();
    const int size = sizeOf(seen);
    if (size == 0) {
      return;
    }
    if (index < size && begins(self, seen)) {
      clearInvalid();
      runPart(index, size);
      threadPosition = {};
    }
  }
}

void KernelTeam::barrier() {
  const Position& mine = threadPosition;
  if (mine.size == 1) {
    return;
  }
  KernelTeam& team = *mine.team;
  const uint64_t passed = team.barriers_.load();
  if (team.arrived_.fetch_add(1) == mine.size - 1) {
    team.arrived_.store(0);
    team.barriers_.store(passed + 1);
    team.passed_.wake();
  } else {
    team.passed_.await([&] { return team.barriers_.load() != passed; }, [] { return true; });
  }
}

void KernelTeam::end() { threadTeam.reset(); }

#if defined(__clang__)
// openmp_regions.cpp is for GCC's regions.
bool KernelTeam::takesRegions() { return false; }
#endif

KernelTeam::~KernelTeam() {
  call_.store(nextCall(call_.load(), 0));
  called_.wake();
  for (const std::unique_ptr<Helper>& helper : helpers_) {
    helper->thread.join();
  }
}

}  // namespace graphrun::devices::cpu
