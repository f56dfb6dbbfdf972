// A second process for tests and benchmarks of transports: started by fork and exec, and a pipe on
// which both tell each other their addresses.
#ifndef GRAPHRUN_TESTS_RUNTIME_TRANSPORT_PEER_PROCESS_H_
#define GRAPHRUN_TESTS_RUNTIME_TRANSPORT_PEER_PROCESS_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace graphrun::runtime::testing {

/// The file descriptor on which a started process finds its parent.
inline constexpr int kParentFd = 3;

/// Ends the process with a message if a system call of the harness failed.
inline void check(bool ok, const char* what) {
  if (!ok) {
    std::perror(what);
    std::_Exit(70);
  }
}

inline void writeAll(int fd, const void* data, size_t bytes) {
  check(write(fd, data, bytes) == static_cast<ssize_t>(bytes), "write to the other process");
}

inline bool readAll(int fd, void* data, size_t bytes) {
  auto* p = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t got = read(fd, p, bytes);
    if (got <= 0) {
      return false;
    }
    p += got;
    bytes -= got;
  }
  return true;
}

/// Sends one's blob and gets the other's.
inline std::string exchangeBlobs(int fd, const std::string& blob) {
  uint64_t size = blob.size();
  writeAll(fd, &size, sizeof size);
  writeAll(fd, blob.data(), size);
  check(readAll(fd, &size, sizeof size), "read from the other process");
  std::string other(size, '\0');
  check(readAll(fd, other.data(), size), "read from the other process");
  return other;
}

/// A child process. The destructor kills it if need be, and waits for it.
class PeerProcess {
 public:
  explicit PeerProcess(std::vector<std::string> arguments) {
    int fds[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0, "socketpair");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    pid_ = fork();
    check(pid_ >= 0, "fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // dup2 onto itself would keep the descriptor close-on-exec.
      int high = fcntl(fds[1], F_DUPFD, 10);
      dup2(high, kParentFd);
      ::close(high);
      execv(argv[0], argv.data());
      check(false, argv[0]);
    }
    ::close(fds[1]);
    fd_ = fds[0];
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  ~PeerProcess() {
    if (pid_ > 0) {
      signal(SIGKILL);
      wait();
    }
    ::close(fd_);
  }

  int fd() const { return fd_; }
  void signal(int number) const { kill(pid_, number); }
  /// Waits for its end; its exit code, or -1 if a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  int fd_ = -1;
};

}  // namespace graphrun::runtime::testing

#endif  // GRAPHRUN_TESTS_RUNTIME_TRANSPORT_PEER_PROCESS_H_
