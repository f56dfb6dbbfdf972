#include "frontends/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontends/cli/option_values.h"
#include "runtime/base/log.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/session/error_domain.h"

namespace graphrun::cli {
namespace {

using Millis = std::chrono::milliseconds;
using runtime::ErrorDomain;

constexpr uint32_t kMostParts = 64;

/// The value of --split for a session.
absl::StatusOr<uint32_t> parseSplit(const std::string& text) {
  uint32_t parts = 0;
  if (text == "auto" || text == "never") {
    return text == "never" ? 1U : 0U;
  }
  if (absl::SimpleAtoi(text, &parts) && parts >= 2 && parts <= kMostParts) {
    return parts;
  }
  return usageError(absl::StrCat(
      "--split ", text, ": expected auto, never or a number of parts from 2 to ", kMostParts));
}

}  // namespace

ExitCode exitCodeOf(const absl::Status& status) {
  switch (runtime::domainOf(status)) {
    case ErrorDomain::kModel:
      return kBadFile;
    case ErrorDomain::kInput:
      return kUsage;
    case ErrorDomain::kPlacement:
      return kNotPlaced;
    case ErrorDomain::kRun:
      break;
  }
  switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kNotFound:
      return kInternal;
    default:
      return kWorker;
  }
}

ExitCode report(const absl::Status& status) {
  std::fprintf(stderr, "graphrun: %s\n", std::string(status.message()).c_str());
  return exitCodeOf(status);
}

absl::Status usageError(absl::string_view message) {
  return runtime::inDomain(absl::InvalidArgumentError(message), ErrorDomain::kInput);
}

absl::Status fileError(const absl::Status& status) {
  return runtime::inDomain(status, ErrorDomain::kModel);
}

void addPlanBudget(CLI::App& app, std::chrono::nanoseconds& budget) {
  addTime(app, "--plan-budget", budget,
          "Time limit of the search for a placement: 200ms, 2s; default: the search decides");
}

void PlaceOptions::add(CLI::App& app) {
  app.add_option("--cluster", cluster, "The machines to use (cluster.yaml); default: this one");
  app.add_option("--placement", placement,
                 "auto, a strategy (single, greedy, heft, cpop, peft, etf, sct, search, …), "
                 "on:DEVICE (all that it can run, the rest elsewhere), or a placement file (JSON)");
  addChoice(
      app, "--objective", objective,
      "Objective of the placement: latency, the time of one step; throughput, the steps per second "
      "when each of several callers has one in flight, which takes memory for each (latency)",
      {"latency", "throughput"});
  app.add_option("--from", from,
                 "Placement file to start the search from, of a slightly different model or "
                 "cluster: takes a fraction of the time");
  addPlanBudget(app, planBudget);
  app.add_option("--pin", pins,
                 "Pins nodes to a device: 'encoder/*=node1/cpu:0'; '@gpu0=node1/cpu:0' pins the "
                 "nodes that the model has on its device or layer gpu0");
  app.add_option("--forbid", forbids, "Keeps nodes off devices: 'embed*=node1/cuda:*'");
  app.add_option("--memory-limit", memoryLimits, "Memory limit of a device: node0/cpu:0=2GiB");
  addCount(app, "--threads", threads, "Threads of a kernel; 0: as many as allowed (0)", 0,
           kMostThreads);
  app.add_option(
      "--split", split,
      "Splits the cores of a CPU into parts for branches that run in parallel: auto (where "
      "measured times promise a gain), never, or a number of parts: 2, 4, … (auto)");
  addTime(app, "--timeout", timeout, "Time limit of a run, and of workers to join: 500ms, 30s",
          {.most = std::chrono::hours(7 * 24)});
  addTime(app, "--tune-budget", tuneBudget,
          "Time that the second run may spend on measuring kernels; 0: none (5s)",
          {.most = std::chrono::hours(1)});
  app.add_flag("--exact", exact,
               "Excludes algorithms that round more than the operations (Winograd)");
  app.add_flag(
      "--deterministic", deterministic,
      "Like --exact, and kernels are not chosen by measurement: equal runs give equal bits");
  addChoice(app, "--precision", precision,
            "f32: as the model says; tf32: GPUs may round the factors of f32 products to 11 bits, "
            "CPUs compute in f32; bf16: products and the values between them have half as many "
            "bits, and the outputs' deviation is reported (f32)",
            {"f32", "tf32", "bf16"});
  app.add_flag("--no-fusion", noFusion, "Makes every operation a kernel of its own");
  app.add_flag("--no-learn", noLearn,
               "Does not record the times of runs; recorded ones still count");
}

absl::StatusOr<runtime::SessionOptions> PlaceOptions::toSession() const {
  runtime::SessionOptions session;
  session.cluster = cluster;
  session.strategy = placement;
  session.objective =
      objective == "throughput" ? runtime::Objective::kThroughput : runtime::Objective::kLatency;
  session.from = from;
  session.planBudget = planBudget;
  if (!from.empty() && placement != "auto") {
    return usageError("--from goes with --placement auto; remove one of them");
  }
  session.threads = threads;
  GR_ASSIGN_OR_RETURN(session.split, parseSplit(split));
  session.fusion = !noFusion;
  session.learnCosts = !noLearn;
  session.numerics = deterministic ? runtime::Numerics::kDeterministic
                     : exact       ? runtime::Numerics::kExact
                                   : runtime::Numerics::kFast;
  session.precision = precision == "bf16"   ? runtime::Precision::kBF16
                      : precision == "tf32" ? runtime::Precision::kTF32
                                            : runtime::Precision::kF32;
  session.stepTimeout = std::chrono::ceil<Millis>(timeout);  // 0 would be no limit
  if (timeout.count() > 0) {
    session.joinTimeout = std::min(session.joinTimeout, session.stepTimeout);
  }
  session.tuneBudget = std::chrono::floor<Millis>(tuneBudget);
  for (const std::string& pin : pins) {
    GR_ASSIGN_OR_RETURN(auto pair, splitPair(pin, '=', "--pin"));
    session.pins.push_back({pair.first, pair.second});
  }
  for (const std::string& forbid : forbids) {
    GR_ASSIGN_OR_RETURN(auto pair, splitPair(forbid, '=', "--forbid"));
    session.forbids.push_back({pair.first, pair.second});
  }
  for (const std::string& limit : memoryLimits) {
    GR_ASSIGN_OR_RETURN(auto pair, splitPair(limit, '=', "--memory-limit"));
    GR_ASSIGN_OR_RETURN(uint64_t bytes, parseBytes(pair.second));
    session.memoryLimits.push_back({pair.first, bytes});
  }
  return session;
}

void FeedOptions::add(CLI::App& app) {
  app.add_option("--input", inputs,
                 "An input: x=@x.npy, x=2x64xf32=1 (filled), x=random, x=random:7 (seed)");
  app.add_option("--shape", shapes, "The shape of a random input: x:1x3x224x224");
  app.add_option("--data", data, "A folder with input_N.pb and output_N.pb (ONNX test data)");
}

absl::StatusOr<std::pair<std::string, std::string>> splitPair(const std::string& text,
                                                              char separator,
                                                              const std::string& option) {
  size_t at = text.find(separator);
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return usageError(
        absl::StrCat(option, " ", text, ": expected NAME", std::string(1, separator), "VALUE"));
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

namespace {

/// Names of an app's options, as they are written.
std::vector<std::string> optionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// Returns the problem with arguments that no option takes; "" where all are taken.
std::string unknownArguments(const CLI::App& app) {
  std::string text;
  for (const std::string& argument : app.remaining()) {
    std::string name = argument.substr(0, argument.find('='));
    bool isOption = absl::StartsWith(argument, "-");
    absl::StrAppend(&text, "graphrun: ",
                    isOption ? absl::StrCat("there is no option '", name, "'",
                                            runtime::didYouMean(name, optionNames(app)))
                             : absl::StrCat("nothing takes the argument '", argument, "'"),
                    "\n");
  }
  return text;
}

/// Verbosity says how much a program tells, in each command.
struct Verbosity {
  int more = 0;
  bool quiet = false;

  void add(CLI::App& app) {
    app.add_flag("-v,--verbose", more, "Logs more of what happens; -vv: for debugging");
    app.add_flag("-q,--quiet", quiet, "Reports errors only, and no progress");
  }
  void apply() const {
    runtime::setLogThreshold(quiet      ? runtime::LogLevel::kError
                             : more > 1 ? runtime::LogLevel::kDebug
                             : more > 0 ? runtime::LogLevel::kInfo
                                        : runtime::LogLevel::kWarning);
  }
};

}  // namespace

int parseAndRun(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  Verbosity verbosity;
  verbosity.add(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports by exception, --help too.
    std::string unknown = error.get_exit_code() == 0 ? "" : unknownArguments(app);
    if (!unknown.empty()) {
      std::fprintf(stderr, "%sRun with --help for more information.\n", unknown.c_str());
      return kUsage;
    }
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  verbosity.apply();
  return body();
}

}  // namespace graphrun::cli
