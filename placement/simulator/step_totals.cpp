#include "placement/simulator/step_totals.h"

#include <algorithm>
#include <set>

namespace graphrun::placement {
namespace {

class Totals {
 public:
  Totals(const Simulator& simulator, absl::Span<const std::vector<int>> byDevice,
         absl::Span<const PortUse> ports, absl::Span<const int64_t> sideBusy, Simulation& result)
      : simulator_(simulator),
        byDevice_(byDevice),
        ports_(ports),
        sideBusy_(sideBusy),
        result_(result) {}

  void fillLoads() {
    for (size_t d = 0; d < byDevice_.size(); ++d) {
      result_.devices[d].portNs = ports_[d].inNs + ports_[d].outNs;
    }
    const CoreTable& cores = simulator_.cores();
    const Crowding& crowding = simulator_.crowding();
    const std::vector<int64_t> loads =
        onMachines([](const DeviceUse& use) { return use.busyNs + use.portNs; });
    ClientMachine client(simulator_.client());
    for (int core = 0; core < cores.count(); ++core) {
      int64_t load = 0;
      for (int d : cores.devices(core)) {
        const DeviceUse& use = result_.devices[static_cast<size_t>(d)];
        load += use.busyNs + use.portNs;
      }
      const int first = cores.devices(core).front();
      int lanes = simulator_.cluster().devices[static_cast<size_t>(first)].lanes;
      int64_t period = lanes == 0 ? 0 : (load + lanes - 1) / lanes;
      if (int machine = crowding.machineOf(first); machine >= 0) {
        period += crowding.periodNs(machine, loads[static_cast<size_t>(machine)], load);
      }
      client.add(core, load, period);
      result_.periodNs = std::max(result_.periodNs, period);
    }
    for (size_t l = 0; l < result_.links.size(); ++l) {
      bool queues = simulator_.links().link(static_cast<int>(l)).model.queues;
      result_.periodNs = std::max(result_.periodNs, queues ? result_.links[l].busyNs : 0);
    }
    for (int64_t busy : sideBusy_) {
      result_.periodNs = std::max(result_.periodNs, busy);
    }
    result_.clientNs = clientNs();
    const int64_t period = std::max(result_.periodNs, client.periodNs(result_.clientNs));
    result_.clientPeriodNs = period - result_.periodNs;
    result_.periodNs = period;
  }

  /// Returns the client's time in a step, for which its process works on what its workers get and
  /// give.
  int64_t clientNs() const {
    const ClientLoad& client = simulator_.client();
    int64_t bytes = 0;
    for (const Transfer& transfer : result_.transfers) {
      bytes += transfer.from == kClient || transfer.to == kClient
                   ? simulator_.graph().tensor(transfer.tensor).bytes
                   : 0;
    }
    return client.empty() ? 0 : client.workNs(workersTold(), bytes);
  }

  /// Workers outside the client's process that have something to do.
  int workersTold() const {
    std::set<int> told;
    for (size_t d = 0; d < byDevice_.size(); ++d) {
      int worker = simulator_.starts().toldFor(static_cast<int>(d));
      if (worker >= 0 && !byDevice_[d].empty()) {
        told.insert(worker);
      }
    }
    return static_cast<int>(told.size());
  }

  void fillOverhead() {
    const StepStarts& starts = simulator_.starts();
    if (starts.empty()) {
      return;
    }
    int64_t bytes = 0;
    for (size_t l = 0; l < result_.links.size(); ++l) {
      bytes += starts.isHandedOut(static_cast<int>(l)) ? result_.links[l].bytes : 0;
    }
    result_.overheadNs = starts.ns(workersTold(), bytes);
  }

  /// By machine, what `nsOf` says of its devices together.
  template <typename NsOf>
  std::vector<int64_t> onMachines(const NsOf& nsOf) const {
    const Crowding& crowding = simulator_.crowding();
    std::vector<int64_t> sum(static_cast<size_t>(crowding.machines()), 0);
    for (size_t d = 0; d < byDevice_.size() && !crowding.empty(); ++d) {
      if (int machine = crowding.machineOf(static_cast<int>(d)); machine >= 0) {
        sum[static_cast<size_t>(machine)] += nsOf(result_.devices[d]);
      }
    }
    return sum;
  }

  void fillCrowding() {
    const std::vector<int64_t> busy = onMachines([](const DeviceUse& use) { return use.busyNs; });
    result_.crowdingNs = simulator_.crowding().stepNs(
        [&](int machine) { return busy[static_cast<size_t>(machine)]; }, result_.stepNs);
  }

 private:
  const Simulator& simulator_;
  const absl::Span<const std::vector<int>> byDevice_;
  const absl::Span<const PortUse> ports_;
  const absl::Span<const int64_t> sideBusy_;
  Simulation& result_;
};

}  // namespace

void addTotals(const Simulator& simulator, absl::Span<const std::vector<int>> byDevice,
               absl::Span<const PortUse> ports, absl::Span<const int64_t> sideBusy,
               Simulation& result) {
  Totals totals(simulator, byDevice, ports, sideBusy, result);
  totals.fillLoads();
  totals.fillOverhead();
  totals.fillCrowding();
}

}  // namespace graphrun::placement
