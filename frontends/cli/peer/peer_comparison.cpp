#include "frontends/cli/peer/peer_comparison.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/cli/interrupt.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/peer/onnxruntime_peer.h"
#include "runtime/base/cgroup.h"
#include "runtime/base/clock.h"
#include "runtime/base/median.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::NamedTensor;

constexpr double kL2 = 1e-3;
constexpr double kHalfL2 = 2e-2;

/// Results of f16 and bf16 lose more in rounding, whatever the session's precision.
Tolerance toleranceFor(const runtime::HostTensor& expected, const PeerOptions& options) {
  const runtime::ElementType type = expected.spec().type;
  const bool isHalf = type == runtime::ElementType::kF16 || type == runtime::ElementType::kBF16;
  Tolerance tolerance = options.tolerance;
  tolerance.l2 = isHalf && options.byType ? kHalfL2 : tolerance.l2;
  return tolerance;
}

/// A number of JSON, which has no infinity: what is none is a text.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : "inf");
}

Json compareOutput(const NamedTensor& got, const NamedTensor& expected,
                   const PeerOptions& options) {
  const Differences found = differencesOf(got.tensor, expected.tensor);
  return {
      {"output", got.name},
      {"max_abs", number(found.absolute)},
      {"max_rel", number(found.relative)},
      {"l2", number(found.l2)},
      {"problem", difference(got.tensor, expected.tensor, toleranceFor(expected.tensor, options))}};
}

Json compareOutputs(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected,
                    const PeerOptions& options) {
  Json list = Json::array();
  for (const NamedTensor& want : expected) {
    auto found = std::find_if(got.begin(), got.end(),
                              [&](const NamedTensor& each) { return each.name == want.name; });
    list.push_back(found == got.end()
                       ? Json{{"output", want.name}, {"problem", "the session has no such output"}}
                       : compareOutput(*found, want, options));
  }
  return list;
}

std::string cell(const Json& row, const char* key) {
  auto found = row.find(key);
  return found == row.end()   ? "-"
         : found->is_number() ? absl::StrFormat("%.3g", found->get<double>())
                              : found->get<std::string>();
}

}  // namespace

void PeerOptions::add(CLI::App& app) {
  addChoice(
      app, "--compare-to", name,
      "Runs the ONNX file with the same inputs in another runtime as well, in turns, and reports "
      "differences and times: onnxruntime (of the Python in $GRAPHRUN_PYTHON, or python3)",
      {"onnxruntime"});
}

void PeerOptions::take(const CLI::App& app, const Tolerance& given, const std::string& precision) {
  tolerance = given;
  const auto names = {"--rtol", "--atol", "--l2", "--step"};
  byType = std::none_of(names.begin(), names.end(),
                        [&](const char* option) { return app.count(option) > 0; });
  if (byType) {
    tolerance.l2 = precision == "f32" ? kL2 : kHalfL2;
  }
}

absl::Status PeerOptions::check(const std::string& model) const {
  return name.empty() || absl::EndsWithIgnoreCase(model, ".onnx")
             ? absl::OkStatus()
             : usageError(absl::StrCat("--compare-to ", name, " needs an ONNX file, got '", model,
                                       "'; give the .onnx file that it was compiled from"));
}

absl::StatusOr<Json> compareToPeer(const PeerOptions& options, const std::string& model,
                                   runtime::Session& session,
                                   const std::vector<NamedTensor>& inputs, uint32_t threads,
                                   uint32_t pairs) {
  threads = threads != 0 ? threads : runtime::usableThreads();
  GR_ASSIGN_OR_RETURN(std::unique_ptr<OnnxRuntimePeer> peer,
                      OnnxRuntimePeer::start(model, inputs, threads));
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session.run(inputs, outputs));
  GR_RETURN_IF_ERROR(peer->run().status());
  GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> expected, peer->outputs(session.outputs()));
  Json compared = compareOutputs(outputs, expected, options);
  std::vector<double> here, there, ratios;
  for (uint32_t i = 0; i < pairs && (i == 0 || !interrupted()); ++i) {
    const int64_t begin = runtime::nowNanos();
    GR_RETURN_IF_ERROR(session.run(inputs, outputs));
    here.push_back(millis(static_cast<uint64_t>(runtime::nowNanos() - begin)));
    GR_ASSIGN_OR_RETURN(double other, peer->run());
    there.push_back(other);
    ratios.push_back(here.back() / std::max(other, 1e-6));
  }
  return Json{
      {"runtime", options.name},
      {"version", peer->version()},
      {"threads", threads},
      {"pairs", ratios.size()},
      {"outputs", compared},
      {"latency_ms", {{"graphrun", latencyJson(here)}, {"onnxruntime", latencyJson(there)}}},
      {"ratio", runtime::median(ratios)}};
}

std::string peerText(const Json& comparison) {
  std::string text =
      absl::StrFormat("against ONNX Runtime %s with %d threads\n",
                      comparison["version"].get<std::string>(), comparison["threads"].get<int>());
  for (const Json& row : comparison["outputs"]) {
    const std::string problem = row.value("problem", "");
    absl::StrAppend(&text, "  ", row["output"].get<std::string>(), ": max abs ",
                    cell(row, "max_abs"), ", max rel ", cell(row, "max_rel"), ", relative L2 ",
                    cell(row, "l2"),
                    problem.empty() ? "; within the tolerance" : "; differs: ", problem, "\n");
  }
  const Json& times = comparison["latency_ms"];
  absl::StrAppendFormat(
      &text,
      "  time: graphrun %.3f ms, onnxruntime %.3f ms: %.2f times as long (medians "
      "of %d runs of each, in turns)\n",
      times["graphrun"]["p50"].get<double>(), times["onnxruntime"]["p50"].get<double>(),
      comparison["ratio"].get<double>(), comparison["pairs"].get<int>());
  return text;
}

ExitCode peerCode(const Json& comparison) {
  const Json& rows = comparison["outputs"];
  return std::all_of(rows.begin(), rows.end(),
                     [](const Json& row) { return row.value("problem", std::string()).empty(); })
             ? kOk
             : kDiffers;
}

}  // namespace graphrun::cli
