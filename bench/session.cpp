// bench_session: what a session costs beside its kernels. One line of JSON: for each signature the
// time to its first result and of a later run; what a step costs; memory and threads of several
// sessions in a process; and the processor time of a process that has nothing to do.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "frontends/cli/command_line.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace graphrun {
namespace {

using cli::Json;
using runtime::NamedTensor;
using runtime::Session;

struct Flags {
  std::string model;
  std::vector<std::string> signatures;  // "x=1x3x224x224,y=1x8"
  uint32_t threads = 1;
  uint32_t sessions = 1;
  uint32_t tuneMillis = 0;
  uint32_t steps = 0;
  double idleSeconds = 0;
};

double millisSince(int64_t begin) { return static_cast<double>(runtime::nowNanos() - begin) / 1e6; }

/// A number of /proc/self/status.
uint64_t ownStatus(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string word;
  uint64_t number = 0;
  while (file >> word && word != key + ":") {
  }
  file >> number;
  return number;
}

/// Of all threads of this process.
double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

absl::StatusOr<std::vector<NamedTensor>> inputsOf(const std::string& signature,
                                                  const Session& session) {
  cli::FeedOptions options;
  for (size_t begin = 0; begin < signature.size();) {
    size_t end = std::min(signature.find(',', begin), signature.size());
    std::string shape = signature.substr(begin, end - begin);
    shape[shape.find('=')] = ':';
    options.shapes.push_back(shape);
    begin = end + 1;
  }
  return cli::feeds(options, session.inputs(), true);
}

/// Times of one signature: to the first result, with its parts, median and longest of later runs.
absl::StatusOr<Json> firstRuns(Session& session, const std::vector<NamedTensor>& inputs) {
  std::vector<NamedTensor> outputs;
  const int64_t begin = runtime::nowNanos();
  GR_RETURN_IF_ERROR(session.run(inputs, outputs));
  const double first = millisSince(begin);
  runtime::SessionStats stats = session.stats();
  std::vector<double> later;
  for (int i = 0; i < 5; ++i) {
    const int64_t start = runtime::nowNanos();
    GR_RETURN_IF_ERROR(session.run(inputs, outputs));
    later.push_back(millisSince(start));
  }
  std::sort(later.begin(), later.end());
  return Json{{"first_ms", first},
              {"plan_ms", static_cast<double>(stats.lastPlanNanos) / 1e6},
              {"load_ms", static_cast<double>(stats.lastLoadNanos) / 1e6},
              {"run_ms", later[later.size() / 2]},
              {"worst_ms", later.back()},
              {"resident_kib", ownStatus("VmRSS")}};
}

/// Median and least of the times of batches of runs, in microseconds a run.
absl::StatusOr<Json> stepCost(Session& session, const std::vector<NamedTensor>& inputs,
                              uint32_t steps) {
  constexpr uint32_t kBatch = 100;
  std::vector<NamedTensor> outputs;
  std::vector<double> times;
  for (uint32_t done = 0; done < steps; done += kBatch) {
    const int64_t begin = runtime::nowNanos();
    for (uint32_t i = 0; i < kBatch; ++i) {
      GR_RETURN_IF_ERROR(session.run(inputs, outputs));
    }
    times.push_back(millisSince(begin) * 1e3 / kBatch);
  }
  std::sort(times.begin(), times.end());
  return Json{{"p50_us", times[times.size() / 2]}, {"min_us", times.front()}};
}

absl::StatusOr<Json> measure(const Flags& flags) {
  runtime::SessionOptions options;
  options.threads = flags.threads;
  options.tuneBudget = std::chrono::milliseconds{flags.tuneMillis};
  options.devices = runtime::makeDeviceSet();
  Json report;
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = 0; i < flags.sessions; ++i) {
    const int64_t begin = runtime::nowNanos();
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(flags.model, options));
    Json entry = {{"open_ms", millisSince(begin)}};
    for (const std::string& signature : flags.signatures) {
      GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs, inputsOf(signature, *session));
      GR_ASSIGN_OR_RETURN(Json runs, firstRuns(*session, inputs));
      runs["signature"] = signature;
      entry["signatures"].push_back(std::move(runs));
    }
    entry["threads"] = ownStatus("Threads");
    entry["anonymous_kib"] = ownStatus("RssAnon");
    report["sessions"].push_back(std::move(entry));
    sessions.push_back(std::move(session));
  }
  GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs,
                      inputsOf(flags.signatures.front(), *sessions.front()));
  if (flags.steps != 0) {
    GR_ASSIGN_OR_RETURN(report["step"], stepCost(*sessions.front(), inputs, flags.steps));
  }
  if (flags.idleSeconds > 0) {
    const double before = processorSeconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.idleSeconds));
    report["idle_share"] = (processorSeconds() - before) / flags.idleSeconds;
  }
  return report;
}

int run(int argc, char** argv) {
  CLI::App app("Measures what a session costs beside its kernels.", "bench_session");
  Flags flags;
  app.add_option("MODEL", flags.model, "A .fb or .onnx file")->required();
  app.add_option("--signature", flags.signatures, "Shapes of the inputs: x=1x3x224x224,y=1x8")
      ->required();
  app.add_option("--threads", flags.threads, "Threads of a kernel");
  app.add_option("--tune-budget", flags.tuneMillis, "Milliseconds that a second run may measure");
  app.add_option("--sessions", flags.sessions, "Sessions of the model, all at once");
  app.add_option("--steps", flags.steps, "Runs of the first signature to take the cost of");
  app.add_option("--idle", flags.idleSeconds, "Seconds to do nothing at the end");
  return cli::parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<Json> report = measure(flags);
    if (!report.ok()) {
      return cli::report(report.status());
    }
    std::puts(report->dump().c_str());
    return 0;
  });
}

}  // namespace
}  // namespace graphrun

int main(int argc, char** argv) { return graphrun::run(argc, argv); }
