// Both fuzz targets of cost graphs do this with a file.
#ifndef GRAPHRUN_TESTS_FUZZ_COST_GRAPH_H_
#define GRAPHRUN_TESTS_FUZZ_COST_GRAPH_H_

#include <cstdio>
#include <cstdlib>

#include "placement/formats/cost_file.h"
#include "tests/placement/kinds.h"

namespace graphrun::placement {

/// Reads a file; what is accepted is a problem, or refused as one, and is read back from what is
/// written of it.
inline void readAndWrite(absl::string_view text, CostFileOptions options) {
  options.kinds = testing::kinds();
  auto file = readCostFile(text, "fuzzed", options);
  if (!file.ok()) {
    return;
  }
  auto problem = file->problem();
  if (!problem.ok()) {
    return;
  }
  auto written = writeCostFile(*problem);
  if (!written.ok()) {
    return;
  }
  CostFileOptions plain;
  plain.kinds = options.kinds;
  auto again = readCostFile(*written, "written", plain);
  if (!again.ok() || again->graph.nodeCount() != file->graph.nodeCount()) {
    std::fprintf(stderr, "%s\n%s\n", written->c_str(), again.status().ToString().c_str());
    std::abort();
  }
}

}  // namespace graphrun::placement

#endif  // GRAPHRUN_TESTS_FUZZ_COST_GRAPH_H_
