// From runs to costs: what a session measured goes into profiles on disk, and from there into the
// requests of later plans.
#ifndef GRAPHRUN_RUNTIME_SESSION_PROFILE_RECORDER_H_
#define GRAPHRUN_RUNTIME_SESSION_PROFILE_RECORDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "runtime/base/trace_json.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/session/active_plan.h"
#include "runtime/session/profile/cost_profile.h"
#include "runtime/session/run_times.h"

namespace graphrun::runtime {

/// The costs of one session's cluster. Not thread-safe.
class ProfileRecorder {
 public:
  /// `cluster` may be null: this machine alone. `threads`: as SessionOptions says.
  ProfileRecorder(const ClusterFile* cluster, uint32_t threads, DiskCache* cache);

  /// Adds what the plan's last steps took; less than kFewestSteps say nothing. What cannot be kept
  /// costs a warning.
  void learn(const ActivePlan& plan, absl::Span<const TraceProcess> traces);

  /// Returns what is known of the cluster's devices and links, for people.
  std::vector<LearnedCosts> learned();

  /// Adds all that is known of the cluster's devices and links.
  void addTo(format::PlanRequestT& request);

  static constexpr size_t kFewestSteps = 3;

 private:
  /// Returns the location of a worker's name in a plan.
  WorkerLocation locationOf(const std::string& worker) const;
  LinkEnd linkEnd(const format::PlanFile& plan, uint32_t device) const;
  using Profiles = std::map<std::string, CostProfile>;  // by fingerprint
  /// Returns the profile of `profiles`, into which it is read when it is wanted first.
  CostProfile& profileOf(const std::string& fingerprint, Profiles& profiles);
  /// A Crowd says how a host was in the runs of a plan.
  struct Crowd {
    /// The share of their time by which its CPU devices take longer for each other one that
    /// computes meanwhile.
    double share = 0;
    /// So many times as long as known nodes take that nothing holds up.
    double speed = 1;
  };
  using Crowds = std::map<std::string, Crowd>;  // by its name
  /// Learns that from nodes whose time without company is known.
  Crowds learnCrowds(const ActivePlan& plan, const RunTimes& times, Profiles& profiles);
  const Crowd& crowdOf(const Crowds& crowds, const format::PlanFile& plan, uint32_t device) const;
  /// So many times as long as alone a node took in its company.
  double longerIn(const Crowds& crowds, const format::PlanFile& plan,
                  const RunTimes::Node& node) const {
    return 1 + crowdOf(crowds, plan, node.device).share * node.company;
  }
  /// Adds to the profiles of the plan's devices what its nodes would take without company.
  void learnDevices(const ActivePlan& plan, const RunTimes& times, const Crowds& crowds,
                    Profiles& profiles);
  void learnLinks(const ActivePlan& plan, const RunTimes& times, const Crowds& crowds,
                  const Profiles& profiles);
  /// The Excess is how much longer the ends of an edge take than where nothing crosses.
  struct Excess {
    double sendNs = 0;  // less than 0: shorter
    double readNs = 0;
    bool isReadKnown = false;
  };
  /// By edge.
  std::map<uint32_t, Excess> excessByEdge(const ActivePlan& plan, const RunTimes& times,
                                          const Crowds& crowds, const Profiles& profiles) const;
  void learnStep(const ActivePlan& plan, const RunTimes& times);
  void learnClient(const ActivePlan& plan);
  /// ClientInputs are the bytes of the graph's inputs that the workers of a plan get.
  struct ClientInputs {
    uint32_t workers = 0;  // that take part, the client's process not counted
    uint64_t bytes = 0;
    uint64_t ns = 0;  // on the way, by what is known of the links
  };
  ClientInputs clientInputs(const format::PlanFile& plan);
  void addCrowds(format::PlanRequestT& request);
  void addClient(format::PlanRequestT& request);
  /// The host of each of a plan's workers.
  std::vector<std::string> hostsOf(const format::PlanFile& plan) const;
  /// Adds what is known of the links between these ends.
  void addLinks(absl::Span<const LinkEnd> ends, format::PlanRequestT& request);

  std::vector<WorkerLocation> locations_;  // the client's comes first
  std::string hosts_;                      // of all locations
  uint32_t threads_;
  ProfileStore store_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PROFILE_RECORDER_H_
