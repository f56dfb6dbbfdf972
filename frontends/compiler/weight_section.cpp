#include "frontends/compiler/weight_section.h"

#include <map>

#include "runtime/base/tensor.h"
#include "runtime/format/checksum.h"

namespace graphrun::compiler {
namespace {

constexpr size_t kConstantAlignment = 16;  // FlatBuffers allows at most 32

/// Offsets of the model's weights in its file, by where they lie in memory.
std::map<const uint8_t*, uint64_t> offsetsOf(const format::ModelFile& model) {
  std::map<const uint8_t*, uint64_t> offsets;
  for (size_t i = 0; i < model.weightCount(); ++i) {
    if (absl::StatusOr<absl::Span<const uint8_t>> data = model.weight(i); data.ok()) {
      offsets[data->data()] = model.model().weights()->Get(static_cast<uint32_t>(i))->offset();
    }
  }
  return offsets;
}

}  // namespace

WeightSection writeWeights(const format::ModelFile& model, const passes::WeightTable& weights,
                           flatbuffers::FlatBufferBuilder& builder) {
  std::map<const uint8_t*, uint64_t> inModel = offsetsOf(model);
  WeightSection section;
  for (const passes::WeightTable::Entry& entry : weights.entries()) {
    auto name = builder.CreateString(entry.name);
    auto type = writeType(entry.spec, builder);
    auto found = inModel.find(entry.data.data());
    uint64_t offset = section.constants.size();
    if (found != inModel.end()) {
      offset = found->second;
    } else {
      section.constants.insert(section.constants.end(), entry.data.begin(), entry.data.end());
      section.constants.resize(runtime::alignTensor(section.constants.size()));
    }
    section.entries.push_back(format::CreateWeightEntry(
        builder, name, type, entry.splat, offset, entry.data.size(), format::checksumOf(entry.data),
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
