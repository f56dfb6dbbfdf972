// Regions of several threads: every part runs once, and OpenMP's regions run there.
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "devices/cpu/threading/invalid_operations.h"
#include "devices/cpu/threading/kernel_team.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::devices::cpu {
namespace {

/// The larger one as kernels take it: by an instruction that lets go of a NaN on the left.
float largerOf(float left, float right) {
#if defined(__x86_64__)
  return _mm_cvtss_f32(_mm_max_ss(_mm_set_ss(left), _mm_set_ss(right)));
#else
  return left > right ? left : right;
#endif
}

/// Calls `body` on `size` threads.
template <typename Body>
void inRegion(int size, Body body) {
  KernelTeam::run([](void* data) { (*static_cast<Body*>(data))(); }, &body, size);
}

int64_t threadsOfProcess() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// Holds the process to one core: helpers are late then.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_;
};

/// Runs thousands of regions of changing sizes; counts the parts that did not run once. Checks of
/// Catch2 are for one thread.
int wrongParts() {
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    const int size = 1 + i * 7 % 4;
    std::array<std::atomic<int>, 4> runs{};
    std::atomic<int> otherSize{0};
    inRegion(size, [&] {
      const KernelTeam::Position& position = KernelTeam::position();
      otherSize += position.size == size ? 0 : 1;
      ++runs[static_cast<size_t>(position.index)];
    });
    for (int index = 0; index < 4; ++index) {
      wrong += runs[static_cast<size_t>(index)] == (index < size ? 1 : 0) ? 0 : 1;
    }
    wrong += otherSize + (KernelTeam::position().team == nullptr ? 0 : 1);
  }
  return wrong;
}

TEST_CASE("each part of a region runs once") { CHECK(wrongParts() == 0); }

TEST_CASE("parts of helpers that have no core run too") {
  KernelTeam::end();  // its helpers start on the one core
  {
    OneCore one;
    CHECK(wrongParts() == 0);
  }
  KernelTeam::end();
}

TEST_CASE("threads meet at barriers") {
  for (int i = 0; i < 300; ++i) {
    std::array<std::atomic<int>, 2> here{};
    std::atomic<int> early{0};
    inRegion(3, [&] {
      for (std::atomic<int>& count : here) {
        ++count;
        KernelTeam::barrier();
        early += count == 3 ? 0 : 1;
      }
    });
    REQUIRE(early == 0);
  }
}

TEST_CASE("a region inside a region is its caller's alone") {
  std::atomic<int> inner{0};
  inRegion(2, [&] {
    int outer = KernelTeam::position().index;
    inRegion(2, [&] { inner += KernelTeam::position().size == 1 ? 1 : 100; });
    inner += KernelTeam::position().index == outer ? 0 : 100;
  });
  CHECK(inner == 2);
}

TEST_CASE("threads have teams of their own") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> masters;
  for (int i = 0; i < 3; ++i) {
    masters.emplace_back([&] { wrong += wrongParts(); });
  }
  for (std::thread& master : masters) {
    master.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("helpers end with their team") {
  KernelTeam::end();
  int64_t before = threadsOfProcess();
  inRegion(3, [] {});
  CHECK(threadsOfProcess() == before + 2);
  KernelTeam::end();
  CHECK(threadsOfProcess() == before);
}

#ifndef GRAPHRUN_SANITIZED  // sanitizers want addresses of their own for each thread
TEST_CASE("where the system gives no more threads a region has fewer parts") {
  KernelTeam::end();
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  rlimit old = {};
  getrlimit(RLIMIT_AS, &old);
  // Room for some stacks of eight megabytes, and those that were kept.
  rlimit tight = {pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + (64U << 20), old.rlim_max};
  setrlimit(RLIMIT_AS, &tight);
  std::atomic<int> parts{0};
  std::atomic<int> size{0};
  inRegion(500, [&] {
    ++parts;
    size = KernelTeam::position().size;
  });
  setrlimit(RLIMIT_AS, &old);
  CHECK(size < 500);
  CHECK(parts == size);
  KernelTeam::end();
}
#endif

#if defined(__GNUC__) && !defined(__clang__)
TEST_CASE("OpenMP's regions run on the team, the library's too") {
  int outside = 0;
#pragma omp parallel num_threads(3) reduction(+ : outside)
  outside += KernelTeam::position().team != nullptr && omp_get_num_threads() == 3 ? 0 : 1;
  CHECK(outside == 0);
  CHECK(omp_get_num_threads() == 1);
  KernelTeam::end();
  if (testDevice().threads() > 1) {
    int64_t before = threadsOfProcess();
    std::mt19937 random(1);
    Tensors inputs;
    inputs.push_back(randomTensor({256, 256}, random));
    inputs.push_back(randomTensor({256, 256}, random));
    Operation product{"gr.matmul", {}, {{ElementType::kF32, {256, 256}}}, {}};
    REQUIRE(runOperation(product, inputs, {"onednn.matmul"}).ok());
    CHECK(threadsOfProcess() > before);
    KernelTeam::end();
    CHECK(threadsOfProcess() == before);
  }
}
#endif

}  // namespace
TEST_CASE("invalid operations of any part are raised on the caller") {
#if !defined(__clang__)  // whose regions are run by a library of its own
  CHECK(KernelTeam::takesRegions());
#endif
  for (int part : {0, 1, 2}) {
    for (bool invalid : {true, false}) {
      CAPTURE(part, invalid);
      InvalidOperations operations;
      volatile float value = invalid ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
      volatile float larger = 0;
      inRegion(3, [&] {
        if (KernelTeam::position().index == part) {
          larger = largerOf(value, 0);
        }
      });
      CHECK(operations.any() == (invalid && kTellsOfNaN));
    }
  }
}

TEST_CASE("a scope sees its own invalid operations, and leaves those before it raised") {
  volatile float nan = std::numeric_limits<float>::quiet_NaN();
  volatile float larger = 0;
  for (bool before : {false, true}) {
    clearInvalid();
    if (before) {
      raiseInvalid();
    }
    {
      InvalidOperations operations;
      CHECK(!operations.any());
      larger = largerOf(nan, 0);
      CHECK(operations.any() == kTellsOfNaN);
      operations.forget();
      CHECK(!operations.any());
    }
    CHECK(invalidRaised() == (before && kTellsOfNaN));
  }
  CHECK(larger == 0);
}

}  // namespace graphrun::devices::cpu
