// OpenMP's regions of oneDNN and of our own loops, as GCC compiles them, on the threads of
// KernelTeam instead of libgomp's: those wait awake for milliseconds, in which a thread that lost
// its core to another process keeps a second one busy, and take three times as long to begin and
// to end a region. These functions stand before libgomp's wherever this library is linked; what
// other code of the process calls goes on to libgomp. Where they do not (this library was loaded
// behind libgomp), all is libgomp's as usual.
#include <dlfcn.h>
#include <link.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "devices/cpu/invalid_operations.h"
#include "devices/cpu/kernel_team.h"

extern "C" {
using GompRegion = void (*)(void*);
void GOMP_parallel(GompRegion region, void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_thread_num();
int omp_get_num_threads();
int omp_in_parallel();
int omp_get_max_threads();  // libgomp's: what omp_set_num_threads said on this thread
}

namespace graphrun::devices::cpu {
namespace {

/// Where the code of a loaded file lies.
struct Module {
  uintptr_t address;  ///< in it
  uintptr_t begin = 0, end = 0;

  bool holds(uintptr_t code) const { return code >= begin && code < end; }
};

int findModule(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto* module = static_cast<Module*>(data);
  Module found{module->address, UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD) {
      uintptr_t begin = info->dlpi_addr + part.p_vaddr;
      found.begin = std::min(found.begin, begin);
      found.end = std::max(found.end, begin + part.p_memsz);
    }
  }
  if (!found.holds(module->address)) {
    return 0;
  }
  *module = found;
  return 1;
}

Module moduleOf(const void* address) {
  Module module{reinterpret_cast<uintptr_t>(address)};
  dl_iterate_phdr(findModule, &module);
  return module;
}

/// Whether a region is the library's or our own.
bool isKernel(GompRegion region) {
  static const Module kOwn = moduleOf(reinterpret_cast<const void*>(&findModule));
  static const Module kLibrary = moduleOf(reinterpret_cast<const void*>(&dnnl_primitive_execute));
  auto code = reinterpret_cast<uintptr_t>(region);
  return kOwn.holds(code) || kLibrary.holds(code);
}

/// libgomp's function of that name.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool inRegion() { return KernelTeam::place().team != nullptr; }

int nextInParallel() {
  static auto* const kNext = next<int()>("omp_in_parallel");
  return kNext();
}

/// A region on threads of libgomp's, and whether one of them made an invalid operation.
struct ForeignRegion {
  GompRegion region;
  void* data;
  std::atomic<bool> invalid{false};
};

void runForeign(void* data) {
  auto* foreign = static_cast<ForeignRegion*>(data);
  InvalidOperations own;
  foreign->region(foreign->data);
  if (own.any()) {
    foreign->invalid.store(true, std::memory_order_relaxed);
  }
}

}  // namespace

bool KernelTeam::takesRegions() {
  static const bool kTakes =
      moduleOf(reinterpret_cast<const void*>(&findModule))
          .holds(reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "GOMP_parallel")));
  return kTakes;
}

}  // namespace graphrun::devices::cpu

using graphrun::devices::cpu::inRegion;
using graphrun::devices::cpu::KernelTeam;

void GOMP_parallel(GompRegion region, void* data, unsigned threads, unsigned flags) {
  namespace cpu = graphrun::devices::cpu;
  static auto* const kNext = cpu::next<decltype(GOMP_parallel)>("GOMP_parallel");
  if (!cpu::isKernel(region)) {
    kNext(region, data, threads, flags);
    return;
  }
  if (!inRegion() && cpu::nextInParallel() != 0) {  // in a region of the caller's own
    cpu::ForeignRegion foreign{region, data};
    kNext(cpu::runForeign, &foreign, threads, flags);
    if (foreign.invalid.load(std::memory_order_relaxed)) {
      cpu::raiseInvalid();
    }
    return;
  }
  KernelTeam::run(region, data, threads == 0 ? omp_get_max_threads() : static_cast<int>(threads));
}

void GOMP_barrier() {
  if (inRegion()) {
    KernelTeam::barrier();
    return;
  }
  static auto* const kNext = graphrun::devices::cpu::next<void()>("GOMP_barrier");
  kNext();
}

int omp_get_thread_num() {
  static auto* const kNext = graphrun::devices::cpu::next<int()>("omp_get_thread_num");
  return inRegion() ? KernelTeam::place().index : kNext();
}

int omp_get_num_threads() {
  static auto* const kNext = graphrun::devices::cpu::next<int()>("omp_get_num_threads");
  return inRegion() ? KernelTeam::place().size : kNext();
}

int omp_in_parallel() { return inRegion() ? 1 : graphrun::devices::cpu::nextInParallel(); }
