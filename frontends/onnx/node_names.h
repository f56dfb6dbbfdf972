// The nodes of a graph have these names in messages, pins and explanations.
#ifndef GRAPHRUN_FRONTENDS_ONNX_NODE_NAMES_H_
#define GRAPHRUN_FRONTENDS_ONNX_NODE_NAMES_H_

#include <string>
#include <vector>

#include "frontends/onnx/onnx.pb.h"

namespace graphrun::frontends {

using NodeList = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

/// The names of `nodes`, after `prefix`: their own, or "<op_type>_<index>" without one; followed by
/// "#2", "#3" … where an earlier one of them has the name.
std::vector<std::string> nodeNames(const NodeList& nodes, const std::string& prefix);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_NODE_NAMES_H_
