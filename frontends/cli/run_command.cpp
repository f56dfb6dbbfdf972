// graphrun MODEL …: runs a model and shows, writes or checks its outputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/compare.h"
#include "frontends/cli/deviation.h"
#include "frontends/cli/explain_page.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/peer/peer_comparison.h"
#include "frontends/cli/progress_display.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/npy.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;
using runtime::Session;

constexpr size_t kShownElements = 8;

struct RunOptions {
  std::string model;
  PlaceOptions place;
  FeedOptions feed;
  std::vector<std::string> outputs;
  std::vector<std::string> expects;
  Tolerance tolerance;
  std::string trace;
  std::string report;
  std::string html;
  uint32_t warmup = 0;
  uint32_t iterations = 1;
  bool json = false;
  bool dryRun = false;
  PeerOptions peer;
  std::vector<std::string> dumps;
  std::string dumpFolder = "dump";
};

constexpr uint32_t kLeastPairs = 5;  // of runs here and in another runtime

void addOptions(CLI::App& app, RunOptions& options) {
  app.add_option("MODEL", options.model, "A .fb or .onnx file")->required();
  options.place.add(app);
  options.feed.add(app);
  app.add_option("--output", options.outputs, "Writes an output: y=@y.npy");
  app.add_option("--expect", options.expects, "Compares an output: y=@y.npy");
  Tolerance& allowed = options.tolerance;
  addTolerances(app, allowed.rtol, allowed.atol, allowed.l2, allowed.step, "");
  options.peer.add(app);
  addOutputFile(app, "--trace", options.trace, "Writes a trace of the runs, for Perfetto");
  addOutputFile(app, "--report", options.report, "Writes times, memory and caches as JSON");
  CLI::Option* page = addOutputFile(
      app, "--html", options.html,
      "Writes the page of explain --html with measured beside predicted times: page.html");
  addCount(app, "--warmup", options.warmup, "Warm-up runs, which do not count (0)", 0, kMostRuns);
  addCount(app, "--iterations", options.iterations, "Runs (1)", 1, kMostRuns);
  app.add_flag("--json", options.json, "Prints the report, not the outputs");
  app.add_option("--dump", options.dumps,
                 "Writes intermediate values of the last run as .npy files: results of operations "
                 "by name or pattern, as in 'encoder/*'");
  app.add_option("--dump-folder", options.dumpFolder, "Folder for the files of --dump (dump)");
  app.add_flag("--dry-run", options.dryRun,
               "Plans and loads all that a run needs, and does not run; inputs need only shapes")
      ->excludes(page)
      ->excludes("--compare-to");
}

const NamedTensor* findOutput(const std::vector<NamedTensor>& outputs, const std::string& name) {
  auto found = std::find_if(outputs.begin(), outputs.end(),
                            [&](const NamedTensor& output) { return output.name == name; });
  return found == outputs.end() ? nullptr : &*found;
}

/// An output of the model, and a file for it.
struct OutputFile {
  runtime::ModelPort port;
  std::string path;
};

/// Parses "y=@file".
absl::StatusOr<OutputFile> parseOutput(const std::string& text, const Session& session,
                                       const std::string& option) {
  GR_ASSIGN_OR_RETURN(auto pair, splitByPort(text, session.outputs(), option));
  for (const runtime::ModelPort& port : session.outputs()) {
    if (port.name == pair.first && pair.second.size() > 1 && pair.second[0] == '@') {
      return OutputFile{port, outputPath(pair.second.substr(1))};
    }
  }
  std::string names;
  for (const runtime::ModelPort& port : session.outputs()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", port.name);
  }
  return usageError(absl::StrCat(option, " ", text,
                                 ": expected NAME=@FILE.npy with NAME among the "
                                 "model's outputs ",
                                 names));
}

/// Expected outputs by --expect and --data.
absl::StatusOr<std::vector<NamedTensor>> expectedOutputs(const RunOptions& options,
                                                         const Session& session) {
  std::vector<NamedTensor> expected;
  if (!options.feed.data.empty()) {
    GR_ASSIGN_OR_RETURN(DataSet data,
                        readDataSet(options.feed.data, session.inputs(), session.outputs()));
    expected = std::move(data.outputs);
  }
  for (const std::string& text : options.expects) {
    GR_ASSIGN_OR_RETURN(OutputFile file, parseOutput(text, session, "--expect"));
    absl::StatusOr<runtime::HostTensor> tensor = runtime::readNpy(file.path, file.port.type);
    if (!tensor.ok()) {
      return fileError(tensor.status());
    }
    expected.push_back({file.port.name, *std::move(tensor)});
  }
  return expected;
}

void print(const NamedTensor& output) {
  std::printf("%s: %s [", output.name.c_str(), output.tensor.spec().toString().c_str());
  auto count = static_cast<size_t>(output.tensor.spec().elementCount());
  for (size_t i = 0; i < std::min(count, kShownElements); ++i) {
    std::printf("%s%s", i == 0 ? "" : ", ", elementText(output.tensor, i).c_str());
  }
  std::printf("%s]\n", count > kShownElements ? ", …" : "");
}

/// kOk, or kDiffers with a line for each output that differs.
int compare(const std::vector<NamedTensor>& outputs, const std::vector<NamedTensor>& expected,
            const Tolerance& tolerance) {
  int code = kOk;
  for (const NamedTensor& want : expected) {
    const NamedTensor* got = findOutput(outputs, want.name);
    std::string problem = got == nullptr ? "the model has no such output"
                                         : difference(got->tensor, want.tensor, tolerance);
    if (!problem.empty()) {
      std::fprintf(stderr, "graphrun: output '%s' differs: %s\n", want.name.c_str(),
                   problem.c_str());
      code = kDiffers;
    }
  }
  return code;
}

/// Returns the prediction of a run with these inputs, for --html; "" without it.
absl::StatusOr<std::string> explainRun(const RunOptions& options, Session& session,
                                       const std::vector<NamedTensor>& inputs) {
  if (options.html.empty()) {
    return "";
  }
  std::vector<runtime::NamedSpec> shapes;
  shapes.reserve(inputs.size());
  for (const NamedTensor& input : inputs) {
    shapes.push_back({input.name, input.tensor.spec()});
  }
  return session.explain(shapes);
}

/// The page of --html: what was predicted, and what the runs in `report` took.
absl::Status writePage(const RunOptions& options, const std::string& explanation,
                       const Json& report) {
  if (options.html.empty()) {
    return absl::OkStatus();
  }
  const PageHeader header{options.model, "graphrun explain " + options.model, {}};
  Json measured = {{"latency_ms", report["latency_ms"]},
                   {"predicted_step_ms", report["predicted_step_ms"]},
                   {"times", report["times"]}};
  return fileError(writeText(options.html, explainPage(explanation, header, {"", dump(measured)})));
}

absl::Status writeFiles(const RunOptions& options, Session& session,
                        const std::vector<NamedTensor>& outputs, const Json& report) {
  for (const std::string& text : options.outputs) {
    GR_ASSIGN_OR_RETURN(OutputFile file, parseOutput(text, session, "--output"));
    GR_RETURN_IF_ERROR(
        fileError(runtime::writeNpy(file.path, findOutput(outputs, file.port.name)->tensor)));
  }
  if (!options.trace.empty()) {
    GR_RETURN_IF_ERROR(fileError(session.writeTrace(options.trace)));
  }
  return options.report.empty() ? absl::OkStatus()
                                : fileError(writeText(options.report, dump(report)));
}

/// Values within the model on their way to files.
class Dumps {
 public:
  explicit Dumps(const RunOptions& options) : folder_(options.dumpFolder) {}

  /// From now on; before, values are of runs that do not count.
  void begin() { writes_ = true; }

  void write(const std::string& name, const runtime::HostTensor& value) {
    if (!writes_ || !status_.ok()) {
      return;
    }
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    std::string file = name;  // of a file in the folder, whatever the operation is called
    std::replace(file.begin(), file.end(), '/', '_');
    status_ = runtime::writeNpy(absl::StrCat(folder_, "/", file, ".npy"), value);
  }
  absl::Status status() const { return fileError(status_); }

 private:
  std::string folder_;
  bool writes_ = false;
  absl::Status status_;
};

/// The times of runs, in milliseconds, without what made them ready.
using Times = std::vector<double>;

/// All runs, those before the ones that count included.
absl::Status runAll(const RunOptions& options, Session& session,
                    const std::vector<NamedTensor>& inputs, std::vector<NamedTensor>& outputs,
                    ProgressDisplay& display, Dumps& dumps, Times& times) {
  const uint64_t all = uint64_t{options.warmup} + options.iterations;
  uint64_t prepared = session.stats().preparedNanos;
  for (uint64_t i = 0; i < all; ++i) {
    if (all > 1 && session.stats().plansLoaded > 0) {
      display.tell({.what = "running", .done = i, .total = all});
    }
    if (i + 1 == all) {
      dumps.begin();
    }
    const int64_t begin = runtime::nowNanos();
    GR_RETURN_IF_ERROR(session.run(inputs, outputs));
    const auto took = static_cast<uint64_t>(runtime::nowNanos() - begin);
    const uint64_t before = std::exchange(prepared, session.stats().preparedNanos);
    if (i >= options.warmup) {
      times.push_back(millis(took - (prepared - before)));
    }
  }
  display.tell({});
  return dumps.status();
}

std::string deviceNames(const runtime::SessionStats& stats) {
  return absl::StrJoin(stats.devices, ", ",
                       [](std::string* out, const runtime::DeviceStats& device) {
                         absl::StrAppend(out, device.device);
                       });
}

/// Describes the prediction of a step, and of many where that is the objective: "3.100 ms; 43.2
/// steps/s".
std::string predictedText(const RunOptions& options, const runtime::SessionStats& stats) {
  std::string text = absl::StrFormat("%.3f ms", millis(stats.predictedStepNanos));
  if (options.place.objective == "throughput") {
    absl::StrAppendFormat(&text, "; %.1f steps/s%s", predictedThroughput(stats),
                          stats.predictedPeriodNanos != 0 ? " with several in flight" : "");
  }
  return text;
}

/// Tells the user at the end, on stderr, how long the run took, where, and whether that was
/// expected.
void tellRun(const RunOptions& options, const runtime::SessionStats& stats, const Json& latency,
             size_t runs) {
  if (runtime::logThreshold() > runtime::LogLevel::kWarning) {
    return;
  }
  std::string predicted = stats.predictedStepNanos == 0
                              ? ""
                              : absl::StrCat(" (predicted ", predictedText(options, stats), ")");
  std::fprintf(stderr, "graphrun: ran %s in %.3f ms%s on %s; ready after %.1f ms\n",
               runs == 1 ? "once" : absl::StrCat(runs, " times, typically").c_str(),
               latency["p50"].get<double>(), predicted.c_str(), deviceNames(stats).c_str(),
               millis(stats.openNanos + stats.preparedNanos));
}

/// Everything but runs.
absl::StatusOr<int> prepareOnly(const RunOptions& options, Session& session) {
  GR_ASSIGN_OR_RETURN(std::vector<runtime::NamedSpec> shapes,
                      feedShapes(options.feed, session.inputs()));
  GR_RETURN_IF_ERROR(session.prepare(shapes));
  runtime::SessionStats stats = session.stats();
  if (options.json) {
    std::fputs(dump(statsJson(stats)).c_str(), stdout);
    return kOk;
  }
  if (stats.devices.empty()) {
    std::printf("nothing is placed yet: shapes depend on values of inputs\n");
    return kOk;
  }
  std::printf("predicted time of a run: %s\n", predictedText(options, stats).c_str());
  for (const runtime::DeviceStats& device : stats.devices) {
    std::printf("%s: %.1f MiB\n", device.device.c_str(),
                static_cast<double>(device.bytes) / (1 << 20));
  }
  return kOk;
}

absl::StatusOr<int> run(const RunOptions& options) {
  GR_RETURN_IF_ERROR(options.peer.check(options.model));
  ProgressDisplay display;
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions sessionOptions, options.place.toSession());
  sessionOptions.progress = display.sink();
  sessionOptions.traceFailures = !options.trace.empty();
  sessionOptions.explain = {!options.html.empty(), !options.html.empty(), {}};
  Dumps dumps(options);
  sessionOptions.dumps = options.dumps;
  sessionOptions.dumped = [&](const std::string& name, const runtime::HostTensor& value) {
    dumps.write(name, value);
  };
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create(options.model, sessionOptions));
  for (const std::string& text : options.outputs) {
    GR_RETURN_IF_ERROR(parseOutput(text, *session, "--output").status());
  }
  if (options.dryRun) {
    return prepareOnly(options, *session);
  }
  GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> expected, expectedOutputs(options, *session));
  GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs,
                      feeds(options.feed, session->inputs(), false));
  // Before it runs: what it teaches is no prediction of it.
  GR_ASSIGN_OR_RETURN(std::string explanation, explainRun(options, *session, inputs));
  std::vector<NamedTensor> outputs;
  Times times;
  if (absl::Status ran = runAll(options, *session, inputs, outputs, display, dumps, times);
      !ran.ok()) {
    writeTraceOfFailure(options.trace, *session);
    return ran;
  }
  runtime::SessionStats stats = session->stats();
  Json report = statsJson(stats);
  report["latency_ms"] = latencyJson(times);
  report["precision"] = options.place.precision;
  if (sessionOptions.precision != runtime::Precision::kF32) {
    GR_ASSIGN_OR_RETURN(report["deviation"],
                        deviationFromF32(options.model, sessionOptions, inputs, outputs));
  }
  report["times"] = timesJson(session->times());
  if (!options.peer.name.empty()) {
    GR_ASSIGN_OR_RETURN(
        report["compared_to"],
        compareToPeer(options.peer, options.model, *session, inputs, options.place.threads,
                      std::max(options.iterations, kLeastPairs)));
  }
  GR_RETURN_IF_ERROR(writeFiles(options, *session, outputs, report));
  GR_RETURN_IF_ERROR(writePage(options, explanation, report));
  if (options.json) {
    std::fputs(dump(report).c_str(), stdout);
  } else {
    std::for_each(outputs.begin(), outputs.end(), print);
    std::fputs(deviationText(report.value("deviation", Json::array())).c_str(), stdout);
  }
  tellRun(options, stats, report["latency_ms"], times.size());
  int code = compare(outputs, expected, options.tolerance);
  if (report.contains("compared_to")) {
    const std::string text = peerText(report["compared_to"]);
    std::fputs(text.c_str(), options.json ? stderr : stdout);
    code = std::max<int>(code, peerCode(report["compared_to"]));
  }
  return code;
}

}  // namespace

int runCommand(int argc, char** argv) {
  CLI::App app("Runs a model. Other commands: graphrun --help", "graphrun");
  RunOptions options;
  addOptions(app, options);
  return parseAndRun(app, argc, argv, [&]() -> int {
    options.peer.take(app, options.tolerance, options.place.precision);
    absl::StatusOr<int> code = run(options);
    return code.ok() ? *code : report(code.status());
  });
}

}  // namespace graphrun::cli
