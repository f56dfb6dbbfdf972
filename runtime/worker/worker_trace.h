// A worker's trace is sent to the coordinator like this.
#ifndef GRAPHRUN_RUNTIME_WORKER_WORKER_TRACE_H_
#define GRAPHRUN_RUNTIME_WORKER_WORKER_TRACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/trace_json.h"

namespace graphrun::runtime {

/// JSON: a list of {"name", "plan": hash, "kernels": [name], "weights": [bytes], "scratch":
/// [bytes], "steps": [[label, ns]] or null, "events": [kind, id, step, start, end, kind, …]}.
std::string writeWorkerTrace(absl::Span<const TraceStream> streams);

/// Inverse of writeWorkerTrace; InvalidArgument for anything else.
absl::StatusOr<std::vector<TraceStream>> readWorkerTrace(absl::string_view text);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_WORKER_TRACE_H_
