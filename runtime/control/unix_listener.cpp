#include "runtime/control/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

constexpr int kBacklog = 64;

absl::Status systemError(absl::string_view what, const std::string& path) {
  return absl::InternalError(absl::StrCat(what, " '", path, "': ", std::strerror(errno)));
}

sockaddr_un socketAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool somebodyAnswers(const sockaddr_un& address) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // EAGAIN: a full queue, so somebody listens.
  bool answered = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
                  errno == EAGAIN;
  close(fd);
  return answered;
}

absl::Status removeStale(const std::string& path, const sockaddr_un& address) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    return absl::OkStatus();
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen at unix:", path, ": a file that is no socket is there"));
  }
  if (somebodyAnswers(address)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen at unix:", path, ": another process listens there"));
  }
  return unlink(path.c_str()) == 0 ? absl::OkStatus() : systemError("cannot remove", path);
}

}  // namespace

absl::Status ensurePrivateDirectory(const std::string& dir) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return systemError("cannot make directory", dir);
  }
  struct stat info;
  if (lstat(dir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat("'", dir, "' is not a directory"));
  }
  if (info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "directory '%s' of a Unix socket has mode %04o and owner %d: expected mode 0700 and owner "
        "%d; give a directory of your own",
        dir, info.st_mode & 07777, info.st_uid, geteuid()));
  }
  return absl::OkStatus();
}

absl::Status checkSocketOwner(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || info.st_uid == geteuid() || info.st_uid == 0) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("the socket '", path, "' belongs to user ",
                                                  info.st_uid, ", we are user ", geteuid()));
}

absl::Status checkPeerUser(int fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("SO_PEERCRED: ", std::strerror(errno)));
  }
  if (peer.uid != geteuid() && peer.uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat("the peer (process ", peer.pid,
                                                    ") runs as user ", peer.uid, ", only user ",
                                                    geteuid(), " and root may connect"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::create(const std::string& path) {
  size_t slash = path.rfind('/');
  GR_RETURN_IF_ERROR(ensurePrivateDirectory(slash == 0 ? "/" : path.substr(0, slash)));
  sockaddr_un address = socketAddress(path);
  GR_RETURN_IF_ERROR(removeStale(path, address));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd, kBacklog) != 0) {
    absl::Status error = systemError("cannot listen at", path);
    close(fd);
    return error;
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<FdWatch> watch, FdWatch::create(fd));
  return std::unique_ptr<UnixListener>(new UnixListener(path, std::move(watch)));
}

UnixListener::UnixListener(std::string path, std::unique_ptr<FdWatch> watch)
    : path_(std::move(path)), watch_(std::move(watch)) {}

void UnixListener::start(std::function<void(int fd)> onConnection) {
  onConnection_ = std::move(onConnection);
  watch_->start([this] {
    acceptOne();
    return true;
  });
}

void UnixListener::stop() {
  if (watch_ != nullptr) {
    watch_->stop();
    unlink(path_.c_str());
    watch_.reset();
  }
}

UnixListener::~UnixListener() { stop(); }

void UnixListener::acceptOne() {
  int fd = accept4(watch_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // do not spin on a full table
    }
    return;
  }
  absl::Status allowed = checkPeerUser(fd);
  if (!allowed.ok()) {
    log(LogLevel::kWarning,
        absl::StrCat("unix:", path_, ": connection refused: ", allowed.message()));
    close(fd);
    return;
  }
  onConnection_(fd);
}

}  // namespace graphrun::runtime
