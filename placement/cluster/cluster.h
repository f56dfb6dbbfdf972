// A cluster is the machines at hand: workers, their devices, the links between them, and the user's
// pins.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_CLUSTER_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_CLUSTER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "placement/cluster/device_model.h"
#include "runtime/cluster/device_spec.h"

namespace graphrun::placement {

/// Where graph inputs and outputs are: the process that the user started. Not a device; nothing
/// can be placed there.
inline constexpr int kClient = -1;
/// Its name in files and reports; no worker has it.
inline constexpr char kClientName[] = "client";

using runtime::DeviceSpec;

/// A device with its name and its rates; of its spec, devices of one host with one of `cores` in
/// common take turns (see CoreTable), `index` is the number in the name, and `threads` 0 is
/// unknown. Its index in Cluster::devices is its id everywhere.
struct Device : DeviceSpec {
  std::string name;  // "node0/cpu:1"
  int worker = 0;
  /// A CPU device whose cores are not known: it may run on any of its host.
  bool onAnyCore = false;
  int whole = -1;         // the device that this one is a part of; see split_devices.h
  int part = 0;           // its number among the parts
  bool floating = false;  // its threads run where the system puts them, whatever `cores` says
  DeviceModel model;
  /// Each tensor that comes from or goes to another device takes CostTensor::portNs of this
  /// device's own time.
  bool hasPort = false;
  /// Its nodes are one call: it begins when all that comes from other devices is there, and what
  /// goes to others leaves when all nodes have run.
  bool isOffload = false;
  /// Nodes that run at the same time; 0: any number.
  int lanes = 1;
  /// Devices with equal texts have a common library for collectives; "": none.
  std::string library;
};

struct Worker {
  std::string name;
  /// "host:port", "unix:/path"; empty when `local`.
  std::string address;
  /// Started on this machine by graphrun itself.
  bool local = false;
  /// Runs inside the client's process.
  bool inClient = false;
  /// False: "all that it has", to be asked of the worker and given to Cluster::setDevices.
  bool devicesGiven = false;
  std::vector<DeviceSpec> specs;
};

enum class LinkKind : uint8_t { kInProcess, kPcie, kSharedMemory, kTcp, kGiven };

/// "in-process", "pcie", "shm", "tcp", "given".
absl::string_view linkKindName(LinkKind kind);

/// latency + bytes / bandwidth.
struct LinkLine {
  int64_t latencyNs = 0;
  double bytesPerSecond = 1;

  /// Rounded up.
  int64_t nanos(int64_t bytes) const {
    double ns = static_cast<double>(bytes) / bytesPerSecond * 1e9;
    auto whole = static_cast<int64_t>(ns);
    return latencyNs + whole + (static_cast<double>(whole) < ns ? 1 : 0);
  }
  bool operator==(const LinkLine&) const = default;
};

/// Transfers from some size on.
struct LargeTransfers {
  int64_t fromBytes = 0;
  LinkLine line;

  bool operator==(const LargeTransfers&) const = default;
};

/// The time of a transfer: latency + bytes / bandwidth, for large ones by a line of their own. They
/// may be sent in another way, with a longer latency and more bandwidth; or small ones may be as
/// fast as the wire, where senders are held to a rate but for the first bytes (a token bucket).
struct LinkModel {
  LinkKind kind = LinkKind::kInProcess;
  int64_t latencyNs = 0;
  double bytesPerSecond = 1;
  /// False: each transfer starts when its data is ready, however many are on their way.
  bool queues = true;
  bool measured = false;
  std::optional<LargeTransfers> large;
  /// ns a byte that the first node which reads a tensor takes longer when it has come over the
  /// link: it is in no cache of the device yet, and may have to be laid out for the node.
  double readNsPerByte = 0;
  /// ns a byte that a node is busy for longer with sending what it makes over the link: laying it
  /// out, and handing it to the network. A transfer begins after that.
  double sendNsPerByte = 0;

  bool operator==(const LinkModel&) const = default;
  LinkLine small() const { return {latencyNs, bytesPerSecond}; }
  /// Returns the line for transfers of so many bytes.
  LinkLine lineOf(int64_t bytes) const {
    return large.has_value() && bytes >= large->fromBytes ? large->line : small();
  }
  int64_t transferNs(int64_t bytes) const { return lineOf(bytes).nanos(bytes); }
  /// A line that no transfer is faster than.
  LinkLine fastest() const {
    const LinkLine other = large.has_value() ? large->line : small();
    return {std::min(latencyNs, other.latencyNs), std::max(bytesPerSecond, other.bytesPerSecond)};
  }
};

/// The model of a link where nothing is given or measured.
LinkModel defaultLink(LinkKind kind);

/// A StepStart is the time that a step takes beside what devices and links do, where so many
/// workers outside the client's process take part: by the bytes that the client's process hands out
/// to them.
struct StepStart {
  int workers = 1;
  LinkModel start;
};

/// An entry of `links`, or what was measured. kClient stands for the client.
struct LinkOverride {
  int workerA = 0;
  int workerB = 0;
  std::optional<int64_t> latencyNs;
  std::optional<double> bytesPerSecond;
  /// False: each pair of devices has a link of its own.
  bool shared = true;
  std::optional<bool> queues;
  /// Only from A to B; else in both directions.
  bool oneWay = false;
  /// Changes no more than the times.
  bool measured = false;
  std::optional<LargeTransfers> large = std::nullopt;  // see LinkModel
  /// Only between devices of kinds of these names, that of A's and that of B's: what is in a
  /// device's own memory takes another way. The client's memory is the host's.
  std::optional<std::pair<std::string, std::string>> kinds = std::nullopt;
  double readNsPerByte = 0;  // see LinkModel
  double sendNsPerByte = 0;

  /// Returns whether it is for what goes from one end to the other.
  bool isFor(int fromWorker, absl::string_view fromKind, int toWorker,
             absl::string_view toKind) const;
};

/// Workers of one machine, or the client with kClient, share an interface to all others: in each
/// direction all their transfers together take no less than their bytes at this rate.
struct Interface {
  std::vector<int> workers;
  double bytesPerSecond = 0;
};

/// Devices on the cores of one machine, of these workers: while another of them computes, each
/// takes longer by so much of its time, for each other one.
struct Crowd {
  std::vector<int> workers;
  double share = 0;
};

/// ClientWork is the time for which the client's process computes for each of many steps that
/// follow each other: it hands out inputs, takes outputs, and starts and ends steps, whatever
/// devices do meanwhile.
struct ClientWork {
  /// Those on its machine, whose devices may have its cores.
  std::vector<int> workers;
  /// The number of cores of its machine that its threads may use.
  int cores = 1;
  /// CPU time by what takes part, ascending in workers; the bytes are those that it hands out or
  /// gets. Nothing: it is taken for nothing.
  std::vector<StepStart> work;
};

/// Nodes whose name matches a shell pattern go to a device.
struct PinRule {
  std::string nodes;
  std::string device;
  std::string source;  // "cluster.yaml:12", "--pin": for messages
  /// `nodes` matches what the model's annotations ask for (annotations.h), not names of nodes.
  bool annotation = false;
  /// It is for nodes of the model, which need not be in each of its graphs (passes/cut_stages.h),
  /// nor be left when that has been simplified: that a graph has none of them is no mistake.
  bool known = false;
  /// It is `known`, and the model, once imported, has no operation of its nodes.
  bool folded = false;
};

/// The rule "NODES=DEVICE", or for "@ANNOTATION=DEVICE" the one on annotations.
PinRule makePinRule(absl::string_view nodes, absl::string_view device, absl::string_view source);

/// Plain data; copy it to plan with other limits. Not synchronised.
struct Cluster {
  std::vector<Worker> workers;
  /// Devices of all workers in the order of the workers; rebuilt by rebuildDevices.
  std::vector<Device> devices;
  std::vector<LinkOverride> links;
  /// Each worker, and the client, is behind one at most; behind none where nothing limits it.
  std::vector<Interface> interfaces;
  /// Each worker is in one at most; in none where nothing is known, which is taken for nothing.
  std::vector<Crowd> crowds;
  /// The known times, ascending in workers; without any, starting a step is taken to cost nothing.
  std::vector<StepStart> stepStarts;
  ClientWork client;
  /// In place of defaultLink where `links` has nothing, in a cluster that is no real one.
  std::optional<LinkModel> otherLinks;
  std::vector<PinRule> pins;
  /// Nodes that stay off devices: of these, too, a shell pattern. No annotations.
  std::vector<PinRule> forbids;

  /// The device whose thread runs what is placed on `device`: of a whole device's first part it is
  /// the whole device itself, which then uses fewer threads.
  int runnerOf(int device) const;

  /// Returns the full name for a device's name or a pattern of such: with one worker a device may
  /// be called without it, "cuda:0".
  std::string fullName(absl::string_view device) const;
  /// Index of the worker or device of this name, nothing if there is none.
  std::optional<int> findWorker(absl::string_view name) const;
  std::optional<int> findDevice(absl::string_view name) const;
  /// Returns whether a worker is, or runs in, the process that the user started; it may be kClient.
  bool isInClient(int worker) const;
  /// Index of the worker at an end of a link, or kClient by its name.
  std::optional<int> findEndpoint(absl::string_view name) const;
  /// The machine that a worker, or kClient, is on: the host part of "host:port"; the loopback
  /// address for what is on this one.
  std::string hostOf(int worker) const;
  /// Names of all devices, in order.
  std::vector<std::string> deviceNames() const;

  /// Fills `devices` from the specs of the workers: names, indices, default models.
  void rebuildDevices();
  /// Sets what discovery found on a worker and rebuilds `devices`: limits and models set on them
  /// before are lost.
  void setDevices(int worker, std::vector<DeviceSpec> specs);
  /// Sets a limit ("--memory-limit node0/cpu:0=2GiB", as `source` says); NotFound names the nearest
  /// device.
  absl::Status setMemoryLimit(absl::string_view device, int64_t bytes,
                              absl::string_view source = "--memory-limit");

  /// The name of a device's kind; of the client, whose memory is the host's, that of the host.
  absl::string_view kindOf(int device) const;
  /// The link from one device to another; either may be kClient. Devices of one worker are joined
  /// in-process (over PCIe if one has memory of its own), workers on one host by shared memory,
  /// others by TCP; an entry of `links` overrides what it gives.
  LinkModel link(int fromDevice, int toDevice) const;
  /// Name of an endpoint: the device's name or "client".
  std::string endpointName(int device) const;
};

/// The cluster of a cluster.yaml, as runtime/cluster reads it. Devices are of one of `kinds`;
/// `fileName` is used in messages only. All problems are in one InvalidArgument message, one a
/// line, each with its line number.
absl::StatusOr<Cluster> parseCluster(absl::string_view text, absl::string_view fileName,
                                     absl::Span<const DeviceKind> kinds);

/// This machine alone: worker "local" inside the client with one device of the kind `host`, of
/// `threads` threads (0: as many as the affinity mask allows) and the memory that machine and
/// cgroup allow.
Cluster localCluster(int threads, const DeviceKind& host);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_CLUSTER_H_
