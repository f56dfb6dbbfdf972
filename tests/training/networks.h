// Networks that are trained by tests and by bench_training, at two sizes. networks.py has them in
// PyTorch, with the same parameters in the same order.
#ifndef GRAPHRUN_TESTS_TRAINING_NETWORKS_H_
#define GRAPHRUN_TESTS_TRAINING_NETWORKS_H_

#include <graphrun/graph.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace graphrun::networks {

/// What a network reads: numbers, or classes (i64) from 0 to below `classes`.
struct Feed {
  std::vector<int64_t> sample;  ///< dims without the batch's
  int64_t classes = 0;          ///< 0: numbers
};

/// A loss, and the parameters that shall make it smaller: Graph::parameters(scope).
struct Objective {
  Tensor loss;
  std::string scope;
};

/// A graph with the inputs of a network. Numbers and parameters are of `type`.
struct Task {
  Graph& graph;
  ElementType type;
  Tensor x;
  Tensor target;
};

struct Network {
  Feed x;
  Feed target;
  /// Adds the network to the graph.
  std::function<std::vector<Objective>(const Task& task)> objectives;
};

enum class Size {
  kSmall,  ///< tests compute these by reference kernels, too
  kFull
};

/// The networks by name.
std::map<std::string, Network> all(Size size);

/// The graph's inputs "x" and "target", for `batch` samples.
Task taskOf(const Network& network, Graph& graph, int64_t batch,
            ElementType type = ElementType::kF32);

}  // namespace graphrun::networks

#endif  // GRAPHRUN_TESTS_TRAINING_NETWORKS_H_
