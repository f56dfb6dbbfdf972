#include "runtime/base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {
namespace {

std::atomic<LogLevel> threshold{LogLevel::kWarning};

absl::string_view levelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "log";
}

}  // namespace

void setLogThreshold(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }

void log(LogLevel level, absl::string_view message) {
  if (level < threshold.load(std::memory_order_relaxed)) {
    return;
  }
  // One write a line: lines of several threads and processes do not mix.
  std::string line = absl::StrCat("graphrun: ", levelName(level), ": ", message, "\n");
  ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(written);  // nowhere left to report that stderr is closed
}

}  // namespace graphrun::runtime
