#include <nlohmann/json.hpp>

#include "placement/explain/explain.h"

namespace graphrun::placement {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson orNull(const std::optional<int64_t>& value) {
  return value.has_value() ? OrderedJson(*value) : OrderedJson();
}

OrderedJson toJson(const DeviceReport& d) {
  return {{"device", d.device},
          {"ops", d.ops},
          {"flops", d.flops},
          {"bytes_touched", d.bytesTouched},
          {"busy_ns", d.busyNs},
          {"weight_bytes", d.weightBytes},
          {"receive_bytes", d.receiveBytes},
          {"peak_bytes", d.peakBytes},
          {"limit_bytes", d.limitBytes > 0 ? OrderedJson(d.limitBytes) : OrderedJson()},
          {"peak_node", d.peakNode},
          {"weight", d.weight},
          {"takes_turns_with", d.takesTurnsWith}};
}

OrderedJson toJson(const LinkReport& l) {
  return {{"link", l.link},          {"kind", l.kind},      {"queues", l.queues},
          {"measured", l.measured},  {"busy_ns", l.busyNs}, {"bytes", l.bytes},
          {"transfers", l.transfers}};
}

OrderedJson toJson(const TensorReport& t) {
  return {{"tensor", t.tensor},
          {"type", t.type},
          {"bytes", t.bytes},
          {"producer", t.producer < 0 ? OrderedJson() : OrderedJson(t.producer)},
          {"consumers", t.consumers},
          {"output", t.isOutput}};
}

OrderedJson toJson(const PathStep& s) {
  return OrderedJson::array({pathKindName(s.kind), s.index, s.startNs, s.finishNs});
}

OrderedJson toJson(const CutEdge& e) {
  return {{"tensor", e.tensor},    {"from", e.from},          {"to", e.to},
          {"link", e.link},        {"link_kind", e.linkKind}, {"bytes", e.bytes},
          {"start_ns", e.startNs}, {"wait_ns", e.waitNs},     {"transfer_ns", e.transferNs}};
}

OrderedJson toJson(const PathReport& p) {
  return {{"kind", p.kind}, {"where", p.where}, {"first", p.first},
          {"last", p.last}, {"count", p.count}, {"ns", p.ns}};
}

OrderedJson toJson(const StrategyReport& s) {
  return {{"strategy", s.strategy},
          {"failure", s.failure.empty() ? OrderedJson() : OrderedJson(s.failure)},
          {"step_ns", s.stepNs},
          {"period_ns", s.periodNs},
          {"devices_used", s.devicesUsed},
          {"peak_bytes", s.peakBytes},
          {"transfers", s.transfers},
          {"transfer_bytes", s.transferBytes}};
}

OrderedJson toJson(const NodeReport& n) {
  return {{"node", n.node},        {"op", n.op},
          {"device", n.device},    {"rank", n.rank},
          {"start_ns", n.startNs}, {"finish_ns", n.finishNs},
          {"source", n.source},    {"members", n.members},
          {"kind", n.kind}};
}

OrderedJson toJson(const AnnotationReport& a) {
  return {{"configuration", a.configuration.empty() ? OrderedJson() : OrderedJson(a.configuration)},
          {"name", a.name},
          {"nodes", a.nodes},
          {"device", a.device.empty() ? OrderedJson() : OrderedJson(a.device)},
          {"why", a.why},
          {"ignored", a.ignored}};
}

OrderedJson toJson(const SplitReport& s) {
  return {{"devices", s.devices},
          {"parts", s.parts},
          {"threads", s.threads},
          {"whole_step_ns", s.wholeNs > 0 ? OrderedJson(s.wholeNs) : OrderedJson()},
          {"step_ns", s.stepNs > 0 ? OrderedJson(s.stepNs) : OrderedJson()},
          {"taken", s.taken},
          {"why", s.why}};
}

OrderedJson toJson(const RecomputeReport& r) {
  return {{"nodes", r.nodes}, {"extra_ns", r.extraNs}, {"peak_bytes_without", r.peakBytesWithout}};
}

OrderedJson toJson(const NodeExplanation& e) { return explanationJson(e); }

OrderedJson toJson(const NodeChoice& c, const NodeExplanation& of) {
  OrderedJson delta =
      c.objectiveNs.has_value() ? OrderedJson(*c.objectiveNs - of.objectiveNs) : OrderedJson();
  return {{"device", c.device},           {"here", c.here},
          {"time_ns", orNull(c.timeNs)},  {"objective_ns", orNull(c.objectiveNs)},
          {"delta_ns", std::move(delta)}, {"why", c.why}};
}

template <typename T>
OrderedJson listOf(const std::vector<T>& items) {
  OrderedJson list = OrderedJson::array();
  for (const T& item : items) {
    list.push_back(toJson(item));
  }
  return list;
}

/// Adds the details that a picture needs beside the reports.
void addDetails(const Explanation& explanation, OrderedJson& json) {
  json["tensors"] = listOf(explanation.tensors);
  json["links"] = listOf(explanation.links);
  json["critical_path"]["steps"] = listOf(explanation.steps);
  for (size_t d = 0; d < explanation.devices.size(); ++d) {
    OrderedJson samples = OrderedJson::array();
    for (const MemorySample& sample : explanation.devices[d].memory) {
      samples.push_back(OrderedJson::array({sample.time, sample.bytes}));
    }
    json["devices"][d]["memory"] = std::move(samples);
  }
  for (size_t e = 0; e < explanation.edges.size(); ++e) {
    json["edges"][e]["tensor_index"] = explanation.edges[e].tensorIndex;
  }
}

}  // namespace

nlohmann::ordered_json explanationJson(const Explanation& explanation, bool details) {
  OrderedJson path = {{"compute_ns", explanation.computeNs},
                      {"link_ns", explanation.linkNs},
                      {"wait_ns", explanation.waitNs},
                      {"segments", listOf(explanation.path)}};
  OrderedJson json = {{"strategy", explanation.strategy},
                      {"goal", objectiveName(explanation.goal)},
                      {"objective_ns", explanation.objectiveNs},
                      {"step_ns", explanation.stepNs},
                      {"overhead_ns", explanation.overheadNs},
                      {"crowding_ns", explanation.crowdingNs},
                      {"latency_ns", explanation.latencyNs()},
                      {"period_ns", explanation.periodNs},
                      {"client_ns", explanation.clientNs},
                      {"client_period_ns", explanation.clientPeriodNs},
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
                      {"recomputed", toJson(explanation.recomputed)},
                      {"choices", listOf(explanation.choices)},
                      {"single_by_runs", explanation.singleByRuns},
                      {"complete", explanation.complete}};
  if (details) {
    addDetails(explanation, json);
  }
  return json;
}

nlohmann::ordered_json explanationJson(const NodeExplanation& explanation) {
  OrderedJson choices = OrderedJson::array();
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
