// graphrun bench: latency, throughput and memory.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/deviation.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/interrupt.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/peer/peer_comparison.h"
#include "frontends/cli/progress_display.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;
using runtime::Session;

constexpr uint32_t kMostCallers = 1024;

struct BenchOptions {
  std::string model;
  PlaceOptions place;
  FeedOptions feed;
  std::string trace;
  uint32_t warmup = 3;
  uint32_t iterations = 0;
  std::chrono::nanoseconds duration = std::chrono::seconds(3);
  uint32_t concurrency = 1;
  PeerOptions peer;
  Tolerance tolerance;
  bool json = false;
};

void addOptions(CLI::App& app, BenchOptions& options) {
  app.add_option("MODEL", options.model, "A .fb or .onnx file")->required();
  options.place.add(app);
  options.feed.add(app);
  addOutputFile(app, "--trace", options.trace, "Writes a trace of the last runs, for Perfetto");
  addCount(app, "--warmup", options.warmup, "Warm-up runs, which do not count (3)", 0, kMostRuns);
  addCount(app, "--iterations", options.iterations,
           "Measured runs; 0: as many as --duration allows (0)", 0, kMostRuns);
  addTime(app, "--duration", options.duration, "Time to measure: 500ms, 3s (3s)",
          {.least = std::chrono::microseconds(1)});
  addCount(app, "--concurrency", options.concurrency,
           "Concurrent callers; their runs queue, but on several workers a run begins while others "
           "are not done (1)",
           1, kMostCallers);
  options.peer.add(app);
  Tolerance& allowed = options.tolerance;
  addTolerances(app, allowed.rtol, allowed.atol, allowed.l2, allowed.step, "of --compare-to: ");
  app.add_flag("--json", options.json, "Prints JSON");
}

/// Latencies of all callers, in milliseconds.
struct Measured {
  std::vector<double> times;
  double seconds = 0;
};

/// Callers side by side, each with runs one after the other.
class Callers {
 public:
  Callers(Session& session, const std::vector<NamedTensor>& inputs, const BenchOptions& options)
      : session_(session),
        inputs_(inputs),
        share_((options.iterations + options.concurrency - 1) / options.concurrency),
        count_(options.concurrency),
        begin_(runtime::nowNanos()),
        end_(begin_ + options.duration.count()) {}

  absl::StatusOr<Measured> measure() {
    std::vector<std::thread> others;
    for (uint32_t i = 1; i < count_ && !stopped_; ++i) {
      try {
        others.emplace_back([this] { call(); });
      } catch (const std::system_error& error) {
        note(absl::ResourceExhaustedError(absl::StrCat("--concurrency ", count_, ": caller ", i,
                                                       " has no thread: ", error.what())));
      }
    }
    call();
    for (std::thread& other : others) {
      other.join();
    }
    GR_RETURN_IF_ERROR(failure_);
    all_.seconds = static_cast<double>(runtime::nowNanos() - begin_) / 1e9;
    return std::move(all_);
  }

 private:
  /// One caller's runs until its share is done, the time is over or somebody is to stop.
  void call() {
    std::vector<NamedTensor> outputs;
    std::vector<double> times;
    for (int64_t now = runtime::nowNanos(); !isDone(times.size(), now);) {
      if (absl::Status status = session_.run(inputs_, outputs); !status.ok()) {
        note(status);
        return;
      }
      int64_t after = runtime::nowNanos();
      times.push_back(millis(static_cast<uint64_t>(after - now)));
      now = after;
    }
    std::lock_guard lock(mutex_);
    all_.times.insert(all_.times.end(), times.begin(), times.end());
  }
  bool isDone(size_t runs, int64_t now) const {
    return stopped_ || interrupted() || (share_ != 0 ? runs >= share_ : now >= end_ && runs > 0);
  }
  void note(const absl::Status& failure) {
    stopped_ = true;
    std::lock_guard lock(mutex_);
    failure_.Update(failure);
  }

  Session& session_;
  const std::vector<NamedTensor>& inputs_;
  const uint32_t share_;
  const uint32_t count_;
  const int64_t begin_;
  const int64_t end_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;  // guards what follows
  absl::Status failure_;
  Measured all_;
};

/// "x 1x3x224x224xf32, y …".
std::string textOf(const Json& inputs) {
  std::vector<std::string> texts;
  for (const auto& [name, shape] : inputs.items()) {
    texts.push_back(absl::StrCat(name, " ", shape.get<std::string>()));
  }
  return absl::StrJoin(texts, ", ");
}

/// Returns the plan's prediction of runs beside each other; "" where nothing is told of that.
std::string predictedText(const Json& report) {
  auto predicted = report.find("predicted_throughput_per_s");
  if (predicted == report.end()) {
    return "";
  }
  const bool overlap = report["session"]["predicted_period_ms"].get<double>() > 0;
  return absl::StrFormat("; predicted %s: %.1f",
                         overlap ? "with as many in flight as use all workers" : "one by one",
                         predicted->get<double>());
}

void printReport(const Json& report) {
  const Json& latency = report["latency_ms"];
  std::printf("latency    p50 %.3f ms, p90 %.3f, p95 %.3f, p99 %.3f, min %.3f, mean %.3f\n",
              latency["p50"].get<double>(), latency["p90"].get<double>(),
              latency["p95"].get<double>(), latency["p99"].get<double>(),
              latency["min"].get<double>(), latency["mean"].get<double>());
  std::printf("throughput %.1f runs/s over %lu runs%s\n", report["throughput_per_s"].get<double>(),
              report["runs"].get<unsigned long>(), predictedText(report).c_str());
  std::printf("start      loaded in %.1f ms, first run %.1f ms\n", report["load_ms"].get<double>(),
              report["first_run_ms"].get<double>());
  std::printf("memory     peak %.1f MiB of this process; planned for devices: %.1f MiB\n",
              report["peak_memory_bytes"].get<double>() / (1 << 20),
              report["predicted_peak_bytes"].get<double>() / (1 << 20));
  std::printf("of         %s; %u threads; %s\n", textOf(report["inputs"]).c_str(),
              report["threads"].get<unsigned>(),
              absl::StrJoin(report["devices"].get<std::vector<std::string>>(), ", ").c_str());
  std::fputs(deviationText(report.value("deviation", Json::array())).c_str(), stdout);
  if (report.contains("compared_to")) {
    std::fputs(peerText(report["compared_to"]).c_str(), stdout);
  }
}

/// Returns the bytes that all devices will hold as the plan says: weights, arenas and edges. It is
/// known before anything runs, and takes nothing from what a process holds.
uint64_t plannedBytes(const runtime::SessionStats& stats) {
  return std::accumulate(
      stats.devices.begin(), stats.devices.end(), uint64_t{0},
      [](uint64_t sum, const runtime::DeviceStats& device) { return sum + device.predictedBytes; });
}

/// Puts the inputs where devices copy them from fastest, as those do who run a model often.
void moveInputs(const Session& session, std::vector<NamedTensor>& inputs) {
  for (NamedTensor& input : inputs) {
    if (auto fast = session.makeInput({input.name, input.tensor.spec()})) {
      std::memcpy(fast->data(), input.tensor.data(), input.tensor.byteSize());
      input.tensor = *std::move(fast);
    }
  }
}

/// Runs until those that count may begin; false where somebody wants it to end first.
absl::StatusOr<bool> warmUp(Session& session, const std::vector<NamedTensor>& inputs,
                            uint32_t runs) {
  std::vector<NamedTensor> outputs;
  for (uint32_t i = 1; i < runs && !interrupted(); ++i) {
    GR_RETURN_IF_ERROR(session.run(inputs, outputs));
  }
  return !interrupted();
}

/// The first run, which ends at `first`, those before the ones that count, and these.
absl::StatusOr<Measured> runAll(Session& session, const std::vector<NamedTensor>& inputs,
                                const BenchOptions& options, ProgressDisplay& display,
                                int64_t& first) {
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session.run(inputs, outputs));
  first = runtime::nowNanos();
  GR_ASSIGN_OR_RETURN(bool warm, warmUp(session, inputs, options.warmup));
  Measured measured;
  if (warm) {
    display.tell(
        {.what = "measuring",
         .most = options.iterations == 0 ? options.duration : std::chrono::nanoseconds(0)});
    GR_ASSIGN_OR_RETURN(measured, Callers(session, inputs, options).measure());
    display.tell({});
  }
  return measured.times.empty()
             ? absl::StatusOr<Measured>(absl::CancelledError("ended before anything was measured"))
             : std::move(measured);
}

Json devicesOf(const runtime::SessionStats& stats) {
  Json names = Json::array();
  for (const runtime::DeviceStats& device : stats.devices) {
    names.push_back(device.device);
  }
  return names;
}

/// Runs here and in another runtime: as many as were measured, but no more than tell the ratio.
uint32_t pairsOf(const Measured& measured) {
  constexpr size_t kLeast = 5, kMost = 200;
  return static_cast<uint32_t>(std::clamp(measured.times.size(), kLeast, kMost));
}

absl::StatusOr<Json> bench(const BenchOptions& options) {
  GR_RETURN_IF_ERROR(options.peer.check(options.model));
  const int64_t begin = runtime::nowNanos();
  ProgressDisplay display;
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions sessionOptions, options.place.toSession());
  sessionOptions.progress = display.sink();
  sessionOptions.traceFailures = !options.trace.empty();
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create(options.model, sessionOptions));
  GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs,
                      feeds(options.feed, session->inputs(), true));
  std::vector<runtime::NamedSpec> shapes;
  Json shapeTexts = Json::object();
  for (const NamedTensor& input : inputs) {
    shapes.push_back({input.name, input.tensor.spec()});
    shapeTexts[input.name] = input.tensor.spec().toString();
  }
  GR_RETURN_IF_ERROR(session->prepare(shapes));
  const int64_t loaded = runtime::nowNanos();
  moveInputs(*session, inputs);
  const uint64_t predicted = plannedBytes(session->stats());
  std::vector<NamedTensor> outputs;
  InterruptWatch watch;
  int64_t first = 0;
  absl::StatusOr<Measured> all = runAll(*session, inputs, options, display, first);
  if (!all.ok()) {
    writeTraceOfFailure(options.trace, *session);
    return all.status();
  }
  Measured measured = *std::move(all);
  if (!options.trace.empty()) {
    GR_RETURN_IF_ERROR(fileError(session->writeTrace(options.trace)));
  }
  runtime::SessionStats stats = session->stats();
  Json report{
      {"latency_ms", latencyJson(measured.times)},
      {"throughput_per_s", static_cast<double>(measured.times.size()) / measured.seconds},
      {"runs", measured.times.size()},
      {"load_ms", millis(static_cast<uint64_t>(loaded - begin))},
      {"first_run_ms", millis(static_cast<uint64_t>(first - loaded))},
      {"peak_memory_bytes", peakMemory()},
      {"predicted_peak_bytes", predicted},
      {"weight_bytes", session->weightBytes()},
      {"threads", options.place.threads != 0 ? options.place.threads : runtime::usableThreads()},
      {"precision", options.place.precision},
      {"inputs", shapeTexts},
      {"devices", devicesOf(stats)},
      {"objective", options.place.objective},
      {"interrupted", interrupted()},
      {"session", statsJson(stats)}};
  if (stats.predictedPeriodNanos != 0 ||
      sessionOptions.objective == runtime::Objective::kThroughput) {
    report["predicted_throughput_per_s"] = predictedThroughput(stats);
  }
  if (sessionOptions.precision != runtime::Precision::kF32 && !interrupted()) {
    // Behind what counts memory: it takes outputs, and a session of its own.
    GR_RETURN_IF_ERROR(session->run(inputs, outputs));
    GR_ASSIGN_OR_RETURN(report["deviation"],
                        deviationFromF32(options.model, sessionOptions, inputs, outputs));
  }
  if (!options.peer.name.empty() && !interrupted()) {
    GR_ASSIGN_OR_RETURN(report["compared_to"],
                        compareToPeer(options.peer, options.model, *session, inputs,
                                      options.place.threads, pairsOf(measured)));
  }
  return report;
}

}  // namespace

int benchCommand(int argc, char** argv) {
  CLI::App app("Measures a model; inputs that are not given are random.", "graphrun bench");
  BenchOptions options;
  addOptions(app, options);
  return parseAndRun(app, argc, argv, [&]() -> int {
    options.peer.take(app, options.tolerance, options.place.precision);
    absl::StatusOr<Json> result = bench(options);
    if (!result.ok()) {
      int code = report(result.status());
      return interrupted() ? static_cast<int>(kInterrupted) : code;
    }
    options.json ? static_cast<void>(std::fputs(dump(*result).c_str(), stdout))
                 : printReport(*result);
    return interrupted()                     ? kInterrupted
           : result->contains("compared_to") ? peerCode((*result)["compared_to"])
                                             : kOk;
  });
}

}  // namespace graphrun::cli
