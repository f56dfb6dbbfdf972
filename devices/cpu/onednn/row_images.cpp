#include "devices/cpu/onednn/row_images.h"

#include <algorithm>
#include <numeric>

#include "devices/cpu/base/onednn_layouts.h"

namespace graphrun::devices::cpu {
namespace {

using Dims = std::vector<int64_t>;

/// For each dim which of the old ones it is; kAdded for one of size 1.
using DimMap = std::vector<int>;
constexpr int kAdded = -1;

DimMap ascending(size_t rank) {
  DimMap map(rank);
  std::iota(map.begin(), map.end(), 0);
  return map;
}

/// A RowReshape says how tensors change on the way to rows and back: a last dim of 1 goes, where
/// there is one, and a dim of 1 is put before the last one.
struct RowReshape {
  bool hasColumns;

  explicit RowReshape(const Instruction& instruction)
      : hasColumns(instruction.inputs[0].desc.dims.size() == 4) {}

  DimMap toRows(size_t rank) const {
    DimMap map = ascending(hasColumns ? rank - 1 : rank);
    map.insert(map.end() - 1, kAdded);
    return map;
  }
  DimMap fromRows(size_t rank) const {
    DimMap map = ascending(rank);
    map.erase(map.end() - 2);
    if (hasColumns) {
      map.push_back(kAdded);
    }
    return map;
  }
};

Dims taken(const Dims& from, const DimMap& map, int64_t added) {
  Dims to;
  for (int dim : map) {
    to.push_back(dim == kAdded ? added : from[static_cast<size_t>(dim)]);
  }
  return to;
}

/// The same memory. A dim that is added gets the stride that the library gives one of 1: by
/// strides it tells layouts apart.
absl::StatusOr<TensorDesc> rearranged(TensorDesc desc, const DimMap& map) {
  if (desc.layout.empty()) {
    desc.dims = taken(desc.dims, map, 1);
    return desc;
  }
  GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
  blocking.dims = taken(blocking.dims, map, 1);
  blocking.paddedDims = taken(blocking.paddedDims, map, 1);
  blocking.strides = taken(blocking.strides, map, 0);
  for (int& dim : blocking.innerDims) {
    dim = static_cast<int>(std::find(map.begin(), map.end(), dim) - map.begin());
  }
  auto added = static_cast<size_t>(std::find(map.begin(), map.end(), kAdded) - map.begin());
  if (added + 1 < map.size()) {
    blocking.strides[added] = blocking.strides[added + 1] * blocking.dims[added + 1];
  } else if (added < map.size()) {
    blocking.strides[added] = blocking.strides[added - 1];
  }
  return blockedDesc(desc.type, blocking);
}

/// Lies along the rows alone, as an operand of what is fused: it stays as it is.
bool isRow(const TensorDesc& desc) { return desc.dims.size() < 2; }

/// Nothing happens along the columns: there is but one, of images, results and filter.
bool hasOneColumn(const Instruction& instruction) {
  auto isOne = [](const Argument& argument) { return argument.desc.dims.back() == 1; };
  Dims pads = attributeOr(instruction, "pads", Dims()).value_or(Dims());
  Dims extra = attributeOr(instruction, "output_padding", Dims()).value_or(Dims());
  return isOne(instruction.inputs[0]) && isOne(instruction.inputs[1]) &&
         isOne(instruction.outputs[0]) && (pads.empty() || (pads[1] == 0 && pads[3] == 0)) &&
         (extra.empty() || extra[1] == 0);
}

/// Attribute `name` has no entries, or `count`.
bool hasEntries(const Instruction& instruction, const char* name, size_t count) {
  auto list = attributeOr(instruction, name, Dims());
  return list.ok() && (list->empty() || list->size() == count);
}

bool canBeRows(const Instruction& instruction) {
  if (instruction.inputs.size() < 2 || instruction.outputs.size() != 1) {
    return false;
  }
  size_t rank = instruction.inputs[0].desc.dims.size();
  if ((rank != 3 && rank != 4) || instruction.outputs[0].desc.dims.size() != rank ||
      instruction.inputs[1].desc.dims.size() < rank) {
    return false;
  }
  bool isWellFormed = hasEntries(instruction, "strides", rank - 2) &&
                      hasEntries(instruction, "dilations", rank - 2) &&
                      hasEntries(instruction, "output_padding", rank - 2) &&
                      hasEntries(instruction, "pads", 2 * (rank - 2));
  return isWellFormed && (rank == 3 || hasOneColumn(instruction));
}

/// Changes what attributes say of the rows' only dim, and of the one that is added.
absl::Status changeAttributes(Instruction& instruction) {
  constexpr std::pair<const char*, int64_t> kLists[] = {
      {"strides", 1}, {"dilations", 1}, {"output_padding", 0}};
  for (const auto& [name, added] : kLists) {
    GR_ASSIGN_OR_RETURN(Dims list, attributeOr(instruction, name, Dims()));
    if (!list.empty()) {
      instruction.attributes[name] = Dims{added, list[0]};
    }
  }
  GR_ASSIGN_OR_RETURN(Dims pads, attributeOr(instruction, "pads", Dims()));
  if (!pads.empty()) {
    instruction.attributes["pads"] = Dims{0, pads[0], 0, pads[pads.size() / 2]};
  }
  return absl::OkStatus();
}

absl::Status change(const RowReshape& reshape, Argument& argument) {
  if (!isRow(argument.desc)) {
    GR_ASSIGN_OR_RETURN(argument.desc,
                        rearranged(argument.desc, reshape.toRows(argument.desc.dims.size())));
  }
  return absl::OkStatus();
}

/// `chosen` for `given`, which is what was asked for unless it was left open.
absl::Status changeBack(const RowReshape& reshape, const TensorDesc& given, TensorDesc& chosen) {
  if (!given.any) {
    chosen = given;
  } else if (!isRow(given) && !isRow(chosen)) {  // nothing is chosen for what is summed in place
    GR_ASSIGN_OR_RETURN(chosen, rearranged(chosen, reshape.fromRows(chosen.dims.size())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Instruction>> onRows(const Instruction& instruction) {
  if (!canBeRows(instruction)) {
    return std::nullopt;
  }
  RowReshape reshape(instruction);
  Instruction rows = instruction;
  GR_RETURN_IF_ERROR(changeAttributes(rows));
  for (Argument& input : rows.inputs) {
    GR_RETURN_IF_ERROR(change(reshape, input));
  }
  GR_RETURN_IF_ERROR(change(reshape, rows.outputs[0]));
  for (PostOp& op : rows.postOps) {
    if (op.operand) {
      GR_RETURN_IF_ERROR(change(reshape, *op.operand));
    }
  }
  return rows;
}

absl::StatusOr<LayoutChoice> fromRows(const Instruction& instruction, LayoutChoice choice) {
  RowReshape reshape(instruction);
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    const TensorDesc& given = instruction.inputs[i].desc;
    if (!isRow(given)) {
      TensorDesc& source = choice.sources[i];
      GR_ASSIGN_OR_RETURN(source, rearranged(source, reshape.fromRows(source.dims.size())));
    }
    GR_RETURN_IF_ERROR(changeBack(reshape, given, choice.inputs[i]));
  }
  GR_RETURN_IF_ERROR(changeBack(reshape, instruction.outputs[0].desc, choice.outputs[0]));
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    if (const std::optional<Argument>& operand = instruction.postOps[i].operand) {
      GR_RETURN_IF_ERROR(changeBack(reshape, operand->desc, choice.postOps[i]));
    }
  }
  return choice;
}

}  // namespace graphrun::devices::cpu
