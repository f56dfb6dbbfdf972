#include "placement/planner/weight_section.h"

#include <map>

#include "runtime/base/tensor.h"
#include "runtime/format/checksum.h"

namespace graphrun::compiler {
namespace {

constexpr size_t kConstantAlignment = 16;  // FlatBuffers allows at most 32

using Entries = std::map<const uint8_t*, const format::WeightEntry*>;

/// The model's weights by where they lie in memory.
Entries entriesOf(const format::ModelFile& model) {
  Entries entries;
  for (size_t i = 0; i < model.weightCount(); ++i) {
    if (absl::StatusOr<absl::Span<const uint8_t>> data = model.weight(i); data.ok()) {
      entries[data->data()] = model.model().weights()->Get(static_cast<uint32_t>(i));
    }
  }
  return entries;
}

}  // namespace

WeightSection writeWeights(const format::ModelFile& model, const passes::WeightTable& weights,
                           flatbuffers::FlatBufferBuilder& builder) {
  Entries inModel = entriesOf(model);
  WeightSection section;
  for (const passes::WeightTable::Entry& entry : weights.entries()) {
    auto name = builder.CreateString(entry.name);
    auto type = writeType(entry.spec, builder);
    auto found = inModel.find(entry.data.data());
    uint64_t offset = section.constants.size();
    if (found != inModel.end()) {
      offset = found->second->offset();
    } else {
      section.constants.insert(section.constants.end(), entry.data.begin(), entry.data.end());
      section.constants.resize(runtime::alignTensor(section.constants.size()));
    }
    bool whole = found != inModel.end() && found->second->length() == entry.data.size();
    section.entries.push_back(format::CreateWeightEntry(
        builder, name, type, entry.splat, offset, entry.data.size(),
        whole ? found->second->checksum() : format::checksumOf(entry.data),
        /*in_plan=*/found == inModel.end()));
  }
  return section;
}

flatbuffers::Offset<format::TensorType> writeType(const runtime::TensorSpec& spec,
                                                  flatbuffers::FlatBufferBuilder& builder) {
  return format::CreateTensorTypeDirect(builder, static_cast<format::ElementType>(spec.type), true,
                                        &spec.dims);
}

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> writeConstants(
    const std::vector<uint8_t>& constants, flatbuffers::FlatBufferBuilder& builder) {
  if (constants.empty()) {
    return 0;
  }
  builder.ForceVectorAlignment(constants.size(), 1, kConstantAlignment);
  return builder.CreateVector(constants);
}

flatbuffers::Offset<format::StringTable> writeStrings(const std::vector<std::string>& strings,
                                                      flatbuffers::FlatBufferBuilder& builder) {
  return strings.empty() ? 0 : builder.CreateVectorOfStrings(strings);
}

}  // namespace graphrun::compiler
