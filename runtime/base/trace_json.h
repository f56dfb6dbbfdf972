// Traces of all processes are written as one file for Perfetto or chrome://tracing.
#ifndef GRAPHRUN_RUNTIME_BASE_TRACE_JSON_H_
#define GRAPHRUN_RUNTIME_BASE_TRACE_JSON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/trace.h"

namespace graphrun::runtime {

/// Events of one stream of a device (TraceRing::snapshot) and the names of its operations.
struct TraceStream {
  std::string name;  // "cpu:0 stream 0"
  std::vector<TraceEvent> events;
  std::vector<std::string> kernelNames;  // by TraceEvent::id; the id is shown where there is none
  uint64_t plan = 0;                     // hash of the plan that it ran
  // By TraceEvent::id, bytes that the kernel needs beside its tensors; empty where that is unknown.
  std::vector<uint64_t> kernelWeights;
  std::vector<uint64_t> kernelScratch;
  // The times of kernels, as far as they were measured, where their events tell no more than
  // launches and waits.
  std::optional<std::vector<KernelTime>> kernelTimes;
};

/// One worker.
struct TraceProcess {
  std::string name;       // "node0"
  int64_t clockOffsetNs;  // added to its times to get those of the first process
  std::vector<TraceStream> streams;
};

/// The Trace Event Format (JSON object format): pid = position of the process, tid = position of
/// the stream, one complete event ("X") for each event with category kernel, send, recv or step,
/// and an arrow ("s" to "f") from the send to the receive of the same edge and step where both are
/// there. Times are microseconds since the earliest event. `edgeNames` is indexed by edge id. The
/// result is valid JSON whatever bytes the names hold.
std::string chromeTrace(absl::Span<const TraceProcess> processes,
                        absl::Span<const std::string> edgeNames);

/// Writes chromeTrace to `path`, which appears whole or not at all.
absl::Status writeChromeTrace(const std::string& path, absl::Span<const TraceProcess> processes,
                              absl::Span<const std::string> edgeNames);

/// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string jsonString(absl::string_view text);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_TRACE_JSON_H_
