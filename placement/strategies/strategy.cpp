#include "placement/strategies/strategy.h"

#include <array>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "placement/cost_file_searches/cost_file_searches.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/rules/conflict.h"
#include "placement/search/latency_searches.h"
#include "placement/strategies/device_weights.h"
#include "placement/strategies/memory_advice.h"
#include "placement/strategies/memory_conflict.h"
#include "placement/strategies/portfolio.h"
#include "placement/throughput/throughput_searches.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

constexpr absl::string_view kRandom = "random:";
constexpr absl::string_view kOn = "on:";

std::vector<const Strategy*> searchesFor(const PlacementProblem& problem) {
  std::vector<const Strategy*> searches;
  for (const Strategy& strategy : strategies()) {
    if (strategy.improve != nullptr && strategy.isFor(problem)) {
      searches.push_back(&strategy);
    }
  }
  return searches;
}

absl::StatusOr<PlacementResult> placeNamed(const PlacementProblem& problem, absl::string_view name,
                                           std::vector<Candidate>* candidates) {
  if (absl::ConsumePrefix(&name, kOn)) {
    if (std::optional<int> device = problem.cluster().findDevice(name)) {
      return placeOn(problem, *device);
    }
    return absl::NotFoundError(
        absl::StrCat("placement on:", name, ": no such device",
                     runtime::didYouMean(name, problem.cluster().deviceNames())));
  }
  GR_ASSIGN_OR_RETURN(const Strategy* strategy, findStrategy(name));
  return placeWith(problem, *strategy, candidates);
}

}  // namespace

absl::Span<const Strategy> strategies() {
  static constexpr std::array<Strategy, 15> kTable = {{
      {"single", "all on the best single device", placeSingle},
      {"most", "all nodes that one device can run there, the rest where they are fastest",
       placeMost, nullptr, isForMost},
      {"greedy", "in program order, each node where it finishes first", placeGreedy},
      {"heft", "by upward rank with insertion, each node where it finishes first", placeHeft},
      {"cpop", "the critical path on one device, the rest where it finishes first", placeCpop},
      {"peft", "each node where it finishes first, with the rest of its path counted", placePeft},
      {"etf", "of all ready nodes and devices the pair that starts first", placeEtf},
      {"sct", "like etf, but a device waits for the best reader of its last result", placeSct},
      {"machines", "search and proof for equal devices with free transfers", nullptr,
       improveOnMachines, isForMachines, true},
      {"cores",
       "more or fewer of the cores that devices share, by how many nodes could run at a time",
       nullptr, improveByCores, isForCores},
      {"search", "local search for the shortest step", nullptr, improveBySearch, isForSearch},
      {"segments", "one part of an order for each device, for throughput", nullptr,
       improveBySegments, isForThroughput},
      {"balance", "local search on the loads of devices and links, for throughput", nullptr,
       improveByBalance, isForThroughput},
      {"calls", "local search where devices run all their nodes in one call", nullptr,
       improveOffload, isForOffload, true},
      {"auto", "the best of all, never worse than single"},
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
      absl::StrCat("no placement strategy '", name, "'", runtime::didYouMean(name, names),
                   " (known: ", absl::StrJoin(names, ", "), ", random:SEED, on:DEVICE)"));
}

absl::StatusOr<PlacementResult> placeWith(const PlacementProblem& problem, const Strategy& strategy,
                                          std::vector<Candidate>* candidates) {
  if (strategy.place != nullptr) {
    return strategy.place(problem);
  }
  if (!strategy.isFor(problem)) {
    return absl::FailedPreconditionError(absl::StrCat("strategy '", strategy.name,
                                                      "' is not for this problem (",
                                                      strategy.summary, "); use 'auto'"));
  }
  Portfolio portfolio(problem);
  portfolio.runHeuristics();
  portfolio.runSearches(strategy.isPortfolio() ? searchesFor(problem)
                                               : std::vector<const Strategy*>{&strategy});
  absl::StatusOr<PlacementResult> result = portfolio.result();
  if (candidates != nullptr) {
    *candidates = portfolio.takeCandidates();
  }
  return result;
}

absl::StatusOr<PlacementResult> place(const PlacementProblem& problem, absl::string_view name,
                                      std::vector<Candidate>* candidates) {
  uint64_t seed = 0;
  if (absl::StartsWith(name, kRandom) && absl::SimpleAtoi(name.substr(kRandom.size()), &seed)) {
    return placeRandom(problem, seed);
  }
  if (WeightedProblem::applies(problem)) {
    GR_ASSIGN_OR_RETURN(WeightedProblem weighted, WeightedProblem::create(problem));
    absl::StatusOr<PlacementResult> result =
        weighted.asItRuns(place(weighted.problem(), name, candidates));
    if (candidates != nullptr) {
      for (Candidate& candidate : *candidates) {
        candidate.result = weighted.asItRuns(std::move(candidate.result));
      }
    }
    return result;
  }
  absl::StatusOr<PlacementResult> result = placeNamed(problem, name, candidates);
  if (absl::IsResourceExhausted(result.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot place the graph within the memory limits:\n", result.status().message(), "\n",
        describeAdvice(problem, adviseMemory(problem)), "\n", describeMemoryConflict(problem),
        "\nraise the limits, add devices, or free pinned nodes"));
  }
  return result;
}

}  // namespace graphrun::placement
