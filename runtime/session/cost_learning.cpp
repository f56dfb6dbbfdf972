#include "runtime/session/cost_learning.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/median.h"
#include "runtime/control/address.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/coordinator.h"

namespace graphrun::runtime {
namespace {

constexpr char kThisHost[] = "localhost";
constexpr char kCpu[] = "cpu";
constexpr uint32_t kClientWorker = 0;  // index in a plan
/// So many times as long as usual a kernel may take for no reason.
constexpr double kNoise = 1.15;

std::string hostOf(const std::string& text) {
  absl::StatusOr<Address> address = parseAddress(text);
  return text == "local" || !address.ok() || address->isLocal() ? kThisHost : address->host;
}

format::OpTime opTime(const format::PlanNode& node, const RunTimes::Node& time, size_t runs) {
  return {node.signature(), node.family(), node.flops(),     node.bytes(),
          time.ns,          runs,          time.weightBytes, time.scratchBytes};
}

std::unique_ptr<format::TransferCosts> costsOf(const LinkFit& fit) {
  return std::make_unique<format::TransferCosts>(fit.small.latencyNs, fit.small.bytesPerSecond,
                                                 fit.largeFromBytes, fit.large.latencyNs,
                                                 fit.large.bytesPerSecond);
}

/// Of a device's kernels, as far as the plan says; 0: as its process was told.
uint32_t threadsOf(const format::PlanDevice& device) {
  uint32_t cores = format::sizeOf(device.cores());
  return cores == 0 ? device.threads() : cores;
}

/// Within a process GPUs move a value themselves (Program::handOver): what executors record of that
/// is no transfer.
bool isBetweenGpus(const format::PlanFile& plan, const format::Edge& edge) {
  const format::PlanDevice& from = plan.device(edge.source());
  const format::PlanDevice& to = plan.device(edge.target());
  return from.worker() == to.worker() && format::textOf(from.kind()) == "cuda" &&
         format::textOf(to.kind()) == "cuda";
}

/// Under whose fingerprint the times of a plan's nodes are kept.
class Fingerprints {
 public:
  explicit Fingerprints(const ActivePlan& plan) {
    for (const DeviceStats& stats : plan.devices) {
      std::optional<uint32_t> index = plan.found.plan->findDevice(stats.device);
      if (index.has_value() && !stats.fingerprint.empty()) {
        const format::PlanDevice& device = plan.found.plan->device(*index);
        byDevice_[*index] = stats.fingerprint;
        if (!format::textOf(device.part_of()).empty()) {
          byThreads_[threadsOf(device)] = stats.fingerprint;
        }
      }
    }
  }

  /// That of the node's device; of one that runs on fewer threads than the device has, that of a
  /// part with so many: there it takes the same. "" where there is none.
  std::string of(const RunTimes::Node& node, const format::PlanNode& entry) const {
    const auto& all = entry.threads() == 0 ? byDevice_ : byThreads_;
    auto found = all.find(entry.threads() == 0 ? node.device : entry.threads());
    return found == all.end() ? std::string() : found->second;
  }

 private:
  std::map<uint32_t, std::string> byDevice_;   // index in the plan
  std::map<uint32_t, std::string> byThreads_;  // parts of devices
};

}  // namespace

CostLearning::CostLearning(const ClusterFile* cluster, uint32_t threads, DiskCache* cache)
    : places_{{"", kThisHost}}, threads_(threads), shelf_(cache) {
  for (const GivenWorker& worker :
       cluster != nullptr ? cluster->processes() : std::vector<GivenWorker>()) {
    places_.push_back({worker.name, hostOf(worker.address)});
  }
  std::set<std::string> hosts;
  for (const Place& place : places_) {
    hosts.insert(place.host);
  }
  hosts_ = absl::StrJoin(hosts, " ");
}

Place CostLearning::placeOf(const std::string& worker) const {
  auto known = std::find_if(places_.begin(), places_.end(),
                            [&](const Place& place) { return place.worker == worker; });
  return known == places_.end() ? places_.front() : *known;
}

void CostLearning::learn(const ActivePlan& plan, absl::Span<const TraceProcess> traces) {
  RunTimes times = runTimes(*plan.found.plan, traces);
  if (times.steps < kFewestSteps) {
    return;
  }
  learnLinks(plan, times, learnDevices(plan, times));
  learnStep(plan, times);
}

CostBook& CostLearning::bookOf(const std::string& fingerprint, Books& books) {
  auto [book, isNew] = books.try_emplace(fingerprint);
  if (isNew) {
    book->second = shelf_.device(fingerprint);
  }
  return book->second;
}

CostLearning::Books CostLearning::learnDevices(const ActivePlan& plan, const RunTimes& times) {
  const format::PlanFile& file = *plan.found.plan;
  const Fingerprints fingerprints(plan);
  Books books;
  for (const DeviceStats& device : plan.devices) {
    std::optional<uint32_t> index = file.findDevice(device.device);
    if (!index.has_value() || device.fingerprint.empty()) {
      continue;
    }
    const format::PlanDevice& planned = file.device(*index);
    const format::Partition& partition = *file.partitionOn(*index);
    bookOf(device.fingerprint, books);
    for (const RunTimes::Node& node : times.nodes) {
      if (node.device == *index) {
        const format::PlanNode& entry = *partition.nodes()->Get(node.node);
        if (std::string kept = fingerprints.of(node, entry); !kept.empty()) {
          auto where = !entry.inner() ? CostBook::Where::kBorder
                       : node.isCalm  ? CostBook::Where::kInner
                                      : CostBook::Where::kDisturbed;
          bookOf(kept, books).note(opTime(entry, node, times.steps), where);
        }
      }
    }
    format::MeasuredDeviceT kind;
    kind.kind = planned.kind()->str();
    kind.cores = threadsOf(planned);
    kind.cores = kind.cores == 0 && kind.kind == kCpu ? threads_ : kind.cores;
    kind.index = kind.kind == kCpu ? 0 : planned.index();
    kind.fingerprint = device.fingerprint;
    shelf_.warnNotKept(shelf_.addDevice(placeOf(device.worker).host, kind));
  }
  for (const auto& [fingerprint, book] : books) {
    shelf_.warnNotKept(shelf_.keepDevice(fingerprint, book));
  }
  return books;
}

// At the border of a partition nodes take longer than within: what they read is in no cache, and
// what costs nothing within, as a concatenation in place, has to be done. That is the edges' doing;
// but a long kernel that is some percent off itself says nothing of them, nor one that another
// edge's tensor disturbed. What a sender takes longer the tensor waits for; what a reader takes
// longer its device is busy with, whoever waits.
std::map<uint32_t, CostLearning::Excess> CostLearning::excessByEdge(const ActivePlan& plan,
                                                                    const RunTimes& times,
                                                                    const Books& books) {
  const format::PlanFile& file = *plan.found.plan;
  const Fingerprints fingerprints(plan);
  std::map<size_t, std::vector<uint32_t>> edgesOf;  // by node
  for (const RunTimes::End& end : times.ends) {
    edgesOf[end.node].push_back(end.edge);
  }
  std::map<uint32_t, Excess> excess;
  for (const auto& [index, edges] : edgesOf) {
    const RunTimes::Node& node = times.nodes[index];
    const format::PlanNode& entry = *file.partitionOn(node.device)->nodes()->Get(node.node);
    auto book = books.find(fingerprints.of(node, entry));
    if (book == books.end() || !node.isCalm) {
      continue;
    }
    auto within = book->second.ops().find(entry.signature());
    if (within == book->second.ops().end() || within->second.runs() == 0) {
      continue;
    }
    const auto usual = static_cast<uint64_t>(kNoise * static_cast<double>(within->second.ns()));
    for (uint32_t edge : edges) {
      const uint64_t part = (node.ns - std::min(node.ns, usual)) / edges.size();
      const bool reads = file.edge(edge).target() == node.device;
      Excess& of = excess[edge];
      (reads ? of.readNs : of.sendNs) += part;
      of.isReadKnown = of.isReadKnown || reads;
    }
  }
  return excess;
}

void CostLearning::learnLinks(const ActivePlan& plan, const RunTimes& times, const Books& books) {
  const format::PlanFile& file = *plan.found.plan;
  std::map<uint32_t, Excess> excess = excessByEdge(plan, times, books);
  struct Link {
    LinkEnd from, to;
    std::vector<CostBook::Transfer> transfers;
    std::vector<CostBook::Transfer> reads;
  };
  std::map<std::string, Link> links;  // by what tells them apart
  for (const RunTimes::Edge& time : times.edges) {
    const format::Edge& edge = file.edge(time.edge);
    if (isBetweenGpus(file, edge)) {
      continue;
    }
    const LinkEnd from = linkEnd(file, edge.source());
    const LinkEnd to = linkEnd(file, edge.target());
    std::string name =
        absl::StrJoin({from.place.worker, from.kind, to.place.worker, to.kind}, "\n");
    Link& link = links.try_emplace(std::move(name), Link{from, to, {}, {}}).first->second;
    const Excess& more = excess[time.edge];
    link.transfers.push_back({edge.bytes(), time.ns + more.sendNs});
    if (more.isReadKnown) {
      link.reads.push_back({edge.bytes(), more.readNs});
    }
  }
  for (const auto& [name, link] : links) {
    CostBook book = shelf_.link(link.from, link.to);
    book.noteTransfers(link.transfers, times.steps);
    shelf_.warnNotKept(shelf_.keepLink(link.from, link.to, book));
    if (!link.reads.empty()) {
      CostBook reads = shelf_.reads(link.from, link.to);
      reads.noteReads(link.reads, times.steps);
      shelf_.warnNotKept(shelf_.keepReads(link.from, link.to, reads));
    }
  }
}

LinkEnd CostLearning::linkEnd(const format::PlanFile& plan, uint32_t device) const {
  const format::PlanDevice& end = plan.device(device);
  return {placeOf(plan.worker(end.worker()).name()->str()), end.kind()->str()};
}

// A step on workers is more than what its devices record: messages start and end it, and the client
// hands out its inputs. Those travel meanwhile. That is little beside long steps, which differ by
// more: each is compared with itself.
void CostLearning::learnStep(const ActivePlan& plan, const RunTimes& times) {
  const ClientInputs inputs = clientInputs(*plan.found.plan);
  if (inputs.workers == 0) {
    return;
  }
  const uint64_t first = plan.nextStep - plan.lastRuns.size();  // of lastRuns
  std::vector<uint64_t> rest;
  for (const auto& [step, span] : times.spans) {
    // One beside others began before it was waited for.
    if (step >= first && step < plan.nextStep && !plan.lastRuns[step - first].beside) {
      const uint64_t whole = plan.lastRuns[step - first].nanos;
      rest.push_back(whole - std::min(whole, span + inputs.ns));
    }
  }
  if (rest.size() < kFewestSteps) {
    return;
  }
  CostBook book = shelf_.step(hosts_, inputs.workers);
  book.noteTransfers({{inputs.bytes, median(rest)}}, rest.size());
  shelf_.warnNotKept(shelf_.keepStep(hosts_, inputs.workers, book));
}

CostLearning::ClientInputs CostLearning::clientInputs(const format::PlanFile& plan) {
  ClientInputs inputs;
  std::set<uint32_t> workers;
  for (uint32_t i = 0; i < format::sizeOf(plan.plan().partitions()); ++i) {
    workers.insert(plan.device(plan.plan().partitions()->Get(i)->device()).worker());
  }
  workers.erase(kClientWorker);
  inputs.workers = static_cast<uint32_t>(workers.size());
  for (size_t i = 0; i < plan.edgeCount(); ++i) {
    const format::Edge& edge = plan.edge(i);
    uint32_t target = plan.device(edge.target()).worker();
    if (plan.device(edge.source()).worker() == kClientWorker && target != kClientWorker) {
      std::optional<LinkFit> fit =
          shelf_.link({places_.front()}, linkEnd(plan, edge.target())).fit();
      inputs.bytes += edge.bytes();
      inputs.ns = std::max(inputs.ns, fit.has_value() ? fit->nanos(edge.bytes()) : 0);
    }
  }
  return inputs;
}

std::vector<LearnedCosts> CostLearning::learned() {
  std::map<std::string, LearnedCosts> all;  // by what they are of: places on a host share them
  auto add = [&](const std::string& what, const char* entries, const CostBook::Summary& summary) {
    if (summary.entries > 0) {
      all[what] = {
          what,           entries,        summary.entries, summary.fewestRuns, summary.mostRuns,
          summary.spread, summary.updated};
    }
  };
  std::vector<LinkEnd> ends;
  for (const Place& place : places_) {
    std::set<std::string> kinds = {kCpu};
    for (const format::MeasuredDeviceT& device : shelf_.devicesOf(place.host)) {
      kinds.insert(device.kind);
      std::string which = device.kind != kCpu ? absl::StrCat(":", device.index)
                          : device.cores == 0 ? " with all threads"
                                              : absl::StrCat(" with ", device.cores, " threads");
      add(absl::StrCat(device.kind, which, " on ", place.host), "operations",
          shelf_.device(device.fingerprint).opSummary());
    }
    for (const std::string& kind : kinds) {
      ends.push_back({place, kind});
    }
  }
  for (const LinkEnd& from : ends) {
    for (const LinkEnd& to : ends) {
      auto name = [](const LinkEnd& end) {
        return end.place.worker.empty() ? std::string(kClientName) : end.place.worker;
      };
      add(absl::StrCat(name(from), " to ", name(to), ", of ", from.kind, " to ", to.kind),
          "sizes of tensors", shelf_.link(from, to).transferSummary());
    }
  }
  std::vector<LearnedCosts> list;
  list.reserve(all.size());
  for (auto& [what, costs] : all) {
    list.push_back(std::move(costs));
  }
  return list;
}

void CostLearning::addTo(format::PlanRequestT& request) {
  Books books;  // workers of one machine share them
  std::vector<LinkEnd> ends;
  for (const Place& place : places_) {
    std::set<std::string> kinds = {kCpu};
    for (const format::MeasuredDeviceT& device : shelf_.devicesOf(place.host)) {
      kinds.insert(device.kind);
      auto costs = std::make_unique<format::WorkerCostsT>();
      costs->worker = place.worker;
      costs->kind = device.kind;
      costs->cores = device.cores;
      costs->index = device.index;
      const CostBook& book = bookOf(device.fingerprint, books);
      costs->ops.reserve(book.ops().size());
      for (const auto& [signature, op] : book.ops()) {
        costs->ops.push_back(op);
      }
      request.costs.push_back(std::move(costs));
    }
    for (const std::string& kind : kinds) {
      ends.push_back({place, kind});
    }
  }
  addLinks(ends, request);
  for (uint32_t workers = 1; workers < places_.size(); ++workers) {
    if (std::optional<LinkFit> fit = shelf_.step(hosts_, workers).fit()) {
      auto step = std::make_unique<format::StepCostsT>();
      step->workers = workers;
      step->start = costsOf(*fit);
      request.step_costs.push_back(std::move(step));
    }
  }
}

void CostLearning::addLinks(absl::Span<const LinkEnd> ends, format::PlanRequestT& request) {
  for (const LinkEnd& from : ends) {
    for (const LinkEnd& to : ends) {
      const CostBook book = shelf_.link(from, to);
      if (std::optional<LinkFit> fit = book.fit()) {
        auto link = std::make_unique<format::LinkCostsT>();
        link->worker_a = from.place.worker;
        link->kind_a = from.kind;
        link->worker_b = to.place.worker;
        link->kind_b = to.kind;
        link->transfer = costsOf(*fit);
        link->unsure = book.isUnsure();
        link->read_ns_per_byte = shelf_.reads(from, to).nanosPerByte();
        request.link_costs.push_back(std::move(link));
      }
    }
  }
}

}  // namespace graphrun::runtime
