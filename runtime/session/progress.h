// A progress report tells whoever asked for it what a session is busy with.
#ifndef GRAPHRUN_RUNTIME_SESSION_PROGRESS_H_
#define GRAPHRUN_RUNTIME_SESSION_PROGRESS_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/session/session.h"

namespace graphrun::runtime {

/// SessionOptions::progress, for whoever has something to tell. Thread-safe.
class ProgressReport {
 public:
  explicit ProgressReport(std::function<void(const Progress&)> tell) : tell_(std::move(tell)) {}

  void tell(const Progress& progress) {
    if (tell_) {
      std::lock_guard lock(mutex_);
      tell_(progress);
    }
  }

  /// Something that takes time, as long as this lives.
  class Busy {
   public:
    Busy(ProgressReport& report, std::string what, std::chrono::nanoseconds most = {})
        : report_(report) {
      report_.tell({.what = std::move(what), .most = most});
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { report_.tell({}); }

   private:
    ProgressReport& report_;
  };

 private:
  const std::function<void(const Progress&)> tell_;
  std::mutex mutex_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PROGRESS_H_
