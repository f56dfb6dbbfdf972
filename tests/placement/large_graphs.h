// Cost graphs of any size with communication, for tests and benches of speed and scale.
#ifndef GRAPHRUN_TESTS_PLACEMENT_LARGE_GRAPHS_H_
#define GRAPHRUN_TESTS_PLACEMENT_LARGE_GRAPHS_H_

#include <cstdint>

#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement::testing {

struct LargeOptions {
  int nodes = 1000;  // about
  int devices = 8;
  /// Mean time of a transfer between workers over the mean time of a node.
  double ccr = 1;
  uint64_t seed = 0;
};

struct LargeGraph {
  CostGraph graph;  // finished
  Cluster cluster;
};

/// Layers of twice as many nodes as there are devices, each of which reads one to three of the
/// layer before. Two devices a worker; devices differ in speed, and each node a little on each.
LargeGraph layeredGraph(const LargeOptions& options);

/// As networks are built: towers, one for four devices, of blocks that are all alike: branches of
/// chains that are joined and added to what the block read. Every eighth block reads the
/// neighbouring tower as well.
LargeGraph blockGraph(const LargeOptions& options);

}  // namespace graphrun::placement::testing

#endif  // GRAPHRUN_TESTS_PLACEMENT_LARGE_GRAPHS_H_
