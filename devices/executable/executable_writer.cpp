#include "devices/executable/executable.h"
#include "devices/executable/executable_generated.h"
#include "runtime/format/checksum.h"

namespace graphrun::devices {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <typename T>
Offset<flatbuffers::Vector<T>> vectorOrNull(FlatBufferBuilder& b, const std::vector<T>& values) {
  return values.empty() ? 0 : b.CreateVector(values);
}

Offset<flatbuffers::String> stringOrNull(FlatBufferBuilder& b, const std::string& text) {
  return text.empty() ? 0 : b.CreateString(text);
}

/// Writes each element with `write` and gives the list.
template <typename T, typename Write>
auto eachOf(FlatBufferBuilder& b, const std::vector<T>& values, Write write) {
  std::vector<decltype(write(b, values[0]))> offsets;
  offsets.reserve(values.size());
  for (const T& value : values) {
    offsets.push_back(write(b, value));
  }
  return vectorOrNull(b, offsets);
}

Offset<fb::TensorDesc> writeDesc(FlatBufferBuilder& b, const TensorDesc& desc) {
  auto dims = b.CreateVector(desc.dims);
  auto layout = vectorOrNull(b, desc.layout);
  return fb::CreateTensorDesc(b, static_cast<format::ElementType>(desc.type), dims, layout);
}

Offset<fb::Argument> writeArgument(FlatBufferBuilder& b, const Argument& argument) {
  return fb::CreateArgument(b, argument.buffer, writeDesc(b, argument.desc));
}

/// Writes the alternative that an attribute holds.
struct ValueWriter {
  FlatBufferBuilder& b;
  using Kind = format::AttributeValue;
  using Written = std::pair<Kind, Offset<void>>;

  Written operator()(int64_t v) { return {Kind::Int, format::CreateInt(b, v).Union()}; }
  Written operator()(double v) { return {Kind::Float, format::CreateFloat(b, v).Union()}; }
  Written operator()(bool v) { return {Kind::Bool, format::CreateBool(b, v).Union()}; }
  Written operator()(const std::string& v) {
    return {Kind::String, format::CreateString(b, b.CreateString(v)).Union()};
  }
  Written operator()(const std::vector<int64_t>& v) {
    return {Kind::Ints, format::CreateInts(b, b.CreateVector(v)).Union()};
  }
  Written operator()(const std::vector<double>& v) {
    return {Kind::Floats, format::CreateFloats(b, b.CreateVector(v)).Union()};
  }
  Written operator()(const std::vector<bool>& v) {
    return {Kind::Bools, format::CreateBools(b, b.CreateVector(v)).Union()};
  }
  Written operator()(const std::vector<std::string>& v) {
    return {Kind::Strings, format::CreateStrings(b, b.CreateVectorOfStrings(v)).Union()};
  }
  Written operator()(const runtime::TensorSpec& v) {
    auto type = format::CreateTensorType(b, static_cast<format::ElementType>(v.type), true,
                                         b.CreateVector(v.dims));
    return {Kind::Type, format::CreateType(b, type).Union()};
  }
};

Offset<format::Attribute> writeAttribute(FlatBufferBuilder& b,
                                         const std::pair<std::string, AttributeValue>& attribute) {
  auto [kind, value] = std::visit(ValueWriter{b}, attribute.second);
  return format::CreateAttribute(b, b.CreateString(attribute.first), kind, value);
}

Offset<fb::PostOp> writePostOp(FlatBufferBuilder& b, const PostOp& op) {
  auto algorithm = stringOrNull(b, op.algorithm);
  Offset<fb::Argument> operand = op.operand ? writeArgument(b, *op.operand) : 0;
  return fb::CreatePostOp(b, static_cast<fb::PostOpKind>(op.kind), algorithm, op.alpha, op.beta,
                          operand);
}

Offset<fb::Instruction> writeInstruction(FlatBufferBuilder& b, const Instruction& instruction) {
  auto kernel = b.CreateString(instruction.kernel);
  auto operation = stringOrNull(b, instruction.operation);
  auto label = stringOrNull(b, instruction.label);
  auto inputs = eachOf(b, instruction.inputs, writeArgument);
  auto outputs = eachOf(b, instruction.outputs, writeArgument);
  std::vector<std::pair<std::string, AttributeValue>> list(instruction.attributes.begin(),
                                                           instruction.attributes.end());
  auto attributes = eachOf(b, list, writeAttribute);
  auto postOps = eachOf(b, instruction.postOps, writePostOp);
  Offset<fb::Argument> scratch = instruction.scratch ? writeArgument(b, *instruction.scratch) : 0;
  auto symbol = stringOrNull(b, instruction.symbol);
  auto sizes = vectorOrNull(b, instruction.sizes);
  fb::Extent grid(instruction.grid.x, instruction.grid.y, instruction.grid.z);
  fb::Extent block(instruction.block.x, instruction.block.y, instruction.block.z);
  bool launches = instruction.block != Extent();
  return fb::CreateInstruction(
      b, kernel, operation, label, inputs, outputs, attributes, postOps, scratch, symbol,
      instruction.extent, instruction.grain, instruction.edge, sizes, instruction.threads,
      launches ? &grid : nullptr, launches ? &block : nullptr, instruction.sharedBytes);
}

Offset<fb::Buffer> writeBuffer(FlatBufferBuilder& b, const Buffer& buffer) {
  bool described = buffer.kind == BufferKind::kWeight || buffer.kind == BufferKind::kConstant;
  Offset<fb::TensorDesc> desc = described ? writeDesc(b, buffer.desc) : 0;
  Offset<fb::TensorDesc> source = buffer.source ? writeDesc(b, *buffer.source) : 0;
  auto data = vectorOrNull(b, buffer.data);
  Offset<fb::Quantization> quantized = 0;
  if (buffer.quantized) {
    auto type = static_cast<format::ElementType>(buffer.quantized->type);
    quantized = fb::CreateQuantization(b, type, buffer.quantized->factor);
  }
  return fb::CreateBuffer(b, static_cast<fb::BufferKind>(buffer.kind), buffer.offset, buffer.bytes,
                          buffer.index, desc, source, buffer.splat, data, quantized);
}

Offset<fb::Endpoint> writeEndpoint(FlatBufferBuilder& b, const Endpoint& endpoint) {
  auto name = b.CreateString(endpoint.name);
  return fb::CreateEndpoint(b, name, endpoint.buffer, writeDesc(b, endpoint.desc));
}

Offset<fb::State> writeState(FlatBufferBuilder& b, const State& state) {
  auto name = b.CreateString(state.name);
  auto first = writeBuffer(b, state.first);
  fb::StateBuilder builder(b);
  builder.add_name(name);
  builder.add_buffer(state.buffer);
  builder.add_first(first);
  if (state.next) {
    builder.add_next(*state.next);
  }
  return builder.Finish();
}

}  // namespace

std::vector<uint8_t> writeExecutable(const Executable& executable) {
  FlatBufferBuilder b;
  auto fingerprint = b.CreateString(executable.fingerprint);
  auto buffers = eachOf(b, executable.buffers, writeBuffer);
  auto instructions = eachOf(b, executable.instructions, writeInstruction);
  auto inputs = eachOf(b, executable.inputs, writeEndpoint);
  auto outputs = eachOf(b, executable.outputs, writeEndpoint);
  auto states = eachOf(b, executable.states, writeState);
  auto code = vectorOrNull(b, executable.code);
  uint64_t checksum = format::checksumOf(executable.code);
  fb::FinishExecutableBuffer(
      b, fb::CreateExecutable(b, 1, fingerprint, buffers, instructions, inputs, outputs, states,
                              executable.arenaBytes, code, checksum));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

}  // namespace graphrun::devices
