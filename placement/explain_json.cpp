#include <nlohmann/json.hpp>

#include "placement/explain.h"

namespace graphrun::placement {
namespace {

using Json = nlohmann::ordered_json;

Json orNull(const std::optional<int64_t>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json toJson(const DeviceReport& d) {
  return {{"device", d.device},
          {"ops", d.ops},
          {"flops", d.flops},
          {"bytes_touched", d.bytesTouched},
          {"busy_ns", d.busyNs},
          {"weight_bytes", d.weightBytes},
          {"receive_bytes", d.receiveBytes},
          {"peak_bytes", d.peakBytes},
          {"limit_bytes", d.limitBytes > 0 ? Json(d.limitBytes) : Json()},
          {"peak_node", d.peakNode},
          {"weight", d.weight},
          {"takes_turns_with", d.takesTurnsWith}};
}

Json toJson(const LinkReport& l) {
  return {{"link", l.link},          {"kind", l.kind},      {"queues", l.queues},
          {"measured", l.measured},  {"busy_ns", l.busyNs}, {"bytes", l.bytes},
          {"transfers", l.transfers}};
}

Json toJson(const TensorReport& t) {
  return {{"tensor", t.tensor},       {"type", t.type},
          {"bytes", t.bytes},         {"producer", t.producer < 0 ? Json() : Json(t.producer)},
          {"consumers", t.consumers}, {"output", t.isOutput}};
}

Json toJson(const PathStep& s) {
  return Json::array({pathKindName(s.kind), s.index, s.startNs, s.finishNs});
}

Json toJson(const CutEdge& e) {
  return {{"tensor", e.tensor},    {"from", e.from},          {"to", e.to},
          {"link", e.link},        {"link_kind", e.linkKind}, {"bytes", e.bytes},
          {"start_ns", e.startNs}, {"wait_ns", e.waitNs},     {"transfer_ns", e.transferNs}};
}

Json toJson(const PathReport& p) {
  return {{"kind", p.kind}, {"where", p.where}, {"first", p.first},
          {"last", p.last}, {"count", p.count}, {"ns", p.ns}};
}

Json toJson(const StrategyReport& s) {
  return {
      {"strategy", s.strategy},        {"failure", s.failure.empty() ? Json() : Json(s.failure)},
      {"step_ns", s.stepNs},           {"period_ns", s.periodNs},
      {"devices_used", s.devicesUsed}, {"peak_bytes", s.peakBytes},
      {"transfers", s.transfers},      {"transfer_bytes", s.transferBytes}};
}

Json toJson(const NodePlace& n) {
  return {{"node", n.node},        {"op", n.op},
          {"device", n.device},    {"rank", n.rank},
          {"start_ns", n.startNs}, {"finish_ns", n.finishNs},
          {"source", n.source},    {"members", n.members},
          {"kind", n.kind}};
}

Json toJson(const AnnotationReport& a) {
  return {{"configuration", a.configuration.empty() ? Json() : Json(a.configuration)},
          {"name", a.name},
          {"nodes", a.nodes},
          {"device", a.device.empty() ? Json() : Json(a.device)},
          {"why", a.why},
          {"ignored", a.ignored}};
}

Json toJson(const SplitReport& s) {
  return {{"devices", s.devices},
          {"parts", s.parts},
          {"threads", s.threads},
          {"whole_step_ns", s.wholeNs > 0 ? Json(s.wholeNs) : Json()},
          {"step_ns", s.stepNs > 0 ? Json(s.stepNs) : Json()},
          {"taken", s.taken},
          {"why", s.why}};
}

Json toJson(const NodeExplanation& e) { return explanationJson(e); }

Json toJson(const NodeChoice& c, const NodeExplanation& of) {
  Json delta = c.objectiveNs.has_value() ? Json(*c.objectiveNs - of.objectiveNs) : Json();
  return {{"device", c.device},           {"here", c.here},
          {"time_ns", orNull(c.timeNs)},  {"objective_ns", orNull(c.objectiveNs)},
          {"delta_ns", std::move(delta)}, {"why", c.why}};
}

template <typename T>
Json listOf(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) {
    list.push_back(toJson(item));
  }
  return list;
}

/// What a picture needs beside the reports.
void addDetails(const Explanation& explanation, Json& json) {
  json["tensors"] = listOf(explanation.tensors);
  json["links"] = listOf(explanation.links);
  json["critical_path"]["steps"] = listOf(explanation.steps);
  for (size_t d = 0; d < explanation.devices.size(); ++d) {
    Json samples = Json::array();
    for (const MemorySample& sample : explanation.devices[d].memory) {
      samples.push_back(Json::array({sample.time, sample.bytes}));
    }
    json["devices"][d]["memory"] = std::move(samples);
  }
  for (size_t e = 0; e < explanation.edges.size(); ++e) {
    json["edges"][e]["tensor_index"] = explanation.edges[e].tensorIndex;
  }
}

}  // namespace

nlohmann::ordered_json explanationJson(const Explanation& explanation, bool details) {
  Json path = {{"compute_ns", explanation.computeNs},
               {"link_ns", explanation.linkNs},
               {"wait_ns", explanation.waitNs},
               {"segments", listOf(explanation.path)}};
  Json json = {{"strategy", explanation.strategy},
               {"goal", objectiveName(explanation.goal)},
               {"objective_ns", explanation.objectiveNs},
               {"step_ns", explanation.stepNs},
               {"overhead_ns", explanation.overheadNs},
               {"latency_ns", explanation.stepNs + explanation.overheadNs},
               {"period_ns", explanation.periodNs},
               {"lower_bound_ns", explanation.lowerBoundNs},
               {"times",
                {{"measured_ns", explanation.measuredNs},
                 {"interpolated_ns", explanation.interpolatedNs},
                 {"estimated_ns", explanation.estimatedNs}}},
               {"devices", listOf(explanation.devices)},
               {"edges", listOf(explanation.edges)},
               {"critical_path", std::move(path)},
               {"strategies", listOf(explanation.strategies)},
               {"nodes", listOf(explanation.nodes)},
               {"annotations", listOf(explanation.annotations)},
               {"splits", listOf(explanation.splits)},
               {"choices", listOf(explanation.choices)},
               {"single_by_runs", explanation.singleByRuns},
               {"complete", explanation.complete}};
  if (details) {
    addDetails(explanation, json);
  }
  return json;
}

nlohmann::ordered_json explanationJson(const NodeExplanation& explanation) {
  Json choices = Json::array();
  for (const NodeChoice& choice : explanation.choices) {
    choices.push_back(toJson(choice, explanation));
  }
  return {{"node", explanation.node},          {"op", explanation.op},
          {"kind", explanation.kind},          {"device", explanation.device},
          {"rank", explanation.rank},          {"start_ns", explanation.startNs},
          {"finish_ns", explanation.finishNs}, {"constraint", explanation.constraint},
          {"choices", std::move(choices)}};
}

}  // namespace graphrun::placement
