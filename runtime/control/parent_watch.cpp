#include "runtime/control/parent_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {

absl::StatusOr<std::unique_ptr<ParentWatch>> ParentWatch::create(
    int fd, std::function<void()> onParentGone) {
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--parent-fd ", fd, ": ", std::strerror(errno),
                     "; the option is for workers that graphrun starts itself"));
  }
  int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("eventfd: ", std::strerror(errno)));
  }
  return std::unique_ptr<ParentWatch>(new ParentWatch(fd, wake, std::move(onParentGone)));
}

ParentWatch::ParentWatch(int fd, int wake, std::function<void()> onParentGone)
    : fd_(fd), wake_(wake), onParentGone_(std::move(onParentGone)), thread_([this] { watch(); }) {}

ParentWatch::~ParentWatch() {
  uint64_t one = 1;
  ssize_t written = write(wake_, &one, sizeof(one));
  static_cast<void>(written);  // an eventfd with room cannot fail
  thread_.join();
  close(wake_);
  close(fd_);
}

void ParentWatch::watch() {
  while (true) {
    pollfd fds[] = {{fd_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) {
      continue;  // EINTR
    }
    if (fds[1].revents != 0) {
      return;
    }
    char byte;
    ssize_t got = read(fd_, &byte, 1);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      onParentGone_();
      return;
    }
  }
}

}  // namespace graphrun::runtime
