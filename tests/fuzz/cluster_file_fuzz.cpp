// Fuzz target: cluster.yaml. What is accepted finds each of its devices by name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "placement/cluster/cluster.h"
#include "tests/placement/kinds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphrun::placement;
  auto cluster =
      parseCluster({reinterpret_cast<const char*>(data), size}, "fuzzed.yaml", testing::kinds());
  if (!cluster.ok()) {
    return 0;
  }
  for (const std::string& name : cluster->deviceNames()) {
    if (!cluster->findDevice(name).has_value()) {
      std::abort();
    }
  }
  return 0;
}
