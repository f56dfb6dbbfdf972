#include "frontends/cli/progress_display.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace graphrun::cli {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
/// Work that is over sooner is not told on a terminal.
constexpr int64_t kPatience = 3 * kSecond / 10;
constexpr int64_t kRedraw = kSecond / 10;
/// The same elsewhere, and how often it is told again.
constexpr int64_t kLinePatience = 2 * kSecond;
constexpr int64_t kLineAgain = 10 * kSecond;
constexpr size_t kBarWidth = 24;

std::string bar(uint64_t done, uint64_t total) {
  size_t full = static_cast<size_t>(kBarWidth * std::min(done, total) / total);
  return absl::StrCat("[", std::string(full, '#'), std::string(kBarWidth - full, ' '), "] ");
}

/// A count where that is small, else a percentage.
std::string fraction(uint64_t done, uint64_t total) {
  constexpr uint64_t kFew = 1000;
  return total <= kFew ? absl::StrCat(done, " of ", total)
                       : absl::StrFormat("%.0f %%", 100 * static_cast<double>(done) /
                                                        static_cast<double>(total));
}

void write(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressDisplay::ProgressDisplay()
    : quiet_(runtime::logThreshold() > runtime::LogLevel::kWarning),
      eager_(runtime::logThreshold() < runtime::LogLevel::kWarning),
      terminal_(isatty(STDERR_FILENO) == 1),
      keeper_(quiet_ ? std::thread() : std::thread([this] { keep(); })) {}

ProgressDisplay::~ProgressDisplay() {
  if (quiet_) {
    return;
  }
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  keeper_.join();
}

void ProgressDisplay::tell(const runtime::Progress& progress) {
  if (quiet_) {
    return;
  }
  std::lock_guard lock(mutex_);
  bool isSame = progress.what == progress_.what;
  progress_ = progress;
  if (isSame) {
    return;
  }
  const int64_t now = runtime::nowNanos();
  begin_ = now;
  next_ = now + (terminal_ ? kPatience : kLinePatience);
  if (progress_.what.empty()) {
    clear();
  } else if (eager_) {
    show(now);
  }
  changed_.notify_all();
}

void ProgressDisplay::keep() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const int64_t now = runtime::nowNanos();
    if (progress_.what.empty()) {
      changed_.wait(lock);
    } else if (now >= next_) {
      show(now);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(next_ - now));
    }
  }
  clear();
}

/// Under the lock, as are the others.
void ProgressDisplay::show(int64_t now) {
  if (terminal_) {
    runtime::setStatusLine(true);
    write(absl::StrCat("\r\x1b[K", text(now)));
    next_ = now + kRedraw;
  } else {
    write(absl::StrCat("graphrun: ", text(now), "\n"));
    next_ = now + kLineAgain;
  }
  shown_ = true;
}

void ProgressDisplay::clear() {
  if (terminal_ && shown_) {
    write("\r\x1b[K");
    runtime::setStatusLine(false);
  }
  shown_ = false;
}

std::string ProgressDisplay::text(int64_t now) const {
  const int64_t took = now - begin_;
  std::string line = progress_.what;
  if (progress_.total > 0) {
    line = absl::StrCat(terminal_ ? bar(progress_.done, progress_.total) : "", line, " (",
                        fraction(progress_.done, progress_.total), " done)");
  }
  if (const int64_t most = progress_.most.count(); most > 0) {
    absl::StrAppendFormat(&line, ", at most %.1f s more",
                          static_cast<double>(std::max<int64_t>(0, most - took)) / kSecond);
  } else if (took >= kSecond) {
    absl::StrAppendFormat(&line, ", for %.0f s", static_cast<double>(took) / kSecond);
  }
  return line;
}

}  // namespace graphrun::cli
