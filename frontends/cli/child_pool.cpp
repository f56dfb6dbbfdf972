#include "frontends/cli/child_pool.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

/// Reads or writes all `bytes`; false when the other side is gone.
template <typename Call, typename Byte>
bool transfer(Call call, int fd, Byte* data, size_t bytes) {
  while (bytes != 0) {
    ssize_t moved = call(fd, data, bytes);
    if (moved == 0 || (moved < 0 && errno != EINTR)) {
      return false;
    }
    if (moved > 0) {
      data += moved;
      bytes -= static_cast<size_t>(moved);
    }
  }
  return true;
}

bool readAll(int fd, void* data, size_t bytes) {
  return transfer(read, fd, static_cast<char*>(data), bytes);
}

bool sendAll(int fd, const void* data, size_t bytes) {
  auto quiet = [](int to, const void* from, size_t size) {
    return send(to, from, size, MSG_NOSIGNAL);
  };
  return transfer(quiet, fd, static_cast<const char*>(data), bytes);
}

/// Describes waitpid's status of a child that did not end as it should; "" for a good end.
std::string endOf(int status) {
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    return absl::StrCat("crashed: signal ", signal, " (", strsignal(signal), ")");
  }
  int code = WEXITSTATUS(status);
  return code == 0 ? "" : absl::StrCat("its process ended with exit code ", code);
}

}  // namespace

struct ChildPool::Child {
  pid_t pid = -1;  // -1: not running
  int fd = -1;
  bool busy = false;
  size_t task = 0;
  int64_t deadline = 0;  // on nowNanos' clock

  /// Ends the process, at once if it is to be killed; what waitpid says.
  int end(bool now) {
    close(fd);
    if (now) {
      kill(pid, SIGKILL);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    *this = Child();
    return status;
  }
};

ChildPool::ChildPool(size_t children, std::chrono::milliseconds limit, Task task)
    : limit_(limit), task_(std::move(task)), children_(children) {}

ChildPool::~ChildPool() {
  for (Child& child : children_) {
    if (child.pid >= 0) {
      child.end(/*now=*/true);
    }
  }
}

/// The life of a child: a number comes, the length of a text and the text go.
void ChildPool::serve(int fd) const {
  for (uint64_t task = 0; readAll(fd, &task, sizeof task);) {
    std::string text = task_(task);
    uint64_t size = text.size();
    if (!sendAll(fd, &size, sizeof size) || !sendAll(fd, text.data(), text.size())) {
      return;
    }
  }
}

absl::Status ChildPool::start(Child& child) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "cannot connect a child process");
  }
  std::fflush(nullptr);  // else the child writes it again
  pid_t pid = fork();
  if (pid < 0) {
    absl::Status status = absl::ErrnoToStatus(errno, "cannot start a child process");
    close(ends[0]);
    close(ends[1]);
    return status;
  }
  if (pid == 0) {
    close(ends[0]);
    for (const Child& other : children_) {  // a child must see when the parent lets go of it
      if (other.fd >= 0) {
        close(other.fd);
      }
    }
    serve(ends[1]);
    std::exit(0);
  }
  close(ends[1]);
  child.pid = pid;
  child.fd = ends[0];
  return absl::OkStatus();
}

void ChildPool::give(Child& child, size_t task) {
  child.busy = true;
  child.task = task;
  child.deadline = runtime::nowNanos() + limit_.count() * kNanosPerMilli;
  uint64_t number = task;
  sendAll(child.fd, &number, sizeof number);  // a child that is gone shows when its answer is read
}

void ChildPool::fail(Child& child, const std::string& why, const Done& done) {
  size_t task = child.task;
  std::string end = endOf(child.end(/*now=*/!why.empty()));
  end = !why.empty() ? why : end.empty() ? "its process ended" : end;
  done(task, {false, std::move(end)});
}

void ChildPool::receive(Child& child, const Done& done) {
  uint64_t size = 0;
  std::string text;
  bool whole = readAll(child.fd, &size, sizeof size);
  if (whole) {
    text.resize(size);
    whole = readAll(child.fd, text.data(), size);
  }
  if (!whole) {
    return fail(child, "", done);
  }
  child.busy = false;
  done(child.task, {true, std::move(text)});
}

/// Waits until a child has something to say or has had its time.
void ChildPool::wait(const Done& done) {
  std::vector<pollfd> polled;
  std::vector<Child*> busy;
  int64_t next = INT64_MAX;
  for (Child& child : children_) {
    if (child.busy) {
      polled.push_back({child.fd, POLLIN, 0});
      busy.push_back(&child);
      next = std::min(next, child.deadline);
    }
  }
  int64_t left = (next - runtime::nowNanos()) / kNanosPerMilli + 1;
  poll(polled.data(), polled.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
  for (size_t i = 0; i < busy.size(); ++i) {
    if (polled[i].revents != 0) {
      receive(*busy[i], done);
    } else if (runtime::nowNanos() >= busy[i]->deadline) {
      fail(*busy[i], absl::StrCat("took longer than ", limit_.count() / 1000.0, " s"), done);
    }
  }
}

absl::Status ChildPool::finish(Child& child) {
  std::string end = endOf(child.end(/*now=*/false));
  return end.empty() ? absl::OkStatus()
                     : absl::InternalError(absl::StrCat("after the last case, ", end));
}

absl::Status ChildPool::run(size_t count, const Done& done) {
  size_t next = 0;
  size_t ended = 0;
  auto counted = [&](size_t task, const TaskEnd& end) {
    ++ended;
    done(task, end);
  };
  while (ended < count) {
    for (Child& child : children_) {
      if (!child.busy && next < count) {
        if (child.pid < 0) {
          GR_RETURN_IF_ERROR(start(child));
        }
        give(child, next++);
      }
    }
    wait(counted);
  }
  absl::Status status;
  for (Child& child : children_) {
    if (child.pid >= 0) {
      status.Update(finish(child));
    }
  }
  return status;
}

}  // namespace graphrun::cli
