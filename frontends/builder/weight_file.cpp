#include "frontends/builder/weight_file.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/pair_table.h"
#include "runtime/base/status.h"

namespace graphrun::builder {
namespace {

using Json = nlohmann::json;
using Bytes = absl::Span<const uint8_t>;
using runtime::ElementType;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // of the format
constexpr int kMaxDepth = 3;                       // name -> field -> list

/// A tensor as the header tells it.
struct Stored {
  std::string dtype;
  runtime::TensorSpec spec;  ///< of kInvalid for a dtype that is none of ours
  uint64_t begin = 0;        ///< in the data
  uint64_t end = 0;
};
using Table = std::map<std::string, Stored, std::less<>>;

ElementType elementTypeOf(absl::string_view dtype) {
  static constexpr std::pair<absl::string_view, ElementType> kTypes[] = {
      {"F64", ElementType::kF64},        {"F32", ElementType::kF32},
      {"F16", ElementType::kF16},        {"BF16", ElementType::kBF16},
      {"I64", ElementType::kI64},        {"I32", ElementType::kI32},
      {"I16", ElementType::kI16},        {"I8", ElementType::kI8},
      {"U64", ElementType::kU64},        {"U32", ElementType::kU32},
      {"U16", ElementType::kU16},        {"U8", ElementType::kU8},
      {"BOOL", ElementType::kBool},      {"F8_E4M3", ElementType::kF8E4M3FN},
      {"F8_E5M2", ElementType::kF8E5M2}, {"F8_E8M0", ElementType::kF8E8M0}};
  return runtime::valueFor(kTypes, dtype).value_or(ElementType::kInvalid);
}

/// The header's JSON; discarded members tell a problem that the parser itself does not see.
absl::StatusOr<Json> parse(absl::string_view text) {
  std::set<std::string> names;
  std::string problem;
  Json header = Json::parse(
      text.begin(), text.end(),
      [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kMaxDepth) {
          problem = absl::StrCat("is nested deeper than ", kMaxDepth);
        } else if (event == Json::parse_event_t::key && depth == 1 &&
                   !names.insert(parsed.get<std::string>()).second) {
          problem = absl::StrCat("has the name '", parsed.get<std::string>(), "' twice");
        }
        return problem.empty();
      },
      /*allow_exceptions=*/false);
  if (problem.empty() && !header.is_object()) {
    problem = "is not a JSON object";
  }
  if (!problem.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("header ", problem));
  }
  return header;
}

/// Returns whether `field` is a list of integers from 0 to 2^63 - 1; `numbers` are set to them.
template <typename T>
bool readNumbers(const Json& entry, const char* field, std::vector<T>& numbers) {
  auto list = entry.find(field);
  if (list == entry.end() || !list->is_array()) {
    return false;
  }
  for (const Json& number : *list) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() > INT64_MAX) {
      return false;
    }
    numbers.push_back(static_cast<T>(number.get<uint64_t>()));
  }
  return true;
}

absl::StatusOr<Stored> storedOf(const Json& entry, uint64_t dataSize) {
  Stored stored;
  std::vector<uint64_t> offsets;
  auto dtype = entry.is_object() ? entry.find("dtype") : entry.end();
  if (!entry.is_object() || dtype == entry.end() || !dtype->is_string() ||
      !readNumbers(entry, "shape", stored.spec.dims) ||
      !readNumbers(entry, "data_offsets", offsets) || offsets.size() != 2) {
    return absl::InvalidArgumentError(
        "expected a dtype, a shape and two data_offsets, of integers from 0");
  }
  stored.dtype = dtype->get<std::string>();
  stored.spec.type = elementTypeOf(stored.dtype);
  stored.begin = offsets[0];
  stored.end = offsets[1];
  if (stored.begin > stored.end || stored.end > dataSize) {
    return absl::InvalidArgumentError(absl::StrCat("data_offsets are ", stored.begin, " to ",
                                                   stored.end, " in data of ", dataSize, " bytes"));
  }
  if (stored.spec.type == ElementType::kInvalid) {
    return stored;
  }
  GR_ASSIGN_OR_RETURN(size_t bytes, runtime::checkedByteSize(stored.spec.type, stored.spec.dims));
  if (bytes != stored.end - stored.begin) {
    return absl::InvalidArgumentError(absl::StrCat("has ", stored.end - stored.begin,
                                                   " bytes, expected ", bytes, " for ",
                                                   stored.spec.toString()));
  }
  return stored;
}

/// The format has no gap between tensors and none at the end, and tensors do not overlap.
absl::Status checkCover(const Table& table, uint64_t dataSize) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, stored] : table) {
    ranges.emplace_back(stored.begin, stored.end);
  }
  std::ranges::sort(ranges);
  uint64_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != covered) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensors ", begin < covered ? "overlap" : "leave a gap", " at byte ",
                       std::min(begin, covered), " of the data"));
    }
    covered = end;
  }
  if (covered != dataSize) {
    return absl::InvalidArgumentError(absl::StrCat("tensors end at byte ", covered,
                                                   " of the data, expected ", dataSize,
                                                   ": is the file cut short or appended to?"));
  }
  return absl::OkStatus();
}

/// The little-endian number of `bytes`; what is beyond them is 0.
uint64_t numberOf(Bytes bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    number |= uint64_t{bytes[i]} << (8 * i);
  }
  return number;
}

absl::StatusOr<Table> readTable(Bytes file, uint64_t& dataStart) {
  constexpr size_t kLengthBytes = 8;
  uint64_t length = numberOf(file.subspan(0, kLengthBytes));
  if (file.size() < kLengthBytes || length > kMaxHeaderBytes ||
      length > file.size() - kLengthBytes) {
    return absl::InvalidArgumentError(absl::StrCat("is no safetensors file: a header of ", length,
                                                   " bytes in a file of ", file.size()));
  }
  dataStart = kLengthBytes + length;
  uint64_t dataSize = file.size() - dataStart;
  GR_ASSIGN_OR_RETURN(Json header, parse({reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                                          static_cast<size_t>(length)}));
  Table table;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    auto stored = storedOf(entry, dataSize);
    GR_RETURN_IF_ERROR(runtime::annotate(stored.status(), absl::StrCat("tensor '", name, "'")));
    table.emplace(name, *std::move(stored));
  }
  GR_RETURN_IF_ERROR(checkCover(table, dataSize));
  return table;
}

}  // namespace

struct WeightFile::Content {
  std::string path;
  runtime::MappedFile file;
  Table table;
  uint64_t dataStart = 0;
};

absl::StatusOr<WeightFile> WeightFile::open(const std::string& path) {
  auto content = std::make_shared<Content>();
  content->path = path;
  GR_ASSIGN_OR_RETURN(content->file, runtime::MappedFile::open(path));
  auto table = readTable(content->file.bytes(), content->dataStart);
  GR_RETURN_IF_ERROR(runtime::annotate(table.status(), absl::StrCat("weights '", path, "'")));
  content->table = *std::move(table);
  return WeightFile(std::move(content));
}

const std::string& WeightFile::path() const { return content_->path; }

std::vector<std::string> WeightFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, stored] : content_->table) {
    names.push_back(name);
  }
  return names;
}

absl::StatusOr<WeightFile::Entry> WeightFile::find(absl::string_view name) const {
  auto found = content_->table.find(name);
  if (found == content_->table.end()) {
    std::vector<std::string> known = names();
    size_t count = known.size();
    known.resize(std::min<size_t>(count, 3));
    return absl::NotFoundError(absl::StrCat("weights '", path(), "' have no tensor '", name,
                                            "'; they have ", count, ": ",
                                            absl::StrJoin(known, ", "), count > 3 ? " …" : ""));
  }
  const Stored& stored = found->second;
  if (stored.spec.type == ElementType::kInvalid) {
    return absl::UnimplementedError(absl::StrCat("tensor '", name, "' of weights '", path(),
                                                 "' is of dtype ", stored.dtype,
                                                 ", which is no element type of GraphRun; convert "
                                                 "it to F32 or F16"));
  }
  return Entry{stored.spec, content_->file.bytes().subspan(content_->dataStart + stored.begin,
                                                           stored.end - stored.begin)};
}

}  // namespace graphrun::builder
