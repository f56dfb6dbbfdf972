// Task graphs whose best schedule is known because they were made from it.
#ifndef GRAPHRUN_TESTS_PLACEMENT_PLANTED_H_
#define GRAPHRUN_TESTS_PLACEMENT_PLANTED_H_

#include <cstdint>

#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"
#include "placement/cost_graph/placement.h"

namespace graphrun::placement::testing {

struct PlantedOptions {
  int tasks = 100;  // about
  int devices = 8;
  /// Mean time of a drawn transfer over the mean time of a task.
  double ccr = 1;
  double edgesPerTask = 4;
  /// Whether links carry one transfer at a time. In the source they do not.
  bool queues = false;
  /// Elsewhere than where it was planted a task takes up to so many times as long.
  double slowdown = 1;
  uint64_t seed = 0;
};

struct Planted {
  CostGraph graph;  // finished
  Cluster cluster;
  int64_t optimumNs = 0;
  Placement placement;  // reaches it
};

/// The time of every device is cut at random into tasks without a gap, so that no schedule is
/// shorter; edges join random tasks of which one ends before the other starts. What travels between
/// devices arrives in time; what stays may be as large as it likes, which is what a scheduler has
/// to find out. Source: Kwok, Ahmad, "Benchmarking and Comparison of the Task Graph Scheduling
/// Algorithms", JPDC 59(3), 1999, "random graphs with pre-determined optimal schedules".
Planted plant(const PlantedOptions& options);

}  // namespace graphrun::placement::testing

#endif  // GRAPHRUN_TESTS_PLACEMENT_PLANTED_H_
