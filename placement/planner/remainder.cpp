#include "placement/planner/remainder.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "passes/serialization/model_io.h"
#include "placement/planner/weight_section.h"
#include "runtime/base/status.h"
#include "runtime/format/budget_verifier.h"
#include "runtime/format/compiler_api_generated.h"
#include "runtime/format/graph_verifier.h"
#include "runtime/format/weight_table.h"

namespace graphrun::compiler {
namespace {

absl::StatusOr<const format::Remainder*> verified(absl::Span<const uint8_t> bytes,
                                                  uint64_t modelBytes) {
  format::BudgetVerifier verifier(bytes);
  if (!verifier.VerifyBuffer<format::Remainder>(nullptr)) {
    return absl::DataLossError("it is not a well-formed FlatBuffer of schema compiler_api.fbs");
  }
  auto* remainder = flatbuffers::GetRoot<format::Remainder>(bytes.data());
  GR_RETURN_IF_ERROR(format::verifyWeightTable(remainder->weights(), modelBytes,
                                               format::sizeOf(remainder->constants())));
  GR_RETURN_IF_ERROR(format::verifyStrings(remainder->strings()));
  size_t work = bytes.size();
  GR_RETURN_IF_ERROR(
      format::verifyGraph(*remainder->graph(), format::sizeOf(remainder->weights()), work));
  return remainder;
}

/// Indices of the model's weights by offset and length.
std::map<std::pair<uint64_t, uint64_t>, size_t> indicesOf(const format::ModelFile& model) {
  std::map<std::pair<uint64_t, uint64_t>, size_t> indices;
  for (size_t i = 0; i < model.weightCount(); ++i) {
    const format::WeightEntry* entry = model.model().weights()->Get(static_cast<uint32_t>(i));
    indices[{entry->offset(), entry->length()}] = i;
  }
  return indices;
}

passes::WeightSourceView weightsOf(const format::ModelFile& model,
                                   const format::Remainder& remainder) {
  passes::WeightSourceView weights;
  weights.count = format::sizeOf(remainder.weights());
  weights.strings = remainder.strings();
  weights.get = [&model, &remainder, indices = indicesOf(model)](
                    uint32_t index) -> absl::StatusOr<passes::WeightSourceView::Weight> {
    const format::WeightEntry* entry = remainder.weights()->Get(index);
    passes::WeightSourceView::Weight weight{
        entry->name()->str(), format::toSpec(*entry->type()), entry->splat(), {}};
    if (entry->in_plan()) {
      weight.data = {remainder.constants()->data() + entry->offset(), entry->length()};
      return weight;
    }
    auto found = indices.find({entry->offset(), entry->length()});
    if (found == indices.end()) {
      return absl::DataLossError(
          absl::StrCat("weight ", format::inQuotes(weight.name), " is not one of the model"));
    }
    GR_ASSIGN_OR_RETURN(weight.data, model.weight(found->second));
    return weight;
  };
  return weights;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> writeRemainder(const format::ModelFile& model,
                                                    mlir::func::FuncOp graph) {
  flatbuffers::FlatBufferBuilder builder;
  passes::WeightTable table;
  GR_ASSIGN_OR_RETURN(auto body, passes::exportGraph(graph, builder, table));
  WeightSection section = writeWeights(model, table, builder);
  auto weights = builder.CreateVector(section.entries);
  auto constants = writeConstants(section.constants, builder);
  auto strings = writeStrings(table.strings(), builder);
  builder.Finish(format::CreateRemainder(builder, body, weights, constants, strings));
  return std::vector<uint8_t>(builder.GetBufferPointer(),
                              builder.GetBufferPointer() + builder.GetSize());
}

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> readRemainder(Context& context,
                                                                const format::ModelFile& model,
                                                                absl::Span<const uint8_t> bytes) {
  // The section's true end is not known here; each weight is looked up in the model instead.
  absl::StatusOr<const format::Remainder*> remainder = verified(bytes, UINT64_MAX / 2);
  if (!remainder.ok()) {
    return runtime::annotate(remainder.status(), "the remainder of a model");
  }
  return passes::importGraph(*(*remainder)->graph(), weightsOf(model, **remainder), context.mlir());
}

}  // namespace graphrun::compiler
