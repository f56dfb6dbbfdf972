// The log sink: progress and warnings go to stderr, results never do.
#ifndef GRAPHRUN_RUNTIME_BASE_LOG_H_
#define GRAPHRUN_RUNTIME_BASE_LOG_H_

#include <source_location>

#include "absl/strings/string_view.h"

namespace graphrun::runtime {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Writes one line to stderr if `level` is at least the threshold: the time of day, the name of the
/// process (setLogName), the component, which is the folder of the caller's source file, the level
/// and the message. Thread-safe.
void log(LogLevel level, absl::string_view message,
         std::source_location where = std::source_location::current());

/// As log, but of all calls with one `key` the first alone tells anything. Thread-safe.
void logOnce(LogLevel level, absl::string_view key, absl::string_view message,
             std::source_location where = std::source_location::current());

/// Sets the threshold (default kWarning). Thread-safe.
void setLogThreshold(LogLevel level);
LogLevel logThreshold();

/// Notes whether a line without an end stands on the terminal, which the next line replaces.
/// Thread-safe.
void setStatusLine(bool stands);

/// Sets how the lines call this process: the name of a worker (default "client"). Thread-safe.
void setLogName(absl::string_view name);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_LOG_H_
