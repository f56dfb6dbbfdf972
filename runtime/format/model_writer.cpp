#include "runtime/format/model_writer.h"

#include <cstddef>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/atomic_file.h"
#include "runtime/base/status.h"
#include "runtime/format/checksum.h"
#include "runtime/format/model_file.h"
#include "runtime/format/weight_table.h"

namespace graphrun::format {
namespace {

// Where the weights go: one extent for each source, and the order in which distinct data is
// written.
struct WeightLayout {
  struct Extent {
    uint64_t offset = 0;
    uint64_t checksum = 0;
  };
  std::vector<Extent> extents;
  std::vector<size_t> written;  // indices of sources, by offset
  uint64_t bytes = 0;
};

bool sameBytes(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

WeightLayout layOut(const std::vector<WeightSource>& weights) {
  WeightLayout layout;
  absl::flat_hash_map<uint64_t, std::vector<size_t>> byChecksum;
  for (size_t i = 0; i < weights.size(); ++i) {
    WeightLayout::Extent extent{layout.bytes, checksumOf(weights[i].data)};
    bool found = false;
    for (size_t earlier : byChecksum[extent.checksum]) {
      if (sameBytes(weights[earlier].data, weights[i].data)) {
        extent.offset = layout.extents[earlier].offset;
        found = true;
        break;
      }
    }
    layout.extents.push_back(extent);
    if (!found) {
      byChecksum[extent.checksum].push_back(i);
      layout.written.push_back(i);
      layout.bytes = runtime::alignTensor(layout.bytes + weights[i].data.size());
    }
  }
  return layout;
}

flatbuffers::Offset<WeightEntry> buildEntry(flatbuffers::FlatBufferBuilder& builder,
                                            const WeightSource& weight,
                                            const WeightLayout::Extent& extent) {
  auto name = builder.CreateString(weight.name);
  auto dims = builder.CreateVector(weight.spec.dims);
  auto type = CreateTensorType(builder, static_cast<ElementType>(weight.spec.type), true, dims);
  return CreateWeightEntry(builder, name, type, weight.splat, extent.offset, weight.data.size(),
                           extent.checksum);
}

void buildModel(flatbuffers::FlatBufferBuilder& builder, const std::string& producer,
                const std::vector<WeightSource>& weights, const std::vector<std::string>& strings,
                const WeightLayout& layout, BuildGraph graph, absl::Span<const BuildGraph> more) {
  std::vector<flatbuffers::Offset<WeightEntry>> entries;
  entries.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    entries.push_back(buildEntry(builder, weights[i], layout.extents[i]));
  }
  auto table = builder.CreateVector(entries);
  auto producerName = builder.CreateString(producer);
  auto graphOffset = graph(builder);
  std::vector<flatbuffers::Offset<Graph>> others;
  for (BuildGraph other : more) {
    others.push_back(other(builder));
  }
  auto moreGraphs = others.empty() ? 0 : builder.CreateVector(others);
  auto texts = strings.empty() ? 0 : builder.CreateVectorOfStrings(strings);
  builder.ForceVectorAlignment(1, 1, alignof(uint64_t));  // also where nothing in it asks for that
  FinishModelBuffer(builder, CreateModel(builder, kModelVersion, producerName, graphOffset, table,
                                         texts, moreGraphs));
}

FileHeader makeHeader(absl::Span<const uint8_t> buffer, uint64_t weightBytes) {
  FileHeader header = {};
  std::memcpy(header.magic, FileHeader::kMagic, sizeof(header.magic));
  header.version = kModelVersion;
  header.byteOrder = FileHeader::kByteOrder;
  header.graphOffset = sizeof(FileHeader);
  header.graphLength = buffer.size();
  header.graphChecksum = checksumOf(buffer);
  uint64_t end = header.graphOffset + header.graphLength;
  header.weightsOffset = (end + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
  header.weightsLength = weightBytes;
  header.headerChecksum =
      checksumOf({reinterpret_cast<const uint8_t*>(&header), offsetof(FileHeader, headerChecksum)});
  return header;
}

/// A model whose graph a reader would accept, ready to be written.
class CheckedModel {
 public:
  explicit CheckedModel(const std::vector<WeightSource>& weights)
      : weights_(weights), layout_(layOut(weights)), builder_(size_t{1} << 16) {}

  absl::Status build(const std::string& producer, const std::vector<std::string>& strings,
                     BuildGraph graph, absl::Span<const BuildGraph> more) {
    buildModel(builder_, producer, weights_, strings, layout_, graph, more);
    return verifyModelBuffer(buffer(), layout_.bytes).status();
  }

  absl::Status write(runtime::FileWriter& file) const {
    const FileHeader header = makeHeader(buffer(), layout_.bytes);
    GR_RETURN_IF_ERROR(file.write({reinterpret_cast<const uint8_t*>(&header), sizeof(header)}));
    GR_RETURN_IF_ERROR(file.write(buffer()));
    GR_RETURN_IF_ERROR(file.writeZeros(header.weightsOffset - file.size()));
    for (size_t index : layout_.written) {
      uint64_t start = header.weightsOffset + layout_.extents[index].offset;
      GR_RETURN_IF_ERROR(file.writeZeros(start - file.size()));
      GR_RETURN_IF_ERROR(file.write(weights_[index].data));
    }
    return file.writeZeros(header.weightsOffset + header.weightsLength - file.size());
  }

 private:
  absl::Span<const uint8_t> buffer() const {
    return {builder_.GetBufferPointer(), builder_.GetSize()};
  }

  const std::vector<WeightSource>& weights_;
  WeightLayout layout_;
  flatbuffers::FlatBufferBuilder builder_;
};

std::string contextOf(const std::string& name) {
  return absl::StrCat("model '", name, "' cannot be written");
}

}  // namespace

absl::Status writeModelFile(const std::string& path, const std::string& producer,
                            const std::vector<WeightSource>& weights,
                            const std::vector<std::string>& strings, BuildGraph graph,
                            absl::Span<const BuildGraph> more) {
  CheckedModel model(weights);
  GR_RETURN_IF_ERROR(
      runtime::annotate(model.build(producer, strings, graph, more), contextOf(path)));
  GR_ASSIGN_OR_RETURN(runtime::AtomicFile file, runtime::AtomicFile::create(path));
  GR_RETURN_IF_ERROR(runtime::annotate(model.write(file), contextOf(path)));
  return runtime::annotate(file.commit(), contextOf(path));
}

absl::Status writeModelFile(runtime::MemoryFile& file, const std::string& producer,
                            const std::vector<WeightSource>& weights,
                            const std::vector<std::string>& strings, BuildGraph graph,
                            absl::Span<const BuildGraph> more) {
  CheckedModel model(weights);
  GR_RETURN_IF_ERROR(
      runtime::annotate(model.build(producer, strings, graph, more), contextOf(file.name())));
  GR_RETURN_IF_ERROR(runtime::annotate(model.write(file), contextOf(file.name())));
  return runtime::annotate(file.seal(), contextOf(file.name()));
}

}  // namespace graphrun::format
