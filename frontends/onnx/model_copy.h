// A changed ONNX model is written to another file.
#ifndef GRAPHRUN_FRONTENDS_ONNX_MODEL_COPY_H_
#define GRAPHRUN_FRONTENDS_ONNX_MODEL_COPY_H_

#include <string>

#include "absl/status/status.h"
#include "frontends/onnx/onnx.pb.h"

namespace graphrun::frontends {

/// FailedPrecondition where `model`, which was read from `path`, keeps weights in files beside it
/// and `outPath` is in another folder.
absl::Status checkCopy(const ::onnx::ModelProto& model, const std::string& path,
                       const std::string& outPath);

/// Writes `model` to `path`, whole or not at all. InvalidArgument for more bytes than an ONNX
/// message can have.
absl::Status writeModel(const ::onnx::ModelProto& model, const std::string& path);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_MODEL_COPY_H_
