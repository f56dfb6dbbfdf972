// Ctrl-C, or the end of the terminal, while something is measured: what was measured still counts.
#ifndef GRAPHRUN_FRONTENDS_CLI_INTERRUPT_H_
#define GRAPHRUN_FRONTENDS_CLI_INTERRUPT_H_

#include <signal.h>

namespace graphrun::cli {

/// While one lives, the first SIGINT, SIGTERM or SIGHUP is noted and told on stderr, and the second
/// ends the program as always. SIGHUP stays ignored where it was (nohup). One at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();

 private:
  struct sigaction interrupt_;
  struct sigaction end_;
  struct sigaction hangup_;
};

/// Returns whether a signal was noted. Thread-safe.
bool interrupted();

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_INTERRUPT_H_
