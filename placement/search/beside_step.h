// A BesideStep tells what a step takes beside its nodes and transfers, while nodes move.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_BESIDE_STEP_H_
#define GRAPHRUN_PLACEMENT_SEARCH_BESIDE_STEP_H_

#include <cstdint>

#include "placement/search/undoable_vector.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// Simulation::overheadNs and crowdingNs of a placement that changes: how many nodes each worker
/// must be told of, and how busy each machine is. Not synchronised; the simulator must outlive it.
class BesideStep {
 public:
  explicit BesideStep(const Simulator& simulator)
      : starts_(&simulator.starts()), crowding_(&simulator.crowding()) {
    toldFor_.assign(simulator.cluster().workers.size(), 0);
    busy_.assign(static_cast<size_t>(crowding_->machines()), 0);
  }

  /// Notes that so much more is computed on the machine of a device.
  void countBusy(int device, int64_t ns) {
    if (int machine = ns == 0 ? -1 : crowding_->machineOf(device); machine >= 0) {
      busy_.edit(machine) += ns;
    }
  }
  /// Moves a node from one device to another; -1: from none.
  void moveNode(int from, int to) {
    if (!starts_->empty()) {
      tell(from, -1);
      tell(to, 1);
    }
  }

  /// Returns what a step of `step` ns takes more; `bytesOn(link)` tells what goes over each link.
  template <typename BytesOn>
  int64_t ns(int64_t step, int links, const BytesOn& bytesOn) const {
    int64_t crowded = 0;
    if (!crowding_->empty()) {
      crowded = crowding_->stepNs([this](int machine) { return busy_[machine]; }, step);
    }
    if (starts_->empty()) {
      return crowded;
    }
    int workers = 0;
    for (int w = 0; w < toldFor_.size(); ++w) {
      workers += toldFor_[w] > 0 ? 1 : 0;
    }
    int64_t bytes = 0;
    for (int l = 0; l < links; ++l) {
      bytes += starts_->isHandedOut(l) ? bytesOn(l) : 0;
    }
    return crowded + starts_->ns(workers, bytes);
  }

  void undo() {
    toldFor_.undo();
    busy_.undo();
  }
  void keep() {
    toldFor_.keep();
    busy_.keep();
  }

 private:
  void tell(int device, int nodes) {
    if (int worker = device < 0 ? -1 : starts_->toldFor(device); worker >= 0) {
      toldFor_.edit(worker) += nodes;
    }
  }

  const StepStarts* starts_;
  const Crowding* crowding_;
  UndoableVector<int> toldFor_;   // by worker: nodes for which it must be told
  UndoableVector<int64_t> busy_;  // by machine of Crowding: what its nodes take
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_BESIDE_STEP_H_
