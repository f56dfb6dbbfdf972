#include "runtime/session/profile_recorder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "devices/device.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/device_kind.h"
#include "runtime/base/median.h"
#include "runtime/control/address.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/coordinator.h"

namespace graphrun::runtime {
namespace {

constexpr char kThisHost[] = "localhost";
constexpr uint32_t kClientWorker = 0;  // index in a plan
/// Nodes with less company are alone, and tell how fast the machine is now if they take as much of
/// the others' time; those with as much company tell what it costs.
constexpr double kAlone = 0.1;
constexpr double kEnoughAlone = 0.1;
constexpr double kMuchCompany = 0.5;
/// More than that no company makes of a node's time.
constexpr double kMostCrowd = 1;
/// The ends of smaller tensors are busy for about the same time, however small these are: it says
/// nothing of a byte, and counts for the transfer.
constexpr uint64_t kLargeBytes = 32 << 10;
/// Where a receiver may have a tensor before its sender is done, sending was still under way for at
/// least so long.
constexpr uint64_t kLeastTransferNanos = 500;

std::string hostOf(const std::string& text) {
  absl::StatusOr<Address> address = parseAddress(text);
  return text == "local" || !address.ok() || address->isLocal() ? kThisHost : address->host;
}

format::OpTime opTime(const format::PlanNode& node, const RunTimes::Node& time, size_t runs) {
  return {node.signature(), node.family(), node.flops(),     node.bytes(),
          time.ns,          runs,          time.weightBytes, time.scratchBytes};
}

/// Returns the threads of a device's kernels, as far as the plan says; 0: as its process was told.
uint32_t threadsOf(const format::PlanDevice& device) {
  uint32_t cores = format::sizeOf(device.cores());
  return cores == 0 ? device.threads() : cores;
}

/// Within a process some devices move a value themselves (DirectEdges): what executors record of
/// that is no transfer.
bool isBetweenPeers(const format::PlanFile& plan, const format::Edge& edge) {
  const format::PlanDevice& from = plan.device(edge.source());
  const format::PlanDevice& to = plan.device(edge.target());
  return from.worker() == to.worker() && format::textOf(from.kind()) == format::textOf(to.kind()) &&
         devices::kindNamed(format::textOf(from.kind())).peerCopy;
}

/// The workers with a part of the plan, the client's process not counted.
uint32_t workersOutside(const format::PlanFile& plan) {
  std::set<uint32_t> workers;
  for (uint32_t i = 0; i < format::sizeOf(plan.plan().partitions()); ++i) {
    workers.insert(plan.device(plan.plan().partitions()->Get(i)->device()).worker());
  }
  workers.erase(kClientWorker);
  return static_cast<uint32_t>(workers.size());
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

  /// Returns the fingerprint of the node's device; for one that runs on fewer threads than the
  /// device has, that of a part with so many: there it takes the same. "" where there is none.
  std::string of(const RunTimes::Node& node, const format::PlanNode& entry) const {
    const auto& all = entry.threads() == 0 ? byDevice_ : byThreads_;
    auto found = all.find(entry.threads() == 0 ? node.device : entry.threads());
    return found == all.end() ? std::string() : found->second;
  }

 private:
  std::map<uint32_t, std::string> byDevice_;   // index in the plan
  std::map<uint32_t, std::string> byThreads_;  // parts of devices
};

/// The edges to which it is due that a node takes longer than within.
class Neighbours {
 public:
  struct Edges {
    std::vector<uint32_t> edges;
    bool areRead = false;  // else they are sent
  };

  Neighbours(const format::PlanFile& plan, const RunTimes& times)
      : reads_(times.nodes.size()), sends_(times.nodes.size()) {
    for (const RunTimes::End& end : times.ends) {
      const bool isRead = plan.edge(end.edge).target() == times.nodes[end.node].device;
      (isRead ? reads_ : sends_)[end.node].push_back(end.edge);
    }
    for (const RunTimes::Edge& time : times.edges) {
      ofDevice_[plan.edge(time.edge).target()].push_back(time.edge);
    }
    for (const RunTimes::Node& node : times.nodes) {
      deviceOf_.push_back(node.device);
    }
  }

  /// Those that it reads, or else sends; where there are none, all that come to its device.
  Edges of(size_t node) const {
    if (!reads_[node].empty() || !sends_[node].empty()) {
      return reads_[node].empty() ? Edges{sends_[node], false} : Edges{reads_[node], true};
    }
    auto all = ofDevice_.find(deviceOf_[node]);
    return {all == ofDevice_.end() ? std::vector<uint32_t>() : all->second, true};
  }

 private:
  std::vector<std::vector<uint32_t>> reads_;  // by node
  std::vector<std::vector<uint32_t>> sends_;
  std::map<uint32_t, std::vector<uint32_t>> ofDevice_;
  std::vector<uint32_t> deviceOf_;  // by node
};

/// CrowdRuns collects how much longer nodes of one host took than alone.
class CrowdRuns {
 public:
  void add(const RunTimes::Node& node, double usual) {
    const auto ns = static_cast<double>(node.ns);
    if (node.company >= kMuchCompany && usual > 0) {
      crowded_.push_back({ns / usual, node.company, usual * node.company});
      companyNanos_ += usual * node.company;
      crowdedUsual_ += usual;
    } else if (node.company < kAlone && node.isCalm) {
      alone_ += ns;
      aloneUsual_ += usual;
    }
  }

  /// So many times as long as usual takes who is alone; 1 where that is hardly known.
  double speed() const {
    return aloneUsual_ > kEnoughAlone * crowdedUsual_ ? alone_ / aloneUsual_ : 1;
  }
  /// The time that nodes with company take alone, times their company.
  double companyNanos() const { return companyNanos_; }
  /// Returns the share by which company makes nodes longer: the median over that. Some nodes take
  /// longer for another reason, as they lay out what has come.
  double share() const {
    std::vector<std::pair<double, double>> shares;  // with their weights
    shares.reserve(crowded_.size());
    for (const Crowded& node : crowded_) {
      shares.emplace_back((node.longer / speed() - 1) / node.company, node.weight);
    }
    std::sort(shares.begin(), shares.end());
    double below = 0;
    for (const auto& [share, weight] : shares) {
      below += weight;
      if (2 * below >= companyNanos_) {
        return share;
      }
    }
    return 0;
  }

 private:
  struct Crowded {
    double longer;  // so many times as long as alone
    double company;
    double weight;
  };
  std::vector<Crowded> crowded_;
  double companyNanos_ = 0;
  double crowdedUsual_ = 0;
  double alone_ = 0;
  double aloneUsual_ = 0;
};

/// A Sum adds up the costs of edges, by their bytes.
struct Sum {
  double bytes = 0;
  double ns = 0;

  void add(uint64_t more, double nanos) {
    bytes += static_cast<double>(more);
    ns += nanos;
  }
  CostProfile::Transfer whole() const {
    return {static_cast<uint64_t>(bytes), static_cast<uint64_t>(std::max(ns, 0.0))};
  }
};

}  // namespace

ProfileRecorder::ProfileRecorder(const ClusterFile* cluster, uint32_t threads, DiskCache* cache)
    : locations_{{"", kThisHost}}, threads_(threads), store_(cache) {
  for (const GivenWorker& worker :
       cluster != nullptr ? cluster->processes() : std::vector<GivenWorker>()) {
    locations_.push_back({worker.name, hostOf(worker.address)});
  }
  std::set<std::string> hosts;
  for (const WorkerLocation& location : locations_) {
    hosts.insert(location.host);
  }
  hosts_ = absl::StrJoin(hosts, " ");
}

WorkerLocation ProfileRecorder::locationOf(const std::string& worker) const {
  auto known =
      std::find_if(locations_.begin(), locations_.end(),
                   [&](const WorkerLocation& location) { return location.worker == worker; });
  return known == locations_.end() ? locations_.front() : *known;
}

std::vector<std::string> ProfileRecorder::hostsOf(const format::PlanFile& plan) const {
  std::vector<std::string> hosts;
  hosts.reserve(plan.workerCount());
  for (uint32_t w = 0; w < plan.workerCount(); ++w) {
    hosts.push_back(locationOf(plan.worker(w).name()->str()).host);
  }
  return hosts;
}

void ProfileRecorder::learn(const ActivePlan& plan, absl::Span<const TraceProcess> traces) {
  RunTimes times = runTimes(*plan.found.plan, traces, hostsOf(*plan.found.plan));
  if (times.steps < kFewestSteps) {
    return;
  }
  Profiles profiles;
  const Crowds crowds = learnCrowds(plan, times, profiles);
  learnDevices(plan, times, crowds, profiles);
  learnLinks(plan, times, crowds, profiles);
  learnStep(plan, times);
  learnClient(plan);
}

// Nodes of CPU devices with and without company, of which it is known what they take alone. A
// machine is not as fast in one minute as in the next: those without company tell by how much.
ProfileRecorder::Crowds ProfileRecorder::learnCrowds(const ActivePlan& plan, const RunTimes& times,
                                                     Profiles& profiles) {
  const format::PlanFile& file = *plan.found.plan;
  const Fingerprints fingerprints(plan);
  std::map<std::string, CrowdRuns> runs;  // by host
  for (const RunTimes::Node& node : times.nodes) {
    const format::PlanNode& entry = *file.partitionOn(node.device)->nodes()->Get(node.node);
    const std::string kept = fingerprints.of(node, entry);
    const format::PlanDevice& device = file.device(node.device);
    if (!entry.inner() || kept.empty() || device.kind()->str() != kHostKind) {
      continue;
    }
    const CostProfile& profile = profileOf(kept, profiles);
    auto known = profile.ops().find(entry.signature());
    if (known != profile.ops().end() && known->second.runs() > 0) {
      const std::string host = locationOf(file.worker(device.worker()).name()->str()).host;
      runs[host].add(node, static_cast<double>(known->second.ns()));
    }
  }
  Crowds crowds;
  for (const auto& [host, of] : runs) {
    Crowd& crowd = crowds[host];
    crowd.speed = of.speed();
    if (of.companyNanos() < 1) {
      continue;
    }
    crowd.share = std::clamp(of.share(), 0.0, kMostCrowd);
    const double more = crowd.share * of.companyNanos();
    CostProfile profile = store_.crowd(host);
    profile.noteExcess({{static_cast<uint64_t>(of.companyNanos()), static_cast<uint64_t>(more)}},
                       times.steps);
    store_.warnNotKept(store_.keepCrowd(host, profile));
  }
  return crowds;
}

CostProfile& ProfileRecorder::profileOf(const std::string& fingerprint, Profiles& profiles) {
  auto [profile, isNew] = profiles.try_emplace(fingerprint);
  if (isNew) {
    profile->second = store_.device(fingerprint);
  }
  return profile->second;
}

const ProfileRecorder::Crowd& ProfileRecorder::crowdOf(const Crowds& crowds,
                                                       const format::PlanFile& plan,
                                                       uint32_t device) const {
  static const Crowd kNone;
  const uint32_t worker = plan.device(device).worker();
  auto crowd = crowds.find(locationOf(plan.worker(worker).name()->str()).host);
  return crowd == crowds.end() ? kNone : crowd->second;
}

void ProfileRecorder::learnDevices(const ActivePlan& plan, const RunTimes& times,
                                   const Crowds& crowds, Profiles& profiles) {
  const format::PlanFile& file = *plan.found.plan;
  const Fingerprints fingerprints(plan);
  for (const DeviceStats& device : plan.devices) {
    std::optional<uint32_t> index = file.findDevice(device.device);
    if (!index.has_value() || device.fingerprint.empty()) {
      continue;
    }
    const format::PlanDevice& planned = file.device(*index);
    const format::Partition& partition = *file.partitionOn(*index);
    profileOf(device.fingerprint, profiles);
    for (RunTimes::Node node : times.nodes) {
      if (node.device == *index) {
        node.ns =
            static_cast<uint64_t>(static_cast<double>(node.ns) / longerIn(crowds, file, node));
        const format::PlanNode& entry = *partition.nodes()->Get(node.node);
        if (std::string kept = fingerprints.of(node, entry); !kept.empty()) {
          auto where = entry.inner() && node.isCalm ? CostProfile::Where::kInner
                                                    : CostProfile::Where::kBorder;
          profileOf(kept, profiles).note(opTime(entry, node, times.steps), where);
        }
      }
    }
    format::MeasuredDeviceT kind;
    kind.kind = planned.kind()->str();
    kind.cores = threadsOf(planned);
    kind.cores = kind.cores == 0 && kind.kind == kHostKind ? threads_ : kind.cores;
    kind.index = kind.kind == kHostKind ? 0 : planned.index();
    kind.fingerprint = device.fingerprint;
    store_.warnNotKept(store_.addDevice(locationOf(device.worker).host, kind));
  }
  for (const auto& [fingerprint, profile] : profiles) {
    store_.warnNotKept(store_.keepDevice(fingerprint, profile));
  }
}

// At the border of a partition nodes take longer than within: what they read is in no cache, and
// what costs nothing within, as a concatenation in place, has to be done. And a tensor that comes
// while its worker computes takes the core from a kernel. That is the edges' doing; a long kernel
// that is some percent off says nothing of them, but many do together, so that what some take less
// counts as well as what others take more. What a sender takes longer the tensor waits for; what a
// reader takes longer its device is busy with, whoever waits.
std::map<uint32_t, ProfileRecorder::Excess> ProfileRecorder::excessByEdge(
    const ActivePlan& plan, const RunTimes& times, const Crowds& crowds,
    const Profiles& profiles) const {
  const format::PlanFile& file = *plan.found.plan;
  const Fingerprints fingerprints(plan);
  const Neighbours neighbours(file, times);
  std::map<uint32_t, Excess> excess;
  for (size_t n = 0; n < times.nodes.size(); ++n) {
    const RunTimes::Node& node = times.nodes[n];
    const format::PlanNode& entry = *file.partitionOn(node.device)->nodes()->Get(node.node);
    auto profile = profiles.find(fingerprints.of(node, entry));
    const bool isAlone = node.isCalm && node.company < kAlone;
    if (profile == profiles.end() || (entry.inner() && isAlone)) {
      continue;
    }
    auto within = profile->second.ops().find(entry.signature());
    if (within == profile->second.ops().end() || within->second.runs() == 0) {
      continue;
    }
    const double usual = static_cast<double>(within->second.ns()) * longerIn(crowds, file, node) *
                         crowdOf(crowds, file, node.device).speed;
    const auto [edges, reads] = neighbours.of(n);
    double bytes = 0;
    for (uint32_t edge : edges) {
      bytes += static_cast<double>(file.edge(edge).bytes());
    }
    for (uint32_t edge : edges) {
      const double part = static_cast<double>(file.edge(edge).bytes()) / std::max(bytes, 1.0);
      Excess& of = excess[edge];
      (reads ? of.readNs : of.sendNs) += part * (static_cast<double>(node.ns) - usual);
      of.isReadKnown = of.isReadKnown || reads;
    }
  }
  return excess;
}

void ProfileRecorder::learnLinks(const ActivePlan& plan, const RunTimes& times,
                                 const Crowds& crowds, const Profiles& profiles) {
  const format::PlanFile& file = *plan.found.plan;
  std::map<uint32_t, Excess> excess = excessByEdge(plan, times, crowds, profiles);
  struct Link {
    LinkEnd from, to;
    std::vector<CostProfile::Transfer> transfers;
    Sum sends;
    Sum reads;
  };
  std::map<std::string, Link> links;  // by what tells them apart
  for (const RunTimes::Edge& time : times.edges) {
    const format::Edge& edge = file.edge(time.edge);
    if (isBetweenPeers(file, edge)) {
      continue;
    }
    const LinkEnd from = linkEnd(file, edge.source());
    const LinkEnd to = linkEnd(file, edge.target());
    std::string name =
        absl::StrJoin({from.location.worker, from.kind, to.location.worker, to.kind}, "\n");
    Link& link = links.try_emplace(std::move(name), Link{from, to, {}, {}, {}}).first->second;
    const Excess& more = excess[time.edge];
    const bool isLarge = edge.bytes() >= kLargeBytes;
    if (time.isWaitedFor) {
      link.transfers.push_back(
          {edge.bytes(), isLarge ? std::max(time.ns, kLeastTransferNanos) : time.wholeNs()});
    }
    if (!isLarge) {
      continue;
    }
    link.sends.add(edge.bytes(), static_cast<double>(time.sendNs) + more.sendNs);
    if (more.isReadKnown) {
      link.reads.add(edge.bytes(), static_cast<double>(time.readNs) + more.readNs);
    }
  }
  for (const auto& [name, link] : links) {
    CostProfile profile = store_.link(link.from, link.to);
    profile.noteTransfers(link.transfers, times.steps);
    store_.warnNotKept(store_.keepLink(link.from, link.to, profile));
    CostProfile sends = store_.sends(link.from, link.to);
    sends.noteExcess({link.sends.whole()}, times.steps);
    store_.warnNotKept(store_.keepSends(link.from, link.to, sends));
    if (link.reads.bytes > 0) {
      CostProfile reads = store_.reads(link.from, link.to);
      reads.noteExcess({link.reads.whole()}, times.steps);
      store_.warnNotKept(store_.keepReads(link.from, link.to, reads));
    }
  }
}

LinkEnd ProfileRecorder::linkEnd(const format::PlanFile& plan, uint32_t device) const {
  const format::PlanDevice& end = plan.device(device);
  return {locationOf(plan.worker(end.worker()).name()->str()), end.kind()->str()};
}

// A step on workers is more than what its devices record: messages start and end it, and the client
// hands out its inputs. Those travel meanwhile. That is little beside long steps, which differ by
// more: each is compared with itself.
void ProfileRecorder::learnStep(const ActivePlan& plan, const RunTimes& times) {
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
  CostProfile profile = store_.step(hosts_, inputs.workers);
  profile.noteTransfers({{inputs.bytes, median(rest)}}, rest.size());
  store_.warnNotKept(store_.keepStep(hosts_, inputs.workers, profile));
}

// Steps that follow each other without a gap are as many a second as cores have time for, and the
// client has some of theirs. Steps one by one wait for it, so that it is in what they take.
void ProfileRecorder::learnClient(const ActivePlan& plan) {
  const format::PlanFile& file = *plan.found.plan;
  const uint32_t workers = workersOutside(file);
  if (plan.clientTime.batches() == 0 || workers == 0) {
    return;
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < file.edgeCount(); ++i) {
    const format::Edge& edge = file.edge(i);
    const bool isClients = file.device(edge.source()).worker() == kClientWorker ||
                           file.device(edge.target()).worker() == kClientWorker;
    bytes += isClients ? edge.bytes() : 0;
  }
  CostProfile profile = store_.client(hosts_, workers);
  profile.noteTransfers({{bytes, plan.clientTime.typicalNanos()}},
                        plan.clientTime.batches() * ClientTime::kBatch);
  store_.warnNotKept(store_.keepClient(hosts_, workers, profile));
}

ProfileRecorder::ClientInputs ProfileRecorder::clientInputs(const format::PlanFile& plan) {
  ClientInputs inputs;
  inputs.workers = workersOutside(plan);
  for (size_t i = 0; i < plan.edgeCount(); ++i) {
    const format::Edge& edge = plan.edge(i);
    uint32_t target = plan.device(edge.target()).worker();
    if (plan.device(edge.source()).worker() == kClientWorker && target != kClientWorker) {
      std::optional<LinkFit> fit =
          store_.link({locations_.front()}, linkEnd(plan, edge.target())).fit();
      inputs.bytes += edge.bytes();
      inputs.ns = std::max(inputs.ns, fit.has_value() ? fit->nanos(edge.bytes()) : 0);
    }
  }
  return inputs;
}

}  // namespace graphrun::runtime
