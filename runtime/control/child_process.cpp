#include "runtime/control/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/control/fd_watch.h"

namespace graphrun::runtime {
namespace {

constexpr int kErrorFd = kParentFd + 1;  // in the child: where a failed exec reports errno

/// Two descriptors of a pipe, closed on scope exit unless released.
struct Pipe {
  int fd[2] = {-1, -1};
  bool open() { return pipe2(fd, O_CLOEXEC) == 0; }
  void closeEnd(int end) {
    if (fd[end] >= 0) {
      close(fd[end]);
      fd[end] = -1;
    }
  }
  ~Pipe() {
    closeEnd(0);
    closeEnd(1);
  }
};

/// Moves what the child keeps to fixed numbers and marks the rest to be closed by exec.
/// Only async-signal-safe calls: the parent has threads.
bool arrangeDescriptors(int parentRead, int errorWrite) {
  // First out of the way of the fixed numbers, then onto them.
  int parentCopy = fcntl(parentRead, F_DUPFD_CLOEXEC, kErrorFd + 1);
  int errorCopy = fcntl(errorWrite, F_DUPFD_CLOEXEC, kErrorFd + 1);
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return parentCopy >= 0 && errorCopy >= 0 && null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
         dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && dup2(parentCopy, kParentFd) >= 0 &&
         dup3(errorCopy, kErrorFd, O_CLOEXEC) >= 0 &&
         close_range(kErrorFd + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

void resetSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

[[noreturn]] void runChild(char* const* argv, pid_t parent, int parentRead, int errorWrite) {
  int reportTo = errorWrite;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
      arrangeDescriptors(parentRead, errorWrite)) {
    reportTo = kErrorFd;
    resetSignals();
    execv(argv[0], argv);
  }
  int error = errno;
  ssize_t written = write(reportTo, &error, sizeof(error));
  static_cast<void>(written);
  _exit(127);
}

/// 0 if the child runs the program (exec closed the pipe), else the errno that it met.
int execError(int fd) {
  int error = 0;
  ssize_t got;
  do {
    got = read(fd, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(error) ? error : 0;
}

absl::Status systemError(absl::string_view what, int error) {
  std::string text = absl::StrCat(what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text) : absl::InternalError(text);
}

}  // namespace

absl::StatusOr<Child> startChild(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  Pipe alive;
  Pipe error;
  if (!alive.open() || !error.open()) {
    return systemError("pipe", errno);
  }
  pid_t self = getpid();
  pid_t pid = fork();
  if (pid < 0) {
    return systemError("fork", errno);
  }
  if (pid == 0) {
    runChild(argv.data(), self, alive.fd[0], error.fd[1]);
  }
  error.closeEnd(1);
  if (int failure = execError(error.fd[0]); failure != 0) {
    waitpid(pid, nullptr, 0);
    return systemError(absl::StrCat("cannot run '", arguments[0], "'"), failure);
  }
  // syscall: glibc 2.36 declares pidfd_open without C linkage.
  Child child{pid, static_cast<int>(syscall(SYS_pidfd_open, pid, 0)), alive.fd[1]};
  if (child.pidfd < 0) {
    int failure = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return systemError("pidfd_open", failure);
  }
  alive.fd[1] = -1;
  return child;
}

std::string describeExit(int waitStatus) {
  if (WIFSIGNALED(waitStatus)) {
    int signal = WTERMSIG(waitStatus);
    return absl::StrCat("was killed by signal ", signal, " (", strsignal(signal), ")");
  }
  return absl::StrCat("exited with status ", WEXITSTATUS(waitStatus));
}

}  // namespace graphrun::runtime
