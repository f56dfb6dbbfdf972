#include "placement/planner/placement_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace graphrun::compiler {
namespace {

using ParsedJson = nlohmann::json;

std::string textOf(const ParsedJson& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t numberOf(const ParsedJson& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

/// The texts in a list.
std::vector<std::string> textsOf(const ParsedJson& object, const char* key) {
  std::vector<std::string> texts;
  for (const ParsedJson& item : object.contains(key) ? object[key] : ParsedJson::array()) {
    texts.push_back(item.is_string() ? item.get<std::string>() : "");
  }
  return texts;
}

/// The index of a device, or their number when there is none of that name ("client").
size_t indexOf(const std::vector<std::string>& devices, const std::string& name) {
  return static_cast<size_t>(std::find(devices.begin(), devices.end(), name) - devices.begin());
}

}  // namespace

absl::StatusOr<frontends::NodePlacement> placementFromJson(absl::string_view json) {
  ParsedJson root = ParsedJson::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root["devices"].is_array() || !root["nodes"].is_array() ||
      !root["edges"].is_array()) {
    return absl::InternalError("the explanation of the placement cannot be read");
  }
  frontends::NodePlacement placement;
  for (const ParsedJson& device : root["devices"]) {
    placement.devices.push_back(textOf(device, "device"));
  }
  for (const ParsedJson& node : root["nodes"]) {
    frontends::NodePlacement::Unit unit;
    unit.device = indexOf(placement.devices, textOf(node, "device"));
    unit.ns = numberOf(node, "finish_ns") - numberOf(node, "start_ns");
    unit.nodes = textsOf(node, "members");
    if (unit.device < placement.devices.size()) {
      placement.units.push_back(std::move(unit));
    }
  }
  for (const ParsedJson& edge : root["edges"]) {
    size_t from = indexOf(placement.devices, textOf(edge, "from"));
    size_t to = indexOf(placement.devices, textOf(edge, "to"));
    if (from < placement.devices.size() && to < placement.devices.size()) {
      placement.transfers.emplace_back(from, to);
    }
  }
  placement.complete = root["complete"] != ParsedJson(false);
  return placement;
}

}  // namespace graphrun::compiler
