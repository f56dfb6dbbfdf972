#include "frontends/cli/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace graphrun::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

void note(int /*signal*/) {
  constexpr char kText[] = "graphrun: stops after this run; interrupt again to stop at once\n";
  const int error = errno;
  noted = 1;
  ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  static_cast<void>(written);
  errno = error;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &interrupt_);
  sigaction(SIGTERM, &action, &end_);
  sigaction(SIGHUP, nullptr, &hangup_);
  if (hangup_.sa_handler != SIG_IGN) {
    sigaction(SIGHUP, &action, nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &interrupt_, nullptr);
  sigaction(SIGTERM, &end_, nullptr);
  sigaction(SIGHUP, &hangup_, nullptr);
}

bool interrupted() { return noted != 0; }

}  // namespace graphrun::cli
