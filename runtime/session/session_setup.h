// A SessionSetup is what a session is made of, once it is open.
#ifndef GRAPHRUN_RUNTIME_SESSION_SESSION_SETUP_H_
#define GRAPHRUN_RUNTIME_SESSION_SESSION_SETUP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/memory_file.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/control/worker_client.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/model_source.h"
#include "runtime/session/profile_recorder.h"
#include "runtime/session/progress.h"
#include "runtime/session/session.h"
#include "runtime/worker/disk_cache.h"
#include "runtime/worker/worker_core.h"

namespace graphrun::runtime {

/// A graph of the model.
struct ModelGraph {
  std::string name;
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;

  /// Returns `given` in the order of the inputs, checked.
  absl::StatusOr<std::vector<NamedSpec>> inOrder(absl::Span<const NamedSpec> given) const;
};

/// A session's options, its model and cluster, and who compiles and computes for it. Its parts do
/// not change after `open`, but for `own` and what is behind pointers.
struct SessionSetup {
  explicit SessionSetup(const SessionOptions& given);

  /// Opens the model and the cluster. `called`: what messages call the model. Errors are marked
  /// with their domain.
  absl::Status open(const std::string& modelPath, const std::string& called);

  /// Returns the graph of that name, "" for the model's first; NotFound.
  absl::StatusOr<const ModelGraph*> findGraph(absl::string_view graph) const;
  /// Finds the devices of workers for which cluster.yaml gives none; without a cluster, those of
  /// this process. Of the others what devices carry out together and which instructions they have:
  /// of workers that were reached, and to `run` on several GPUs, or where others have started them,
  /// they have to be.
  absl::StatusOr<std::map<std::string, std::vector<DeviceDescription>>> foundDevices(bool run);
  /// Returns whether there is nothing to choose between.
  bool hasOneDevice() const { return cluster == nullptr && own.size() <= 1; }
  uint64_t tuneNanos() const {
    return static_cast<uint64_t>(std::chrono::nanoseconds(options.tuneBudget).count());
  }
  Millis timeout() const {
    return options.stepTimeout.count() > 0 ? options.stepTimeout : kStepTimeout;
  }
  /// Returns the folder of a cache.
  static std::string folder(const SessionOptions& options, const char* name);

  const SessionOptions options;
  CompilerLoader loader;
  DiskCache models;
  DiskCache costCache;
  Compiler* const compiler;
  ProgressReport progress;
  std::string name;  // the path that the user gave, or the graph's name, for messages
  std::optional<MemoryFile> inMemory;
  OpenModel model;
  std::vector<ModelGraph> graphs;        // the first one first
  std::unique_ptr<ClusterFile> cluster;  // null: this machine alone
  std::vector<DeviceDescription> own;    // what that has, once a plan was asked for
  std::unique_ptr<ProfileRecorder> costs;
  std::unique_ptr<WorkerCore> core;
  std::unique_ptr<Coordinator> coordinator;

 private:
  WorkerCoreOptions coreOptions() const;
  CoordinatorOptions coordinatorOptions();
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SESSION_SETUP_H_
