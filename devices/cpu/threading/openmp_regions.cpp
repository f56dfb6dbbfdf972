// OpenMP's regions of oneDNN and of our own loops, as GCC compiles them, on the threads of
// KernelTeam instead of libgomp's: those wait awake for milliseconds, in which a thread that lost
// its core to another process keeps a second one busy, and take three times as long to begin and
// to end a region. Our own loops call these functions because they are linked with them: the shared
// library does not export them, so that a program's own regions stay libgomp's. oneDNN's calls are
// pointed here when the first of its kernels is made (KernelTeam::takesRegions). In a program that
// holds the static libraries, as tests do, these stand before libgomp's for all code; what is
// neither ours nor oneDNN's goes on to libgomp.
#include <dlfcn.h>
#include <link.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "devices/cpu/threading/invalid_operations.h"
#include "devices/cpu/threading/kernel_team.h"
#include "runtime/base/library_calls.h"
#include "runtime/base/log.h"

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

/// A Module says where the code of a loaded file lies.
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

/// Returns whether a region is the library's or our own.
bool isKernel(GompRegion region) {
  static const Module kOwn = moduleOf(reinterpret_cast<const void*>(&findModule));
  static const Module kLibrary = moduleOf(reinterpret_cast<const void*>(&dnnl_primitive_execute));
  auto code = reinterpret_cast<uintptr_t>(region);
  return kOwn.holds(code) || kLibrary.holds(code);
}

/// libgomp's function of that name. Not by RTLD_NEXT: libgomp may have been loaded before us.
template <typename Function>
Function* next(const char* name) {
  static void* const kLibrary = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);  // we need it
  return reinterpret_cast<Function*>(dlsym(kLibrary, name));
}

bool inRegion() { return KernelTeam::position().team != nullptr; }

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
  // The one that begins a region comes last: outside of our regions the others do as libgomp's.
  static const bool kTakes = [] {
    const runtime::CallRedirect redirects[] = {
        {"GOMP_barrier", reinterpret_cast<void*>(&GOMP_barrier)},
        {"omp_get_thread_num", reinterpret_cast<void*>(&omp_get_thread_num)},
        {"omp_get_num_threads", reinterpret_cast<void*>(&omp_get_num_threads)},
        {"omp_in_parallel", reinterpret_cast<void*>(&omp_in_parallel)},
        {"GOMP_parallel", reinterpret_cast<void*>(&GOMP_parallel)}};
    const bool taken =
        runtime::redirectCalls(reinterpret_cast<const void*>(&dnnl_primitive_execute), redirects);
    if (!taken) {
      runtime::logOnce(runtime::LogLevel::kWarning, "regions",
                       "oneDNN's calls of OpenMP could not be pointed at GraphRun's threads (this "
                       "oneDNN may not be linked with libgomp): its kernels run on OpenMP's; "
                       "results are the same, steps take longer");
    }
    return taken;
  }();
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
  return inRegion() ? KernelTeam::position().index : kNext();
}

int omp_get_num_threads() {
  static auto* const kNext = graphrun::devices::cpu::next<int()>("omp_get_num_threads");
  return inRegion() ? KernelTeam::position().size : kNext();
}

int omp_in_parallel() { return inRegion() ? 1 : graphrun::devices::cpu::nextInParallel(); }
