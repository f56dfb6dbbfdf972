#include "frontends/onnx/device_annotations.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace graphrun::frontends {
namespace {

/// At most so many devices of a sharded tensor are named.
constexpr size_t kNamedDevices = 8;

template <typename Names>
bool holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The devices that hold the tensor: those of a group in place of the group.
void addDevices(const ::onnx::ShardingSpecProto& spec, std::set<int64_t>& devices) {
  for (int64_t device : spec.device()) {
    const ::onnx::IntIntListEntryProto* group = nullptr;
    for (const ::onnx::IntIntListEntryProto& entry : spec.index_to_device_group_map()) {
      group = entry.key() == device ? &entry : group;
    }
    if (group != nullptr) {
      devices.insert(group->value().begin(), group->value().end());
    } else {
      devices.insert(device);
    }
  }
}

}  // namespace

DeviceAnnotations::DeviceAnnotations(mlir::MLIRContext* context, const ::onnx::ModelProto& model)
    : context_(context) {
  for (const ::onnx::DeviceConfigurationProto& proto : model.configuration()) {
    configurations_.try_emplace(proto.name(), Configuration{&proto, configurations_.size(), {}});
  }
  if (configurations_.empty()) {
    return;
  }
  for (const ::onnx::NodeProto& node : model.graph().node()) {
    collectStages(node);
  }
  for (const ::onnx::FunctionProto& function : model.functions()) {
    for (const ::onnx::NodeProto& node : function.node()) {
      collectStages(node);
    }
  }
}

void DeviceAnnotations::collectStages(const ::onnx::NodeProto& node) {
  for (const ::onnx::NodeDeviceConfigurationProto& annotation : node.device_configurations()) {
    auto found = configurations_.find(annotation.configuration_id());
    if (found != configurations_.end() && annotation.has_pipeline_stage()) {
      found->second.stages.insert(annotation.pipeline_stage());
    }
  }
  for (const ::onnx::AttributeProto& attribute : node.attribute()) {
    for (const ::onnx::NodeProto& inner : attribute.g().node()) {
      collectStages(inner);
    }
  }
}

llvm::SmallVector<passes::DeviceHint> DeviceAnnotations::of(const ::onnx::NodeProto& node) const {
  std::vector<std::pair<size_t, passes::DeviceHint>> ordered;
  for (const ::onnx::NodeDeviceConfigurationProto& annotation : node.device_configurations()) {
    auto found = configurations_.find(annotation.configuration_id());
    size_t order = found == configurations_.end() ? configurations_.size() : found->second.order;
    if (std::optional<passes::DeviceHint> hint = hintOf(node, annotation)) {
      ordered.emplace_back(order, *hint);
    }
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  llvm::SmallVector<passes::DeviceHint> hints;
  for (const auto& [order, hint] : ordered) {
    hints.push_back(hint);
  }
  for (const ::onnx::StringStringEntryProto& entry : node.metadata_props()) {
    if (entry.key() == kLayerKey && !entry.value().empty()) {
      hints.push_back(hint("", entry.value(), ""));
    }
  }
  return hints;
}

std::optional<passes::DeviceHint> DeviceAnnotations::hintOf(
    const ::onnx::NodeProto& node, const ::onnx::NodeDeviceConfigurationProto& annotation) const {
  const std::string& id = annotation.configuration_id();
  auto found = configurations_.find(id);
  if (found == configurations_.end()) {
    return hint(id, "", "the model has no such configuration of devices");
  }
  const Configuration& configuration = found->second;
  Devices ofOutputs;
  Devices ofInputs;
  for (const ::onnx::ShardingSpecProto& spec : annotation.sharding_spec()) {
    bool isOutput = holds(node.output(), spec.tensor_name());
    if (!isOutput && !holds(node.input(), spec.tensor_name())) {
      return hint(id, spec.tensor_name(), "the node has no such input or output");
    }
    addDevices(spec, isOutput ? ofOutputs : ofInputs);
  }
  Devices devices = ofOutputs.empty() ? ofInputs : ofOutputs;
  if (devices.empty() && annotation.has_pipeline_stage()) {
    auto stage = configuration.stages.find(annotation.pipeline_stage());
    devices.insert(std::distance(configuration.stages.begin(), stage));
  }
  std::vector<std::string> names;
  for (int64_t device : devices) {
    int64_t count =
        std::max(configuration.proto->num_devices(), configuration.proto->device_size());
    if (device < 0 || device >= count) {
      return hint(id, absl::StrCat(id, ":", device),
                  absl::StrCat("the configuration has ", count, " devices"));
    }
    if (names.size() < kNamedDevices) {
      names.push_back(deviceName(configuration, device));
    }
  }
  if (devices.size() > names.size()) {
    names.push_back("…");
  }
  if (devices.empty()) {
    return std::nullopt;
  }
  return hint(id, absl::StrJoin(names, ", "),
              devices.size() == 1 ? "" : "a node runs on one device, not on several");
}

std::string DeviceAnnotations::deviceName(const Configuration& configuration,
                                          int64_t device) const {
  const ::onnx::DeviceConfigurationProto& proto = *configuration.proto;
  bool named = device < proto.device_size() && !proto.device(static_cast<int>(device)).empty();
  return named ? proto.device(static_cast<int>(device)) : absl::StrCat(proto.name(), ":", device);
}

passes::DeviceHint DeviceAnnotations::hint(const std::string& configuration,
                                           const std::string& name,
                                           const std::string& problem) const {
  auto kept = [&](const std::string& text) {
    return mlir::StringAttr::get(context_, text).getValue();
  };
  return {kept(configuration), kept(name), kept(problem)};
}

}  // namespace graphrun::frontends
