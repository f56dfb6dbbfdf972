// Fuzz target: standard task graphs.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/cost_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphrun::placement::CostFileOptions options;
  options.devices = 3;
  graphrun::placement::readAndWrite({reinterpret_cast<const char*>(data), size}, options);
  return 0;
}
