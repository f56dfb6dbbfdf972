#include "devices/compiler/value_table.h"

#include "passes/quantized_forms.h"
#include "passes/weights.h"

namespace graphrun::devices {

uint32_t ValueTable::newBuffer(Buffer buffer) {
  executable_.buffers.push_back(std::move(buffer));
  return executable_.buffers.size() - 1;
}

absl::StatusOr<uint32_t> ValueTable::newArenaBuffer(const TensorDesc& desc) {
  Buffer buffer;
  GR_ASSIGN_OR_RETURN(buffer.bytes, layouts_.bytes(desc));
  return newBuffer(std::move(buffer));
}

void ValueTable::define(mlir::Value value, uint32_t buffer, const TensorDesc& desc) {
  locations_[value].push_back({buffer, desc});
}

absl::StatusOr<Argument> ValueTable::write(mlir::Value value, const TensorDesc& desc) {
  if (std::optional<Argument> location = reserved(value);
      location && layouts_.isSame(location->desc, desc)) {
    define(value, location->buffer, desc);
    return Argument{location->buffer, desc};
  }
  GR_ASSIGN_OR_RETURN(uint32_t buffer, newArenaBuffer(desc));
  define(value, buffer, desc);
  return Argument{buffer, desc};
}

std::optional<Argument> ValueTable::reserved(mlir::Value value) const {
  auto found = reserved_.find(value);
  return found == reserved_.end() ? std::nullopt : std::optional<Argument>(found->second);
}

absl::Status ValueTable::place(mlir::Value value, const Argument& location) {
  auto isThere = [&](const Argument& at) { return at.buffer == location.buffer; };
  if (llvm::none_of(locations_[value], isThere)) {
    GR_ASSIGN_OR_RETURN(Argument from, read(value, location.desc));
    GR_RETURN_IF_ERROR(copy(from, location));
  }
  return absl::OkStatus();
}

TensorDesc ValueTable::produced(mlir::Value value) const {
  auto found = locations_.find(passes::outsideGroup(value));
  return found == locations_.end() ? denseDesc(value) : found->second.front().desc;
}

absl::Status ValueTable::setContent(Buffer& buffer, mlir::Operation* op, mlir::ElementsAttr value) {
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value);
  buffer.splat = dense && dense.isSplat() && dense.getNumElements() > 1;
  if (std::optional<uint32_t> index = weightIndex_(op)) {
    buffer.kind = BufferKind::kWeight;
    buffer.index = *index;
    return absl::OkStatus();
  }
  buffer.kind = BufferKind::kConstant;
  buffer.splat = false;
  GR_ASSIGN_OR_RETURN(buffer.data, denseBytes(value));
  return absl::OkStatus();
}

absl::Status ValueTable::addState(ir::StateOp op) {
  State state;
  state.name = op.getName().str();
  state.first.desc = denseDesc(op.getResult());
  GR_ASSIGN_OR_RETURN(state.first.bytes, layouts_.bytes(state.first.desc));
  GR_RETURN_IF_ERROR(setContent(state.first, op, op.getInit()));
  Buffer buffer;
  buffer.kind = BufferKind::kState;
  buffer.index = static_cast<uint32_t>(executable_.states.size());
  buffer.bytes = state.first.bytes;
  state.buffer = newBuffer(std::move(buffer));
  define(op.getResult(), state.buffer, state.first.desc);
  executable_.states.push_back(std::move(state));
  return absl::OkStatus();
}

absl::StatusOr<Argument> ValueTable::readConstant(mlir::Value value, const TensorDesc& desc,
                                                  const TensorDesc* source) {
  ir::ConstantOp op = passes::weightOf(value);
  Buffer buffer;
  GR_ASSIGN_OR_RETURN(buffer.bytes, layouts_.bytes(desc));
  buffer.desc = desc;
  TensorDesc given = denseDesc(op.getResult());
  if (std::optional<passes::DequantizedFloats> floats = passes::dequantizedFloatsOf(value)) {
    buffer.quantized = Quantization{given.type, floats->factor};
    given.type = denseDesc(value).type;
  }
  if (source != nullptr) {
    GR_ASSIGN_OR_RETURN(buffer.source, layouts_.ofType(*source, given.type));
  } else if (given.dims != desc.dims || given.type != desc.type) {
    buffer.source = TensorDesc{given.type, desc.dims};
  }
  GR_RETURN_IF_ERROR(setContent(buffer, op, op.getValue()));
  return Argument{newBuffer(std::move(buffer)), desc};
}

absl::StatusOr<Argument> ValueTable::read(mlir::Value value, const TensorDesc& desc,
                                          const TensorDesc* source) {
  value = passes::outsideGroup(value);
  bool permuted = source != nullptr && !layouts_.isDense(*source);
  const bool isWeight = passes::weightOf(value) != nullptr;
  if (permuted && !isWeight) {
    return readThrough(value, desc, *source);
  }
  auto& locations = locations_[value];
  for (const Argument& location : permuted ? llvm::ArrayRef<Argument>() : locations) {
    bool sameDims = location.desc.dims == desc.dims;
    if (sameDims ? layouts_.isSame(location.desc, desc)
                 : layouts_.isDense(location.desc) && layouts_.isDense(desc)) {
      return Argument{location.buffer, desc};
    }
  }
  if (isWeight) {
    GR_ASSIGN_OR_RETURN(Argument made, readConstant(value, desc, source));
    if (!permuted) {
      locations_[value].push_back(made);
    }
    return made;
  }
  if (locations.empty() || locations.front().desc.dims != desc.dims) {
    return source != nullptr
               ? readThrough(value, desc, *source)
               : absl::InternalError("a kernel asks for other dims than its operand has");
  }
  GR_ASSIGN_OR_RETURN(Argument made, reorder(locations.front(), desc));
  define(value, made.buffer, desc);
  return made;
}

absl::StatusOr<Argument> ValueTable::reorder(const Argument& from, const TensorDesc& desc) {
  GR_ASSIGN_OR_RETURN(uint32_t buffer, newArenaBuffer(desc));
  GR_RETURN_IF_ERROR(copy(from, {buffer, desc}));
  return Argument{buffer, desc};
}

absl::Status ValueTable::copy(const Argument& from, const Argument& to) {
  bool dense = from.desc.layout.empty() && to.desc.layout.empty();
  Instruction instruction;
  instruction.kernel = "copy";
  instruction.operation = "reorder";
  instruction.label = "reorder";
  instruction.inputs = {from};
  instruction.outputs = {to};
  if (!dense) {
    GR_RETURN_IF_ERROR(layouts_.setCopyKernel(instruction));
  }
  executable_.instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::StatusOr<Argument> ValueTable::readThrough(mlir::Value value, const TensorDesc& desc,
                                                 const TensorDesc& source) {
  GR_ASSIGN_OR_RETURN(Argument dense, readDense(value));
  if (layouts_.isSame(source, desc)) {
    return Argument{dense.buffer, desc};
  }
  return reorder({dense.buffer, source}, desc);
}

}  // namespace graphrun::devices
