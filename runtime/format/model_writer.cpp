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
                const WeightLayout& layout, BuildGraph graph) {
  std::vector<flatbuffers::Offset<WeightEntry>> entries;
  for (size_t i = 0; i < weights.size(); ++i) {
    entries.push_back(buildEntry(builder, weights[i], layout.extents[i]));
  }
  auto table = builder.CreateVector(entries);
  auto producerName = builder.CreateString(producer);
  auto graphOffset = graph(builder);
  auto texts = strings.empty() ? 0 : builder.CreateVectorOfStrings(strings);
  builder.ForceVectorAlignment(1, 1, alignof(uint64_t));  // also where nothing in it asks for that
  FinishModelBuffer(builder,
                    CreateModel(builder, kModelVersion, producerName, graphOffset, table, texts));
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

absl::Status writeAll(runtime::AtomicFile& file, const FileHeader& header,
                      absl::Span<const uint8_t> buffer, const std::vector<WeightSource>& weights,
                      const WeightLayout& layout) {
  GR_RETURN_IF_ERROR(file.write({reinterpret_cast<const uint8_t*>(&header), sizeof(header)}));
  GR_RETURN_IF_ERROR(file.write(buffer));
  GR_RETURN_IF_ERROR(file.writeZeros(header.weightsOffset - file.size()));
  for (size_t index : layout.written) {
    uint64_t start = header.weightsOffset + layout.extents[index].offset;
    GR_RETURN_IF_ERROR(file.writeZeros(start - file.size()));
    GR_RETURN_IF_ERROR(file.write(weights[index].data));
  }
  GR_RETURN_IF_ERROR(file.writeZeros(header.weightsOffset + header.weightsLength - file.size()));
  return file.commit();
}

}  // namespace

absl::Status writeModelFile(const std::string& path, const std::string& producer,
                            const std::vector<WeightSource>& weights,
                            const std::vector<std::string>& strings, BuildGraph graph) {
  std::string context = absl::StrCat("model '", path, "' cannot be written");
  WeightLayout layout = layOut(weights);
  flatbuffers::FlatBufferBuilder builder(size_t{1} << 16);
  buildModel(builder, producer, weights, strings, layout, graph);
  absl::Span<const uint8_t> buffer(builder.GetBufferPointer(), builder.GetSize());
  GR_RETURN_IF_ERROR(runtime::annotate(verifyModelBuffer(buffer, layout.bytes).status(), context));
  FileHeader header = makeHeader(buffer, layout.bytes);
  GR_ASSIGN_OR_RETURN(runtime::AtomicFile file, runtime::AtomicFile::create(path));
  return runtime::annotate(writeAll(file, header, buffer, weights, layout), context);
}

}  // namespace graphrun::format
