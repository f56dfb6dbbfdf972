#include "frontends/compiler/known_costs.h"

#include <algorithm>
#include <string>

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

/// The cores that a plan will say of the device; 0: all of its machine's.
uint32_t coresOf(const placement::Device& device, const format::PlanRequest& request) {
  bool all = device.cores.empty() || (device.floating && device.whole < 0);
  return all ? request.threads() : static_cast<uint32_t>(device.cores.size());
}

bool isFor(const format::WorkerCosts& costs, const placement::Cluster& cluster,
           const placement::Device& device, const format::PlanRequest& request) {
  std::string worker = cluster.isInClient(device.worker)
                           ? std::string()
                           : cluster.workers[static_cast<size_t>(device.worker)].name;
  return costs.worker()->str() == worker &&
         costs.kind()->str() == placement::deviceKindName(device.kind) &&
         costs.cores() == coresOf(device, request);
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

}  // namespace

void readCosts(const format::PlanRequest& request, const placement::Cluster& cluster,
               KnownCosts& known) {
  uint32_t count = format::sizeOf(request.costs());
  known.books.reserve(count);
  known.byDevice.assign(cluster.devices.size(), nullptr);
  for (uint32_t i = 0; i < count; ++i) {
    const format::WorkerCosts& costs = *request.costs()->Get(i);
    known.books.emplace_back(opsOf(costs));
    for (size_t d = 0; d < cluster.devices.size(); ++d) {
      if (isFor(costs, cluster, cluster.devices[d], request)) {
        known.byDevice[d] = &known.books.back();
      }
    }
  }
}

std::vector<placement::LinkOverride> measuredLinks(const format::PlanRequest& request,
                                                   const placement::Cluster& cluster) {
  std::vector<placement::LinkOverride> links;
  for (uint32_t i = 0; i < format::sizeOf(request.link_costs()); ++i) {
    const format::LinkCosts& costs = *request.link_costs()->Get(i);
    for (int a : workersOf(cluster, costs.worker_a()->str())) {
      for (int b : workersOf(cluster, costs.worker_b()->str())) {
        if (a != b && cluster.isInClient(a) && cluster.isInClient(b)) {
          continue;  // the client's own tensors stay in place
        }
        placement::LinkOverride link;
        link.workerA = a;
        link.workerB = b;
        link.latencyNs = static_cast<int64_t>(costs.latency_ns());
        link.bytesPerSecond = std::max(costs.bytes_per_second(), 1.0);
        link.large = {static_cast<int64_t>(costs.large_from_bytes()),
                      {static_cast<int64_t>(costs.large_latency_ns()),
                       std::max(costs.large_bytes_per_second(), 1.0)}};
        link.oneWay = true;
        link.measured = true;
        links.push_back(link);
      }
    }
  }
  return links;
}

int64_t stepOverheadNs(const format::PlanRequest& request, const placement::Cluster& cluster,
                       const std::vector<int>& devices) {
  bool leaves = std::any_of(devices.begin(), devices.end(), [&](int device) {
    return !cluster.isInClient(cluster.devices[static_cast<size_t>(device)].worker);
  });
  return leaves ? static_cast<int64_t>(request.step_ns()) : 0;
}

uint64_t wayOf(const format::PlanRequest& request) {
  return uint64_t{request.numerics()} << 8 | request.precision();
}

}  // namespace graphrun::compiler
