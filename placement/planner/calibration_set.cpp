#include "placement/planner/calibration_set.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "placement/planner/calibration_networks.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {
namespace {

struct Network {
  const char* name;
  void (*add)(builder::Graph& graph);
};

constexpr std::array<Network, 8> kNetworks = {{{"convolutions", addConvolutions},
                                               {"windows", addWindows},
                                               {"depthwise", addDepthwise},
                                               {"grouped", addGrouped},
                                               {"layers", addLayers},
                                               {"transformers", addTransformers},
                                               {"recurrent", addRecurrent},
                                               {"links", addLinks}}};

}  // namespace

absl::StatusOr<std::string> writeCalibrationModel(size_t number, const std::string& path) {
  if (number >= kNetworks.size()) {
    return absl::NotFoundError(
        absl::StrCat("the calibration set has ", kNetworks.size(), " networks, got ", number));
  }
  const Network& network = kNetworks[number];
  builder::Graph graph(network.name);
  network.add(graph);
  GR_RETURN_IF_ERROR(graph.save(path));
  return std::string(network.name);
}

}  // namespace graphrun::compiler
