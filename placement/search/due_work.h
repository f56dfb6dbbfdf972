// DueWork has the nodes and sendings that may start at another time than they are known for.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_DUE_WORK_H_
#define GRAPHRUN_PLACEMENT_SEARCH_DUE_WORK_H_

#include <utility>
#include <vector>

#include "placement/search/due_ranks.h"

namespace graphrun::placement {

/// Finds what is due by rank: that of a node, or of the node that makes what is sent; -1 for
/// sendings of the graph's inputs. Not synchronised.
class DueWork {
 public:
  explicit DueWork(int nodes = 0) : ranks_(nodes), nodes_(static_cast<size_t>(nodes), 0) {}

  /// Makes room for a sending; ids are given in ascending order.
  void admit(int sending) {
    if (sending == static_cast<int>(sendings_.size())) {
      sendings_.push_back(0);
    }
  }
  void addNode(int node, int rank) {
    nodes_[static_cast<size_t>(node)] = 1;
    ranks_.add(rank);
  }
  void addSending(int sending, int rank) {
    sendings_[static_cast<size_t>(sending)] = 1;
    if (rank < 0) {
      inputs_.push_back(sending);
    }
    ranks_.add(rank);
  }
  /// Notes that something that is due got this rank.
  void addRank(int rank) { ranks_.add(rank); }

  bool isNodeDue(int node) const { return nodes_[static_cast<size_t>(node)] != 0; }
  bool isSendingDue(int sending) const { return sendings_[static_cast<size_t>(sending)] != 0; }
  void dropNode(int node) { nodes_[static_cast<size_t>(node)] = 0; }
  void dropSending(int sending) { sendings_[static_cast<size_t>(sending)] = 0; }

  /// Takes the lowest rank of something due, if it is below `end`; else `end`.
  int takeRank(int end) { return ranks_.take(end); }
  /// Takes the sendings of the graph's inputs, which stay due each.
  std::vector<int> takeInputs() { return std::exchange(inputs_, {}); }

 private:
  DueRanks ranks_;
  std::vector<char> nodes_;
  std::vector<char> sendings_;
  std::vector<int> inputs_;  // sendings of the graph's inputs
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_DUE_WORK_H_
