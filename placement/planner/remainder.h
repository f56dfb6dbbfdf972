// The rest of a model behind a plan that has run, as bytes that the run world keeps and gives back.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_REMAINDER_H_
#define GRAPHRUN_PLACEMENT_PLANNER_REMAINDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "placement/planner/context.h"
#include "runtime/format/model_file.h"

namespace graphrun::compiler {

/// The FlatBuffer of a Remainder (runtime/format/compiler_api.fbs) with this graph of `model`.
absl::StatusOr<std::vector<uint8_t>> writeRemainder(const format::ModelFile& model,
                                                    mlir::func::FuncOp graph);

/// Reads `bytes`, which are verified first, into `context`. They must be aligned to 16, and like
/// `model` outlive the context.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> readRemainder(Context& context,
                                                                const format::ModelFile& model,
                                                                absl::Span<const uint8_t> bytes);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_REMAINDER_H_
