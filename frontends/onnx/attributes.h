// These functions give typed access to the attributes of an ONNX node.
#ifndef GRAPHRUN_FRONTENDS_ONNX_ATTRIBUTES_H_
#define GRAPHRUN_FRONTENDS_ONNX_ATTRIBUTES_H_

#include <functional>
#include <initializer_list>
#include <string>

#include "frontends/onnx/onnx.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace graphrun::frontends {

/// The attributes of one node. Each one that is read is remembered, so that those which the
/// importer does not know can be reported: an attribute is never silently dropped. A wrong type is
/// reported and read as absent. Borrows the node and `report`'s captures.
class Attributes {
 public:
  using Report = std::function<void(std::string)>;

  Attributes(::onnx::NodeProto& node, Report report);

  bool has(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t absent);
  double real(llvm::StringRef name, double absent);
  std::string text(llvm::StringRef name, llvm::StringRef absent);
  /// Empty when absent.
  llvm::SmallVector<int64_t> integers(llvm::StringRef name);
  llvm::SmallVector<double> reals(llvm::StringRef name);
  llvm::SmallVector<llvm::StringRef> texts(llvm::StringRef name);
  /// Null when absent.
  ::onnx::TensorProto* tensor(llvm::StringRef name);

  ::onnx::GraphProto* graph(llvm::StringRef name);

  /// Reports `name` when it is absent.
  bool require(llvm::StringRef name);
  /// Marks attributes as known that mean nothing for inference.
  void ignore(std::initializer_list<llvm::StringRef> names);
  /// Reports every attribute that was not asked for.
  void reportUnread();

 private:
  ::onnx::AttributeProto* find(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type);

  Report report_;
  llvm::StringMap<::onnx::AttributeProto*> byName_;
  llvm::StringSet<> asked_;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_ATTRIBUTES_H_
