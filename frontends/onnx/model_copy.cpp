#include "frontends/onnx/model_copy.h"

#include <algorithm>
#include <climits>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "frontends/onnx/node_names.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/status.h"

namespace graphrun::frontends {
namespace {

namespace fs = std::filesystem;

bool isExternal(const ::onnx::TensorProto& tensor) {
  return tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
}

template <typename Tensors>
bool anyExternal(const Tensors& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), isExternal);
}

bool hasExternalData(const ::onnx::GraphProto& graph);

bool hasExternalData(const NodeList& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const ::onnx::NodeProto& node) {
    return std::any_of(node.attribute().begin(), node.attribute().end(),
                       [](const ::onnx::AttributeProto& attribute) {
                         return isExternal(attribute.t()) || anyExternal(attribute.tensors()) ||
                                (attribute.has_g() && hasExternalData(attribute.g()));
                       });
  });
}

bool hasExternalData(const ::onnx::GraphProto& graph) {
  return anyExternal(graph.initializer()) || hasExternalData(graph.node());
}

bool hasExternalData(const ::onnx::ModelProto& model) {
  return hasExternalData(model.graph()) ||
         std::any_of(model.functions().begin(), model.functions().end(),
                     [](const auto& function) { return hasExternalData(function.node()); }) ||
         std::any_of(model.training_info().begin(), model.training_info().end(),
                     [](const auto& training) {
                       return hasExternalData(training.initialization()) ||
                              hasExternalData(training.algorithm());
                     });
}

fs::path absoluteFolderOf(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(path, error).parent_path(), error);
}

}  // namespace

absl::Status checkCopy(const ::onnx::ModelProto& model, const std::string& path,
                       const std::string& outPath) {
  if (absoluteFolderOf(path) == absoluteFolderOf(outPath) || !hasExternalData(model)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", outPath, ": the weights of ", path,
                   " are in files beside it, which a copy elsewhere would miss; write into ",
                   absoluteFolderOf(path).string()));
}

absl::Status writeModel(const ::onnx::ModelProto& model, const std::string& path) {
  std::string bytes;
  if (model.ByteSizeLong() > INT_MAX || !model.SerializeToString(&bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot write ", path, ": the model has ", model.ByteSizeLong(), " bytes, more than the ",
        INT_MAX, " of an ONNX message; save it with external data first"));
  }
  GR_ASSIGN_OR_RETURN(runtime::AtomicFile file, runtime::AtomicFile::create(path));
  GR_RETURN_IF_ERROR(file.write(
      absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())));
  return file.commit();
}

}  // namespace graphrun::frontends
