#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "placement/explain.h"
#include "placement/text_table.h"
#include "placement/units.h"

namespace graphrun::placement {
namespace {

std::string percent(int64_t part, int64_t whole) {
  return whole == 0 ? "0.0%"
                    : absl::StrFormat(
                          "%.1f%%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string header(const Explanation& e) {
  return absl::StrCat("placement: ", e.strategy, ", predicted step ", formatDuration(e.stepNs),
                      " (no placement is below ", formatDuration(e.lowerBoundNs), ")\n");
}

std::string devicesText(const Explanation& e) {
  TextTable table({"device", ">ops", ">flops", ">bytes", ">busy", ">of step", ">weights",
                   ">receive", ">peak", ">limit", "peak at"});
  for (const DeviceReport& d : e.devices) {
    table.addRow({d.device, absl::StrCat(d.ops), formatCount(d.flops), formatBytes(d.bytesTouched),
                  formatDuration(d.busyNs), percent(d.busyNs, e.stepNs), formatBytes(d.weightBytes),
                  formatBytes(d.receiveBytes), formatBytes(d.peakBytes),
                  d.limitBytes > 0 ? formatBytes(d.limitBytes) : "none", d.peakNode});
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
      table.addRow({edge.tensor, formatBytes(edge.bytes), edge.from, edge.to, edge.linkKind,
                    formatDuration(edge.startNs), formatDuration(edge.waitNs),
                    formatDuration(edge.transferNs)});
    }
  }
  return absl::StrCat("\ntransfers: ", e.edges.size(), ", ", formatBytes(bytes), "\n",
                      e.edges.empty() ? "" : table.text(), more(e.edges, shown));
}

std::string pathText(const Explanation& e, int shown) {
  TextTable table({"kind", "where", ">time", ">count", "from", "to"});
  for (size_t i = 0; i < e.path.size() && static_cast<int>(i) < shown; ++i) {
    const PathReport& p = e.path[i];
    table.addRow({p.kind, p.where, formatDuration(p.ns), absl::StrCat(p.count), p.first,
                  p.last == p.first ? "" : p.last});
  }
  return absl::StrCat("\ncritical path: compute ", formatDuration(e.computeNs), " (",
                      percent(e.computeNs, e.stepNs), "), link ", formatDuration(e.linkNs), " (",
                      percent(e.linkNs, e.stepNs), "), wait ", formatDuration(e.waitNs), " (",
                      percent(e.waitNs, e.stepNs), ")\n", e.path.empty() ? "" : table.text(),
                      more(e.path, shown));
}

std::string strategiesText(const Explanation& e) {
  if (e.strategies.empty()) {
    return "";
  }
  TextTable table({"strategy", ">step", ">devices", ">peak", ">transfers", ">bytes", "failure"});
  for (const StrategyReport& s : e.strategies) {
    if (s.failure.empty()) {
      table.addRow({s.strategy, formatDuration(s.stepNs), absl::StrCat(s.devicesUsed),
                    formatBytes(s.peakBytes), absl::StrCat(s.transfers),
                    formatBytes(s.transferBytes), ""});
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
      objective = formatDuration(*c.objectiveNs);
      delta = absl::StrCat(more < 0 ? "-" : "+", formatDuration(std::abs(more)));
    }
    table.addRow({c.device, c.timeNs.has_value() ? formatDuration(*c.timeNs) : "-", objective,
                  c.here ? "" : delta, c.here ? "here" : c.why});
  }
  return absl::StrCat("node '", e.node, "' (", e.op, ") is on ", e.device, ", rank ", e.rank, ", ",
                      formatDuration(e.startNs), " to ", formatDuration(e.finishNs), "\n",
                      constraint, table.text());
}

}  // namespace graphrun::placement
