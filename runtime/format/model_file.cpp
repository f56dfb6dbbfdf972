#include "runtime/format/model_file.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/format/budget_verifier.h"
#include "runtime/format/checksum.h"
#include "runtime/format/graph_states.h"
#include "runtime/format/graph_verifier.h"
#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files are mapped as they are: a big-endian machine needs a converting reader");

template <typename... Parts>
absl::Status damaged(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

absl::Status verifyVersion(absl::string_view what, uint32_t version) {
  if (version == 0 || version > kModelVersion) {
    return absl::FailedPreconditionError(absl::StrCat(what, " has version ", version,
                                                      ", expected 1 to ", kModelVersion,
                                                      ": a newer graphrun may be needed"));
  }
  return absl::OkStatus();
}

// What the header says before its checksum may be looked at: a file of another kind or of a newer
// version gets a better message than "damaged".
absl::Status verifyKind(const FileHeader& header) {
  if (std::memcmp(header.magic, FileHeader::kMagic, sizeof(header.magic)) != 0) {
    return absl::InvalidArgumentError("it does not start with the mark of a graphrun model");
  }
  if (header.byteOrder != FileHeader::kByteOrder) {
    return absl::InvalidArgumentError(
        absl::StrCat("its byte order mark is 0x", absl::Hex(header.byteOrder), ", expected 0x",
                     absl::Hex(FileHeader::kByteOrder), ": it is for machines of another order"));
  }
  return verifyVersion("file", header.version);
}

absl::Status verifySections(const FileHeader& header, uint64_t fileBytes) {
  if (header.graphOffset != sizeof(FileHeader)) {
    return damaged("the graph starts at byte ", header.graphOffset, ", expected ",
                   sizeof(FileHeader));
  }
  uint64_t graphRoom = fileBytes - sizeof(FileHeader);
  if (header.graphLength > std::min<uint64_t>(graphRoom, kMaxFlatBufferBytes)) {
    return damaged("the graph has ", header.graphLength, " bytes, expected at most ",
                   std::min<uint64_t>(graphRoom, kMaxFlatBufferBytes));
  }
  if (header.weightsOffset % kPageAlignment != 0 ||
      header.weightsOffset < header.graphOffset + header.graphLength) {
    return damaged("the weights start at byte ", header.weightsOffset, ", expected a multiple of ",
                   kPageAlignment, " behind the graph");
  }
  if (header.weightsOffset > fileBytes ||
      header.weightsLength != fileBytes - header.weightsOffset) {
    return damaged("the file has ", fileBytes, " bytes, expected ", header.weightsOffset, " and ",
                   header.weightsLength, " of weights");
  }
  return absl::OkStatus();
}

absl::Status verifyHeader(absl::Span<const uint8_t> bytes, FileHeader& header) {
  if (bytes.size() < sizeof(FileHeader)) {
    return damaged("it has ", bytes.size(), " bytes, expected at least the ", sizeof(FileHeader),
                   " of its header");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  GR_RETURN_IF_ERROR(verifyKind(header));
  uint64_t checksum = checksumOf(bytes.first(offsetof(FileHeader, headerChecksum)));
  if (checksum != header.headerChecksum) {
    return damaged("the header's checksum is ", absl::Hex(checksum), ", expected ",
                   absl::Hex(header.headerChecksum));
  }
  GR_RETURN_IF_ERROR(verifySections(header, bytes.size()));
  checksum = checksumOf(bytes.subspan(header.graphOffset, header.graphLength));
  if (checksum != header.graphChecksum) {
    return damaged("the graph's checksum is ", absl::Hex(checksum), ", expected ",
                   absl::Hex(header.graphChecksum));
  }
  auto padding = bytes.subspan(header.graphOffset + header.graphLength,
                               header.weightsOffset - header.graphOffset - header.graphLength);
  if (std::any_of(padding.begin(), padding.end(), [](uint8_t byte) { return byte != 0; })) {
    return damaged("the padding between graph and weights is not zero");
  }
  return absl::OkStatus();
}

std::vector<const Graph*> graphsOf(const Model& model) {
  std::vector<const Graph*> graphs = {model.graph()};
  for (uint32_t i = 0; i < sizeOf(model.more_graphs()); ++i) {
    graphs.push_back(model.more_graphs()->Get(i));
  }
  return graphs;
}

/// States of one name are one: those of a graph must have the types of `known`, which they join.
absl::Status verifyStates(const Model& model, const Graph& graph,
                          std::map<std::string, runtime::TensorSpec>& known) {
  for (const GraphState& state : statesOf(graph)) {
    const runtime::TensorSpec spec = toSpec(*model.weights()->Get(state.first)->type());
    auto [found, isNew] = known.emplace(state.name, spec);
    if (!isNew && found->second != spec) {
      return damaged("graph ", inQuotes(textOf(graph.name())), " has the state ",
                     inQuotes(state.name), " of ", spec.toString(), ", expected ",
                     found->second.toString(), " as in the graphs before it");
    }
  }
  return absl::OkStatus();
}

absl::Status verifyGraphs(const Model& model, size_t bytes) {
  size_t work = bytes;
  std::set<absl::string_view> names;
  std::map<std::string, runtime::TensorSpec> states;
  for (const Graph* graph : graphsOf(model)) {
    const absl::string_view name = textOf(graph->name());
    if (!names.insert(name).second || (name.empty() && graph != model.graph())) {
      return damaged("a further graph is called ", inQuotes(name),
                     ", expected a name that no other graph has");
    }
    absl::Status status = verifyGraph(*graph, sizeOf(model.weights()), work);
    if (!status.ok()) {
      return graph == model.graph()
                 ? status
                 : runtime::annotate(status, absl::StrCat("graph ", inQuotes(name)));
    }
    GR_RETURN_IF_ERROR(verifyStates(model, *graph, states));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const Model*> verifyModelBuffer(absl::Span<const uint8_t> buffer,
                                               uint64_t sectionBytes) {
  if (buffer.size() > kMaxFlatBufferBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the graph takes ", buffer.size(),
                                                   " bytes without weights, expected at most ",
                                                   kMaxFlatBufferBytes));
  }
  BudgetVerifier verifier(buffer);
  if (!VerifyModelBuffer(verifier)) {
    return damaged("the graph is not a well-formed FlatBuffer of schema model.fbs",
                   verifier.reason());
  }
  const Model& model = *GetModel(buffer.data());
  GR_RETURN_IF_ERROR(verifyVersion("graph", model.version()));
  GR_RETURN_IF_ERROR(verifyWeightTable(model.weights(), sectionBytes, /*planBytes=*/0));
  GR_RETURN_IF_ERROR(verifyStrings(model.strings()));
  GR_RETURN_IF_ERROR(verifyGraphs(model, buffer.size()));
  return &model;
}

absl::StatusOr<std::shared_ptr<const ModelFile>> ModelFile::open(const std::string& path) {
  GR_ASSIGN_OR_RETURN(runtime::MappedFile file, runtime::MappedFile::openWatched(path));
  std::shared_ptr<ModelFile> result(new ModelFile);
  result->file_ = std::move(file);
  GR_RETURN_IF_ERROR(result->load(result->file_.bytes(), path));
  return result;
}

absl::StatusOr<std::shared_ptr<const ModelFile>> ModelFile::fromBytes(
    absl::Span<const uint8_t> bytes, absl::string_view name) {
  std::shared_ptr<ModelFile> result(new ModelFile);
  GR_RETURN_IF_ERROR(result->load(bytes, name));
  return result;
}

absl::StatusOr<std::shared_ptr<const ModelFile>> ModelFile::fromCheckedBytes(
    absl::Span<const uint8_t> bytes, absl::string_view name) {
  GR_ASSIGN_OR_RETURN(std::shared_ptr<const ModelFile> result, fromBytes(bytes, name));
  std::fill_n(result->checked_.get(), result->weightCount(), true);
  return result;
}

absl::Status ModelFile::parse(absl::Span<const uint8_t> bytes) {
  FileHeader header;
  GR_RETURN_IF_ERROR(verifyHeader(bytes, header));
  absl::Span<const uint8_t> buffer = bytes.subspan(header.graphOffset, header.graphLength);
  if (!file_.bytes().empty()) {
    graph_.assign(buffer.begin(), buffer.end());
    buffer = graph_;
  }
  GR_ASSIGN_OR_RETURN(model_, verifyModelBuffer(buffer, header.weightsLength));
  weights_ = bytes.subspan(header.weightsOffset, header.weightsLength);
  hash_ = checksumOf(bytes.first(header.graphOffset + header.graphLength));
  checked_ = std::make_unique<std::atomic<bool>[]>(weightCount());
  return absl::OkStatus();
}

absl::Status ModelFile::load(absl::Span<const uint8_t> bytes, absl::string_view name) {
  bytes_ = bytes;
  name_ = std::string(name);
  absl::Status status = parse(bytes);
  return status.ok() ? status
                     : absl::Status(status.code(),
                                    absl::StrCat("model '", name, "': ", status.message(),
                                                 "; make the file again with 'graphrun compile'"));
}

absl::Status ModelFile::checkLength() const {
  return file_.change() != runtime::FileChange::kCut
             ? absl::OkStatus()
             : damaged("model '", name_, "': the file was cut short after it was opened, from ",
                       bytes_.size(), " bytes; put it back and start again");
}

absl::Status ModelFile::checkUnchanged() const {
  if (!wasWritten()) {
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(checkLength());
  if (checksumOf(bytes_.first(sizeof(FileHeader) + graph_.size())) != hash_) {
    return damaged("model '", name_,
                   "': the file was overwritten with another model after it was opened; start "
                   "again, and replace models by renaming");
  }
  return verifyWeights();
}

const Graph* ModelFile::findGraph(absl::string_view name) const {
  for (const Graph* graph : graphs()) {
    if (name.empty() || textOf(graph->name()) == name) {
      return graph;
    }
  }
  return nullptr;
}

std::vector<const Graph*> ModelFile::graphs() const { return graphsOf(*model_); }

size_t ModelFile::weightCount() const { return sizeOf(model_->weights()); }

runtime::TensorSpec ModelFile::weightSpec(size_t index) const {
  return toSpec(*model_->weights()->Get(static_cast<uint32_t>(index))->type());
}

absl::StatusOr<absl::Span<const uint8_t>> ModelFile::weight(size_t index) const {
  if (index >= weightCount()) {
    return absl::OutOfRangeError(absl::StrCat("model '", name_, "': weight index is ", index,
                                              ", expected one below ", weightCount()));
  }
  const WeightEntry& entry = *model_->weights()->Get(static_cast<uint32_t>(index));
  absl::Span<const uint8_t> bytes = weights_.subspan(entry.offset(), entry.length());
  const bool isWritten = wasWritten();
  // Two threads may both find it unchecked; both then find the same.
  if (!isWritten && checked_[index].load(std::memory_order_relaxed)) {
    return bytes;
  }
  GR_RETURN_IF_ERROR(checkLength());
  uint64_t checksum = checksumOf(bytes);
  if (checksum != entry.checksum()) {
    return damaged("model '", name_, "': weight ", inQuotes(textOf(entry.name())),
                   " has the checksum ", absl::Hex(checksum), ", expected ",
                   absl::Hex(entry.checksum()),
                   isWritten ? "; the file was written to after it was opened: start again"
                             : "; make the file again with 'graphrun compile'");
  }
  checked_[index].store(true, std::memory_order_relaxed);
  return bytes;
}

void ModelFile::release(size_t index) const {
  const WeightEntry& entry = *model_->weights()->Get(static_cast<uint32_t>(index));
  if (!file_.bytes().empty()) {
    file_.release(weights_.subspan(entry.offset(), entry.length()));
  }
}

absl::Status ModelFile::verifyWeights() const {
  for (size_t i = 0; i < weightCount(); ++i) {
    GR_RETURN_IF_ERROR(weight(i).status());
  }
  return absl::OkStatus();
}

}  // namespace graphrun::format
