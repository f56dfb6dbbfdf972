#include "runtime/base/log.h"

#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace graphrun::runtime {
namespace {

std::atomic<LogLevel> threshold{LogLevel::kWarning};
std::atomic<bool> statusLine{false};

/// Keys beyond these are told every time, so that nothing grows without bound.
constexpr size_t kMostKeys = 1024;

/// The rest of the sink. It is never destroyed: threads may log until the process is gone.
struct Sink {
  std::mutex mutex;
  std::string name = "client";
  std::set<std::string, std::less<>> told;  // keys of logOnce
};

Sink& sink() {
  static auto* made = new Sink;
  return *made;
}

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

/// "session" of "/…/runtime/session/coordinator.cpp".
absl::string_view componentOf(absl::string_view file) {
  size_t end = file.rfind('/');
  if (end == absl::string_view::npos) {
    return "graphrun";
  }
  size_t begin = file.rfind('/', end - 1);
  return begin == absl::string_view::npos ? file.substr(0, end)
                                          : file.substr(begin + 1, end - begin - 1);
}

std::string nameOfProcess() {
  std::lock_guard lock(sink().mutex);
  return sink().name;
}

std::string timeOfDay() {
  timeval now = {};
  gettimeofday(&now, nullptr);
  tm local = {};
  localtime_r(&now.tv_sec, &local);
  return absl::StrFormat("%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
                         now.tv_usec / 1000);
}

}  // namespace

void setLogThreshold(LogLevel level) { threshold.store(level, std::memory_order_relaxed); }
LogLevel logThreshold() { return threshold.load(std::memory_order_relaxed); }

void setStatusLine(bool stands) { statusLine.store(stands, std::memory_order_relaxed); }

void setLogName(absl::string_view name) {
  std::lock_guard lock(sink().mutex);
  sink().name = std::string(name);
}

void log(LogLevel level, absl::string_view message, std::source_location where) {
  if (level < logThreshold()) {
    return;
  }
  // One write a line: lines of several threads and processes do not mix.
  std::string line = absl::StrCat(statusLine ? "\r\x1b[K" : "", "graphrun: ", timeOfDay(), " ",
                                  nameOfProcess(), "/", componentOf(where.file_name()), ": ",
                                  levelName(level), ": ", message, "\n");
  ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(written);  // nowhere left to report that stderr is closed
}

void logOnce(LogLevel level, absl::string_view key, absl::string_view message,
             std::source_location where) {
  if (level < logThreshold()) {
    return;
  }
  Sink& all = sink();
  {
    std::lock_guard lock(all.mutex);
    if (all.told.find(key) != all.told.end()) {
      return;
    }
    if (all.told.size() < kMostKeys) {
      all.told.emplace(key);
    }
  }
  log(level, message, where);
}

}  // namespace graphrun::runtime
