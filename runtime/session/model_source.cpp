#include "runtime/session/model_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/format/graph_verifier.h"
#include "runtime/format/weight_table.h"
#include "runtime/session/error_domain.h"

namespace graphrun::runtime {
namespace {

/// The key under which every tensor with external data names its file.
constexpr absl::string_view kExternalKey = "location";
/// Linux keeps files in memory under this folder.
constexpr char kMemoryFolder[] = "/dev/shm";

void addFolder(CacheKey& key, const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    struct stat file;
    if (stat(it->path().c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
      lines.push_back(absl::StrCat(it->path().string(), " ", file.st_size, " ", file.st_mtim.tv_sec,
                                   ".", file.st_mtim.tv_nsec));
    }
  }
  std::sort(lines.begin(), lines.end());
  key.add(absl::StrJoin(lines, "\n"));
}

/// Name of the imported model in the cache. The file is mapped no longer than it takes.
absl::StatusOr<std::string> importKey(const std::string& path, Compiler& compiler) {
  GR_ASSIGN_OR_RETURN(MappedFile onnx, MappedFile::open(path));
  absl::Span<const uint8_t> bytes = onnx.bytes();
  CacheKey key;
  key.add(compiler.identity()).add(bytes);
  // Not by string_view: it would stop at each first letter, of which weights are full.
  if (memmem(bytes.data(), bytes.size(), kExternalKey.data(), kExternalKey.size()) != nullptr) {
    std::error_code error;
    addFolder(key, std::filesystem::absolute(path, error).parent_path());
  }
  return absl::StrCat(key.hex(), ".fb");
}

/// Reads all of a model once, and lets go of its memory.
absl::Status checkWhole(const format::ModelFile& model) {
  for (size_t i = 0; i < model.weightCount(); ++i) {
    GR_RETURN_IF_ERROR(model.weight(i).status());
    model.release(i);
  }
  return absl::OkStatus();
}

/// The imported model in the cache; null where it is not there, or damaged. Unavailable where
/// memory has no room for it.
absl::StatusOr<std::shared_ptr<const format::ModelFile>> findKept(const std::string& key,
                                                                  const std::string& target,
                                                                  DiskCache& cache) {
  if (!cache.has(key)) {
    return nullptr;
  }
  auto model = format::ModelFile::open(target);
  absl::Status whole = model.ok() ? checkWhole(**model) : model.status();
  if (whole.ok()) {
    cache.used(key);
    return *std::move(model);
  }
  if (absl::IsUnavailable(whole)) {
    return whole;
  }
  log(LogLevel::kWarning, absl::StrCat("cache entry ", target, " is damaged (", whole.message(),
                                       "); it is made again"));
  cache.remove(key);
  return nullptr;
}

/// Returns whether the folder is at fault, not the model.
bool isFolders(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsPermissionDenied(status) ||
         absl::IsNotFound(status) || absl::IsDataLoss(status);
}

absl::Status importTo(const std::string& target, const std::string& path, Compiler& compiler,
                      OpenModel& opened) {
  GR_ASSIGN_OR_RETURN(std::string warnings, compiler.importOnnx(path, target));
  for (absl::string_view line : absl::StrSplit(warnings, '\n', absl::SkipEmpty())) {
    log(LogLevel::kWarning,
        absl::StrCat("model '", path, "': ", absl::StripPrefix(line, "warning: ")));
  }
  GR_ASSIGN_OR_RETURN(opened.model, format::ModelFile::open(target));
  opened.path = target;
  opened.imported = true;
  return absl::OkStatus();
}

/// Imports to a folder that goes with the model: among the temporary files, or in memory.
absl::Status importElsewhere(const std::string& path, Compiler& compiler, OpenModel& opened) {
  absl::Status status;
  std::error_code error;
  for (const auto& parent :
       {std::filesystem::temp_directory_path(error), std::filesystem::path(kMemoryFolder)}) {
    absl::StatusOr<ScratchFolder> folder = ScratchFolder::createIn(parent);
    status = folder.status();
    if (folder.ok()) {
      opened.scratch = std::make_shared<ScratchFolder>(*std::move(folder));
      status = importTo(opened.scratch->path() / "model.fb", path, compiler, opened);
    }
    if (status.ok() || !isFolders(status)) {
      return status;
    }
  }
  return status;
}

absl::Status import(const std::string& path, Compiler& compiler, DiskCache& cache,
                    OpenModel& opened) {
  GR_ASSIGN_OR_RETURN(std::string key, importKey(path, compiler));
  absl::StatusOr<std::string> target = cache.pathOf(key);
  absl::Status status = target.status();
  if (target.ok()) {
    opened.path = *target;
    GR_ASSIGN_OR_RETURN(opened.model, findKept(key, *target, cache));
    if (opened.model != nullptr) {
      return absl::OkStatus();
    }
    status = importTo(*target, path, compiler, opened);
    if (status.ok()) {
      cache.added(key);
      cache.used(key);
      return absl::OkStatus();
    }
  }
  if (target.ok() && !isFolders(status)) {
    return status;
  }
  cache.warnNotKept("the imported model", status);
  return importElsewhere(path, compiler, opened);
}

/// `expression` over s0, s1 … with the names that the graph gives to these.
std::string withNames(const format::Graph& graph, absl::string_view expression) {
  std::string text;
  for (size_t at = 0; at < expression.size();) {
    size_t end = at + 1;
    bool isWord = absl::ascii_isalpha(expression[at]);
    while (isWord && end < expression.size() && absl::ascii_isalnum(expression[end])) {
      ++end;
    }
    absl::string_view word = expression.substr(at, end - at);
    uint32_t index = 0;
    bool isSymbol = isWord && absl::SimpleAtoi(word.substr(1), &index) && word[0] == 's' &&
                    index < format::sizeOf(graph.symbols());
    absl::string_view name = isSymbol ? format::textOf(graph.symbols()->Get(index)) : "";
    absl::StrAppend(&text, name.empty() ? word : name);
    at = end;
  }
  return text;
}

ModelPort toPort(const format::Graph& graph, const std::string& name, uint32_t value) {
  const format::TensorType& type = format::typeOf(graph, value);
  ModelPort port;
  port.name = name;
  port.type = static_cast<ElementType>(type.element());
  port.ranked = type.ranked();
  port.isList = type.kind() != format::ValueKind::Tensor;
  if (type.dims() != nullptr) {
    port.dims.assign(type.dims()->begin(), type.dims()->end());
  }
  port.symbols.resize(port.dims.size());
  for (size_t i = 0; i < port.dims.size() && i < format::sizeOf(type.symbolic()); ++i) {
    port.symbols[i] = withNames(
        graph, format::textOf(type.symbolic()->Get(static_cast<flatbuffers::uoffset_t>(i))));
  }
  return port;
}

std::vector<ModelPort> toPorts(const format::Graph& graph, const format::StringTable* names,
                               const flatbuffers::Vector<uint32_t>* values) {
  std::vector<ModelPort> ports;
  ports.reserve(format::sizeOf(values));
  for (uint32_t i = 0; i < format::sizeOf(values); ++i) {
    ports.push_back(toPort(graph, std::string(format::textOf(names->Get(i))), values->Get(i)));
  }
  return ports;
}

/// Returns the problem of one input's shape; "" if there is none.
std::string shapeProblem(const ModelPort& port, const TensorSpec& spec,
                         std::map<std::string, int64_t>& symbols) {
  if (spec.type != port.type || (port.ranked && spec.dims.size() != port.dims.size())) {
    return absl::StrCat("expected ", port.toString());
  }
  for (size_t i = 0; i < port.dims.size(); ++i) {
    if (port.dims[i] >= 0 && spec.dims[i] != port.dims[i]) {
      return absl::StrCat("dim ", i, " must be ", port.dims[i], "; expected ", port.toString());
    }
    const std::string& symbol = port.symbols[i];
    if (port.dims[i] < 0 && !symbol.empty()) {
      auto [known, isNew] = symbols.emplace(symbol, spec.dims[i]);
      if (!isNew && known->second != spec.dims[i]) {
        return absl::StrCat("dim ", i, " is '", symbol, "', which is ", known->second,
                            " elsewhere");
      }
    }
  }
  return "";
}

}  // namespace

std::string ModelPort::toString() const {
  if (isList) {
    return "a list of tensors";
  }
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    absl::StrAppend(&text,
                    dims[i] >= 0         ? absl::StrCat(dims[i])
                    : symbols[i].empty() ? "?"
                                         : symbols[i],
                    "x");
  }
  return absl::StrCat(ranked ? text : "*x", elementTypeName(type));
}

absl::Status modelError(const absl::Status& status) {
  const bool isOurs = absl::IsUnavailable(status) || absl::IsInternal(status);
  return inDomain(status, isOurs ? ErrorDomain::kRun : ErrorDomain::kModel);
}

absl::StatusOr<OpenModel> openModel(const std::string& path, Compiler& compiler, DiskCache& cache) {
  OpenModel opened;
  opened.path = path;
  if (absl::EndsWithIgnoreCase(path, ".onnx")) {
    GR_RETURN_IF_ERROR(modelError(import(path, compiler, cache, opened)));
    return opened;
  }
  auto model = format::ModelFile::open(opened.path);
  GR_RETURN_IF_ERROR(modelError(model.status()));
  opened.model = *std::move(model);
  return opened;
}

std::vector<ModelPort> inputPorts(const format::Graph& graph) {
  return toPorts(graph, graph.input_names(), graph.body()->arguments());
}

std::vector<ModelPort> outputPorts(const format::Graph& graph) {
  const auto* operations = graph.body()->operations();
  return toPorts(graph, graph.output_names(), operations->Get(operations->size() - 1)->operands());
}

bool isInList(const ModelPort& port, absl::string_view name) {
  return port.isList && absl::ConsumePrefix(&name, port.name) && absl::StartsWith(name, "[");
}

absl::Status checkInputs(absl::Span<const ModelPort> ports, absl::Span<const NamedSpec> given) {
  std::vector<std::string> problems;
  std::map<std::string, int64_t> symbols;
  std::map<std::string, const NamedSpec*> byName;
  for (const NamedSpec& input : given) {
    if (!byName.emplace(input.name, &input).second) {
      problems.push_back(absl::StrCat("input '", input.name, "' is given twice"));
    }
  }
  std::vector<std::string> names;
  for (const ModelPort& port : ports) {
    names.push_back(port.name);
    if (port.isList) {
      size_t before = byName.size();
      std::erase_if(byName, [&](const auto& input) { return isInList(port, input.first); });
      if (byName.size() == before) {
        problems.push_back(absl::StrCat("input '", port.name, "' is missing; expected ",
                                        port.toString(), " as ", port.name, "[0], ", port.name,
                                        "[1] …, or ", port.name, "[] when it is empty"));
      }
      continue;
    }
    auto found = byName.find(port.name);
    if (found == byName.end()) {
      problems.push_back(
          absl::StrCat("input '", port.name, "' is missing; expected ", port.toString()));
      continue;
    }
    std::string problem = shapeProblem(port, found->second->spec, symbols);
    if (!problem.empty()) {
      problems.push_back(absl::StrCat("input '", port.name, "': got ",
                                      found->second->spec.toString(), ", ", problem));
    }
    byName.erase(found);
  }
  for (const auto& [name, spec] : byName) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      problems.push_back(absl::StrCat("the model has no input '", name, "'; its inputs are ",
                                      absl::StrJoin(names, ", ")));
    }
  }
  return problems.empty() ? absl::OkStatus()
                          : inDomain(absl::InvalidArgumentError(absl::StrJoin(problems, "\n")),
                                     ErrorDomain::kInput);
}

}  // namespace graphrun::runtime
