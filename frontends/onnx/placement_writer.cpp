#include "frontends/onnx/placement_writer.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontends/onnx/device_annotations.h"
#include "frontends/onnx/functions.h"
#include "frontends/onnx/model_copy.h"
#include "frontends/onnx/model_file.h"
#include "frontends/onnx/node_names.h"
#include "runtime/base/status.h"

namespace graphrun::frontends {
namespace {

constexpr char kConfiguration[] = "graphrun";
constexpr char kDeviceKey[] = "graphrun.device";
/// The first IR version with device configurations.
constexpr int64_t kFirstIrVersion = 11;
/// At most so many names are listed in a warning.
constexpr size_t kListed = 5;

/// For each device the stage it is in when tensors pass from stage to stage; empty when only one
/// device is used, or tensors pass in a cycle.
std::vector<int> stagesOf(const NodePlacement& placement) {
  std::set<size_t> used;
  for (const NodePlacement::Unit& unit : placement.units) {
    used.insert(unit.device);
  }
  std::vector<int> stages(placement.devices.size(), 0);
  // The longest way to a device has fewer steps than there are devices, unless it is in a cycle.
  for (size_t round = 0; round <= used.size(); ++round) {
    bool changed = false;
    for (auto [from, to] : placement.transfers) {
      if (from != to && stages[to] <= stages[from]) {
        stages[to] = stages[from] + 1;
        changed = true;
      }
    }
    if (!changed) {
      return used.size() > 1 ? stages : std::vector<int>();
    }
  }
  return {};
}

/// Calls `visit` with each node of `nodes` and of the graphs in them, and its name.
template <typename Visit>
void forEachNode(NodeList& nodes, const std::string& prefix, Visit visit) {
  std::vector<std::string> names = nodeNames(nodes, prefix);
  for (int i = 0; i < nodes.size(); ++i) {
    visit(nodes[i], names[static_cast<size_t>(i)]);
    for (::onnx::AttributeProto& attribute : *nodes[i].mutable_attribute()) {
      if (attribute.has_g()) {
        forEachNode(*attribute.mutable_g()->mutable_node(), prefix, visit);
      }
    }
  }
}

std::string* metadata(::onnx::NodeProto& node, const char* key) {
  for (::onnx::StringStringEntryProto& entry : *node.mutable_metadata_props()) {
    if (entry.key() == key) {
      return entry.mutable_value();
    }
  }
  return nullptr;
}

void setMetadata(::onnx::NodeProto& node, const char* key, const std::string& value) {
  std::string* known = metadata(node, key);
  if (known == nullptr) {
    ::onnx::StringStringEntryProto* entry = node.add_metadata_props();
    entry->set_key(key);
    known = entry->mutable_value();
  }
  *known = value;
}

template <typename List, typename Remove>
void removeIf(List& list, Remove remove) {
  for (int i = list.size() - 1; i >= 0; --i) {
    if (remove(list[i])) {
      list.DeleteSubrange(i, 1);
    }
  }
}

class PlacementWriter {
 public:
  PlacementWriter(::onnx::ModelProto& model, const NodePlacement& placement)
      : model_(model),
        placement_(placement),
        stages_(stagesOf(placement)),
        functions_(model, problems_) {}

  /// Gives warnings.
  std::string run() {
    forEachNode(*nodes(), "",
                [&](::onnx::NodeProto& node, const std::string& name) { addNames(node, name); });
    vote();
    for (::onnx::FunctionProto& function : *model_.mutable_functions()) {
      forEachNode(*function.mutable_node(), "",
                  [&](::onnx::NodeProto& node, const std::string&) { clear(node); });
    }
    forEachNode(*nodes(), "", [&](::onnx::NodeProto& node, const std::string& name) {
      clear(node);
      annotate(node, name);
    });
    setConfiguration();
    model_.set_ir_version(std::max<int64_t>(model_.ir_version(), kFirstIrVersion));
    return warnings();
  }

 private:
  using Votes = std::map<size_t, int64_t>;  // ns by device

  NodeList* nodes() { return model_.mutable_graph()->mutable_node(); }

  /// Adds what may run under the name: the node's own, or for a call the names of the nodes in it.
  void addNames(const ::onnx::NodeProto& node, const std::string& name) {
    names_.insert(name);
    if (const ::onnx::FunctionProto* function = functions_.calledBy(node)) {
      NodeList inner = function->node();
      forEachNode(inner, absl::StrCat(name, "/"),
                  [&](::onnx::NodeProto& called, const std::string& calledName) {
                    addNames(called, calledName);
                  });
    }
  }

  /// The nodes in a label: several where operations were merged.
  std::vector<std::string> split(const std::string& label) const {
    if (names_.contains(label)) {
      return {label};
    }
    std::vector<std::string> parts = absl::StrSplit(label, '+');
    std::vector<std::string> found;
    for (size_t begin = 0; begin < parts.size(); ++begin) {
      for (size_t end = parts.size(); end > begin; --end) {
        std::string name = absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(begin),
                                         parts.begin() + static_cast<std::ptrdiff_t>(end), "+");
        if (names_.contains(name)) {
          found.push_back(name);
          begin = end - 1;
          break;
        }
      }
    }
    return found;
  }

  void vote() {
    for (const NodePlacement::Unit& unit : placement_.units) {
      for (const std::string& label : unit.nodes) {
        for (const std::string& name : split(label)) {
          votes_[name][unit.device] += unit.ns;
        }
      }
    }
  }

  void clear(::onnx::NodeProto& node) {
    removeIf(*node.mutable_device_configurations(), [](const auto& configuration) {
      return configuration.configuration_id() == kConfiguration;
    });
    std::string* device = metadata(node, kDeviceKey);
    if (device == nullptr) {
      return;
    }
    std::string before = *device;
    removeIf(*node.mutable_metadata_props(), [&](const auto& entry) {
      return entry.key() == kDeviceKey || (entry.key() == kLayerKey && entry.value() == before);
    });
  }

  void annotate(::onnx::NodeProto& node, const std::string& name) {
    bool isCall = functions_.calledBy(node) != nullptr;
    Votes votes = isCall ? votesOfCall(name) : votesOf(name);
    if (votes.empty()) {
      return;
    }
    if (votes.size() > 1) {
      (isCall ? splitCalls_ : splitNodes_).push_back(name);
    }
    if (votes.size() > 1 && isCall) {
      return;
    }
    auto most = std::max_element(votes.begin(), votes.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    place(node, most->first);
  }

  Votes votesOf(const std::string& name) const {
    auto found = votes_.find(name);
    return found == votes_.end() ? Votes() : found->second;
  }

  Votes votesOfCall(const std::string& name) const {
    Votes sum;
    std::string prefix = absl::StrCat(name, "/");
    for (auto it = votes_.lower_bound(prefix);
         it != votes_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
      for (auto [device, ns] : it->second) {
        sum[device] += ns;
      }
    }
    return sum;
  }

  void place(::onnx::NodeProto& node, size_t device) {
    ::onnx::NodeDeviceConfigurationProto& configuration = *node.add_device_configurations();
    configuration.set_configuration_id(kConfiguration);
    for (const std::string& output : node.output()) {
      if (!output.empty()) {
        ::onnx::ShardingSpecProto& spec = *configuration.add_sharding_spec();
        spec.set_tensor_name(output);
        spec.add_device(static_cast<int64_t>(device));
      }
    }
    if (!stages_.empty()) {
      configuration.set_pipeline_stage(stages_[device]);
    }
    setMetadata(node, kDeviceKey, placement_.devices[device]);
    if (metadata(node, kLayerKey) == nullptr) {
      setMetadata(node, kLayerKey, placement_.devices[device]);
    }
  }

  void setConfiguration() {
    auto& all = *model_.mutable_configuration();
    removeIf(all, [](const auto& other) { return other.name() == kConfiguration; });
    ::onnx::DeviceConfigurationProto& own = *all.Add();
    own.set_name(kConfiguration);
    own.set_num_devices(static_cast<int32_t>(placement_.devices.size()));
    for (const std::string& device : placement_.devices) {
      own.add_device(device);
    }
    for (int i = all.size() - 1; i > 0; --i) {
      all.SwapElements(i, i - 1);
    }
  }

  static std::string list(std::vector<std::string> names) {
    size_t count = names.size();
    names.resize(std::min(count, kListed));
    return absl::StrCat(absl::StrJoin(names, ", "),
                        count > kListed ? absl::StrCat(" and ", count - kListed, " more") : "");
  }

  std::string warnings() const {
    std::string text;
    if (!splitNodes_.empty()) {
      absl::StrAppend(&text, "warning: nodes whose operations run on several devices have the one ",
                      "with most of their time: ", list(splitNodes_), "\n");
    }
    if (!splitCalls_.empty()) {
      absl::StrAppend(&text, "warning: calls of functions whose nodes run on several devices have ",
                      "none, since ONNX cannot say which: ", list(splitCalls_), "\n");
    }
    if (!placement_.complete) {
      absl::StrAppend(&text,
                      "warning: nodes whose shapes depend on data have no device: they are placed ",
                      "when the model runs\n");
    }
    return text;
  }

  ::onnx::ModelProto& model_;
  const NodePlacement& placement_;
  std::vector<int> stages_;  // by device; empty: none
  Problems problems_;        // none: the model was imported before
  Functions functions_;
  std::set<std::string> names_;
  std::map<std::string, Votes> votes_;
  std::vector<std::string> splitNodes_;
  std::vector<std::string> splitCalls_;
};

}  // namespace

absl::StatusOr<std::string> writePlacement(const std::string& path, const NodePlacement& placement,
                                           const std::string& outPath) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<::onnx::ModelProto> model, readModel(path));
  GR_RETURN_IF_ERROR(checkCopy(*model, path, outPath));
  std::string warnings = PlacementWriter(*model, placement).run();
  GR_RETURN_IF_ERROR(writeModel(*model, outPath));
  return warnings;
}

}  // namespace graphrun::frontends
