// Fuzz target: cost graphs in JSON, GraphRun's own and those of dnn-partitioning, for both
// objectives.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/cost_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphrun::placement;
  absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (Objective objective : {Objective::kLatency, Objective::kThroughput}) {
    CostFileOptions options;
    options.objective = objective;
    readAndWrite(text, options);
  }
  return 0;
}
