// Functions of a model (ModelProto.functions): a call of one becomes a graph.
#ifndef GRAPHRUN_FRONTENDS_ONNX_FUNCTIONS_H_
#define GRAPHRUN_FRONTENDS_ONNX_FUNCTIONS_H_

#include <string>
#include <vector>

#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/problems.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

namespace graphrun::frontends {

/// The functions of a model, by domain, name and overload. Borrows the model.
class Functions {
 public:
  /// Reports to `problems` what is defined twice.
  Functions(const ::onnx::ModelProto& model, Problems& problems);

  /// The function that `node` calls; null when it calls none.
  const ::onnx::FunctionProto* calledBy(const ::onnx::NodeProto& node) const;

 private:
  llvm::StringMap<const ::onnx::FunctionProto*> byKey_;
};

/// The body of `function` as `call` sees it: references to the function's attributes are replaced
/// by the call's or by the defaults, and left out where there are neither, as are the inputs that
/// the call leaves out. Inputs and outputs of the graph are the function's, without types. What the
/// call gives and the function does not have goes to `problems`, a line each.
::onnx::GraphProto bodyFor(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& call,
                           std::vector<std::string>& problems);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_FUNCTIONS_H_
