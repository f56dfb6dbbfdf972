#include "frontends/onnx/tensors.h"

#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/onnx/external_data.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "llvm/Support/JSON.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/reduced.h"

namespace graphrun::frontends {
namespace {

using ::onnx::TensorProto;

static_assert(std::endian::native == std::endian::little, "ONNX raw data is little-endian");

/// The allocator guarantees this alignment for the blocks that protobuf and std::vector hold data
/// in.
constexpr size_t kDataAlignment = 8;

/// A blob that owns `container` (of contiguous elements).
template <typename Container>
mlir::AsmResourceBlob own(Container container) {
  using Element = std::remove_cv_t<std::remove_pointer_t<decltype(container.data())>>;
  auto owner = std::make_unique<Container>(std::move(container));
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char*>(owner->data()),
                             owner->size() * sizeof(Element));
  return mlir::AsmResourceBlob(
      bytes, kDataAlignment, [owner = std::move(owner)](void*, size_t, size_t) {},
      /*dataIsMutable=*/false);
}

/// The elements of a field that stores them wider than the tensor has them.
template <typename To, typename Field>
mlir::AsmResourceBlob narrow(const Field& field) {
  std::vector<To> elements;
  elements.reserve(field.size());
  for (auto value : field) {
    elements.push_back(static_cast<To>(value));
  }
  return own(std::move(elements));
}

/// Elements that ONNX packs, one a byte.
mlir::AsmResourceBlob unpack(runtime::ElementType type, mlir::AsmResourceBlob packed, int64_t count,
                             std::string& problem) {
  llvm::ArrayRef<char> bytes = packed.getData();
  size_t expected = runtime::packedSize(type, static_cast<size_t>(count));
  if (bytes.size() != expected) {
    problem = absl::StrCat("holds ", bytes.size(), " bytes of packed data, but its ", count,
                           " elements need ", expected);
    return packed;
  }
  return own(runtime::unpackReduced(type,
                                    {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                    static_cast<size_t>(count)));
}

/// Takes the data out of the field that the data type prescribes, in memory layout (bool: a byte;
/// types of less than a byte: packed).
mlir::AsmResourceBlob takeTyped(TensorProto& tensor, size_t size) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return own(std::move(*tensor.mutable_float_data()));
    case TensorProto::DOUBLE:
      return own(std::move(*tensor.mutable_double_data()));
    case TensorProto::INT64:
      return own(std::move(*tensor.mutable_int64_data()));
    case TensorProto::INT32:
      return own(std::move(*tensor.mutable_int32_data()));
    case TensorProto::UINT64:
      return own(std::move(*tensor.mutable_uint64_data()));
    case TensorProto::UINT32:
      return narrow<uint32_t>(tensor.uint64_data());
    default:
      return size == 1 ? narrow<uint8_t>(tensor.int32_data())
                       : narrow<uint16_t>(tensor.int32_data());
  }
}

int typedFieldSize(const TensorProto& tensor) {
  return tensor.float_data_size() + tensor.double_data_size() + tensor.int32_data_size() +
         tensor.int64_data_size() + tensor.uint64_data_size() + tensor.string_data_size();
}

std::optional<mlir::RankedTensorType> tensorTypeOf(mlir::MLIRContext* context,
                                                   const TensorProto& tensor,
                                                   std::string& problem) {
  mlir::Type element = elementType(context, tensor.data_type());
  if (!element) {
    problem = unsupportedType(tensor.data_type());
    return std::nullopt;
  }
  llvm::ArrayRef<int64_t> dims(tensor.dims().data(), tensor.dims_size());
  if (elementCount(dims) < 0) {
    problem = absl::StrCat("has dims ", absl::StrJoin(dims.take_front(kMaxRank), "x"),
                           ", expected at most ", kMaxRank, " dims >= 0 of together at most ",
                           kMaxElements, " elements; the file is damaged");
    return std::nullopt;
  }
  return mlir::RankedTensorType::get(dims, element);
}

/// Makes every byte of a bool tensor 0 or 1.
mlir::AsmResourceBlob normaliseBools(mlir::AsmResourceBlob blob) {
  std::vector<uint8_t> bytes;
  for (char byte : blob.getData()) {
    bytes.push_back(byte != 0);
  }
  return own(std::move(bytes));
}

mlir::ElementsAttr importStrings(mlir::RankedTensorType type, const TensorProto& tensor,
                                 std::string& problem) {
  if (tensor.string_data_size() != typedFieldSize(tensor) || tensor.has_raw_data() ||
      tensor.string_data_size() != type.getNumElements()) {
    problem = absl::StrCat("holds ", tensor.string_data_size(), " strings",
                           tensor.has_raw_data() ? " and raw_data" : "", ", but its dims need ",
                           type.getNumElements(), " in string_data and nothing else");
    return nullptr;
  }
  llvm::SmallVector<llvm::StringRef> strings;
  for (const std::string& string : tensor.string_data()) {
    if (!llvm::json::isUTF8(string)) {
      problem = absl::StrCat("element ", strings.size(), " is not valid UTF-8, as strings must be");
      return nullptr;
    }
    strings.push_back(string);
  }
  return ir::makeStrings(type, strings);
}

mlir::DenseElementsAttr makeDense(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes) {
  if (type.getElementType().isInteger(1)) {
    return mlir::DenseElementsAttr::get(
        type, llvm::ArrayRef<bool>(reinterpret_cast<const bool*>(bytes.data()), bytes.size()));
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
}

}  // namespace

mlir::Type elementType(mlir::MLIRContext* context, int32_t dataType) {
  return passes::elementTypeOf(runtime::elementTypeOfOnnx(dataType), context);
}

std::string dataTypeName(int32_t dataType) {
  if (!::onnx::TensorProto_DataType_IsValid(dataType)) {
    return absl::StrCat("data type ", dataType);
  }
  return ::onnx::TensorProto_DataType_Name(static_cast<::onnx::TensorProto_DataType>(dataType));
}

std::string unsupportedType(int32_t dataType) {
  return absl::StrCat("element type ", dataTypeName(dataType),
                      " is not supported, expected FLOAT, DOUBLE, FLOAT16, BFLOAT16, BOOL, STRING, "
                      "an integer type of 2 to 64 bits, FLOAT8…, FLOAT6… or FLOAT4E2M1");
}

int64_t elementCount(llvm::ArrayRef<int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return -1;
  }
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) {
      return -1;
    }
    empty |= dim == 0;
    if (dim > 0 && count > kMaxElements / dim) {
      return -1;
    }
    count *= std::max<int64_t>(dim, 1);
  }
  return empty ? 0 : count;
}

mlir::ElementsAttr importTensor(mlir::MLIRContext* context, TensorProto& tensor,
                                llvm::StringRef name, std::string& problem, ExternalData* files) {
  std::optional<mlir::AsmResourceBlob> outside;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (files == nullptr) {
      problem = "keeps its data in another file, expected it inside the model here";
      return nullptr;
    }
    outside = files->read(tensor, problem);
    if (!outside) {
      return nullptr;
    }
  }
  if (tensor.has_segment()) {
    problem = "is stored in segments, which is not supported; save the model again";
    return nullptr;
  }
  std::optional<mlir::RankedTensorType> type = tensorTypeOf(context, tensor, problem);
  if (!type) {
    return nullptr;
  }
  if (ir::isStrings(*type)) {
    return importStrings(*type, tensor, problem);
  }
  bool raw = tensor.has_raw_data();
  if (raw && typedFieldSize(tensor) > 0) {
    problem = "has both raw_data and a typed data field, expected one";
    return nullptr;
  }
  runtime::ElementType element = runtime::elementTypeOfOnnx(tensor.data_type());
  size_t width = runtime::elementSize(element);
  int64_t count = elementCount(type->getShape());
  // Floats of 6 bits are packed in raw_data only.
  unsigned bits = runtime::elementTypeInfo(element).bits;
  bool packed = bits < 8 && (bits < 6 || raw || outside);
  mlir::AsmResourceBlob blob = outside ? *std::move(outside)
                               : raw   ? own(std::move(*tensor.mutable_raw_data()))
                                       : takeTyped(tensor, width);
  if (packed) {
    blob = unpack(element, std::move(blob), count, problem);
    if (!problem.empty()) {
      return nullptr;
    }
  }
  if (blob.getData().size() != width * static_cast<size_t>(count)) {
    problem = absl::StrCat(
        "holds ", blob.getData().size(), " bytes of data, but its dims ",
        type->getRank() == 0 ? "(a scalar)" : absl::StrJoin(type->getShape(), "x"), " of ",
        dataTypeName(tensor.data_type()), " need ", width * static_cast<size_t>(count));
    return nullptr;
  }
  if (type->getElementType().isInteger(1)) {
    blob = normaliseBools(std::move(blob));
  }
  if (!type->getElementType().isIntOrFloat()) {  // no dense attribute holds it
    return mlir::DenseResourceElementsAttr::get(*type, name, std::move(blob));
  }
  llvm::ArrayRef<char> bytes = blob.getData();
  bool splat =
      count > 1 && std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
  if (splat || count <= kMaxDenseElements) {
    return makeDense(*type, splat ? bytes.take_front(width) : bytes);
  }
  return mlir::DenseResourceElementsAttr::get(*type, name, std::move(blob));
}

}  // namespace graphrun::frontends
