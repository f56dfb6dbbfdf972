// graphrun place: a bare cost graph, placed without a model.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/explain_output.h"
#include "frontends/cli/explain_text.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_api.h"

namespace graphrun::cli {
namespace {

/// Nothing for "".
absl::StatusOr<runtime::MappedFile> openIfNamed(const std::string& path) {
  if (path.empty()) {
    return runtime::MappedFile();
  }
  absl::StatusOr<runtime::MappedFile> file = runtime::MappedFile::open(path);
  return file.ok() ? std::move(file) : fileError(file.status());
}

/// The explanation in an answer, as text.
absl::StatusOr<std::string> explanationIn(const std::string& answer) {
  Json all = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  return all.is_object() && all.contains("explanation")
             ? absl::StatusOr<std::string>(dump(all["explanation"]))
             : absl::InternalError("the answer holds no explanation");
}

const std::string kNoFile;

struct PlaceArguments {
  std::vector<std::string> files;
  uint32_t devices = 0;
  std::string objective;
  bool contiguous = false;
  std::string strategy = "auto";
  uint64_t seed = 0;
  std::chrono::nanoseconds budget{0};
  std::string placement;
  std::string from;
  ExplainOutput output;
  bool json = false;

  void add(CLI::App& app) {
    app.add_option("FILE", files,
                   "GraphRun's own cost graphs (JSON), standard task graphs (STG) and those of "
                   "dnn-partitioning (JSON); each is placed by itself")
        ->required();
    addCount(app, "--devices", devices, "Number of equal processors, for a standard task graph", 1,
             1024);
    addChoice(app, "--objective", objective,
              "latency: the time of one step; throughput: the time between steps that follow "
              "each other; default: the file's",
              {"latency", "throughput"});
    app.add_flag("--contiguous", contiguous,
                 "No path may leave a device and come back to it, backward nodes aside");
    app.add_option(
        "--strategy", strategy,
        "Strategy: auto, one of its parts (single, heft, balance, …), or random:SEED (auto)");
    app.add_option("--placement", placement,
                   "A placement file (JSON) to use, in place of a strategy");
    app.add_option("--from", from,
                   "Placement file to start the search from, of a slightly different graph: takes "
                   "a fraction of the time of auto");
    output.add(app);
    addSeed(app, "--seed", seed, "Seed of random searches (0)");
    addPlanBudget(app, budget);
    app.add_flag("--json", json,
                 "Prints JSON, an object a file, with a device, start and finish for each node");
  }

  /// Places by a strategy or a placement file (JSON); `by` with neither as the arguments say.
  absl::StatusOr<std::string> run(const std::string& file, const std::string& by = "") const {
    const bool byFile = absl::EndsWith(by, ".json");
    const std::string& chosen = by.empty() || byFile ? strategy : by;
    const std::string& placementPath = by.empty() ? placement : byFile ? by : kNoFile;
    absl::StatusOr<runtime::MappedFile> mapped = runtime::MappedFile::open(file);
    if (!mapped.ok()) {
      return fileError(mapped.status());
    }
    GrCosts costs{};
    costs.name = file.c_str();
    costs.bytes = {mapped->bytes().data(), mapped->bytes().size()};
    costs.devices = devices;
    costs.contiguous = contiguous ? 1 : 0;
    costs.objective = objective.c_str();
    costs.strategy = chosen.c_str();
    costs.seed = seed;
    costs.budgetNanos = static_cast<uint64_t>(budget.count());
    GR_ASSIGN_OR_RETURN(runtime::MappedFile given, openIfNamed(placementPath));
    costs.placement = {given.bytes().data(), given.bytes().size()};
    costs.placementName = placementPath.c_str();
    GR_ASSIGN_OR_RETURN(runtime::MappedFile previous, openIfNamed(by.empty() ? from : kNoFile));
    costs.from = {previous.bytes().data(), previous.bytes().size()};
    costs.fromName = from.c_str();
    std::vector<const char*> ops;
    ops.reserve(output.ops.size());
    for (const std::string& op : output.ops) {
      ops.push_back(op.c_str());
    }
    costs.explain = output.wanted() ? 1 : 0;
    costs.explained = ops.data();
    costs.explainedCount = ops.size();
    return runtime::placeCosts(costs);
  }

  /// Prints the answer, and writes the files that were asked for.
  absl::Status tell(const std::string& file, const std::string& answer) const {
    std::fputs((json ? answer + "\n" : placeText(answer)).c_str(), stdout);
    if (!output.wanted()) {
      return absl::OkStatus();
    }
    GR_ASSIGN_OR_RETURN(std::string explanation, explanationIn(answer));
    Json all = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
    TimeUnit unit{all.value("unit", "ns"), all.value("ns_per_unit", int64_t{1})};
    if (!json && !output.ops.empty()) {
      std::fputs(choicesText(explanation, unit).c_str(), stdout);
    }
    std::string other;
    if (!output.compareWith.empty()) {
      GR_ASSIGN_OR_RETURN(std::string compared, run(file, output.compareWith));
      GR_ASSIGN_OR_RETURN(other, explanationIn(compared));
    }
    return output.write(explanation, other, {file, "graphrun place " + file, unit});
  }
};

}  // namespace

int placeCommand(int argc, char** argv) {
  CLI::App app("Places a bare cost graph, without a model.", "graphrun place");
  PlaceArguments arguments;
  arguments.add(app);
  return parseAndRun(app, argc, argv, [&]() -> int {
    if (arguments.files.size() > 1 && arguments.output.wanted()) {
      return report(usageError("--op, --html and --write-placement are for one FILE"));
    }
    for (const std::string& file : arguments.files) {
      absl::StatusOr<std::string> answer = arguments.run(file);
      if (!answer.ok()) {
        return report(answer.status());
      }
      absl::Status told = arguments.tell(file, *answer);
      if (!told.ok()) {
        return report(told);
      }
    }
    return kOk;
  });
}

}  // namespace graphrun::cli
