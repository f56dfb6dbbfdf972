#include "runtime/base/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor_memory.h"

namespace graphrun::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "data is written as it lies in memory");

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeader = size_t{1} << 16;
constexpr size_t kMaxNpyRank = 32;                  // NumPy 1's own limit
constexpr size_t kMaxCharacters = size_t{1} << 24;  // of a string
constexpr size_t kMaxEmptyTexts = size_t{1} << 20;  // which take nothing from the file

struct Header {
  TensorSpec spec;
  size_t characters = 0;  // of each string
  bool wide = false;      // they are UTF-32, not bytes
  bool swapped = false;   // big-endian data
  bool fortran = false;
  size_t bytes = 0;  // before the data
};

template <typename... Parts>
absl::Status invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string quote(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 60)), "'");
}

// The header is a Python dict literal; only the subset that NumPy writes is read:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(absl::string_view text, ElementType expected) : rest_(text), expected_(expected) {}

  absl::Status parse(Header& header) {
    GR_RETURN_IF_ERROR(expect("{"));
    while (!accept("}")) {
      std::string key;
      GR_RETURN_IF_ERROR(parseString(key));
      GR_RETURN_IF_ERROR(expect(":"));
      GR_RETURN_IF_ERROR(parseEntry(key, header));
      if (!accept(",")) {
        GR_RETURN_IF_ERROR(expect("}"));
        break;
      }
    }
    skipSpace();
    if (!rest_.empty()) {
      return invalid("header goes on after its dict: ", quote(rest_));
    }
    return seen_ == kAll ? absl::OkStatus()
                         : invalid("header lacks one of 'descr', 'fortran_order' and 'shape'");
  }

 private:
  enum Keys : unsigned { kDescr = 1, kOrder = 2, kShape = 4, kAll = 7 };

  absl::Status parseEntry(absl::string_view key, Header& header) {
    unsigned bit = key == "descr" ? kDescr : key == "fortran_order" ? kOrder : kShape;
    if ((bit == kShape && key != "shape") || (seen_ & bit) != 0) {
      return invalid("header has the key ", quote(key), (seen_ & bit) != 0 ? " twice" : "",
                     ", expected 'descr', 'fortran_order' and 'shape', each once");
    }
    seen_ |= bit;
    if (bit == kDescr) {
      return parseType(header);
    }
    return bit == kOrder ? parseOrder(header) : parseShape(header.spec.dims);
  }

  absl::Status parseType(Header& header) {
    std::string text;
    GR_RETURN_IF_ERROR(parseString(text));
    char order = text.empty() ? ' ' : text[0];
    if (text.size() > 2 && (text[1] == 'U' || text[1] == 'S')) {
      header.spec.type = ElementType::kString;
      header.wide = text[1] == 'U';
      header.swapped = order == '>' && header.wide;
      return absl::SimpleAtoi(text.substr(2), &header.characters) &&
                     header.characters <= kMaxCharacters
                 ? absl::OkStatus()
                 : invalid("dtype is ", quote(text), ", expected at most ", kMaxCharacters,
                           " characters");
    }
    absl::string_view name = absl::string_view(text).substr(text.empty() ? 0 : 1);
    std::optional<ElementType> type = typeOfNumpy(name);
    if (type && absl::string_view("<>|=").find(order) != absl::string_view::npos) {
      header.spec.type = *type;
      header.swapped = order == '>' && elementSize(*type) > 1;
      return absl::OkStatus();
    }
    if (name == elementTypeInfo(ElementType::kF4E2M1).numpy) {
      return invalid("dtype is ", quote(text),
                     ", which several types of 8 bits and less are written as: it can only be read "
                     "where a tensor of one of them is expected");
    }
    return invalid("dtype is ", quote(text),
                   ", expected a number, bool or text that GraphRun has (f2 f4 f8 i1 … u8 b1 U S, "
                   "V2 for bf16): convert it with numpy's astype");
  }

  /// NumPy has one name, a void of one byte, for all reduced types: what is expected decides. The
  /// ml_dtypes package gives one of them a name of its own.
  std::optional<ElementType> typeOfNumpy(absl::string_view name) const {
    if (name == "f1") {
      return ElementType::kF8E5M2;
    }
    for (uint8_t i = 1; i < kElementTypeCount; ++i) {
      auto type = static_cast<ElementType>(i);
      if (!name.empty() && elementTypeInfo(type).numpy == name &&
          (!isReduced(type) || type == expected_)) {
        return type;
      }
    }
    return std::nullopt;
  }

  absl::Status parseOrder(Header& header) {
    header.fortran = accept("True");
    return header.fortran || accept("False")
               ? absl::OkStatus()
               : invalid("fortran_order is ", quote(rest_), ", expected True or False");
  }

  absl::Status parseShape(std::vector<int64_t>& dims) {
    GR_RETURN_IF_ERROR(expect("("));
    while (!accept(")")) {
      size_t digits = 0;
      while (digits < rest_.size() && absl::ascii_isdigit(rest_[digits])) {
        ++digits;
      }
      int64_t dim = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &dim)) {
        return invalid("shape has the dim ", quote(rest_), ", expected a number below 2^63");
      }
      rest_.remove_prefix(digits);
      accept("L");  // Python 2 wrote long integers so
      dims.push_back(dim);
      if (dims.size() > kMaxNpyRank) {
        return invalid("shape has more than ", kMaxNpyRank, " dims");
      }
      if (!accept(",")) {
        GR_RETURN_IF_ERROR(expect(")"));
        break;
      }
      skipSpace();
    }
    return absl::OkStatus();
  }

  absl::Status parseString(std::string& text) {
    skipSpace();
    char mark = rest_.empty() ? ' ' : rest_[0];
    size_t end = rest_.find(mark, 1);
    if ((mark != '\'' && mark != '"') || end == absl::string_view::npos) {
      return invalid("header has ", quote(rest_), ", expected a quoted string");
    }
    text = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return absl::OkStatus();
  }

  void skipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  bool accept(absl::string_view token) {
    skipSpace();
    return absl::ConsumePrefix(&rest_, token);
  }

  absl::Status expect(absl::string_view token) {
    return accept(token) ? absl::OkStatus()
                         : invalid("header has ", quote(rest_), ", expected '", token, "'");
  }

  absl::string_view rest_;
  ElementType expected_;
  unsigned seen_ = 0;
};

// Length of the dict, and where it starts.
absl::Status locateHeader(absl::Span<const uint8_t> bytes, size_t& start, size_t& length) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return invalid("it is not a .npy file: it does not start with \\x93NUMPY");
  }
  uint8_t version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0) {
    return invalid("format version is ", version, ".", bytes[7], ", expected 1.0, 2.0 or 3.0");
  }
  start = version == 1 ? 10 : 12;
  if (bytes.size() < start) {
    return invalid("file ends in its header");
  }
  length = size_t{bytes[8]} | size_t{bytes[9]} << 8;
  if (version > 1) {
    length |= size_t{bytes[10]} << 16 | size_t{bytes[11]} << 24;
  }
  if (length > kMaxHeader || length > bytes.size() - start) {
    return invalid("header has ", length, " bytes, expected at most ",
                   std::min(kMaxHeader, bytes.size() - start));
  }
  return absl::OkStatus();
}

absl::StatusOr<Header> parseHeader(absl::Span<const uint8_t> bytes, ElementType type) {
  size_t start = 0;
  size_t length = 0;
  GR_RETURN_IF_ERROR(locateHeader(bytes, start, length));
  Header header;
  header.bytes = start + length;
  absl::string_view text(reinterpret_cast<const char*>(bytes.data()) + start, length);
  GR_RETURN_IF_ERROR(HeaderParser(text, type).parse(header));
  GR_ASSIGN_OR_RETURN(size_t expected, checkedByteSize(header.spec.type, header.spec.dims));
  if (header.spec.type == ElementType::kString) {
    size_t each = header.characters * (header.wide ? sizeof(char32_t) : 1);
    size_t count = expected / elementSize(ElementType::kString);
    if (each == 0 && count > kMaxEmptyTexts) {
      return invalid("file has ", count, " texts of no character, expected at most ",
                     kMaxEmptyTexts);
    }
    expected = each != 0 && count > bytes.size() / each ? SIZE_MAX : count * each;
  }
  if (bytes.size() - header.bytes != expected) {
    return invalid("file has ", bytes.size() - header.bytes, " bytes of data, expected ", expected,
                   " for ", header.spec.toString());
  }
  return header;
}

// Copies column-major data to row-major: walks the target, keeps the source's position.
void transposeInto(const uint8_t* source, HostTensor& target) {
  const std::vector<int64_t>& dims = target.spec().dims;
  size_t size = elementSize(target.spec().type);
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    strides[d] = stride;
    stride *= dims[d];
  }
  std::vector<int64_t> index(dims.size(), 0);
  int64_t position = 0;
  auto* out = static_cast<uint8_t*>(target.data());
  for (int64_t n = target.spec().elementCount(); n > 0; --n, out += size) {
    std::memcpy(out, source + static_cast<size_t>(position) * size, size);
    for (size_t d = dims.size(); d-- > 0;) {
      position += strides[d];
      if (++index[d] < dims[d]) {
        break;
      }
      position -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

/// Appends a character as UTF-8; false for what is none.
bool appendUtf8(char32_t character, std::string& text) {
  if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
    return false;
  }
  auto tail = [&](int shift) {
    text.push_back(static_cast<char>(0x80 | (character >> shift & 0x3f)));
  };
  if (character < 0x80) {
    text.push_back(static_cast<char>(character));
  } else if (character < 0x800) {
    text.push_back(static_cast<char>(0xc0 | character >> 6));
    tail(0);
  } else if (character < 0x10000) {
    text.push_back(static_cast<char>(0xe0 | character >> 12));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<char>(0xf0 | character >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

// NumPy's texts have a fixed length; shorter ones end in zeros.
absl::StatusOr<HostTensor> parseTexts(const Header& header, const uint8_t* data) {
  if (header.fortran && header.spec.dims.size() > 1) {
    return invalid("texts in Fortran order are not supported: save numpy.ascontiguousarray(…)");
  }
  GR_ASSIGN_OR_RETURN(HostTensor tensor, allocateTensor(header.spec));
  size_t width = header.wide ? sizeof(char32_t) : 1;
  for (std::string& text : tensor.strings()) {
    size_t length = 0;
    for (size_t c = 0; c < header.characters; ++c, data += width) {
      uint32_t character = data[0];
      if (header.wide) {
        std::memcpy(&character, data, sizeof(character));
        character = header.swapped ? __builtin_bswap32(character) : character;
        if (!appendUtf8(character, text)) {
          return invalid("a text holds the number ", character, ", which is no character");
        }
      } else {
        text.push_back(static_cast<char>(character));
      }
      length = character != 0 ? text.size() : length;
    }
    text.resize(length);
  }
  return tensor;
}

void swapBytes(HostTensor& tensor) {
  size_t size = elementSize(tensor.spec().type);
  auto* data = static_cast<uint8_t*>(tensor.data());
  for (size_t i = 0; i < tensor.byteSize(); i += size) {
    std::reverse(data + i, data + i + size);
  }
}

// Kernels rely on a bool being 0 or 1.
void normaliseBools(HostTensor& tensor) {
  for (uint8_t& value : tensor.as<uint8_t>()) {
    value = value != 0 ? 1 : 0;
  }
}

// The bits above an element's are 0.
void clearHighBits(HostTensor& tensor) {
  unsigned mask = (1U << elementTypeInfo(tensor.spec().type).bits) - 1;
  for (uint8_t& value : tensor.as<uint8_t>()) {
    value = static_cast<uint8_t>(value & mask);
  }
}

}  // namespace

absl::StatusOr<HostTensor> parseNpy(absl::Span<const uint8_t> bytes, absl::string_view name,
                                    ElementType expected) {
  absl::StatusOr<Header> header = parseHeader(bytes, expected);
  if (!header.ok()) {
    return annotate(header.status(), absl::StrCat("array '", name, "'"));
  }
  const uint8_t* data = bytes.data() + header->bytes;
  if (header->spec.type == ElementType::kString) {
    absl::StatusOr<HostTensor> texts = parseTexts(*header, data);
    return texts.ok() ? std::move(texts)
                      : annotate(texts.status(), absl::StrCat("array '", name, "'"));
  }
  absl::StatusOr<HostTensor> allocated = allocateTensor(header->spec);
  if (!allocated.ok()) {
    return annotate(allocated.status(), absl::StrCat("array '", name, "'"));
  }
  HostTensor tensor = *std::move(allocated);
  if (header->fortran && header->spec.dims.size() > 1) {
    transposeInto(data, tensor);
  } else if (tensor.byteSize() > 0) {
    std::memcpy(tensor.data(), data, tensor.byteSize());
  }
  if (header->swapped) {
    swapBytes(tensor);
  }
  if (header->spec.type == ElementType::kBool) {
    normaliseBools(tensor);
  } else if (isReduced(header->spec.type)) {
    clearHighBits(tensor);
  }
  return tensor;
}

absl::StatusOr<HostTensor> readNpy(const std::string& path, ElementType expected) {
  GR_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  return parseNpy(file.bytes(), path, expected);
}

namespace {

std::vector<uint8_t> headerOf(absl::string_view type, absl::Span<const int64_t> dims) {
  std::string dict = absl::StrCat("{'descr': '", type, "', 'fortran_order': False, 'shape': (",
                                  absl::StrJoin(dims, ", "), dims.size() == 1 ? "," : "", "), }");
  size_t total = alignTensor(kMagic.size() + 4 + dict.size() + 1);
  dict.resize(total - kMagic.size() - 4 - 1, ' ');
  dict.push_back('\n');
  std::string text(kMagic);
  text.push_back(1);
  text.push_back(0);
  text.push_back(static_cast<char>(dict.size() & 0xff));
  text.push_back(static_cast<char>(dict.size() >> 8));
  text += dict;
  return {text.begin(), text.end()};
}

/// NumPy's bytes of fixed length ('S'): UTF-8, with zeros behind shorter strings.
std::vector<uint8_t> bytesOfTexts(const HostTensor& tensor, size_t characters) {
  std::vector<uint8_t> bytes;
  for (const std::string& text : tensor.strings()) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.resize(bytes.size() + characters - text.size());
  }
  return bytes;
}

}  // namespace

std::vector<uint8_t> npyHeader(const TensorSpec& spec) {
  absl::string_view order = elementSize(spec.type) > 1 ? "<" : "|";
  return headerOf(absl::StrCat(order, elementTypeInfo(spec.type).numpy), spec.dims);
}

absl::Status writeNpy(const std::string& path, const HostTensor& tensor) {
  if (elementSize(tensor.spec().type) == 0 || tensor.spec().dims.size() > kMaxNpyRank) {
    return invalid("cannot write '", path, "': a tensor of type ",
                   elementTypeName(tensor.spec().type), " and rank ", tensor.spec().dims.size(),
                   " has no .npy form");
  }
  GR_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  if (tensor.spec().type == ElementType::kString) {
    size_t longest = 1;
    for (const std::string& text : tensor.strings()) {
      longest = std::max(longest, text.size());
    }
    GR_RETURN_IF_ERROR(file.write(headerOf(absl::StrCat("|S", longest), tensor.spec().dims)));
    GR_RETURN_IF_ERROR(file.write(bytesOfTexts(tensor, longest)));
    return file.commit();
  }
  GR_RETURN_IF_ERROR(file.write(npyHeader(tensor.spec())));
  GR_RETURN_IF_ERROR(file.write({static_cast<const uint8_t*>(tensor.data()), tensor.byteSize()}));
  return file.commit();
}

}  // namespace graphrun::runtime
