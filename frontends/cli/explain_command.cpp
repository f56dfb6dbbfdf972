// graphrun explain: where a model's operations would run, and why.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/explain_output.h"
#include "frontends/cli/explain_text.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/model_arguments.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"

namespace graphrun::cli {
namespace {

using runtime::Session;

struct ExplainArguments {
  ModelArguments model;
  ExplainOutput output;
  std::string onnx;
  std::string costs;
  CLI::Option* costsOption = nullptr;
  runtime::WhatIf whatIf;

  /// With --costs, and no file.
  bool showsLearned() const { return *costsOption && costs.empty(); }

  void add(CLI::App& app) {
    model.add(app);
    output.add(app);
    app.add_option("--add", whatIf.addedDevices,
                   "Adds a hypothetical device:  node2:cuda, node2:cpu=48GiB; with a worker of a "
                   "new name on a machine of its own");
    app.add_option(
        "--link", whatIf.changedLinks,
        "Changes links hypothetically:  100Gbps between all workers, node0,node1=12GB/s,3us");
    costsOption = addOutputFile(app, "--costs", costs,
                                "Shows the measured costs of the devices and links: how many, how "
                                "certain and how old they are; with a file: writes the model's "
                                "cost graph on this cluster there, as `graphrun place` reads it")
                      ->expected(0, 1);
    app.add_option("--write-onnx", onnx,
                   "Writes the ONNX model with its placement, as Netron shows it and explain and "
                   "run read it: placed.onnx");
  }
};

/// Checks that a placement in `model` can be written to `out`, an ONNX file or "".
absl::Status checkOnnx(const std::string& model, const std::string& out) {
  if (!out.empty() && !absl::EndsWithIgnoreCase(model, ".onnx")) {
    return usageError(absl::StrCat("--write-onnx needs an ONNX file to write into a copy of, got '",
                                   model, "'; give the .onnx file that it was compiled from"));
  }
  if (!out.empty() && !absl::EndsWithIgnoreCase(out, ".onnx")) {
    return usageError(absl::StrCat("--write-onnx ", out, ": expected a name that ends in .onnx"));
  }
  return absl::OkStatus();
}

std::string ageOf(uint64_t seconds) {
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  const uint64_t age = now - std::min(now, seconds);
  return seconds == 0   ? "of unknown age"
         : age < 120    ? absl::StrCat(age, " s old")
         : age < 7200   ? absl::StrCat(age / 60, " min old")
         : age < 172800 ? absl::StrCat(age / 3600, " h old")
                        : absl::StrCat(age / 86400, " days old");
}

/// Returns what runs have taught, a line a device or link.
std::string learnedText(const std::vector<runtime::LearnedCosts>& all) {
  std::string text =
      all.empty() ? "learned: nothing yet; runs and `graphrun doctor --calibrate` measure costs\n"
                  : "learned:\n";
  for (const runtime::LearnedCosts& costs : all) {
    absl::StrAppendFormat(&text, "  %s: %d %s, %d to %d runs each, typical spread %.0f %%, %s\n",
                          costs.what, costs.count, costs.entries, costs.fewestRuns, costs.mostRuns,
                          100 * costs.spread, ageOf(costs.updatedSeconds));
  }
  return text;
}

Json learnedJson(const std::vector<runtime::LearnedCosts>& all) {
  Json list = Json::array();
  for (const runtime::LearnedCosts& costs : all) {
    list.push_back({{"what", costs.what},
                    {"entries", costs.entries},
                    {"count", costs.count},
                    {"fewest_runs", costs.fewestRuns},
                    {"most_runs", costs.mostRuns},
                    {"spread", costs.spread},
                    {"updated_s", costs.updatedSeconds}});
  }
  return list;
}

/// An explanation for people, or as JSON, and what was learned where that is asked for.
absl::StatusOr<std::string> shownText(const ExplainArguments& arguments, const std::string& text,
                                      const std::vector<runtime::LearnedCosts>& learned) {
  if (!arguments.model.json) {
    return absl::StrCat(arguments.output.ops.empty() ? explainText(text) : choicesText(text),
                        arguments.showsLearned() ? learnedText(learned) : "");
  }
  if (!arguments.showsLearned()) {
    return text + "\n";
  }
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InternalError("an explanation is no JSON object");
  }
  json["learned"] = learnedJson(learned);
  return dump(json);
}

/// Adds to an explanation what a step takes by another one.
absl::StatusOr<std::string> withStepWithout(const std::string& changed, const std::string& now) {
  auto json = nlohmann::ordered_json::parse(changed, nullptr, /*allow_exceptions=*/false);
  Json without = Json::parse(now, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !without.is_object()) {
    return absl::InternalError("an explanation is no JSON object");
  }
  json["step_ns_without"] = without.value("latency_ns", Json(0));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The explanation of the placement to compare with; "" where none is asked for.
absl::StatusOr<std::string> explainOther(const ExplainArguments& arguments) {
  if (arguments.output.compareWith.empty()) {
    return "";
  }
  ProgressDisplay display;
  ModelArguments other = arguments.model;
  other.place.placement = arguments.output.compareWith;
  other.place.from.clear();
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      other.open({.details = true}, arguments.whatIf, &display));
  GR_ASSIGN_OR_RETURN(std::vector<runtime::NamedSpec> shapes,
                      feedShapes(other.feed, session->inputs()));
  absl::StatusOr<std::string> told = session->explain(shapes);
  return told.ok() ? told
                   : runtime::annotate(told.status(), absl::StrCat("--compare-with ",
                                                                   arguments.output.compareWith));
}

absl::StatusOr<std::string> explain(const ExplainArguments& arguments,
                                    std::vector<runtime::LearnedCosts>& learned) {
  ProgressDisplay display;
  runtime::ExplainOptions options = arguments.output.options();
  options.details = options.details || arguments.model.json;
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      arguments.model.open(options, arguments.whatIf, &display));
  GR_ASSIGN_OR_RETURN(std::vector<runtime::NamedSpec> shapes,
                      feedShapes(arguments.model.feed, session->inputs()));
  if (!arguments.costs.empty()) {
    GR_ASSIGN_OR_RETURN(std::string text, session->costs(shapes));
    GR_RETURN_IF_ERROR(fileError(writeText(arguments.costs, text)));
  }
  GR_ASSIGN_OR_RETURN(std::string explanation, session->explain(shapes));
  learned = session->learned();
  if (arguments.whatIf.empty()) {
    return explanation;
  }
  GR_ASSIGN_OR_RETURN(session, arguments.model.open());
  GR_ASSIGN_OR_RETURN(std::string now, session->explain(shapes));
  return withStepWithout(explanation, now);
}

absl::Status run(const ExplainArguments& arguments) {
  GR_RETURN_IF_ERROR(checkOnnx(arguments.model.model, arguments.onnx));
  std::vector<runtime::LearnedCosts> learned;
  GR_ASSIGN_OR_RETURN(std::string text, explain(arguments, learned));
  std::string warnings;
  if (!arguments.onnx.empty()) {
    GR_ASSIGN_OR_RETURN(warnings,
                        runtime::annotateModel(arguments.model.model, text, arguments.onnx));
  }
  PageHeader header{arguments.model.model, "graphrun explain " + arguments.model.model, {}};
  GR_ASSIGN_OR_RETURN(std::string other, explainOther(arguments));
  GR_RETURN_IF_ERROR(arguments.output.write(text, other, header));
  GR_ASSIGN_OR_RETURN(std::string shown, shownText(arguments, text, learned));
  std::fputs(shown.c_str(), stdout);
  std::fputs(warnings.c_str(), stderr);
  return absl::OkStatus();
}

}  // namespace

int explainCommand(int argc, char** argv) {
  CLI::App app("Shows where a model's operations would run, with predicted time and memory.",
               "graphrun explain");
  ExplainArguments arguments;
  arguments.add(app);
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::Status status = run(arguments);
    return status.ok() ? kOk : report(status);
  });
}

}  // namespace graphrun::cli
