#include "frontends/cli/feeds.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontends/cli/elements.h"
#include "frontends/cli/tensor_proto.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/npy.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor_memory.h"
#include "runtime/session/model_source.h"

namespace graphrun::cli {
namespace {

using runtime::ElementType;
using runtime::HostTensor;
using runtime::ModelPort;
using runtime::NamedSpec;
using runtime::NamedTensor;
using runtime::TensorSpec;

const ModelPort* findPort(absl::Span<const ModelPort> ports, const std::string& name) {
  auto found = std::find_if(ports.begin(), ports.end(), [&](const ModelPort& port) {
    return port.name == name || isInList(port, name);
  });
  return found == ports.end() ? nullptr : &*found;
}

absl::StatusOr<const ModelPort*> needPort(absl::Span<const ModelPort> ports,
                                          const std::string& name, const std::string& option) {
  if (const ModelPort* port = findPort(ports, name)) {
    return port;
  }
  std::vector<std::string> names;
  for (const ModelPort& port : ports) {
    names.push_back(port.name);
  }
  return usageError(absl::StrCat(option, ": the model has no input '", name, "'; its inputs are ",
                                 absl::StrJoin(names, ", ")));
}

absl::Status givenTwice(absl::string_view option, absl::string_view input) {
  return usageError(absl::StrCat(option, ": input '", input, "' is given twice"));
}

/// Dims of --shape by input; the fixed shape of an input where there is none.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> knownDims(
    const FeedOptions& options, absl::Span<const ModelPort> ports) {
  std::map<std::string, std::vector<int64_t>> dims;
  for (const ModelPort& port : ports) {
    if (port.ranked &&
        std::all_of(port.dims.begin(), port.dims.end(), [](int64_t dim) { return dim >= 0; })) {
      dims[port.name] = port.dims;
    }
  }
  std::set<std::string> named;
  for (const std::string& shape : options.shapes) {
    size_t colon = shape.rfind(':');  // names of inputs may hold colons, shapes do not
    if (colon == std::string::npos) {
      return usageError(absl::StrCat("--shape ", shape, ": expected NAME:1x3x224x224"));
    }
    std::string name = shape.substr(0, colon);
    GR_RETURN_IF_ERROR(needPort(ports, name, "--shape").status());
    if (!named.insert(name).second) {
      return givenTwice("--shape", name);
    }
    GR_ASSIGN_OR_RETURN(dims[name], parseDims(shape.substr(colon + 1)));
  }
  return dims;
}

absl::Status noShape(const ModelPort& port) {
  return usageError(absl::StrCat("input '", port.name, "' is ", port.toString(),
                                 ": say which shape, as in --shape ", port.name, ":",
                                 absl::StrJoin(std::vector<int>(port.dims.size(), 1), "x")));
}

/// A tensor for `option`, whose dims it gives.
absl::StatusOr<HostTensor> newTensor(const TensorSpec& spec, const std::string& option) {
  absl::StatusOr<HostTensor> tensor = runtime::allocateTensor(spec);
  return tensor.ok() ? std::move(tensor)
                     : usageError(absl::StrCat(option, ": ", tensor.status().message()));
}

/// "2x64xf32=1": a tensor of equal elements.
absl::StatusOr<HostTensor> filledTensor(const std::string& text, const std::string& option) {
  std::vector<std::string> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
  size_t x = sides[0].rfind('x');
  std::string typeName = x == std::string::npos ? sides[0] : sides[0].substr(x + 1);
  std::optional<ElementType> type = runtime::parseElementType(typeName);
  if (!type.has_value() || sides.size() != 2) {
    return usageError(absl::StrCat(option,
                                   ": expected @FILE.npy, SHAPExTYPE=NUMBER as in 2x64xf32=1, "
                                   "SHAPExstring=TEXT, or random"));
  }
  TensorSpec spec{*type, {}};
  if (x != std::string::npos) {
    GR_ASSIGN_OR_RETURN(spec.dims, parseDims(sides[0].substr(0, x)));
  }
  GR_ASSIGN_OR_RETURN(HostTensor tensor, newTensor(spec, option));
  if (absl::Status filled = fill(tensor, sides[1]); !filled.ok()) {
    return usageError(absl::StrCat(option, ": ", filled.message()));
  }
  return tensor;
}

absl::StatusOr<HostTensor> inputTensor(const ModelPort& port, const std::string& value,
                                       const std::map<std::string, std::vector<int64_t>>& dims) {
  std::string option = absl::StrCat("--input ", port.name, "=", value);
  if (absl::StartsWith(value, "@")) {
    absl::StatusOr<HostTensor> tensor = runtime::readNpy(value.substr(1), port.type);
    return tensor.ok() ? std::move(tensor) : fileError(tensor.status());
  }
  if (value != "random" && !absl::StartsWith(value, "random:")) {
    return filledTensor(value, option);
  }
  uint64_t seed = 0;
  if (value != "random" && !absl::SimpleAtoi(value.substr(7), &seed)) {
    return usageError(absl::StrCat(option, ": expected a number after random:"));
  }
  auto shape = dims.find(port.name);
  if (shape == dims.end()) {
    return noShape(port);
  }
  GR_ASSIGN_OR_RETURN(HostTensor tensor, newTensor({port.type, shape->second}, option));
  fillRandom(tensor, seed);
  return tensor;
}

/// Adds the tensor of file `number`, or the tensors in its list.
absl::Status readNumbered(const std::filesystem::path& file, size_t number,
                          absl::Span<const ModelPort> ports, std::vector<NamedTensor>& tensors) {
  if (number < ports.size() && ports[number].isList) {
    GR_ASSIGN_OR_RETURN(runtime::MappedFile bytes, runtime::MappedFile::open(file.string()));
    GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> list,
                        parseListProto(bytes.bytes(), file.string(), ports[number].name));
    std::move(list.begin(), list.end(), std::back_inserter(tensors));
    return absl::OkStatus();
  }
  GR_ASSIGN_OR_RETURN(NamedTensor tensor, readTensorProto(file.string()));
  if (findPort(ports, tensor.name) == nullptr && number < ports.size()) {
    tensor.name = ports[number].name;
  }
  tensors.push_back(std::move(tensor));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedTensor>> readSeries(const std::string& folder, const char* kind,
                                                    absl::Span<const ModelPort> ports) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0;; ++i) {
    auto file = std::filesystem::path(folder) / absl::StrCat(kind, "_", i, ".pb");
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      return tensors;
    }
    GR_RETURN_IF_ERROR(readNumbered(file, i, ports, tensors));
  }
}

}  // namespace

absl::StatusOr<DataSet> readDataSet(const std::string& folder, absl::Span<const ModelPort> inputs,
                                    absl::Span<const ModelPort> outputs) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return fileError(absl::NotFoundError(absl::StrCat("there is no folder '", folder, "'")));
  }
  DataSet data;
  absl::StatusOr<std::vector<NamedTensor>> read = readSeries(folder, "input", inputs);
  if (read.ok()) {
    data.inputs = *std::move(read);
    read = readSeries(folder, "output", outputs);
  }
  if (!read.ok()) {
    return fileError(read.status());
  }
  data.outputs = *std::move(read);
  return data;
}

absl::StatusOr<std::pair<std::string, std::string>> splitByPort(const std::string& text,
                                                                absl::Span<const ModelPort> ports,
                                                                const std::string& option) {
  for (size_t at = text.rfind('='); at != std::string::npos && at > 0;
       at = text.rfind('=', at - 1)) {
    if (at + 1 < text.size() && findPort(ports, text.substr(0, at)) != nullptr) {
      return std::pair(text.substr(0, at), text.substr(at + 1));
    }
  }
  return splitPair(text, '=', option);
}

void fillRandom(HostTensor& tensor, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> integer(0, 9);
  const TensorSpec& spec = tensor.spec();
  for (size_t i = 0; i < static_cast<size_t>(spec.elementCount()); ++i) {
    setElement(tensor, i,
               runtime::elementTypeInfo(spec.type).kind == runtime::NumberKind::kFloat
                   ? real(generator)
                   : integer(generator));
  }
}

absl::StatusOr<std::vector<int64_t>> parseDims(const std::string& text) {
  std::vector<int64_t> dims;
  if (text.empty()) {
    return dims;
  }
  for (absl::string_view part : absl::StrSplit(text, 'x')) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return usageError(
          absl::StrCat("'", text, "' is no shape; expected numbers, as in 1x3x224x224"));
    }
    dims.push_back(dim);
  }
  return dims;
}

absl::StatusOr<std::vector<NamedSpec>> feedShapes(const FeedOptions& options,
                                                  absl::Span<const ModelPort> ports) {
  GR_ASSIGN_OR_RETURN(auto dims, knownDims(options, ports));
  std::map<std::string, TensorSpec> given;
  if (!options.data.empty() || !options.inputs.empty()) {
    GR_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, feeds(options, ports, true));
    for (const NamedTensor& tensor : tensors) {
      given[tensor.name] = tensor.tensor.spec();
    }
  }
  std::vector<NamedSpec> shapes;
  for (const ModelPort& port : ports) {
    if (port.isList) {
      for (const auto& [name, spec] : given) {
        if (isInList(port, name)) {
          shapes.push_back({name, spec});
        }
      }
    } else if (auto found = given.find(port.name); found != given.end()) {
      shapes.push_back({port.name, found->second});
    } else if (auto known = dims.find(port.name); known != dims.end()) {
      shapes.push_back({port.name, {port.type, known->second}});
    } else {
      return noShape(port);
    }
  }
  return shapes;
}

absl::StatusOr<std::vector<NamedTensor>> feeds(const FeedOptions& options,
                                               absl::Span<const ModelPort> ports, bool fillRest) {
  GR_ASSIGN_OR_RETURN(auto dims, knownDims(options, ports));
  std::map<std::string, HostTensor> given;
  if (!options.data.empty()) {
    GR_ASSIGN_OR_RETURN(DataSet data, readDataSet(options.data, ports, {}));
    for (NamedTensor& tensor : data.inputs) {
      given[tensor.name] = std::move(tensor.tensor);
    }
  }
  std::set<std::string> named;
  for (const std::string& input : options.inputs) {
    GR_ASSIGN_OR_RETURN(auto pair, splitByPort(input, ports, "--input"));
    GR_ASSIGN_OR_RETURN(const ModelPort* port, needPort(ports, pair.first, "--input"));
    if (!named.insert(pair.first).second) {
      return givenTwice("--input", pair.first);
    }
    GR_ASSIGN_OR_RETURN(given[pair.first], inputTensor(*port, pair.second, dims));
  }
  std::vector<NamedTensor> tensors;
  std::vector<std::string> missing;
  for (const ModelPort& port : ports) {
    if (port.isList) {
      size_t before = tensors.size();
      for (auto& [name, tensor] : given) {
        if (isInList(port, name)) {
          tensors.push_back({name, std::move(tensor)});
        }
      }
      if (tensors.size() == before) {
        missing.push_back(absl::StrCat("'", port.name, "' (", port.toString(), " ", port.name,
                                       "[0], ", port.name, "[1] …; ", port.name,
                                       "[] when it is empty)"));
      }
    } else if (auto found = given.find(port.name); found != given.end()) {
      tensors.push_back({port.name, std::move(found->second)});
    } else if (fillRest) {
      GR_ASSIGN_OR_RETURN(HostTensor tensor, inputTensor(port, "random", dims));
      tensors.push_back({port.name, std::move(tensor)});
    } else {
      missing.push_back(absl::StrCat("'", port.name, "' (", port.toString(), ")"));
    }
  }
  if (!missing.empty()) {
    return usageError(absl::StrCat("no value for input ", absl::StrJoin(missing, ", "),
                                   "; give --input NAME=@FILE.npy, --input NAME=random or --data"));
  }
  return tensors;
}

}  // namespace graphrun::cli
