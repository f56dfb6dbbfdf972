// A plan source gets plans from the cache on disk, or from the planner.
#ifndef GRAPHRUN_RUNTIME_SESSION_PLAN_SOURCE_H_
#define GRAPHRUN_RUNTIME_SESSION_PLAN_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/compiler_loader/compiler_loader.h"
#include "runtime/control/worker_client.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/format/model_file.h"
#include "runtime/format/plan_file.h"
#include "runtime/session/session.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::runtime {

class ProfileRecorder;

/// A Remainder is the part of a model that is left when a plan has run: opaque bytes of the
/// compiler, and their hash, never 0.
/// 0. A model whose shapes follow from its inputs' has none.
struct Remainder {
  std::vector<uint8_t> bytes;
  uint64_t hash = 0;
};

/// Tells the stages of runs from each other: the graph of the model, and how many plans come before
/// this one.
struct StageId {
  std::string graph;  ///< "": the model's first
  size_t number = 0;
  auto operator<=>(const StageId&) const = default;
};

/// A Stage is what a plan is for: a graph of the model, or what plans before have left of it.
struct Stage {
  StageId id;
  const Remainder* remainder = nullptr;  ///< null: all of the graph
};

/// A plan and what the planner says of it, or what it has to know first.
struct FoundPlan {
  /// Inputs whose elements decide shapes; when there are any, there is no plan.
  std::vector<std::string> neededInputs;
  std::shared_ptr<const format::PlanFile> plan;
  std::string explanation;                     // JSON; "" where none was wished for
  std::vector<std::string> notes;              // what the user should know, a line each
  std::shared_ptr<const Remainder> remainder;  // to do after the plan; null: nothing
  std::vector<std::string> remainderInputs;    // outputs or inputs of the plan, by name
  bool fromDisk = false;
  std::string key;                // on the disk; "": not for the disk
  std::vector<uint8_t> response;  // of the planner; only of plans that are not kept yet
};

/// An input that a plan is for.
struct PlannedInput {
  std::string name;
  TensorSpec spec;
  /// Itself, where the planner needs its elements; null otherwise.
  const HostTensor* elements = nullptr;
};

/// Assigns an error of the planner to the domain that its code tells (GrCompilerApi::plan): bad
/// input, an option that names what is not there, or no room.
absl::Status planError(const absl::Status& status);

/// A PlanRequest for these options and shapes. `cluster` may be null: this machine alone.
/// `found`: devices of workers for which the cluster gives none, by worker; without a cluster, of
/// worker "client". `stateHomes`: the devices that states are on already, by the states' names.
std::string planRequest(const SessionOptions& options, const ClusterFile* cluster,
                        const Stage& stage, absl::Span<const PlannedInput> inputs,
                        const std::map<std::string, std::vector<DeviceDescription>>& found,
                        const std::map<std::string, std::string>& stateHomes = {});

/// A SplitWish says what a new plan may do with CPU devices.
enum class SplitWish {
  kAsKept,  ///< by costs; where another plan is kept, what a trial of it has shown
  kTry,     ///< split them by estimates, for a trial (split_trial.h): it is not kept
  kRefuse,  ///< leave them whole: a trial took no less
};

/// PlanWishes say how a plan is wanted; none of it changes what a plan is kept under.
struct PlanWishes {
  bool anew = false;  ///< made in any case, to take the place of the one on the disk
  /// The options of the explanation; null: none is wanted. Needs `anew`: the disk has none.
  const ExplainOptions* explain = nullptr;
  /// The share of devices' memory limits that placement may use: executables may need more than
  /// their tensors and weights. Less than 1 needs `anew`.
  float memoryShare = 1;
  SplitWish split = SplitWish::kAsKept;  ///< others need `anew`
  /// When true, nodes for which nothing else decides go to the best single device. Needs `anew`; it
  /// is not kept. An explanation is of such a plan without this, too, where runs have decided so
  /// (fall_back.h).
  bool single = false;
  /// False: nothing is to run by it, so that workers need not be reached.
  bool runs = true;
};

/// `request` with all that `costs` know of its cluster, and with the wishes; `splits` is what
/// becomes of theirs.
std::string withCosts(const std::string& request, ProfileRecorder& costs,
                      const PlanWishes& wishes = {},
                      format::SplitChoice splits = format::SplitChoice::ByCosts);

/// Thread-safe.
class PlanSource {
 public:
  PlanSource(Compiler* compiler, DiskCache* cache) : compiler_(compiler), cache_(cache) {}

  /// The plan for `request` (planRequest) of a model whose file is `bytes`: from the disk, or made
  /// with what `costs` know. Errors are marked with their stage.
  absl::StatusOr<FoundPlan> find(const format::ModelFile& model, absl::Span<const uint8_t> bytes,
                                 const std::string& name, const std::string& request,
                                 ProfileRecorder& costs, PlanWishes wishes);
  /// Keeps a plan that was found and not kept.
  void keep(const FoundPlan& found);
  /// Remembers on the disk what one device takes in the place of this very plan (fall_back.h), in
  /// ns, or tells that; 0: it is not known.
  void rememberSingle(const FoundPlan& found, uint64_t nanos);
  uint64_t rememberedSingle(const FoundPlan& found);

 private:
  /// From the disk. NotFound, or what is wrong with it.
  absl::StatusOr<FoundPlan> findKept(const std::string& key);

  Compiler* compiler_;
  DiskCache* cache_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PLAN_SOURCE_H_
