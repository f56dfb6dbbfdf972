// This tells people and the planner what is known of costs.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/base/process.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/profile_recorder.h"

namespace graphrun::runtime {
namespace {

std::unique_ptr<format::TransferCosts> costsOf(const LinkFit& fit) {
  return std::make_unique<format::TransferCosts>(fit.small.latencyNs, fit.small.bytesPerSecond,
                                                 fit.largeFromBytes, fit.large.latencyNs,
                                                 fit.large.bytesPerSecond);
}

/// Adds what the profile knows, if anything, for so many workers.
void addByWorkers(uint32_t workers, const CostProfile& profile,
                  std::vector<std::unique_ptr<format::StepCostsT>>& entries) {
  if (std::optional<LinkFit> fit = profile.fit()) {
    auto entry = std::make_unique<format::StepCostsT>();
    entry->workers = workers;
    entry->start = costsOf(*fit);
    entries.push_back(std::move(entry));
  }
}

}  // namespace

std::vector<LearnedCosts> ProfileRecorder::learned() {
  std::map<std::string, LearnedCosts> all;  // by what they are of: workers on a host share them
  auto add = [&](const std::string& what, const char* entries,
                 const CostProfile::Summary& summary) {
    if (summary.entries > 0) {
      all[what] = {
          what,           entries,        summary.entries, summary.fewestRuns, summary.mostRuns,
          summary.spread, summary.updated};
    }
  };
  std::vector<LinkEnd> ends;
  for (const WorkerLocation& location : locations_) {
    std::set<std::string> kinds = {kHostKind};
    for (const format::MeasuredDeviceT& device : store_.devicesOf(location.host)) {
      kinds.insert(device.kind);
      std::string which = device.kind != kHostKind ? absl::StrCat(":", device.index)
                          : device.cores == 0      ? " with all threads"
                                              : absl::StrCat(" with ", device.cores, " threads");
      add(absl::StrCat(device.kind, which, " on ", location.host), "operations",
          store_.device(device.fingerprint).opSummary());
    }
    for (const std::string& kind : kinds) {
      ends.push_back({location, kind});
    }
  }
  for (const LinkEnd& from : ends) {
    for (const LinkEnd& to : ends) {
      auto name = [](const LinkEnd& end) {
        return end.location.worker.empty() ? std::string(kClientName) : end.location.worker;
      };
      add(absl::StrCat(name(from), " to ", name(to), " (", from.kind, " to ", to.kind, ")"),
          "sizes of tensors", store_.link(from, to).transferSummary());
    }
  }
  std::vector<LearnedCosts> list;
  list.reserve(all.size());
  for (auto& [what, costs] : all) {
    list.push_back(std::move(costs));
  }
  return list;
}

void ProfileRecorder::addTo(format::PlanRequestT& request) {
  Profiles profiles;  // workers of one machine share them
  std::vector<LinkEnd> ends;
  for (const WorkerLocation& location : locations_) {
    std::set<std::string> kinds = {kHostKind};
    for (const format::MeasuredDeviceT& device : store_.devicesOf(location.host)) {
      kinds.insert(device.kind);
      auto costs = std::make_unique<format::WorkerCostsT>();
      costs->worker = location.worker;
      costs->kind = device.kind;
      costs->cores = device.cores;
      costs->index = device.index;
      const CostProfile& profile = profileOf(device.fingerprint, profiles);
      costs->ops.reserve(profile.ops().size());
      for (const auto& [signature, op] : profile.ops()) {
        costs->ops.push_back(op);
      }
      request.costs.push_back(std::move(costs));
    }
    for (const std::string& kind : kinds) {
      ends.push_back({location, kind});
    }
  }
  addLinks(ends, request);
  addCrowds(request);
  addClient(request);
  for (uint32_t workers = 1; workers < locations_.size(); ++workers) {
    addByWorkers(workers, store_.step(hosts_, workers), request.step_costs);
  }
}

void ProfileRecorder::addClient(format::PlanRequestT& request) {
  auto client = std::make_unique<format::ClientCostsT>();
  client->cores = usableThreads();
  for (uint32_t workers = 1; workers < locations_.size(); ++workers) {
    addByWorkers(workers, store_.client(hosts_, workers), client->work);
  }
  if (!client->work.empty()) {
    request.client_costs = std::move(client);
  }
}

void ProfileRecorder::addCrowds(format::PlanRequestT& request) {
  std::map<std::string, std::vector<std::string>> workersOn;
  for (const WorkerLocation& location : locations_) {
    workersOn[location.host].push_back(location.worker);
  }
  for (auto& [host, workers] : workersOn) {
    if (const double share = store_.crowd(host).nanosPerByte(); share > 0) {
      auto crowd = std::make_unique<format::CrowdCostsT>();
      crowd->workers = std::move(workers);
      crowd->share = share;
      request.crowd_costs.push_back(std::move(crowd));
    }
  }
}

void ProfileRecorder::addLinks(absl::Span<const LinkEnd> ends, format::PlanRequestT& request) {
  for (const LinkEnd& from : ends) {
    for (const LinkEnd& to : ends) {
      const CostProfile profile = store_.link(from, to);
      if (std::optional<LinkFit> fit = profile.fit()) {
        auto link = std::make_unique<format::LinkCostsT>();
        link->worker_a = from.location.worker;
        link->kind_a = from.kind;
        link->worker_b = to.location.worker;
        link->kind_b = to.kind;
        link->transfer = costsOf(*fit);
        link->unsure = profile.isUnsure();
        link->read_ns_per_byte = store_.reads(from, to).nanosPerByte();
        link->send_ns_per_byte = store_.sends(from, to).nanosPerByte();
        request.link_costs.push_back(std::move(link));
      }
    }
  }
}

}  // namespace graphrun::runtime
