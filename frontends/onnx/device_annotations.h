// The model itself may say where its nodes are to run: by ONNX's multi-device annotations (IR 11
// and later) and ONNX Runtime's names of layers.
#ifndef GRAPHRUN_FRONTENDS_ONNX_DEVICE_ANNOTATIONS_H_
#define GRAPHRUN_FRONTENDS_ONNX_DEVICE_ANNOTATIONS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/onnx.pb.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/device_hints.h"

namespace graphrun::frontends {

/// The key of a node's metadata that names its layer.
inline constexpr char kLayerKey[] = "layer_ann";

/// The devices of a model, and what its nodes say of them. Borrows the model.
class DeviceAnnotations {
 public:
  DeviceAnnotations(mlir::MLIRContext* context, const ::onnx::ModelProto& model);

  /// Returns what `node` asks for, in the order of the model's configurations, the layer last. In
  /// one configuration a node is on
  /// - the device on which all its outputs are, or its inputs where it says nothing of outputs;
  /// - without such, the device of its pipeline stage: the stages that the model has, in ascending
  ///   order, are on devices 0, 1 …
  /// A device without a name is called "<configuration>:<index>". An annotation that names more
  /// devices than one, or none that exists, is a hint with a problem.
  llvm::SmallVector<passes::DeviceHint> of(const ::onnx::NodeProto& node) const;

 private:
  using Devices = std::set<int64_t>;

  struct Configuration {
    const ::onnx::DeviceConfigurationProto* proto;
    size_t order;
    std::set<int64_t> stages;  // that nodes are in
  };

  void collectStages(const ::onnx::NodeProto& node);
  std::optional<passes::DeviceHint> hintOf(
      const ::onnx::NodeProto& node, const ::onnx::NodeDeviceConfigurationProto& annotation) const;
  std::string deviceName(const Configuration& configuration, int64_t device) const;
  passes::DeviceHint hint(const std::string& configuration, const std::string& name,
                          const std::string& problem) const;

  mlir::MLIRContext* context_;
  std::map<std::string, Configuration> configurations_;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_DEVICE_ANNOTATIONS_H_
