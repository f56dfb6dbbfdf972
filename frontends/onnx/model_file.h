// This reads the ONNX message of a file.
#ifndef GRAPHRUN_FRONTENDS_ONNX_MODEL_FILE_H_
#define GRAPHRUN_FRONTENDS_ONNX_MODEL_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontends/onnx/onnx.pb.h"

namespace graphrun::frontends {

/// Parses a serialised ModelProto. Fails with InvalidArgument, naming `name`, its size and, where
/// the bytes break off, the offset.
absl::StatusOr<std::unique_ptr<::onnx::ModelProto>> parseModel(absl::string_view bytes,
                                                               absl::string_view name);

/// Maps the file and parses it. The mapping is gone on return; the message owns its bytes.
absl::StatusOr<std::unique_ptr<::onnx::ModelProto>> readModel(const std::string& path);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_MODEL_FILE_H_
