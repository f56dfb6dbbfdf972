// Sequences and optionals: lists of values that are known on import or while planning
// (gr.sequence).
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

mlir::Value make(Node& node, mlir::ValueRange elements, bool optional = false) {
  return node.builder().create<ir::SequenceOp>(
      node.location(), ir::sequenceType(node.builder().getContext(), optional), elements);
}

/// The list that is input 0. Reports a tensor; puts the node off until the list is known.
ir::SequenceOp listOf(Node& node) {
  mlir::Value value = node.input(0);
  if (!ir::isSequence(value.getType())) {
    node.fail("input 0 is a tensor, expected a sequence");
    return nullptr;
  }
  auto list = value.getDefiningOp<ir::SequenceOp>();
  if (!list) {
    node.putOff(nullptr);
  }
  return list;
}

/// The position that input `i` names in a list of `length`; `end` when it is left out. `past`:
/// whether it may name the position behind the last one.
std::optional<int64_t> positionOf(Node& node, size_t i, int64_t length, int64_t end, bool past) {
  if (!node.input(i)) {
    return end;
  }
  auto given = node.known(node.input(i), "position");
  if (!given) {
    return std::nullopt;
  }
  if (given->size() != 1) {
    node.fail(absl::StrCat("the position has ", given->size(), " elements, expected 1"));
    return std::nullopt;
  }
  int64_t position = given->front() < 0 ? given->front() + length : given->front();
  if (position < 0 || position >= length + (past ? 1 : 0)) {
    node.failIfReached(absl::StrCat("position ", given->front(), " is out of range, expected ",
                                    -length, " to ", past ? length : length - 1,
                                    " in a sequence of ", length, " elements"));
    return std::nullopt;
  }
  return position;
}

Values construct(Node& node) { return {make(node, node.inputs())}; }

Values empty(Node& node) {
  node.attributes().integer("dtype", 1);
  return {make(node, {})};
}

Values length(Node& node) {
  ir::SequenceOp list = listOf(node);
  return {list ? ir::createScalar(node.builder(), node.location(), node.builder().getI64Type(),
                                  static_cast<double>(list.getElements().size()))
               : mlir::Value()};
}

Values at(Node& node) {
  ir::SequenceOp list = listOf(node);
  auto size = static_cast<int64_t>(list ? list.getElements().size() : 0);
  auto position = list ? positionOf(node, 1, size, 0, /*past=*/false) : std::nullopt;
  return {position ? list.getElements()[*position] : mlir::Value()};
}

Values insert(Node& node) {
  ir::SequenceOp list = listOf(node);
  auto size = static_cast<int64_t>(list ? list.getElements().size() : 0);
  auto position = list ? positionOf(node, 2, size, size, /*past=*/true) : std::nullopt;
  if (!position) {
    return {nullptr};
  }
  Values elements(list.getElements());
  elements.insert(elements.begin() + *position, node.input(1));
  return {make(node, elements)};
}

Values erase(Node& node) {
  ir::SequenceOp list = listOf(node);
  auto size = static_cast<int64_t>(list ? list.getElements().size() : 0);
  if (list && size == 0) {
    node.failIfReached("the sequence is empty, expected an element to erase");
    return {nullptr};
  }
  auto position = list ? positionOf(node, 1, size, size - 1, /*past=*/false) : std::nullopt;
  if (!position) {
    return {nullptr};
  }
  Values elements(list.getElements());
  elements.erase(elements.begin() + *position);
  return {make(node, elements)};
}

Values concatFromSequence(Node& node) {
  node.attributes().require("axis");
  int64_t axis = node.attributes().integer("axis", 0);
  bool isNew = node.attributes().integer("new_axis", 0) != 0;
  ir::SequenceOp list = listOf(node);
  if (!list) {
    return {nullptr};
  }
  if (list.getElements().empty()) {
    node.failIfReached("the sequence is empty, expected a tensor to concatenate");
    return {nullptr};
  }
  Values parts(list.getElements());
  std::optional<int64_t> rank = node.rankOf(parts[0]);
  std::optional<int64_t> position =
      rank ? node.axisOf(axis, *rank + (isNew ? 1 : 0)) : std::nullopt;
  if (!position) {
    return {nullptr};
  }
  for (mlir::Value& part : parts) {
    part = isNew ? node.emit("gr.unsqueeze", {part}, {node.integers("axes", {*position})}) : part;
  }
  return {node.emit("gr.concat", parts, {node.integer("axis", *position)})};
}

/// Sizes of the parts into which SplitToSequence cuts `dim`.
std::optional<llvm::SmallVector<int64_t>> partSizes(Node& node, int64_t dim) {
  mlir::Value splitToSequence = node.input(1);
  if (!splitToSequence) {
    return llvm::SmallVector<int64_t>(dim, 1);
  }
  std::optional<int64_t> rank = node.rankOf(splitToSequence);
  auto given = rank ? node.known(splitToSequence, "splitToSequence") : std::nullopt;
  if (!given) {
    return std::nullopt;
  }
  if (*rank == 0 && given->front() < 1) {
    node.fail(absl::StrCat("splits into parts of ", given->front(), ", expected at least 1"));
    return std::nullopt;
  }
  if (*rank == 0) {
    llvm::SmallVector<int64_t> sizes(dim / given->front(), given->front());
    if (dim % given->front() != 0) {
      sizes.push_back(dim % given->front());
    }
    return sizes;
  }
  int64_t sum = 0;
  for (int64_t size : *given) {
    sum = size < 0 || sum > dim ? dim + 1 : sum + size;
  }
  if (sum != dim) {
    node.fail(absl::StrCat("the sizes of the parts must be at least 0 and add up to ", dim));
    return std::nullopt;
  }
  return given;
}

Values splitToSequence(Node& node) {
  bool keep = node.attributes().integer("keepdims", 1) != 0 || node.input(1);
  int64_t axis = node.attributes().integer("axis", 0);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> position = rank ? node.axisOf(axis, *rank) : std::nullopt;
  if (!position) {
    return {nullptr};
  }
  ir::Dim dim = (*ir::dimsOf(node.input(0)))[*position];
  if (!dim.isStatic()) {
    node.putOff(nullptr);
    return {nullptr};
  }
  auto sizes = partSizes(node, dim.value());
  if (!sizes) {
    return {nullptr};
  }
  Values parts;
  if (!sizes->empty()) {
    parts = node.emitMany("gr.split", {node.input(0)},
                          {node.integer("axis", *position), node.integers("sizes", *sizes)},
                          sizes->size());
  }
  for (mlir::Value& part : parts) {
    part = keep ? part : node.emit("gr.squeeze", {part}, {node.integers("axes", {*position})});
    if (!part) {
      return {nullptr};
    }
  }
  return {make(node, parts)};
}

Values optional(Node& node) {
  node.attributes().ignore({"type"});
  return {node.input(0) ? make(node, {node.input(0)}, /*optional=*/true)
                        : make(node, {}, /*optional=*/true)};
}

/// True for a list that is an optional one; anything else is its own element.
bool isOptional(ir::SequenceOp list) {
  return list.getType() == ir::sequenceType(list.getContext(), /*optional=*/true);
}

Values hasElement(Node& node) {
  mlir::Value value = node.input(0);
  bool has = value != nullptr;
  if (value && ir::isSequence(value.getType())) {
    ir::SequenceOp list = listOf(node);
    if (!list) {
      return {nullptr};
    }
    has = !isOptional(list) || !list.getElements().empty();
  }
  return {ir::createScalar(node.builder(), node.location(), node.builder().getI1Type(), has)};
}

Values getElement(Node& node) {
  if (!ir::isSequence(node.input(0).getType())) {
    return {node.input(0)};
  }
  ir::SequenceOp list = listOf(node);
  if (!list) {
    return {nullptr};
  }
  if (!isOptional(list)) {
    return {list};
  }
  if (list.getElements().empty()) {
    node.failIfReached("the optional is empty; ask OptionalHasElement first");
    return {nullptr};
  }
  return {list.getElements().front()};
}

constexpr bool kLists = true;
const OpRow kSequenceOps[] = {
    {"ConcatFromSequence", 11, kLast, 1, 1, 1, concatFromSequence, "", kLists},
    {"Optional", 15, kLast, 0, 1, 1, optional, "", kLists},
    {"OptionalGetElement", 15, kLast, 1, 1, 1, getElement, "", kLists},
    {"OptionalHasElement", 15, kLast, 0, 1, 1, hasElement, "", kLists},
    {"SequenceAt", 11, kLast, 2, 2, 1, at, "", kLists},
    {"SequenceConstruct", 11, kLast, 1, kMany, 1, construct, "", kLists},
    {"SequenceEmpty", 11, kLast, 0, 0, 1, empty},
    {"SequenceErase", 11, kLast, 1, 2, 1, erase, "", kLists},
    {"SequenceInsert", 11, kLast, 2, 3, 1, insert, "", kLists},
    {"SequenceLength", 11, kLast, 1, 1, 1, length, "", kLists},
    {"SplitToSequence", 11, kLast, 1, 2, 1, splitToSequence},
};

}  // namespace

llvm::ArrayRef<OpRow> sequenceOps() { return kSequenceOps; }

}  // namespace graphrun::frontends
