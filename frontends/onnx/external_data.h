// Weights that lie in files beside the model.
#ifndef GRAPHRUN_FRONTENDS_ONNX_EXTERNAL_DATA_H_
#define GRAPHRUN_FRONTENDS_ONNX_EXTERNAL_DATA_H_

#include <memory>
#include <optional>
#include <string>

#include "frontends/onnx/onnx.pb.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/AsmState.h"

namespace graphrun::frontends {

class MappedFile;

/// Reads the data of tensors whose data_location is EXTERNAL. Files are mapped once and stay mapped
/// as long as data of theirs is used. A model is not trusted: only regular files inside its folder
/// are opened, by names without "..", and no link is followed on the way.
class ExternalData {
 public:
  /// `folder` is the model's; empty when the model is not from a file.
  explicit ExternalData(std::string folder);
  ~ExternalData();

  /// The tensor's bytes, not copied where they are aligned. Nothing, with the reason in `problem`,
  /// when the file cannot be had, is too short, or has another checksum than the model says.
  std::optional<mlir::AsmResourceBlob> read(const ::onnx::TensorProto& tensor,
                                            std::string& problem);

  /// Puts the bytes of an external tensor into it. False, with the reason in `problem`, as above.
  bool inlineInto(::onnx::TensorProto& tensor, std::string& problem);

 private:
  std::shared_ptr<MappedFile> open(const std::string& location, std::string& problem);

  std::string folder_;
  llvm::StringMap<std::shared_ptr<MappedFile>> files_;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_EXTERNAL_DATA_H_
