// A GPU that is not there: libcuda, libcublasLt, libcudnn (cudnn_simulator.h), NCCL and NVML as far
// as devices/cuda uses them, over host memory. Kernels are PTX text, which is interpreted, and what
// they do wrong is told by cuGetErrorString and stderr. Work that is put into a stream is done as
// late as the rules allow, when somebody waits for it: who forgets to wait sees old data. Device
// addresses cannot be read by the host, nor by GPUs that were given no access to them. As a library
// of its own it has GRAPHRUN_SIMULATED_GPUS GPUs (one, if that is not set), which have of each
// other what GRAPHRUN_SIMULATED_PEERS says ("all", "none", "broken"), and treat the host's memory
// as GRAPHRUN_SIMULATED_HOST_MEMORY says ("any", "locked", "never_locked"). The libraries refuse
// what GRAPHRUN_SIMULATED_REFUSALS names, with commas between: "products", "epilogues" (of
// products), "convolutions", "fusions" (of convolutions with more than a bias), "attention". One
// process, any thread.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_SIMULATOR_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_SIMULATOR_H_

#include <cuda.h>

#include <cstdint>
#include <string>

namespace graphrun::testing {

/// What is alive, and what was done since the last reset.
struct GpuCounts {
  int contexts = 0;
  int streams = 0;
  int events = 0;
  int pools = 0;
  int deviceMemory = 0;
  int hostMemory = 0;  ///< pieces that are locked
  int modules = 0;
  int graphs = 0;
  int libraryObjects = 0;
  int launches = 0;
  int graphLaunches = 0;
  int copies = 0;
  int peerCopies = 0;      ///< of these, between GPUs
  int pageableCopies = 0;  ///< from and to memory of the host that is not locked
  int collectives = 0;

  /// What should be 0 when all is given back.
  int alive() const {
    return contexts + streams + events + pools + deviceMemory + hostMemory + modules + graphs +
           libraryObjects;
  }
};

/// What GPUs have of each other.
enum class Peers : uint8_t {
  kAll,    ///< each can be given access to each other's memory
  kNone,   ///< none can; the driver copies between them by way of the host
  kBroken  ///< as kAll, but what is copied between them is wrong: some machines do that
};

/// What the driver does with memory of the host that it did not allocate.
enum class HostMemory : uint8_t {
  kAny,     ///< copies it and locks it
  kLocked,  ///< copies it only if it is locked: no driver is like that, but tests want to see
  kNeverLocked
};

/// As after a restart: `count` GPUs with `bytes` of memory each, no faults. Nothing may
/// be alive.
void resetGpus(int count = 1, size_t bytes = size_t{8} << 30);
void setPeers(Peers peers);
void setHostMemory(HostMemory memory);
/// Whether NVML can be started; it can after a restart.
void setManaged(bool managed);
/// The call of `function` after `passed` more of them gives `result`, and does nothing.
void failCall(const std::string& function, CUresult result, int passed = 0);
void clearFaults();
/// A lost context takes work again, so that a test can tidy up.
void reviveGpus();
/// The version that the driver tells; what cuInit gives.
void setDriver(int version, CUresult init = CUDA_SUCCESS);
/// Waits for all streams first.
GpuCounts gpuCounts();

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_SIMULATOR_H_
