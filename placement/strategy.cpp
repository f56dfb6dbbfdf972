#include "placement/strategy.h"

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/conflict.h"
#include "placement/device_weights.h"
#include "placement/memory_advice.h"
#include "placement/names.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

constexpr absl::string_view kRandom = "random:";

}  // namespace

absl::Span<const Strategy> strategies() {
  static constexpr std::array<Strategy, 13> kTable = {{
      {"single", "all on the best single device", placeSingle, true},
      {"greedy", "in program order, each node where it finishes first", placeGreedy, true},
      {"heft", "by upward rank with insertion, each node where it finishes first", placeHeft, true},
      {"cpop", "the critical path on one device, the rest where it finishes first", placeCpop,
       true},
      {"peft", "each node where it finishes first, the way to the end counted in", placePeft, true},
      {"etf", "of all ready nodes and devices the pair that starts first", placeEtf, true},
      {"sct", "as etf, but devices wait for what their last result is best for", placeSct, true},
      {"machines", "search and proof for equal devices with free transfers", nullptr, false,
       improveOnMachines, isForMachines},
      {"search", "local search for the shortest step", nullptr, false, improveBySearch,
       isForSearch},
      {"segments", "one part of an order for each device, for throughput", nullptr, false,
       improveBySegments, isForThroughput},
      {"balance", "local search on the loads of devices and links, for throughput", nullptr, false,
       improveByBalance, isForThroughput},
      {"calls", "local search where devices run all their nodes in one call", nullptr, false,
       improveByCalls, isForCalls},
      {"auto", "the best of all, never worse than single", placeAuto},
  }};
  return kTable;
}

absl::StatusOr<const Strategy*> findStrategy(absl::string_view name) {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) {
      return &strategy;
    }
    names.emplace_back(strategy.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no placement strategy '", name, "'", didYouMean(name, names),
                   " (known: ", absl::StrJoin(names, ", "), ", random:SEED)"));
}

absl::StatusOr<PlacementResult> placeWith(const PlacementProblem& problem,
                                          const Strategy& strategy) {
  if (strategy.improve == nullptr) {
    return strategy.place(problem);
  }
  if (!strategy.isFor(problem)) {
    return absl::FailedPreconditionError(absl::StrCat("strategy '", strategy.name,
                                                      "' is not for this problem (",
                                                      strategy.summary, "); use 'auto'"));
  }
  std::vector<Candidate> candidates = runCandidates(problem);
  return strategy.improve(problem, bestCandidate(problem, candidates));
}

absl::StatusOr<PlacementResult> place(const PlacementProblem& problem, absl::string_view name) {
  uint64_t seed = 0;
  if (absl::StartsWith(name, kRandom) && absl::SimpleAtoi(name.substr(kRandom.size()), &seed)) {
    return placeRandom(problem, seed);
  }
  if (WeightedProblem::applies(problem)) {
    GR_ASSIGN_OR_RETURN(WeightedProblem weighted, WeightedProblem::create(problem));
    return weighted.asItRuns(place(weighted.problem(), name));
  }
  GR_ASSIGN_OR_RETURN(const Strategy* strategy, findStrategy(name));
  absl::StatusOr<PlacementResult> result = placeWith(problem, *strategy);
  if (absl::IsResourceExhausted(result.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot place the graph within the memory limits:\n", result.status().message(), "\n",
        describeAdvice(problem, adviseMemory(problem)), "\n", describeMemoryConflict(problem),
        "\nraise the limits, add devices, or free pinned nodes"));
  }
  return result;
}

}  // namespace graphrun::placement
