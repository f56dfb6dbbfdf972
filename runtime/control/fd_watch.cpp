#include "runtime/control/fd_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {

absl::StatusOr<std::unique_ptr<FdWatch>> FdWatch::create(int fd) {
  int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    absl::Status error =
        absl::ResourceExhaustedError(absl::StrCat("eventfd: ", std::strerror(errno)));
    close(fd);
    return error;
  }
  return std::unique_ptr<FdWatch>(new FdWatch(fd, wake));
}

FdWatch::~FdWatch() {
  stop();
  close(wake_);
  close(fd_);
}

void FdWatch::start(std::function<bool()> onReady) {
  onReady_ = std::move(onReady);
  thread_ = std::thread([this] { watch(); });
}

void FdWatch::stop() {
  uint64_t one = 1;
  ssize_t written = write(wake_, &one, sizeof(one));
  static_cast<void>(written);  // an eventfd with room cannot fail
  if (thread_.joinable()) {
    thread_.join();
  }
}

void FdWatch::watch() {
  while (true) {
    pollfd fds[] = {{fd_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) {
      continue;  // EINTR
    }
    if (fds[1].revents != 0 || !onReady_()) {
      return;
    }
  }
}

absl::StatusOr<std::unique_ptr<FdWatch>> watchParent(int fd, std::function<void()> onParentGone) {
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--parent-fd ", fd, ": ", std::strerror(errno),
                     "; the option is for workers that graphrun starts itself"));
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<FdWatch> watch, FdWatch::create(fd));
  watch->start([fd, onParentGone = std::move(onParentGone)] {
    char byte;
    ssize_t got = read(fd, &byte, 1);
    bool isGone = got == 0 || (got < 0 && errno != EINTR);
    if (isGone) {
      onParentGone();
    }
    return !isGone;
  });
  return watch;
}

}  // namespace graphrun::runtime
