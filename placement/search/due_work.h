// DueWork has the nodes and linkTransfers that may start at another time than they are known for.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_DUE_WORK_H_
#define GRAPHRUN_PLACEMENT_SEARCH_DUE_WORK_H_

#include <utility>
#include <vector>

#include "placement/search/due_ranks.h"

namespace graphrun::placement {

/// Finds what is due by rank: that of a node, or of the node that makes what is sent; -1 for
/// linkTransfers of the graph's inputs. Not synchronised.
class DueWork {
 public:
  explicit DueWork(int nodes = 0) : ranks_(nodes), nodes_(static_cast<size_t>(nodes), 0) {}

  /// Makes room for a linkTransfer; ids are given in ascending order.
  void admit(int linkTransfer) {
    if (linkTransfer == static_cast<int>(linkTransfers_.size())) {
      linkTransfers_.push_back(0);
    }
  }
  void addNode(int node, int rank) {
    nodes_[static_cast<size_t>(node)] = 1;
    ranks_.add(rank);
  }
  void addTransfer(int linkTransfer, int rank) {
    linkTransfers_[static_cast<size_t>(linkTransfer)] = 1;
    if (rank < 0) {
      inputs_.push_back(linkTransfer);
    }
    ranks_.add(rank);
  }
  /// Notes that something that is due got this rank.
  void addRank(int rank) { ranks_.add(rank); }

  bool isNodeDue(int node) const { return nodes_[static_cast<size_t>(node)] != 0; }
  bool isSendingDue(int linkTransfer) const {
    return linkTransfers_[static_cast<size_t>(linkTransfer)] != 0;
  }
  void dropNode(int node) { nodes_[static_cast<size_t>(node)] = 0; }
  void dropTransfer(int linkTransfer) { linkTransfers_[static_cast<size_t>(linkTransfer)] = 0; }

  /// Takes the lowest rank of something due, if it is below `end`; else `end`.
  int takeRank(int end) { return ranks_.take(end); }
  /// Takes the linkTransfers of the graph's inputs, which stay due each.
  std::vector<int> takeInputs() { return std::exchange(inputs_, {}); }

 private:
  DueRanks ranks_;
  std::vector<char> nodes_;
  std::vector<char> linkTransfers_;
  std::vector<int> inputs_;  // linkTransfers of the graph's inputs
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_DUE_WORK_H_
