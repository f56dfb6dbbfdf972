// The log sink: progress and warnings go to stderr, results never do.
#ifndef GRAPHRUN_RUNTIME_BASE_LOG_H_
#define GRAPHRUN_RUNTIME_BASE_LOG_H_

#include "absl/strings/string_view.h"

namespace graphrun::runtime {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Writes one line to stderr if `level` is at least the threshold. Thread-safe.
void log(LogLevel level, absl::string_view message);

/// Sets the threshold (default kWarning). Thread-safe.
void setLogThreshold(LogLevel level);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_LOG_H_
