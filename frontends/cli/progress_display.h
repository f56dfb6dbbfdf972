// The progress display tells whoever waits what the program is busy with: a bar on a terminal,
// lines elsewhere.
#ifndef GRAPHRUN_FRONTENDS_CLI_PROGRESS_DISPLAY_H_
#define GRAPHRUN_FRONTENDS_CLI_PROGRESS_DISPLAY_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/session/session.h"

namespace graphrun::cli {

/// Writes to stderr. On a terminal a line that stays until the work is done: a bar where it is
/// known how much there is, and the time left where that is bounded. Elsewhere a line when
/// something has taken two seconds, and again after ten, twenty …; with -v one for each thing as it
/// begins. Not with -q. Thread-safe.
class ProgressDisplay {
 public:
  ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay();

  void tell(const runtime::Progress& progress);
  /// For SessionOptions::progress; must not be called when this is gone.
  std::function<void(const runtime::Progress&)> sink() {
    return [this](const runtime::Progress& progress) { tell(progress); };
  }

 private:
  void keep();
  void show(int64_t now);
  void clear();
  std::string text(int64_t now) const;

  const bool quiet_;
  const bool eager_;  // a line for each thing
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  runtime::Progress progress_;
  int64_t begin_ = 0;  // of what progress_ tells
  int64_t next_ = 0;   // when it is told; both on nowNanos' clock
  bool shown_ = false;
  bool ending_ = false;
  std::thread keeper_;
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_PROGRESS_DISPLAY_H_
