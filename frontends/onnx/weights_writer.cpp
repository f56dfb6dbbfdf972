#include "frontends/onnx/weights_writer.h"

#include <map>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/model_copy.h"
#include "frontends/onnx/model_file.h"
#include "frontends/onnx/node_names.h"
#include "frontends/onnx/tensors.h"
#include "runtime/base/status.h"

namespace graphrun::frontends {
namespace {

std::optional<int32_t> dataTypeOf(runtime::ElementType type) {
  switch (type) {
    case runtime::ElementType::kF64:
      return ::onnx::TensorProto::DOUBLE;
    case runtime::ElementType::kF32:
      return ::onnx::TensorProto::FLOAT;
    case runtime::ElementType::kF16:
      return ::onnx::TensorProto::FLOAT16;
    case runtime::ElementType::kBF16:
      return ::onnx::TensorProto::BFLOAT16;
    default:
      return std::nullopt;
  }
}

/// Replaces the data of `tensor`.
absl::Status setValue(::onnx::TensorProto& tensor, const WeightValue& value) {
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  const std::optional<int32_t> type = dataTypeOf(value.spec.type);
  if (type != tensor.data_type() || dims != value.spec.dims) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weight '", value.name, "' is of ", value.spec.toString(), ", which the model has as ",
        dataTypeName(tensor.data_type()), " of another shape or type; expected the same"));
  }
  ::onnx::TensorProto filled;
  filled.set_name(tensor.name());
  filled.set_doc_string(tensor.doc_string());
  filled.set_data_type(tensor.data_type());
  filled.mutable_dims()->CopyFrom(tensor.dims());
  filled.set_raw_data(value.bytes.data(), value.bytes.size());
  tensor = std::move(filled);
  return absl::OkStatus();
}

}  // namespace

absl::Status writeWeights(const std::string& path, absl::Span<const WeightValue> values,
                          const std::string& outPath) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<::onnx::ModelProto> model, readModel(path));
  std::map<std::string, const WeightValue*> byName;
  for (const WeightValue& value : values) {
    byName.emplace(value.name, &value);
  }
  ::onnx::GraphProto& graph = *model->mutable_graph();
  for (::onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (auto value = byName.find(tensor.name()); value != byName.end()) {
      GR_RETURN_IF_ERROR(setValue(tensor, *value->second));
      byName.erase(value);
    }
  }
  const std::vector<std::string> names = nodeNames(graph.node(), "");
  for (int i = 0; i < graph.node_size(); ++i) {
    ::onnx::NodeProto& node = *graph.mutable_node(i);
    auto value = byName.find(names[static_cast<size_t>(i)]);
    for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (node.op_type() == "Constant" && value != byName.end() && attribute.has_t()) {
        GR_RETURN_IF_ERROR(setValue(*attribute.mutable_t(), *value->second));
      }
    }
  }
  GR_RETURN_IF_ERROR(checkCopy(*model, path, outPath));
  return writeModel(*model, outPath);
}

}  // namespace graphrun::frontends
