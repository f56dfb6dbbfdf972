#include "frontends/cli/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/cli/wire_format.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/reduced.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

using runtime::ElementType;

// Field numbers of onnx.TensorProto.
enum Field : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13
};

ElementType elementTypeOf(uint64_t dataType) {
  return dataType < 256 ? runtime::elementTypeOfOnnx(static_cast<int64_t>(dataType))
                        : ElementType::kInvalid;
}

/// Fields hold the content of a TensorProto. Typed data is collected as raw little-endian elements.
struct Fields {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  std::string name;
  std::vector<uint64_t> numbers;  // of int32_data, int64_data, uint64_data
  std::vector<uint8_t> floats;    // of float_data, double_data
  std::vector<std::string> strings;
  absl::Span<const uint8_t> raw;
  bool hasRaw = false;
  const char* unsupported = nullptr;
};

bool readVarints(uint32_t wire, WireReader& reader, std::vector<uint64_t>& out) {
  uint64_t value = 0;
  if (wire == kVarint) {
    return reader.varint(value) && (out.push_back(value), true);
  }
  absl::Span<const uint8_t> packed;
  if (wire != kBytes || !reader.bytes(packed)) {
    return false;
  }
  for (WireReader inner(packed); !inner.done();) {
    if (!inner.varint(value)) {
      return false;
    }
    out.push_back(value);
  }
  return true;
}

bool readFixed(uint32_t wire, size_t size, WireReader& reader, std::vector<uint8_t>& out) {
  absl::Span<const uint8_t> data;
  bool single = wire == (size == 4 ? kFixed32 : kFixed64);
  if (single ? !reader.fixed(size, data) : (wire != kBytes || !reader.bytes(data))) {
    return false;
  }
  out.insert(out.end(), data.begin(), data.end());
  return true;
}

bool readDims(uint32_t wire, WireReader& reader, Fields& fields) {
  std::vector<uint64_t> dims;
  bool ok = readVarints(wire, reader, dims);
  for (uint64_t dim : dims) {
    fields.dims.push_back(static_cast<int64_t>(dim));
  }
  return ok;
}

bool readField(uint32_t field, uint32_t wire, WireReader& reader, Fields& fields) {
  absl::Span<const uint8_t> bytes;
  switch (field) {
    case kDims:
      return readDims(wire, reader, fields);
    case kDataType:
      return wire == kVarint && reader.varint(fields.dataType);
    case kName:
      if (wire != kBytes || !reader.bytes(bytes)) {
        return false;
      }
      fields.name.assign(bytes.begin(), bytes.end());
      return true;
    case kRawData:
      fields.hasRaw = true;
      return wire == kBytes && reader.bytes(fields.raw);
    case kFloatData:
      return readFixed(wire, 4, reader, fields.floats);
    case kDoubleData:
      return readFixed(wire, 8, reader, fields.floats);
    case kInt32Data:
    case kInt64Data:
    case kUint64Data:
      return readVarints(wire, reader, fields.numbers);
    case kStringData:
      if (wire != kBytes || !reader.bytes(bytes)) {
        return false;
      }
      fields.strings.emplace_back(bytes.begin(), bytes.end());
      return true;
    case kSegment:
    case kExternalData:
      fields.unsupported = "data outside of the file";
      return reader.skip(wire);
    default:
      return reader.skip(wire);
  }
}

absl::Status wrongCount(const std::string& where, const runtime::TensorSpec& spec, size_t needed,
                        size_t got) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": ", spec.toString(), " needs ", needed, " bytes of data, got ", got));
}

/// Elements of less than a byte: packed, in raw_data or as the bytes of int32_data.
absl::StatusOr<runtime::HostTensor> fillPacked(const Fields& fields,
                                               const runtime::TensorSpec& spec,
                                               const std::string& where) {
  std::vector<uint8_t> packed(fields.raw.begin(), fields.raw.end());
  if (!fields.hasRaw) {
    packed.assign(fields.numbers.begin(), fields.numbers.end());
  }
  auto count = static_cast<size_t>(spec.elementCount());
  size_t needed = runtime::packedSize(spec.type, count);
  if (packed.size() != needed) {
    return wrongCount(where, spec, needed, packed.size());
  }
  runtime::HostTensor tensor(spec);
  std::vector<uint8_t> elements = runtime::unpackReduced(spec.type, packed, count);
  std::copy(elements.begin(), elements.end(), tensor.as<uint8_t>().begin());
  return tensor;
}

absl::StatusOr<runtime::HostTensor> fill(const Fields& fields, const runtime::TensorSpec& spec,
                                         const std::string& where) {
  if (spec.type == ElementType::kString) {
    auto count = static_cast<size_t>(spec.elementCount());
    return count == fields.strings.size()
               ? absl::StatusOr<runtime::HostTensor>(runtime::HostTensor(spec.dims, fields.strings))
               : absl::InvalidArgumentError(absl::StrCat(where, ": ", spec.toString(), " needs ",
                                                         count, " strings, got ",
                                                         fields.strings.size()));
  }
  size_t size = elementSize(spec.type);
  // Floats of 6 bits are packed in raw_data only.
  unsigned bits = runtime::elementTypeInfo(spec.type).bits;
  if (bits < 8 && (bits < 6 || fields.hasRaw)) {
    return fillPacked(fields, spec, where);
  }
  absl::Span<const uint8_t> data = fields.hasRaw ? fields.raw : fields.floats;
  bool numbers = !fields.hasRaw && !fields.numbers.empty();
  size_t got = numbers ? fields.numbers.size() * size : data.size();
  if (got != spec.byteSize()) {
    return wrongCount(where, spec, spec.byteSize(), got);
  }
  runtime::HostTensor tensor(spec);
  auto* to = static_cast<uint8_t*>(tensor.data());
  if (numbers) {
    for (size_t i = 0; i < fields.numbers.size(); ++i) {
      std::memcpy(to + i * size, &fields.numbers[i], size);
    }
  } else if (got != 0) {
    std::memcpy(to, data.data(), got);
  }
  return tensor;
}

}  // namespace

absl::StatusOr<runtime::NamedTensor> parseTensorProto(absl::Span<const uint8_t> bytes,
                                                      const std::string& where) {
  Fields fields;
  for (WireReader reader(bytes); !reader.done();) {
    uint32_t field = 0;
    uint32_t wire = 0;
    if (!reader.tag(field, wire) || !readField(field, wire, reader, fields)) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": not a TensorProto (a tensor of ONNX), or cut short"));
    }
  }
  runtime::TensorSpec spec{elementTypeOf(fields.dataType), fields.dims};
  if (fields.unsupported != nullptr || spec.type == ElementType::kInvalid) {
    return absl::UnimplementedError(absl::StrCat(
        where, ": a tensor of ONNX's type ", fields.dataType, " cannot be read",
        fields.unsupported == nullptr ? "" : absl::StrCat(" (", fields.unsupported, ")")));
  }
  GR_RETURN_IF_ERROR(runtime::annotate(checkedByteSize(spec.type, spec.dims).status(), where));
  GR_ASSIGN_OR_RETURN(runtime::HostTensor tensor, fill(fields, spec, where));
  return runtime::NamedTensor{std::move(fields.name), std::move(tensor)};
}

namespace {

// Field numbers that onnx.SequenceProto and onnx.OptionalProto share.
enum ListField : uint32_t {
  kListName = 1,
  kElementKind = 2,
  kTensors = 3,
  kSparseTensors = 4,
  kSequences = 5,
  kMaps = 6,
  kOptionals = 7
};

/// Lists in lists: ONNX has optional sequences, and sequences of those.
constexpr int kMaxListDepth = 4;

struct ListElement {
  bool isList = false;
  absl::Span<const uint8_t> bytes;
};

absl::Status readList(absl::Span<const uint8_t> bytes, const std::string& where, std::string& name,
                      std::vector<ListElement>& elements) {
  for (WireReader reader(bytes); !reader.done();) {
    uint32_t field = 0;
    uint32_t wire = 0;
    ListElement element;
    bool ok = reader.tag(field, wire);
    bool isElement = field >= kTensors && field <= kOptionals;
    if (ok && (field == kListName || isElement)) {
      ok = wire == kBytes && reader.bytes(element.bytes);
    } else {
      ok = ok && reader.skip(wire);
    }
    if (!ok) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": not a SequenceProto or OptionalProto (a list of ONNX), or cut short"));
    }
    if (field == kSparseTensors || field == kMaps) {
      return absl::UnimplementedError(
          absl::StrCat(where, ": a list of sparse tensors or maps cannot be read"));
    }
    if (field == kListName && name.empty()) {
      name.assign(element.bytes.begin(), element.bytes.end());
    } else if (isElement) {
      element.isList = field != kTensors;
      elements.push_back(element);
    }
  }
  return absl::OkStatus();
}

absl::Status addList(absl::Span<const uint8_t> bytes, const std::string& where, std::string name,
                     int depth, std::vector<runtime::NamedTensor>& tensors) {
  std::vector<ListElement> elements;
  GR_RETURN_IF_ERROR(readList(bytes, where, name, elements));
  if (depth == kMaxListDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": lists in lists, deeper than ", kMaxListDepth));
  }
  if (elements.empty()) {
    tensors.push_back({absl::StrCat(name, "[]"),
                       runtime::HostTensor(runtime::TensorSpec{ElementType::kF32, {0}})});
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    std::string element = absl::StrCat(name, "[", i, "]");
    if (elements[i].isList) {
      GR_RETURN_IF_ERROR(addList(elements[i].bytes, where, element, depth + 1, tensors));
    } else {
      GR_ASSIGN_OR_RETURN(runtime::NamedTensor tensor, parseTensorProto(elements[i].bytes, where));
      tensors.push_back({element, std::move(tensor.tensor)});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<runtime::NamedTensor>> parseListProto(absl::Span<const uint8_t> bytes,
                                                                 const std::string& where,
                                                                 std::string name) {
  std::vector<runtime::NamedTensor> tensors;
  GR_RETURN_IF_ERROR(addList(bytes, where, std::move(name), 0, tensors));
  return tensors;
}

absl::StatusOr<runtime::NamedTensor> readTensorProto(const std::string& path) {
  GR_ASSIGN_OR_RETURN(runtime::MappedFile file, runtime::MappedFile::open(path));
  return parseTensorProto(file.bytes(), path);
}

}  // namespace graphrun::cli
