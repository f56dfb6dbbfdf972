// A placement becomes annotations of the ONNX file that it was made for.
#ifndef GRAPHRUN_FRONTENDS_ONNX_PLACEMENT_WRITER_H_
#define GRAPHRUN_FRONTENDS_ONNX_PLACEMENT_WRITER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace graphrun::frontends {

/// A NodePlacement says where the nodes of a model run.
struct NodePlacement {
  /// A Unit is one kernel, or one of several of a node.
  struct Unit {
    std::vector<std::string> nodes;  ///< names as in node_names.h; joined by "+" where merged
    size_t device = 0;               ///< index into `devices`
    int64_t ns = 0;                  ///< predicted time
  };
  std::vector<std::string> devices;  ///< of the cluster, in its order
  std::vector<Unit> units;
  std::vector<std::pair<size_t, size_t>> transfers;  ///< between devices: from, to
  bool complete = true;  ///< false: what waits for data is not placed yet
};

/// Copies the ONNX file `path` to `outPath`, whole or not at all, with the placement written into
/// it:
/// - the model's first device configuration is "graphrun" with the names of `devices`;
/// - each node that runs has in it a sharding spec for each output, with the one device; and the
///   stage of its device, where tensors pass from device to device without a cycle;
/// - its metadata has the device as "graphrun.device" and, without a name of its own there, as
///   "layer_ann", for programs that show or read these.
/// What an earlier call wrote is replaced, other configurations stay. The IR version becomes at
/// least 11. Nodes in branches and loops are like others. A node that was folded away has no
/// device; a node that is several operations on several devices, or has its name in common with one
/// in another graph, has the one with most of their time; a call of a function has the one on which
/// all that is in it runs, or none.
///
/// Returns what the file could not be told, a line each. FailedPrecondition: the model keeps
/// weights in files beside it and `outPath` is in another folder. Otherwise as importOnnx.
absl::StatusOr<std::string> writePlacement(const std::string& path, const NodePlacement& placement,
                                           const std::string& outPath);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_PLACEMENT_WRITER_H_
