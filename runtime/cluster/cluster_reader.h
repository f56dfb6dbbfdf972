// A ClusterReader reads cluster.yaml. It is internal to this folder.
#ifndef GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_READER_H_
#define GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_READER_H_

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/cluster/cluster_description.h"

namespace graphrun::runtime {

/// From 1; an empty file has no mark at all.
inline int lineOf(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

/// Every problem of the file goes into one report. One thread, one file.
class ClusterReader {
 public:
  ClusterReader(absl::string_view fileName, absl::Span<const DeviceKind> kinds)
      : fileName_(fileName), kinds_(kinds) {}

  absl::StatusOr<ClusterDescription> read(absl::string_view text);

 private:
  void problem(const YAML::Node& at, std::string text) {
    problems_.emplace(lineOf(at), std::move(text));
  }
  std::string sourceOf(const YAML::Node& node) const {
    return absl::StrCat(fileName_, ":", lineOf(node));
  }
  bool checkMap(const YAML::Node& node, const std::string& where,
                const std::vector<std::string>& keys);
  bool checkList(const YAML::Node& node, const std::string& where);
  std::string text(const YAML::Node& map, const char* key, const std::string& where);
  template <typename Parse, typename T>
  void quantity(const YAML::Node& map, const char* key, const std::string& where, Parse parse,
                T& value);

  void readRoot(const YAML::Node& root);
  void readWorker(const YAML::Node& node);
  void readAddress(const YAML::Node& map, const std::string& where, GivenWorker& worker);
  void readDevices(const YAML::Node& node, const std::string& where, GivenWorker& worker);
  void readDevice(const YAML::Node& node, const std::string& where, GivenWorker& worker);
  DeviceSpec newDevice(const DeviceKind& kind, const YAML::Node& node) const;
  void readOnCores(const DeviceKind& kind, const YAML::Node& node, const std::string& where,
                   GivenWorker& worker);
  void readHardware(const DeviceKind& kind, const YAML::Node& node, const std::string& where,
                    GivenWorker& worker);
  void readMemoryAndWeight(const YAML::Node& map, const std::string& where, DeviceSpec& device);
  void readCores(const YAML::Node& node, const std::string& where, DeviceSpec& device);
  std::optional<bool> readFlag(const YAML::Node& map, const char* key, const std::string& where);
  void readShared(const YAML::Node& node, const std::string& where, DeviceSpec& device);
  void checkCores(const YAML::Node& node, const std::string& where, const GivenWorker& worker);
  void readLink(const YAML::Node& node);
  std::optional<std::string> readEndpoint(const YAML::Node& node, const std::string& where);
  void readSecurity(const YAML::Node& node);
  void readForbid(const YAML::Node& node);
  void readPin(const YAML::Node& node);
  void checkPinDevice(const YAML::Node& at, const std::string& device);
  absl::Status report() const;

  std::string fileName_;
  absl::Span<const DeviceKind> kinds_;
  ClusterDescription cluster_;
  std::multimap<int, std::string> problems_;  // by line, in the order of discovery within one
};

template <typename Parse, typename T>
void ClusterReader::quantity(const YAML::Node& map, const char* key, const std::string& where,
                             Parse parse, T& value) {
  YAML::Node node = map[key];
  if (!node) {
    return;
  }
  auto parsed = parse(node.IsScalar() ? node.Scalar() : "");
  if (!parsed.ok()) {
    problem(node, absl::StrCat(where, ": ", key, ": ", parsed.status().message()));
    return;
  }
  value = *parsed;
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_READER_H_
