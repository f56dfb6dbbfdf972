// The kinds of devices that the tests of placement plan for: data, no device is built.
#ifndef GRAPHRUN_TESTS_PLACEMENT_KINDS_H_
#define GRAPHRUN_TESTS_PLACEMENT_KINDS_H_

#include <vector>

#include "devices/cpu/cpu_kind.h"
#include "devices/cuda/cuda_kind.h"

namespace graphrun::placement::testing {

inline std::vector<runtime::DeviceKind> kinds() {
  return {devices::cpu::cpuKind(), devices::cuda::cudaKind()};
}

}  // namespace graphrun::placement::testing

#endif  // GRAPHRUN_TESTS_PLACEMENT_KINDS_H_
