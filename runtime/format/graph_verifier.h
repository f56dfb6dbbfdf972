// Checks what the FlatBuffers verifier cannot: that a graph means something.
#ifndef GRAPHRUN_RUNTIME_FORMAT_GRAPH_VERIFIER_H_
#define GRAPHRUN_RUNTIME_FORMAT_GRAPH_VERIFIER_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/format/model_generated.h"

namespace graphrun::format {

/// Limits on a graph; beyond them it is refused.
inline constexpr size_t kMaxRegionDepth = 32;
inline constexpr size_t kMaxGraphEntries = size_t{1} << 24;  // of each of a graph's tables
inline constexpr size_t kMaxAttributes = 1024;               // of one operation
inline constexpr size_t kMaxInputs = size_t{1} << 16;        // and as many outputs

/// Called for each operation that has passed the checks, in execution order, regions after their
/// operation. An error stops the walk and gets the operation's name put before it.
using OperationVisitor =
    absl::FunctionRef<absl::Status(const Operation& operation, absl::string_view name)>;

/// Verifies a graph whose buffer has passed BudgetVerifier; nothing else may be believed before.
///
/// Value ids are dense, defined once and before their uses, and used only inside the region that
/// defines them; indices of types, op names and weights (below `weightCount`) are in range; types
/// are sane; regions are nested at most kMaxRegionDepth deep and end in an operation without
/// results; names of inputs and outputs are unique, one for each argument and for each operand of
/// the body's last operation. Which operations and attributes exist is the reader's to check.
/// `work` bounds the time that a hostile buffer can take by referring to the same vectors again and
/// again, and the memory that its texts and lists take where each place that refers to them has its
/// own: give it the bytes of the buffer; each entry that is looked at takes one away, and so do 16
/// bytes of labels and attributes; at zero the graph is refused. Errors are InvalidArgument and
/// name the operation.
absl::Status verifyGraph(const Graph& graph, size_t weightCount, size_t& work,
                         OperationVisitor visit);
absl::Status verifyGraph(const Graph& graph, size_t weightCount, size_t& work);

/// The type of value `id` of a verified graph; `id` must be in range.
inline const TensorType& typeOf(const Graph& graph, uint32_t id) {
  return *graph.types()->Get(graph.value_types()->Get(id));
}

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_GRAPH_VERIFIER_H_
