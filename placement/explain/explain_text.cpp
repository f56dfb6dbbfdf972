#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "placement/explain/explain.h"
#include "placement/text/text_table.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

std::string percent(int64_t part, int64_t whole) {
  return whole == 0 ? "0.0%"
                    : absl::StrFormat(
                          "%.1f%%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string header(const Explanation& e) {
  return absl::StrCat("placement: ", e.strategy, ", predicted step ",
                      runtime::formatDuration(e.latencyNs()), " (no placement is below ",
                      runtime::formatDuration(e.lowerBoundNs), ")\n");
}

std::string devicesText(const Explanation& e) {
  TextTable table({"device", ">ops", ">flops", ">bytes", ">busy", ">of step", ">weights",
                   ">receive", ">peak", ">limit", "peak at"});
  for (const DeviceReport& d : e.devices) {
    table.addRow({d.device, absl::StrCat(d.ops), runtime::formatCount(d.flops),
                  runtime::formatBytes(d.bytesTouched), runtime::formatDuration(d.busyNs),
                  percent(d.busyNs, e.stepNs), runtime::formatBytes(d.weightBytes),
                  runtime::formatBytes(d.receiveBytes), runtime::formatBytes(d.peakBytes),
                  d.limitBytes > 0 ? runtime::formatBytes(d.limitBytes) : "none", d.peakNode});
  }
  std::string turns;
  for (const DeviceReport& d : e.devices) {
    if (!d.takesTurnsWith.empty()) {
      absl::StrAppend(&turns, "  ", d.device, " takes turns with ",
                      absl::StrJoin(d.takesTurnsWith, ", "), ": they share cores\n");
    }
  }
  return absl::StrCat("\ndevices\n", table.text(), turns);
}

template <typename T>
std::string more(const std::vector<T>& items, int shown) {
  auto count = static_cast<int>(items.size());
  return count > shown ? absl::StrCat("  … and ", count - shown, " more (all in the JSON)\n") : "";
}

std::string edgesText(const Explanation& e, int shown) {
  int64_t bytes = 0;
  TextTable table({"tensor", ">bytes", "from", "to", "link", ">start", ">wait", ">transfer"});
  for (size_t i = 0; i < e.edges.size(); ++i) {
    const CutEdge& edge = e.edges[i];
    bytes += edge.bytes;
    if (static_cast<int>(i) < shown) {
      table.addRow({edge.tensor, runtime::formatBytes(edge.bytes), edge.from, edge.to,
                    edge.linkKind, runtime::formatDuration(edge.startNs),
                    runtime::formatDuration(edge.waitNs),
                    runtime::formatDuration(edge.transferNs)});
    }
  }
  return absl::StrCat("\ntransfers: ", e.edges.size(), ", ", runtime::formatBytes(bytes), "\n",
                      e.edges.empty() ? "" : table.text(), more(e.edges, shown));
}

std::string pathText(const Explanation& e, int shown) {
  TextTable table({"kind", "where", ">time", ">count", "from", "to"});
  for (size_t i = 0; i < e.path.size() && static_cast<int>(i) < shown; ++i) {
    const PathReport& p = e.path[i];
    table.addRow({p.kind, p.where, runtime::formatDuration(p.ns), absl::StrCat(p.count), p.first,
                  p.last == p.first ? "" : p.last});
  }
  return absl::StrCat("\ncritical path: compute ", runtime::formatDuration(e.computeNs), " (",
                      percent(e.computeNs, e.stepNs), "), link ", runtime::formatDuration(e.linkNs),
                      " (", percent(e.linkNs, e.stepNs), "), wait ",
                      runtime::formatDuration(e.waitNs), " (", percent(e.waitNs, e.stepNs), ")\n",
                      e.path.empty() ? "" : table.text(), more(e.path, shown));
}

std::string strategiesText(const Explanation& e) {
  if (e.strategies.empty()) {
    return "";
  }
  TextTable table({"strategy", ">step", ">devices", ">peak", ">transfers", ">bytes", "failure"});
  for (const StrategyReport& s : e.strategies) {
    if (s.failure.empty()) {
      table.addRow({s.strategy, runtime::formatDuration(s.stepNs), absl::StrCat(s.devicesUsed),
                    runtime::formatBytes(s.peakBytes), absl::StrCat(s.transfers),
                    runtime::formatBytes(s.transferBytes), ""});
    } else {
      table.addRow(
          {s.strategy, "-", "-", "-", "-", "-", absl::StrReplaceAll(s.failure, {{"\n", "; "}})});
    }
  }
  return absl::StrCat("\nstrategies\n", table.text());
}

}  // namespace

std::string explanationText(const Explanation& explanation, int maxEdges) {
  return absl::StrCat(header(explanation), devicesText(explanation),
                      edgesText(explanation, maxEdges), pathText(explanation, maxEdges),
                      strategiesText(explanation));
}

std::string explanationText(const NodeExplanation& e) {
  std::string constraint = e.constraint.empty() ? "" : absl::StrCat("  ", e.constraint, "\n");
  TextTable table({"device", ">time", ">predicted if there", ">difference", "note"});
  for (const NodeChoice& c : e.choices) {
    std::string objective = "-";
    std::string delta = "-";
    if (c.objectiveNs.has_value()) {
      int64_t more = *c.objectiveNs - e.objectiveNs;
      objective = runtime::formatDuration(*c.objectiveNs);
      delta = absl::StrCat(more < 0 ? "-" : "+", runtime::formatDuration(std::abs(more)));
    }
    table.addRow({c.device, c.timeNs.has_value() ? runtime::formatDuration(*c.timeNs) : "-",
                  objective, c.here ? "" : delta, c.here ? "here" : c.why});
  }
  return absl::StrCat("node '", e.node, "' (", e.kind, ") is on ", e.device, ", rank ", e.rank,
                      ", ", runtime::formatDuration(e.startNs), " to ",
                      runtime::formatDuration(e.finishNs), "\n", constraint, table.text());
}

}  // namespace graphrun::placement
