#include "passes/collectives.h"

#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/reductions.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/group_builder.h"
#include "passes/group_rules.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

mlir::Value create(mlir::OpBuilder& builder, mlir::Location loc, llvm::StringRef name,
                   mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
  // The operands are those of a verified operation, so that types always follow.
  return (*ir::createOp(builder, loc, name, operands, attributes))->getResult(0);
}

mlir::NamedAttribute axisAttr(mlir::OpBuilder& builder, int64_t axis) {
  return builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis));
}

/// Operands are cut along one of their axes, or flattened.
struct Cut {
  bool flattens = false;
  int64_t axis = 0;
  llvm::SmallVector<int64_t> sizes;  // by member
};

Cut cutOf(mlir::Operation* collective) {
  auto type = typeOf(collective->getOperand(0));
  auto members = static_cast<int64_t>(collective->getNumOperands());
  Cut cut;
  int64_t whole = type.getNumElements();
  if (auto scatter = llvm::dyn_cast<ir::ReduceScatterOp>(collective)) {
    cut.axis = scatter.getAxis();
    whole = type.getDimSize(static_cast<unsigned>(cut.axis));
  } else {
    cut.flattens = true;
  }
  for (int64_t i = 0; i < members; ++i) {
    cut.sizes.push_back(whole / members + (i < whole % members ? 1 : 0));
  }
  return cut;
}

mlir::Value flattened(mlir::OpBuilder& builder, mlir::Location loc, const Cut& cut,
                      mlir::Value operand) {
  return cut.flattens ? buildReshape(builder, loc, operand, {typeOf(operand).getNumElements()})
                      : operand;
}

/// Part `member` of a whole operand.
mlir::Value buildPart(mlir::OpBuilder& builder, mlir::Location loc, const Cut& cut, unsigned member,
                      mlir::Value operand) {
  int64_t start = 0;
  for (unsigned i = 0; i < member; ++i) {
    start += cut.sizes[i];
  }
  auto list = [&](int64_t value) { return ir::createInts(builder, loc, {value}); };
  mlir::Value flat = flattened(builder, loc, cut, operand);
  return create(builder, loc, "gr.slice",
                {flat, list(start), list(start + cut.sizes[member]), list(cut.axis), list(1)});
}

/// The types that libraries of collectives have.
bool isCarriedType(mlir::Type element) {
  return element.isInteger(8) || element.isInteger(32) || element.isInteger(64) ||
         element.isF16() || element.isBF16() || element.isF32() || element.isF64();
}

/// Returns the kind of a collective that combines.
ir::ReduceKind kindOf(mlir::Operation* collective) {
  auto reduce = llvm::dyn_cast<ir::AllReduceOp>(collective);
  return reduce ? reduce.getKind() : llvm::cast<ir::ReduceScatterOp>(collective).getKind();
}

/// Operations that become one kernel while they are made. A long combination takes several.
class Kernels {
 public:
  Kernels(mlir::OpBuilder& builder, mlir::Location loc) : builder_(builder), loc_(loc) {}

  /// `lhs op rhs`.
  mlir::Value add(llvm::StringRef op, mlir::Value lhs, mlir::Value rhs) {
    if (members_.size() + 2 > kMaxMapInputs) {
      lhs = finish(lhs);
    }
    mlir::Value result = create(builder_, loc_, op, {lhs, rhs});
    members_.push_back(result.getDefiningOp());
    return result;
  }

  /// Ends a kernel that makes `value`.
  mlir::Value finish(mlir::Value value) {
    if (members_.size() > 1) {
      value = buildGroup({ir::GroupKind::kMap, members_})->getResult(0);
    }
    members_.clear();
    return value;
  }

 private:
  mlir::OpBuilder& builder_;
  mlir::Location loc_;
  llvm::SmallVector<mlir::Operation*> members_;
};

CollectiveStep wholeStep(unsigned member) { return {member, "/" + std::to_string(member)}; }

}  // namespace

bool isCollective(mlir::Operation* op) {
  return llvm::isa<ir::AllReduceOp, ir::AllGatherOp, ir::ReduceScatterOp>(op);
}

bool isCarried(mlir::Operation* collective) {
  auto type = typeOf(collective->getOperand(0));
  auto axis = collective->getAttrOfType<mlir::IntegerAttr>("axis");
  bool isAlongFirst =
      llvm::all_of(type.getShape().take_front(axis ? static_cast<size_t>(axis.getInt()) : 0),
                   [](int64_t dim) { return dim == 1; });
  return isAlongFirst && isCarriedType(type.getElementType()) && type.getNumElements() > 0;
}

std::vector<CollectiveStep> stepsOf(mlir::Operation* collective) {
  constexpr unsigned kDirectMembers = 2;  // two exchange their operands in one message each
  unsigned members = collective->getNumOperands();
  bool isLarge = ir::byteSize(collective->getOperand(0).getType()) > kDirectBytes;
  bool isReduction = llvm::isa<ir::AllReduceOp>(collective);
  bool inTwo = isReduction && isLarge && members > kDirectMembers;
  std::vector<CollectiveStep> steps;
  steps.reserve(size_t{members} * 2);
  for (unsigned i = 0; i < members; ++i) {
    steps.push_back(wholeStep(i));
    steps.back().cuts = inTwo || (isLarge && llvm::isa<ir::ReduceScatterOp>(collective));
    steps.back().gives = !inTwo;
    steps.back().isOwn = inTwo || llvm::isa<ir::ReduceScatterOp>(collective);
    steps.back().suffix += inTwo ? "/reduce" : "";
  }
  for (unsigned i = 0; inTwo && i < members; ++i) {
    steps.push_back(wholeStep(i));
    steps.back().joins = true;
    steps.back().suffix += "/gather";
  }
  return steps;
}

mlir::RankedTensorType partType(mlir::Operation* collective, unsigned member) {
  auto type = typeOf(collective->getOperand(0));
  Cut cut = cutOf(collective);
  if (cut.flattens) {
    return mlir::RankedTensorType::get({cut.sizes[member]}, type.getElementType());
  }
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[static_cast<size_t>(cut.axis)] = cut.sizes[member];
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

bool isCutAtSource(mlir::Value operand) {
  return operand.getDefiningOp() != nullptr && !isWeight(operand.getDefiningOp());
}

llvm::SmallVector<mlir::Value> buildParts(mlir::OpBuilder& builder, mlir::Location loc,
                                          mlir::Operation* collective, mlir::Value operand) {
  Cut cut = cutOf(collective);
  mlir::Value flat = flattened(builder, loc, cut, operand);
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      axisAttr(builder, cut.axis),
      builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(cut.sizes))};
  mlir::Operation* split = *ir::createOp(builder, loc, "gr.split", flat, attributes,
                                         static_cast<unsigned>(cut.sizes.size()));
  return {split->result_begin(), split->result_end()};
}

mlir::Value buildStep(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* collective,
                      const CollectiveStep& step, mlir::ValueRange inputs) {
  if (step.joins) {
    auto whole = typeOf(collective->getResult(step.member));
    return buildReshape(builder, loc, buildConcat(builder, loc, inputs, 0), whole.getShape());
  }
  if (auto gather = llvm::dyn_cast<ir::AllGatherOp>(collective)) {
    return buildConcat(builder, loc, inputs, gather.getAxis());
  }
  auto count = static_cast<int64_t>(inputs.size());
  if (!step.cuts && llvm::isa<ir::AllReduceOp>(collective)) {
    return buildCombination(builder, loc, kindOf(collective), inputs, count);
  }
  Cut cut = cutOf(collective);
  llvm::SmallVector<mlir::Value> parts;
  for (auto [operand, input] : llvm::zip(collective->getOperands(), inputs)) {
    bool isPart = step.cuts && isCutAtSource(operand);
    parts.push_back(isPart ? input : buildPart(builder, loc, cut, step.member, input));
  }
  return buildCombination(builder, loc, kindOf(collective), parts, count);
}

mlir::Value buildCombination(mlir::OpBuilder& builder, mlir::Location loc, ir::ReduceKind kind,
                             mlir::ValueRange values, int64_t divisor) {
  ir::ReductionRule rule = ir::ruleOf(kind);
  llvm::StringRef op = ir::operationOf(*rule.combine);
  Kernels kernels(builder, loc);
  mlir::Value result = values.front();
  for (mlir::Value value : values.drop_front()) {
    result = kernels.add(op, result, value);
  }
  if (rule.divides && divisor > 1) {
    mlir::Type element = typeOf(result).getElementType();
    result = kernels.add("gr.div", result,
                         ir::createScalar(builder, loc, element, static_cast<double>(divisor)));
  }
  return kernels.finish(result);
}

mlir::Value buildConcat(mlir::OpBuilder& builder, mlir::Location loc, mlir::ValueRange values,
                        int64_t axis) {
  return values.size() == 1 ? values.front()
                            : create(builder, loc, "gr.concat", values, axisAttr(builder, axis));
}

mlir::Value buildReshape(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                         llvm::ArrayRef<int64_t> shape) {
  return typeOf(value).getShape() == shape
             ? value
             : create(builder, loc, "gr.reshape", {value, ir::createInts(builder, loc, shape)});
}

llvm::SmallVector<mlir::Value> buildEqualParts(mlir::OpBuilder& builder, mlir::Location loc,
                                               mlir::Value value, int64_t axis, int64_t count) {
  if (count == 1) {
    return {value};
  }
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      axisAttr(builder, axis), builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr({}))};
  mlir::Operation* split =
      *ir::createOp(builder, loc, "gr.split", value, attributes, static_cast<unsigned>(count));
  return {split->result_begin(), split->result_end()};
}

}  // namespace graphrun::passes
