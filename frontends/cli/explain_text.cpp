#include "frontends/cli/explain_text.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace graphrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxRows = 20;

enum class Format { kText, kCount, kNanos, kBytes, kFlops };

struct Column {
  const char* title;
  const char* key;
  Format format;
};

std::string scaled(double value, double step, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, value, units[unit]);
}

/// A time for people; "-" if there is none.
std::string timeText(const Json& ns, const TimeUnit& unit) {
  if (!ns.is_number()) {
    return "-";
  }
  auto value = ns.get<double>();
  return unit.name == "ns"
             ? scaled(value, 1000, {"ns", "us", "ms", "s"})
             : absl::StrFormat("%.8g %s", value / static_cast<double>(unit.ns), unit.name);
}

/// A choice of placement/explain/explain.h as texts.
Json choiceRow(const Json& choice, const TimeUnit& unit) {
  const Json& delta = choice["delta_ns"];
  std::string difference =
      delta.is_number()
          ? absl::StrCat(delta < 0 ? "-" : "+", timeText(std::abs(delta.get<int64_t>()), unit))
          : "-";
  bool here = choice.value("here", false);
  return {{"device", choice["device"]},
          {"time", timeText(choice["time_ns"], unit)},
          {"objective", timeText(choice["objective_ns"], unit)},
          {"difference", here ? "" : difference},
          {"why", here ? Json("here") : choice["why"]}};
}

std::string cell(const Json& row, const Column& column) {
  auto found = row.find(column.key);
  if (found == row.end() || found->is_null()) {
    return "-";
  }
  if (column.format == Format::kText || !found->is_number()) {
    return found->is_string() ? found->get<std::string>() : found->dump();
  }
  auto value = found->get<double>();
  switch (column.format) {
    case Format::kNanos:
      return scaled(value, 1000, {"ns", "us", "ms", "s"});
    case Format::kBytes:
      return scaled(value, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
    case Format::kFlops:
      return scaled(value, 1000, {"", "K", "M", "G", "T", "P"});
    default:
      return found->dump();
  }
}

std::string table(const Json& rows, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns) {
    lines[0].emplace_back(column.title);
  }
  for (size_t i = 0; i < std::min(rows.size(), kMaxRows); ++i) {
    lines.emplace_back();
    for (const Column& column : columns) {
      lines.back().push_back(cell(rows[i], column));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (size_t c = 0; c < columns.size(); ++c) {
      size_t width = 0;
      for (const std::vector<std::string>& other : lines) {
        width = std::max(width, other[c].size());
      }
      bool left = columns[c].format == Format::kText;
      std::string space(width - line[c].size(), ' ');
      absl::StrAppend(&text, c == 0 ? "  " : "  ", left ? "" : space, line[c], left ? space : "");
    }
    absl::StrAppend(&text, "\n");
  }
  if (rows.size() > kMaxRows) {
    absl::StrAppend(&text, "  … and ", rows.size() - kMaxRows, " more (--json has all)\n");
  }
  return text;
}

void section(const Json& json, const char* key, const char* title,
             const std::vector<Column>& columns, std::string& text) {
  auto found = json.find(key);
  if (found != json.end() && found->is_array() && !found->empty()) {
    absl::StrAppend(&text, "\n", title, "\n", table(*found, columns));
  }
}

/// Returns how much of the predicted times was measured; "" where the costs were given.
std::string sourcesText(const Json& times) {
  double measured = times.value("measured_ns", 0.0);
  double interpolated = times.value("interpolated_ns", 0.0);
  double estimated = times.value("estimated_ns", 0.0);
  double all = measured + interpolated + estimated;
  return all <= 0 ? ""
                  : absl::StrFormat(
                        "the operations' time is %.0f %% measured, %.0f %% interpolated, %.0f %% "
                        "estimated\n",
                        100 * measured / all, 100 * interpolated / all, 100 * estimated / all);
}

/// Returns "local/cpu:0 into 2 parts of 1 thread".
std::string partsText(const Json& split) {
  std::vector<std::string> devices = split.value("devices", std::vector<std::string>());
  const int threads = split.value("threads", 0);
  return absl::StrFormat("%s into %d parts of %d thread%s", absl::StrJoin(devices, ", "),
                         split.value("parts", 0), threads, threads == 1 ? "" : "s");
}

/// Says what splitting CPU devices does for the step, or would do.
std::string splitText(const Json& split) {
  const Json& whole = split["whole_step_ns"];
  const Json& step = split["step_ns"];
  bool taken = split.value("taken", false);
  std::string why = split.value("why", "");
  std::string times;
  if (whole.is_number() && step.is_number()) {
    double change = 100 * (step.get<double>() / whole.get<double>() - 1);
    times = absl::StrFormat(": step %s instead of %s (%+.0f %%)", timeText(step, {}),
                            timeText(whole, {}), change);
  }
  return absl::StrCat(taken ? "split: " : "not split: ", partsText(split), times,
                      why.empty() ? "" : "; ", why, "\n");
}

std::string splitsText(const Json& json) {
  std::string text;
  for (const Json& split : json.value("splits", Json::array())) {
    absl::StrAppend(&text, splitText(split));
  }
  return text;
}

/// Says what runs again for the sake of memory limits; "" if nothing does.
std::string recomputedText(const Json& json) {
  const Json again = json.value("recomputed", Json::object());
  if (again.value("nodes", 0) == 0) {
    return "";
  }
  return absl::StrCat("recomputed: ", cell(again, {"", "nodes", Format::kCount}),
                      " operations run again to keep to the memory limits, which takes ",
                      cell(again, {"", "extra_ns", Format::kNanos}),
                      "; without that the fullest device needs ",
                      cell(again, {"", "peak_bytes_without", Format::kBytes}), "\n");
}

/// Weights of devices that are not 1.
std::string weightsText(const Json& json) {
  std::vector<std::string> weights;
  for (const Json& device : json.value("devices", Json::array())) {
    if (double weight = device.value("weight", 1.0); weight != 1) {
      weights.push_back(absl::StrCat(device.value("device", ""), " ", weight));
    }
  }
  return weights.empty() ? "" : absl::StrCat("  weights: ", absl::StrJoin(weights, ", "), "\n");
}

/// Returns which devices share cores, and how long the step waits for that; "" where none do.
std::string coresText(const Json& json) {
  std::string text;
  for (const Json& device : json.value("devices", Json::array())) {
    auto others = device.value("takes_turns_with", std::vector<std::string>());
    if (!others.empty()) {
      absl::StrAppend(&text, "  ", device.value("device", ""), " takes turns with ",
                      absl::StrJoin(others, ", "), ": they share cores\n");
    }
  }
  Json sum = {{"ns", 0.0}};
  const Json path = json.value("critical_path", Json::object());
  for (const Json& segment : path.value("segments", Json::array())) {
    bool counts = segment.value("kind", "") == "core wait";
    sum["ns"] = sum["ns"].get<double>() + (counts ? segment.value("ns", 0.0) : 0);
  }
  if (sum["ns"] > 0) {
    absl::StrAppend(&text, "  ", cell(sum, {"", "ns", Format::kNanos}),
                    " of the step are waits for cores that another device uses\n");
  }
  return text;
}

/// Says what the placement was chosen for, and what else a step takes.
std::string goalText(const Json& json) {
  std::string step = absl::StrCat("a step takes ", cell(json, {"", "latency_ns", Format::kNanos}));
  const double period = json.value("period_ns", 0.0);
  return json.value("goal", "") != "throughput" || period <= 0
             ? step
             : absl::StrFormat("%s; with several in flight one ends every %s, %.1f steps/s", step,
                               cell(json, {"", "period_ns", Format::kNanos}), 1e9 / period);
}

}  // namespace

std::string explainText(const std::string& source) {
  Json json = Json::parse(source, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step_ns")) {
    return source + "\n";
  }
  std::string text = absl::StrCat("placed by ", cell(json, {"", "strategy", Format::kText}), ": ",
                                  goalText(json), " (predicted; lower bound of any placement: ",
                                  cell(json, {"", "lower_bound_ns", Format::kNanos}), ")\n");
  if (json.value("overhead_ns", 0.0) > 0) {
    absl::StrAppend(&text, cell(json, {"", "overhead_ns", Format::kNanos}),
                    " of the step start and end it on its workers\n");
  }
  if (json.value("crowding_ns", 0.0) > 0) {
    absl::StrAppend(&text, "the step takes ", cell(json, {"", "crowding_ns", Format::kNanos}),
                    " longer because devices of a machine compute at the same time\n");
  }
  if (json.value("goal", "") == "throughput" && json.value("client_period_ns", 0.0) > 0) {
    absl::StrAppend(&text, "this process computes ", cell(json, {"", "client_ns", Format::kNanos}),
                    " per step on cores that devices use; the time between steps is ",
                    cell(json, {"", "client_period_ns", Format::kNanos}),
                    " longer because of that\n");
  }
  if (double now = json.value("step_ns_without", 0.0); now > 0) {
    absl::StrAppend(&text, "without the added devices and changed links a step takes ",
                    cell(json, {"", "step_ns_without", Format::kNanos}), ", ",
                    absl::StrFormat("%.2f", now / json.value("latency_ns", now)),
                    " times as long\n");
  }
  if (json.value("single_by_runs", false)) {
    absl::StrAppend(&text,
                    "the plan uses one device: runs on several took longer than was predicted, and "
                    "longer than on this one\n");
  }
  absl::StrAppend(&text, splitsText(json), recomputedText(json),
                  sourcesText(json.value("times", Json::object())));
  section(json, "devices", "devices",
          {{"device", "device", Format::kText},
           {"ops", "ops", Format::kCount},
           {"flops", "flops", Format::kFlops},
           {"touched", "bytes_touched", Format::kBytes},
           {"busy", "busy_ns", Format::kNanos},
           {"weights", "weight_bytes", Format::kBytes},
           {"peak", "peak_bytes", Format::kBytes},
           {"limit", "limit_bytes", Format::kBytes}},
          text);
  text += weightsText(json);
  text += coresText(json);
  section(json, "edges", "transfers of a step",
          {{"tensor", "tensor", Format::kText},
           {"from", "from", Format::kText},
           {"to", "to", Format::kText},
           {"link", "link_kind", Format::kText},
           {"bytes", "bytes", Format::kBytes},
           {"wait", "wait_ns", Format::kNanos},
           {"time", "transfer_ns", Format::kNanos}},
          text);
  const bool isForMany = json.value("goal", "") == "throughput";
  section(json, "strategies", "strategies",
          {{"strategy", "strategy", Format::kText},
           {isForMany ? "period" : "step", isForMany ? "period_ns" : "step_ns", Format::kNanos},
           {"devices", "devices_used", Format::kCount},
           {"peak", "peak_bytes", Format::kBytes},
           {"transfers", "transfers", Format::kCount},
           {"moved", "transfer_bytes", Format::kBytes},
           {"failure", "failure", Format::kText}},
          text);
  section(json, "annotations", "annotations of the model",
          {{"configuration", "configuration", Format::kText},
           {"device or layer", "name", Format::kText},
           {"nodes", "nodes", Format::kCount},
           {"pinned to", "device", Format::kText},
           {"why", "why", Format::kText}},
          text);
  if (!json.value("complete", true)) {
    absl::StrAppend(&text,
                    "\noperations whose shapes depend on data are placed when the model runs\n");
  }
  return text;
}

std::string placeText(const std::string& source) {
  Json json = Json::parse(source, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("objective")) {
    return source + "\n";
  }
  std::string unit = json.value("unit", "");
  auto number = [&](const char* key) { return json.value(key, 0.0); };
  double bound = number("lower_bound");
  std::string gap =
      bound > 0 ? absl::StrFormat(", %.2f %% above it", (number("objective") / bound - 1) * 100)
                : "";
  std::string text = absl::StrFormat(
      "placed by %s in %.3f s: %s %.8g %s%s\nlower bound %.8g %s%s\n", json.value("strategy", ""),
      number("seconds"), json.value("goal", ""), number("objective"), unit,
      json.value("contiguous", false) ? ", contiguous" : "", bound, unit,
      json.value("proved", false) ? ": the placement is optimal" : gap);
  std::string busy = absl::StrCat("busy (", unit, ")");
  std::string ports = absl::StrCat("ports (", unit, ")");
  section(json, "devices", "devices",
          {{"device", "device", Format::kText},
           {"nodes", "nodes", Format::kCount},
           {busy.c_str(), "busy", Format::kCount},
           {ports.c_str(), "ports", Format::kCount},
           {"peak", "peak_bytes", Format::kBytes},
           {"limit", "memory_bytes", Format::kBytes}},
          text);
  return text;
}

std::string choicesText(const std::string& source, const TimeUnit& unit) {
  Json json = Json::parse(source, nullptr, /*allow_exceptions=*/false);
  const char* goal = json.value("goal", "") == "throughput" ? "period" : "step";
  std::string text;
  for (const Json& told : json.is_object() ? json["choices"] : Json::array()) {
    absl::StrAppend(&text, "\n'", told.value("node", ""), "' (", told.value("kind", ""), ") is on ",
                    told.value("device", ""), ", number ", told.value("rank", 0), ", from ",
                    timeText(told["start_ns"], unit), " to ", timeText(told["finish_ns"], unit),
                    "\n");
    if (std::string constraint = told.value("constraint", ""); !constraint.empty()) {
      absl::StrAppend(&text, "  ", constraint, "\n");
    }
    Json rows = Json::array();
    for (const Json& choice : told["choices"]) {
      rows.push_back(choiceRow(choice, unit));
    }
    absl::StrAppend(&text, table(rows, {{"device", "device", Format::kText},
                                        {"its time", "time", Format::kCount},
                                        {goal, "objective", Format::kCount},
                                        {"difference", "difference", Format::kCount},
                                        {"", "why", Format::kText}}));
  }
  return text;
}

}  // namespace graphrun::cli
