#include "frontends/onnx/node_names.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringMap.h"

namespace graphrun::frontends {

std::vector<std::string> nodeNames(const NodeList& nodes, const std::string& prefix) {
  std::vector<std::string> names;
  llvm::StringMap<int> counts;
  for (const ::onnx::NodeProto& node : nodes) {
    std::string own =
        node.name().empty() ? absl::StrCat(node.op_type(), "_", names.size()) : node.name();
    std::string name = own;
    while (counts.count(name) != 0) {
      name = absl::StrCat(own, "#", ++counts[own]);
    }
    counts[name] = 1;
    names.push_back(prefix + name);
  }
  return names;
}

}  // namespace graphrun::frontends
