// A cluster description is the content of cluster.yaml as plain data. The session reaches workers
// by it, placement makes its Cluster of it (placement/cluster/cluster.h).
#ifndef GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_DESCRIPTION_H_
#define GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_DESCRIPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/device_kind.h"
#include "runtime/cluster/device_spec.h"

namespace graphrun::runtime {

/// Addresses that are none: a worker that is started on this machine, and one within the process
/// that the user started.
inline constexpr char kLocalAddress[] = "local";
inline constexpr char kClientAddress[] = "client";

struct GivenWorker {
  std::string name;
  std::string address;  ///< "host:port", "unix:/path", kLocalAddress or kClientAddress
  std::string source;
  bool devicesGiven = false;  ///< false: all that it has, to be asked of it
  std::vector<DeviceSpec> devices;

  bool isLocal() const { return address == kLocalAddress; }
  bool isInClient() const { return address == kClientAddress; }
};

/// Between two workers, or one and "client".
struct GivenLink {
  std::string a;
  std::string b;
  std::optional<double> bytesPerSecond;
  std::optional<int64_t> latencyNs;
  std::optional<bool> queues;
};

/// Nodes that go to a device, or stay off devices.
struct GivenRule {
  std::string nodes;
  std::string device;
  std::string source;
  bool annotation = false;  ///< `nodes` is what the model's annotations ask for
};

/// Files for mutual TLS; all three or none.
struct GivenSecurity {
  std::string ca;
  std::string cert;
  std::string key;
};

struct ClusterDescription {
  std::vector<GivenWorker> workers;
  std::vector<GivenLink> links;
  std::vector<GivenRule> pins;
  std::vector<GivenRule> forbids;
  std::optional<GivenSecurity> security;

  /// Null where there is none of this name.
  const GivenWorker* findWorker(absl::string_view name) const;
  std::vector<std::string> workerNames() const;
  /// "node0/cpu:1" of all devices that are given, in order.
  std::vector<std::string> deviceNames() const;
};

/// Reads cluster.yaml, whose devices are of one of `kinds`. `fileName` is used in messages only.
/// All problems are in one InvalidArgument message, one a line, each with its line number.
absl::StatusOr<ClusterDescription> parseClusterDescription(absl::string_view text,
                                                           absl::string_view fileName,
                                                           absl::Span<const DeviceKind> kinds);

/// A file, and what it says: the paths under `security` are relative to its folder.
struct ClusterFile {
  std::string path;
  std::string text;
  ClusterDescription description;

  /// The workers that have a process of their own: all but those in the client's. The first has
  /// rank 1 in plans.
  std::vector<GivenWorker> processes() const;
};

/// Reads a file or a pipe. The system's reason where that cannot be read (fileError); else as
/// parseClusterDescription.
absl::StatusOr<ClusterFile> readClusterFile(const std::string& path,
                                            absl::Span<const DeviceKind> kinds);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_DESCRIPTION_H_
