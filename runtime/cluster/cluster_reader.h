// A ClusterReader reads cluster.yaml. It is internal to this folder.
#ifndef GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_READER_H_
#define GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_READER_H_

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/yaml/yaml_reader.h"

namespace graphrun::runtime {

/// One thread, one file.
class ClusterReader : public YamlReader {
 public:
  ClusterReader(absl::string_view fileName, absl::Span<const DeviceKind> kinds)
      : YamlReader(fileName), kinds_(kinds) {}

  absl::StatusOr<ClusterDescription> read(absl::string_view text);

 private:
  std::string hintFor(const std::string& key, const std::vector<std::string>& known) const override;

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
  void readShared(const YAML::Node& node, const std::string& where, DeviceSpec& device);
  void checkCores(const YAML::Node& node, const std::string& where, const GivenWorker& worker);
  void readLink(const YAML::Node& node);
  std::optional<std::string> readEndpoint(const YAML::Node& node, const std::string& where);
  void readSecurity(const YAML::Node& node);
  void readForbid(const YAML::Node& node);
  void readPin(const YAML::Node& node);
  void checkPinDevice(const YAML::Node& at, const std::string& device);

  absl::Span<const DeviceKind> kinds_;
  ClusterDescription cluster_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CLUSTER_CLUSTER_READER_H_
