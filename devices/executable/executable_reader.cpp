#include "devices/executable/executable.h"
#include "devices/executable/executable_generated.h"
#include "runtime/format/checksum.h"

namespace graphrun::devices {
namespace {

constexpr uint32_t kVersion = 1;
/// State::next where there is none.
constexpr uint32_t kNoBuffer = 0xffffffff;

std::string text(const flatbuffers::String* s) { return s == nullptr ? std::string() : s->str(); }

template <typename Element>
auto listOf(const flatbuffers::Vector<Element>* list) {
  return list == nullptr ? std::vector<Element>()
                         : std::vector<Element>(list->begin(), list->end());
}

/// Reads each table of a list; a missing list is empty.
template <typename Table, typename Read>
auto eachOf(const flatbuffers::Vector<flatbuffers::Offset<Table>>* list, Read read) {
  std::vector<decltype(read(*list->Get(0)))> result;
  for (uint32_t i = 0; list != nullptr && i < list->size(); ++i) {
    result.push_back(read(*list->Get(i)));
  }
  return result;
}

TensorDesc readDesc(const fb::TensorDesc* in) {
  TensorDesc out;
  if (in != nullptr) {
    out.type = static_cast<runtime::ElementType>(in->type());
    out.dims = listOf(in->dims());
    out.layout = listOf(in->layout());
  }
  return out;
}

std::vector<std::string> readStrings(const format::Strings& in) {
  std::vector<std::string> values;
  for (uint32_t i = 0; in.value() != nullptr && i < in.value()->size(); ++i) {
    values.push_back(in.value()->Get(i)->str());
  }
  return values;
}

std::vector<bool> readBools(const format::Bools& in) {
  std::vector<uint8_t> values = listOf(in.value());
  return std::vector<bool>(values.begin(), values.end());
}

runtime::TensorSpec readType(const format::Type& in) {
  const format::TensorType* type = in.value();
  if (type == nullptr) {
    return {};
  }
  return {static_cast<runtime::ElementType>(type->element()), listOf(type->dims())};
}

/// nullopt for a kind that executables do not have.
std::optional<AttributeValue> readValue(const format::Attribute& in) {
  using Kind = format::AttributeValue;
  switch (in.value_type()) {
    case Kind::Int:
      return in.value_as_Int()->value();
    case Kind::Float:
      return in.value_as_Float()->value();
    case Kind::Bool:
      return in.value_as_Bool()->value();
    case Kind::String:
      return text(in.value_as_String()->value());
    case Kind::Ints:
      return listOf(in.value_as_Ints()->value());
    case Kind::Floats:
      return listOf(in.value_as_Floats()->value());
    case Kind::Bools:
      return readBools(*in.value_as_Bools());
    case Kind::Strings:
      return readStrings(*in.value_as_Strings());
    case Kind::Type:
      return readType(*in.value_as_Type());
    default:
      return std::nullopt;
  }
}

Extent readExtent(const fb::Extent* in) {
  return in == nullptr ? Extent() : Extent{in->x(), in->y(), in->z()};
}

Argument readArgument(const fb::Argument& in) { return {in.buffer(), readDesc(in.desc())}; }

PostOp readPostOp(const fb::PostOp& in) {
  PostOp out{static_cast<PostOpKind>(in.kind()), text(in.algorithm()), in.alpha(), in.beta(), {}};
  if (in.operand() != nullptr) {
    out.operand = readArgument(*in.operand());
  }
  return out;
}

Buffer readBuffer(const fb::Buffer& in) {
  Buffer out;
  out.kind = static_cast<BufferKind>(in.kind());
  out.offset = in.offset();
  out.bytes = in.bytes();
  out.index = in.index();
  out.desc = readDesc(in.desc());
  if (in.source() != nullptr) {
    out.source = readDesc(in.source());
  }
  out.splat = in.splat();
  out.data = listOf(in.data());
  if (in.quantized() != nullptr) {
    out.quantized = Quantization{static_cast<runtime::ElementType>(in.quantized()->type()),
                                 in.quantized()->factor()};
  }
  return out;
}

Endpoint readEndpoint(const fb::Endpoint& in) {
  return {text(in.name()), in.buffer(), readDesc(in.desc())};
}

State readState(const fb::State& in) {
  State out{text(in.name()), in.buffer(), std::nullopt, readBuffer(*in.first())};
  if (in.next() != kNoBuffer) {
    out.next = in.next();
  }
  return out;
}

absl::StatusOr<Instruction> readInstruction(const fb::Instruction& in) {
  Instruction out;
  out.kernel = text(in.kernel());
  out.operation = text(in.operation());
  out.label = text(in.label());
  out.inputs = eachOf(in.inputs(), readArgument);
  out.outputs = eachOf(in.outputs(), readArgument);
  out.postOps = eachOf(in.post_ops(), readPostOp);
  for (uint32_t i = 0; in.attributes() != nullptr && i < in.attributes()->size(); ++i) {
    const format::Attribute& attribute = *in.attributes()->Get(i);
    std::optional<AttributeValue> value = readValue(attribute);
    if (!value) {
      return absl::InvalidArgumentError(
          absl::StrCat(out.label, ": attribute ", text(attribute.name()),
                       " is of a kind that instructions do not have"));
    }
    out.attributes.insert_or_assign(text(attribute.name()), *std::move(value));
  }
  if (in.scratch() != nullptr) {
    out.scratch = readArgument(*in.scratch());
  }
  out.symbol = text(in.symbol());
  out.extent = in.extent();
  out.grain = in.grain();
  out.edge = in.edge();
  out.sizes = listOf(in.sizes());
  out.threads = in.threads();
  out.grid = readExtent(in.grid());
  out.block = readExtent(in.block());
  out.sharedBytes = in.shared_bytes();
  return out;
}

absl::Status checkCode(const fb::Executable& in) {
  if (in.code() == nullptr) {
    return absl::OkStatus();
  }
  if (format::checksumOf({in.code()->data(), in.code()->size()}) != in.code_checksum()) {
    return absl::InvalidArgumentError("executable: the code image does not match its checksum");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Executable> readExecutable(absl::Span<const uint8_t> bytes,
                                          LayoutBytes layoutBytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
    return absl::InvalidArgumentError("executable: it is not aligned to 8 bytes in memory");
  }
  if (bytes.size() > format::kMaxFlatBufferBytes) {
    return absl::InvalidArgumentError("executable: it is larger than any that is written");
  }
  format::BudgetVerifier verifier(bytes);
  if (!fb::VerifyExecutableBuffer(verifier)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "executable: ", bytes.size(), " bytes are not a whole executable", verifier.reason()));
  }
  const fb::Executable& in = *fb::GetExecutable(bytes.data());
  if (in.version() != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("executable: version ", in.version(),
                                                   ", this build reads version ", kVersion));
  }
  GR_RETURN_IF_ERROR(checkCode(in));
  Executable out;
  out.fingerprint = text(in.fingerprint());
  out.arenaBytes = in.arena_bytes();
  out.buffers = eachOf(in.buffers(), readBuffer);
  out.inputs = eachOf(in.inputs(), readEndpoint);
  out.outputs = eachOf(in.outputs(), readEndpoint);
  out.states = eachOf(in.states(), readState);
  out.code = listOf(in.code());
  for (uint32_t i = 0; in.instructions() != nullptr && i < in.instructions()->size(); ++i) {
    GR_ASSIGN_OR_RETURN(Instruction instruction, readInstruction(*in.instructions()->Get(i)));
    out.instructions.push_back(std::move(instruction));
  }
  GR_RETURN_IF_ERROR(checkExecutable(out, layoutBytes));
  return out;
}

}  // namespace graphrun::devices
