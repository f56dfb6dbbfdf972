#include "placement/planner/known_costs.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "placement/cluster/unsure_link.h"
#include "runtime/format/weight_table.h"

namespace graphrun::compiler {
namespace {

std::vector<placement::MeasuredOp> opsOf(const format::WorkerCosts& costs) {
  std::vector<placement::MeasuredOp> ops;
  ops.reserve(format::sizeOf(costs.ops()));
  for (uint32_t i = 0; i < format::sizeOf(costs.ops()); ++i) {
    const format::OpTime& op = *costs.ops()->Get(i);
    ops.push_back({op.signature(), op.family(), static_cast<int64_t>(op.flops()),
                   static_cast<int64_t>(op.bytes()), static_cast<int64_t>(op.ns()),
                   static_cast<int64_t>(op.weight_bytes()),
                   static_cast<int64_t>(op.scratch_bytes())});
  }
  return ops;
}

/// The cores that a plan will say of the device; 0: all of its machine's, or it is on none.
uint32_t coresOf(const placement::Device& device, const format::PlanRequest& request) {
  if (!device.kind.onHostCores) {
    return 0;
  }
  bool all = device.cores.empty() || (device.floating && device.whole < 0);
  return all ? request.threads() : static_cast<uint32_t>(device.cores.size());
}

bool isFor(const format::WorkerCosts& costs, const placement::Cluster& cluster,
           const placement::Device& device, const format::PlanRequest& request) {
  std::string worker = cluster.isInClient(device.worker)
                           ? std::string()
                           : cluster.workers[static_cast<size_t>(device.worker)].name;
  return costs.worker()->str() == worker && costs.kind()->str() == device.kind.name &&
         costs.cores() == coresOf(device, request);
}

/// Returns whether this very device was measured; one of its kind on its machine is taken to be
/// like it.
bool isOf(const format::WorkerCosts& costs, const placement::Device& device) {
  return device.kind.onHostCores || costs.index() == static_cast<uint32_t>(device.index);
}

/// Workers that a name in the request stands for; "" for the client and the worker within it.
std::vector<int> workersOf(const placement::Cluster& cluster, const std::string& name) {
  std::vector<int> workers;
  for (int w = placement::kClient; w < static_cast<int>(cluster.workers.size()); ++w) {
    bool named = w != placement::kClient && !cluster.isInClient(w) &&
                 cluster.workers[static_cast<size_t>(w)].name == name;
    if (name.empty() ? cluster.isInClient(w) : named) {
      workers.push_back(w);
    }
  }
  return workers;
}

placement::LinkModel modelOf(const format::TransferCosts& costs) {
  placement::LinkModel model;
  model.latencyNs = static_cast<int64_t>(costs.latency_ns());
  model.bytesPerSecond = std::max(costs.bytes_per_second(), 1.0);
  model.large = {static_cast<int64_t>(costs.large_from_bytes()),
                 {static_cast<int64_t>(costs.large_latency_ns()),
                  std::max(costs.large_bytes_per_second(), 1.0)}};
  return model;
}

/// Between devices of these kinds, as far as nothing was measured; of the workers' first ones.
placement::LinkModel usualLink(const placement::Cluster& cluster, int a, const std::string& from,
                               int b, const std::string& to) {
  auto firstOf = [&](int worker, const std::string& kind) {
    auto isOf = [&](const placement::Device& device) {
      return device.worker == worker && device.kind.name == kind;
    };
    auto found = std::find_if(cluster.devices.begin(), cluster.devices.end(), isOf);
    return worker == placement::kClient || found == cluster.devices.end()
               ? placement::kClient
               : static_cast<int>(found - cluster.devices.begin());
  };
  return cluster.link(firstOf(a, from), firstOf(b, to));
}

/// Entries of a request are one a number of workers.
std::vector<placement::StepStart> byWorkers(
    const flatbuffers::Vector<flatbuffers::Offset<format::StepCosts>>* entries) {
  std::vector<placement::StepStart> starts;
  for (uint32_t i = 0; i < format::sizeOf(entries); ++i) {
    const format::StepCosts& costs = *entries->Get(i);
    starts.push_back({static_cast<int>(costs.workers()), modelOf(*costs.start())});
  }
  return starts;
}

/// More than that no machine has.
constexpr uint32_t kMostCores = 1 << 16;

}  // namespace

void readCosts(const format::PlanRequest& request, const placement::Cluster& cluster,
               KnownCosts& known) {
  uint32_t count = format::sizeOf(request.costs());
  known.profiles.reserve(count);
  known.byDevice.assign(cluster.devices.size(), nullptr);
  for (uint32_t i = 0; i < count; ++i) {
    const format::WorkerCosts& costs = *request.costs()->Get(i);
    known.profiles.emplace_back(opsOf(costs));
    for (size_t d = 0; d < cluster.devices.size(); ++d) {
      const placement::Device& device = cluster.devices[d];
      bool isBetter = known.byDevice[d] == nullptr || isOf(costs, device);
      if (isBetter && isFor(costs, cluster, device, request)) {
        known.byDevice[d] = &known.profiles.back();
      }
    }
  }
}

std::vector<placement::LinkOverride> measuredLinks(const format::PlanRequest& request,
                                                   const placement::Cluster& cluster) {
  std::vector<placement::LinkOverride> links;
  for (uint32_t i = 0; i < format::sizeOf(request.link_costs()); ++i) {
    const format::LinkCosts& costs = *request.link_costs()->Get(i);
    const std::string from = costs.kind_a()->str();
    const std::string to = costs.kind_b()->str();
    for (int a : workersOf(cluster, costs.worker_a()->str())) {
      for (int b : workersOf(cluster, costs.worker_b()->str())) {
        bool isOnHost = from == placement::kHostKind && to == placement::kHostKind;
        if (a != b && isOnHost && cluster.isInClient(a) && cluster.isInClient(b)) {
          continue;  // the client's own tensors stay in place
        }
        placement::LinkOverride link;
        link.workerA = a;
        link.workerB = b;
        placement::LinkModel model = modelOf(*costs.transfer());
        if (costs.unsure()) {
          model = placement::atMostSoSlow(model, usualLink(cluster, a, from, b, to));
        }
        link.latencyNs = model.latencyNs;
        link.bytesPerSecond = model.bytesPerSecond;
        link.large = model.large;
        link.readNsPerByte = std::max(costs.read_ns_per_byte(), 0.0);
        link.sendNsPerByte = std::max(costs.send_ns_per_byte(), 0.0);
        link.oneWay = true;
        link.measured = true;
        link.kinds = {from, to};
        links.push_back(link);
      }
    }
  }
  return links;
}

std::vector<placement::StepStart> stepStarts(const format::PlanRequest& request) {
  return byWorkers(request.step_costs());
}

placement::ClientWork clientWork(const format::PlanRequest& request,
                                 const placement::Cluster& cluster) {
  placement::ClientWork client;
  const format::ClientCosts* costs = request.client_costs();
  if (costs == nullptr) {
    return client;
  }
  const std::string host = cluster.hostOf(placement::kClient);
  for (int w = 0; w < static_cast<int>(cluster.workers.size()); ++w) {
    if (cluster.isInClient(w) || cluster.hostOf(w) == host) {
      client.workers.push_back(w);
    }
  }
  client.cores = static_cast<int>(std::min<uint32_t>(costs->cores(), kMostCores));
  client.work = byWorkers(costs->work());
  return client;
}

std::vector<placement::Crowd> crowds(const format::PlanRequest& request,
                                     const placement::Cluster& cluster) {
  std::vector<placement::Crowd> crowds;
  for (uint32_t i = 0; i < format::sizeOf(request.crowd_costs()); ++i) {
    const format::CrowdCosts& costs = *request.crowd_costs()->Get(i);
    placement::Crowd crowd;
    crowd.share = std::max(costs.share(), 0.0);
    for (uint32_t w = 0; w < format::sizeOf(costs.workers()); ++w) {
      const std::vector<int> workers = workersOf(cluster, costs.workers()->Get(w)->str());
      std::copy_if(workers.begin(), workers.end(), std::back_inserter(crowd.workers),
                   [](int worker) { return worker != placement::kClient; });
    }
    crowds.push_back(std::move(crowd));
  }
  return crowds;
}

uint64_t numericsKey(const format::PlanRequest& request) {
  return uint64_t{request.numerics()} << 8 | request.precision();
}

}  // namespace graphrun::compiler
