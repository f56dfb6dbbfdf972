#include "placement/from_ir/node_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "passes/passes.h"

namespace graphrun::placement {

std::vector<mlir::Operation*> membersOf(mlir::Operation* op) {
  std::vector<mlir::Operation*> members;
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
    for (mlir::Operation& member : group.getBody().front().without_terminator()) {
      members.push_back(&member);
    }
  }
  return members;
}

std::vector<std::string> memberLabels(const std::vector<mlir::Operation*>& members) {
  std::vector<std::string> labels;
  for (mlir::Operation* member : members) {
    std::string label = passes::labelOf(member->getLoc());
    if (!label.empty() && !llvm::is_contained(labels, label)) {
      labels.push_back(label);
    }
  }
  return labels;
}

namespace {

/// "gr.leaky_relu" as "LeakyRelu".
std::string kindName(mlir::Operation* op) {
  std::string name;
  bool begins = true;
  for (char c : op->getName().stripDialect()) {
    name += begins ? llvm::toUpper(c) : c;
    begins = c == '_';
  }
  llvm::erase(name, '_');
  return name;
}

}  // namespace

std::string kindName(mlir::Operation* op, const std::vector<mlir::Operation*>& members) {
  constexpr size_t kMost = 4;
  std::vector<std::string> names;
  for (mlir::Operation* member : members) {
    if (!member->hasTrait<mlir::OpTrait::ConstantLike>()) {
      names.push_back(kindName(member));
    }
  }
  if (names.empty()) {
    return kindName(op);
  }
  const size_t more = names.size() > kMost ? names.size() - kMost + 1 : 0;
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, "+"), more == 0 ? "" : absl::StrCat("+", more, " more"));
}

}  // namespace graphrun::placement
