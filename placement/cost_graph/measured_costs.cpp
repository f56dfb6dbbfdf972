#include "placement/cost_graph/measured_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace graphrun::placement {
namespace {

constexpr size_t kNeighbours = 4;

int64_t bytesOf(const OpWork& work) { return work.bytesRead + work.bytesWritten; }

double logOf(int64_t amount) {
  return std::log2(static_cast<double>(std::max<int64_t>(amount, 1)));
}

}  // namespace

absl::string_view costSourceName(CostSource source) {
  static constexpr std::array<absl::string_view, 3> kNames = {"measured", "interpolated",
                                                              "estimated"};
  return kNames[static_cast<size_t>(source)];
}

MeasuredCosts::MeasuredCosts(const std::vector<MeasuredOp>& ops) {
  for (const MeasuredOp& op : ops) {
    ops_[op.signature] = op;
    auto [found, isNew] = families_.try_emplace(op.family);
    Family& family = found->second;
    if (isNew) {
      family = {{}, op.flops, op.flops, op.bytes, op.bytes};
    }
    family.leastFlops = std::min(family.leastFlops, op.flops);
    family.mostFlops = std::max(family.mostFlops, op.flops);
    family.leastBytes = std::min(family.leastBytes, op.bytes);
    family.mostBytes = std::max(family.mostBytes, op.bytes);
    family.ops.push_back(op);
  }
}

bool MeasuredCosts::Family::contains(const OpWork& work) const {
  return work.flops >= leastFlops && work.flops <= mostFlops && bytesOf(work) >= leastBytes &&
         bytesOf(work) <= mostBytes;
}

double MeasuredCosts::Family::ratio(const OpWork& work, const DeviceModel& model) const {
  std::vector<std::pair<double, const MeasuredOp*>> near;
  near.reserve(ops.size());
  for (const MeasuredOp& op : ops) {
    near.emplace_back(
        std::hypot(logOf(op.flops) - logOf(work.flops), logOf(op.bytes) - logOf(bytesOf(work))),
        &op);
  }
  size_t count = std::min(kNeighbours, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  double weights = 0;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const MeasuredOp& op = *near[i].second;
    OpWork known{op.flops, op.bytes, 0, work.opClass, work.type};
    double weight = 1 / (near[i].first * near[i].first + 1e-3);
    weights += weight;
    sum += weight * std::log(static_cast<double>(std::max<int64_t>(op.ns, 1)) /
                             static_cast<double>(rooflineNs(known, model)));
  }
  return std::exp(sum / weights);
}

MeasuredCosts::Estimate MeasuredCosts::estimate(uint64_t signature, uint64_t family,
                                                const OpWork& work,
                                                const DeviceModel& model) const {
  if (auto known = ops_.find(signature); known != ops_.end()) {
    return {known->second.ns, CostSource::kMeasured, &known->second};
  }
  auto alike = families_.find(family);
  if (alike == families_.end() || !alike->second.contains(work)) {
    return {rooflineNs(work, model), CostSource::kEstimated};
  }
  OpWork comparable = work;
  comparable.steps = 1;  // nobody knows how many those had that were measured
  double ns = static_cast<double>(rooflineNs(comparable, model)) * alike->second.ratio(work, model);
  return {std::max<int64_t>(std::llround(ns), 1), CostSource::kInterpolated};
}

}  // namespace graphrun::placement
