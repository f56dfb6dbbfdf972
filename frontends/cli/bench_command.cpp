// graphrun bench: latency, throughput and memory.
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/deviation.h"
#include "frontends/cli/feeds.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;
using runtime::Session;

struct BenchOptions {
  std::string model;
  PlaceOptions place;
  FeedOptions feed;
  std::string trace;
  uint32_t warmup = 3;
  uint32_t iterations = 0;
  double duration = 3;
  uint32_t concurrency = 1;
  bool json = false;
};

void addOptions(CLI::App& app, BenchOptions& options) {
  app.add_option("MODEL", options.model, "A .fb or .onnx file")->required();
  options.place.add(app);
  options.feed.add(app);
  app.add_option("--trace", options.trace, "Writes what ran last, for Perfetto");
  app.add_option("--warmup", options.warmup, "Runs before those that count (3)");
  app.add_option("--iterations", options.iterations, "Runs that count; default: by --duration");
  app.add_option("--duration", options.duration, "Seconds to measure (3)")
      ->check(CLI::PositiveNumber);
  app.add_option("--concurrency", options.concurrency,
                 "Callers side by side; their runs queue for the model (1)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json, "Prints JSON");
}

/// Latencies of all callers, in milliseconds.
struct Measured {
  std::vector<double> times;
  double seconds = 0;
};

/// One caller's runs until its share is done or the time is over.
absl::Status measureOne(Session& session, const std::vector<NamedTensor>& inputs,
                        uint32_t iterations, int64_t end, std::vector<double>& times) {
  std::vector<NamedTensor> outputs;
  for (int64_t now = runtime::nowNanos();
       iterations != 0 ? times.size() < iterations : (now < end || times.empty());) {
    GR_RETURN_IF_ERROR(session.run(inputs, outputs));
    int64_t after = runtime::nowNanos();
    times.push_back(millis(static_cast<uint64_t>(after - now)));
    now = after;
  }
  return absl::OkStatus();
}

absl::StatusOr<Measured> measure(Session& session, const std::vector<NamedTensor>& inputs,
                                 const BenchOptions& options) {
  Measured all;
  absl::Status failure;
  std::mutex mutex;
  const int64_t begin = runtime::nowNanos();
  const int64_t end = begin + static_cast<int64_t>(options.duration * 1e9);
  uint32_t share = (options.iterations + options.concurrency - 1) / options.concurrency;
  auto caller = [&] {
    std::vector<double> times;
    absl::Status status = measureOne(session, inputs, share, end, times);
    std::lock_guard lock(mutex);
    failure.Update(status);
    all.times.insert(all.times.end(), times.begin(), times.end());
  };
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < options.concurrency; ++i) {
    others.emplace_back(caller);
  }
  caller();
  for (std::thread& other : others) {
    other.join();
  }
  GR_RETURN_IF_ERROR(failure);
  all.seconds = static_cast<double>(runtime::nowNanos() - begin) / 1e9;
  return all;
}

void print(const Json& report) {
  const Json& latency = report["latency_ms"];
  std::printf("latency    p50 %.3f ms, p90 %.3f, p95 %.3f, p99 %.3f, min %.3f, mean %.3f\n",
              latency["p50"].get<double>(), latency["p90"].get<double>(),
              latency["p95"].get<double>(), latency["p99"].get<double>(),
              latency["min"].get<double>(), latency["mean"].get<double>());
  std::printf("throughput %.1f runs/s over %lu runs\n", report["throughput_per_s"].get<double>(),
              report["runs"].get<unsigned long>());
  std::printf("start      loaded in %.1f ms, first run %.1f ms\n", report["load_ms"].get<double>(),
              report["first_run_ms"].get<double>());
  std::printf("memory     peak %.1f MiB of this process; planned for devices: %.1f MiB\n",
              report["peak_memory_bytes"].get<double>() / (1 << 20),
              report["predicted_peak_bytes"].get<double>() / (1 << 20));
  std::fputs(deviationText(report.value("deviation", Json::array())).c_str(), stdout);
}

/// What the plan says that all its devices will hold: weights, arenas and edges. It is known before
/// anything runs, and takes nothing from what a process holds.
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

absl::StatusOr<Json> bench(const BenchOptions& options) {
  const int64_t begin = runtime::nowNanos();
  GR_ASSIGN_OR_RETURN(runtime::SessionOptions sessionOptions, options.place.toSession());
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      Session::create(options.model, sessionOptions));
  GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs,
                      feeds(options.feed, session->inputs(), true));
  std::vector<runtime::NamedSpec> shapes;
  shapes.reserve(inputs.size());
  for (const NamedTensor& input : inputs) {
    shapes.push_back({input.name, input.tensor.spec()});
  }
  GR_RETURN_IF_ERROR(session->prepare(shapes));
  const int64_t loaded = runtime::nowNanos();
  moveInputs(*session, inputs);
  const uint64_t predicted = plannedBytes(session->stats());
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session->run(inputs, outputs));
  const int64_t first = runtime::nowNanos();
  for (uint32_t i = 1; i < options.warmup; ++i) {
    GR_RETURN_IF_ERROR(session->run(inputs, outputs));
  }
  outputs.clear();
  GR_ASSIGN_OR_RETURN(Measured measured, measure(*session, inputs, options));
  if (!options.trace.empty()) {
    GR_RETURN_IF_ERROR(fileError(session->writeTrace(options.trace)));
  }
  runtime::SessionStats stats = session->stats();
  Json report{{"latency_ms", latencyJson(measured.times)},
              {"throughput_per_s", static_cast<double>(measured.times.size()) / measured.seconds},
              {"runs", measured.times.size()},
              {"load_ms", millis(static_cast<uint64_t>(loaded - begin))},
              {"first_run_ms", millis(static_cast<uint64_t>(first - loaded))},
              {"peak_memory_bytes", peakMemory()},
              {"predicted_peak_bytes", predicted},
              {"weight_bytes", session->weightBytes()},
              {"threads", options.place.threads != 0 ? options.place.threads
                                                     : std::thread::hardware_concurrency()},
              {"precision", options.place.precision},
              {"session", statsJson(stats)}};
  if (sessionOptions.precision != runtime::Precision::kF32) {
    // Behind what counts memory: it takes outputs, and a session of its own.
    GR_RETURN_IF_ERROR(session->run(inputs, outputs));
    GR_ASSIGN_OR_RETURN(report["deviation"],
                        deviationFromF32(options.model, sessionOptions, inputs, outputs));
  }
  return report;
}

}  // namespace

int benchCommand(int argc, char** argv) {
  CLI::App app("Measures a model; inputs that are not given are random.", "graphrun bench");
  BenchOptions options;
  addOptions(app, options);
  return parseAndRun(app, argc, argv, [&]() -> int {
    absl::StatusOr<Json> result = bench(options);
    if (!result.ok()) {
      return report(result.status());
    }
    options.json ? static_cast<void>(std::fputs(dump(*result).c_str(), stdout)) : print(*result);
    return kOk;
  });
}

}  // namespace graphrun::cli
