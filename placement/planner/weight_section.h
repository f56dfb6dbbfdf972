// The weight table of a Plan or Remainder: what of it lies in the model file, and the rest.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_WEIGHT_SECTION_H_
#define GRAPHRUN_PLACEMENT_PLANNER_WEIGHT_SECTION_H_

#include <cstdint>
#include <vector>

#include "passes/serialization/model_io.h"
#include "runtime/format/model_file.h"
#include "runtime/format/weight_table.h"

namespace graphrun::compiler {

/// Entries for the constants of exported graphs. Weights of the model keep their offset in its
/// file; the bytes of all others follow each other, each aligned as a tensor.
struct WeightSection {
  std::vector<flatbuffers::Offset<format::WeightEntry>> entries;
  std::vector<uint8_t> constants;
};

/// Writes the entries of `weights` with `builder`. The constants that are the model's are known by
/// their address: the graph was read from `model` and has not copied them.
WeightSection writeWeights(const format::ModelFile& model, const passes::WeightTable& weights,
                           flatbuffers::FlatBufferBuilder& builder);

/// A tensor type with static dims.
flatbuffers::Offset<format::TensorType> writeType(const runtime::TensorSpec& spec,
                                                  flatbuffers::FlatBufferBuilder& builder);

/// Writes `constants` with the alignment that their readers need; nothing when there are none.
flatbuffers::Offset<flatbuffers::Vector<uint8_t>> writeConstants(
    const std::vector<uint8_t>& constants, flatbuffers::FlatBufferBuilder& builder);

/// Writes a list of strings; nothing when there are none.
flatbuffers::Offset<format::StringTable> writeStrings(const std::vector<std::string>& strings,
                                                      flatbuffers::FlatBufferBuilder& builder);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_WEIGHT_SECTION_H_
