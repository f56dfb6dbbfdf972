#include "runtime/control/unix_listener.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "runtime/control/socket_directory.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

/// The connected descriptor, or -1. Async-signal-safe.
int connectTo(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 ? fd : -1;
}

/// In a child of user nobody: 0 if the socket took the connection and closed it at once.
int refusedAsNobody(const std::string& path) {
  pid_t pid = fork();
  if (pid == 0) {
    char byte;
    int fd = setuid(65534) == 0 ? connectTo(path.c_str()) : -1;
    _exit(fd >= 0 && read(fd, &byte, 1) == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a Unix socket takes its owner and refuses other users") {
  TempDir dir;
  std::string path = dir.path + "/w.sock";
  auto listener = UnixListener::create(path);
  requireOk(listener.status());
  std::atomic<int> accepted{0};
  (*listener)->start([&](int fd) {
    ++accepted;
    close(fd);
  });
  int fd = connectTo(path.c_str());
  REQUIRE(fd >= 0);
  REQUIRE(eventually([&] { return accepted == 1; }));
  close(fd);
  if (geteuid() == 0) {
    chmod(dir.path.c_str(), 0711);  // as if somebody had opened the directory meanwhile
    chmod(path.c_str(), 0666);
    REQUIRE(refusedAsNobody(path) == 0);
    REQUIRE(accepted == 1);
  } else {
    WARN("not root: the refusal of other users is not tried");
  }
  (*listener)->stop();
  REQUIRE_FALSE(std::filesystem::exists(path));
}

TEST_CASE("the directory of a socket must be private") {
  TempDir dir;
  chmod(dir.path.c_str(), 0755);
  requireError(UnixListener::create(dir.path + "/w.sock").status(),
               absl::StatusCode::kPermissionDenied, {"0755", "0700"});
  std::string own = dir.path + "/own";
  requireOk(UnixListener::create(own + "/w.sock").status());
  REQUIRE(symlink(own.c_str(), (dir.path + "/link").c_str()) == 0);
  requireError(UnixListener::create(dir.path + "/link/w.sock").status(),
               absl::StatusCode::kPermissionDenied, {"not a directory"});
}

TEST_CASE("a stale socket is replaced, a living one and a file are not") {
  TempDir dir;
  std::string path = dir.path + "/w.sock";
  auto first = UnixListener::create(path);
  requireError(UnixListener::create(path).status(), absl::StatusCode::kAlreadyExists,
               {"another process listens"});
  first->reset();
  int stale = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path.c_str());
  REQUIRE(bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  close(stale);
  REQUIRE(std::filesystem::exists(path));
  requireOk(UnixListener::create(path).status());
  std::fclose(std::fopen(path.c_str(), "w"));
  requireError(UnixListener::create(path).status(), absl::StatusCode::kAlreadyExists,
               {"no socket"});
}

TEST_CASE("a coordinator does not talk to another user's socket") {
  if (geteuid() != 0) {
    WARN("not root: cannot make another user's socket");
    return;
  }
  TempDir dir;
  InProcess p("unix:" + dir.path + "/w.sock");
  std::string path = p.service->address().substr(5);
  REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
  requireError(p.connect()->join().status(), absl::StatusCode::kPermissionDenied,
               {"worker node0", "belongs to user 65534"});
}

TEST_CASE("directories that killed processes left are removed") {
  pid_t pid = fork();
  if (pid == 0) {
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  std::string first = *makeSocketDirectory();
  std::string base = std::filesystem::path(first).parent_path();
  std::string abandoned = base + "/graphrun-" + std::to_string(pid) + "-abcdef";
  REQUIRE(mkdir(abandoned.c_str(), 0700) == 0);
  auto dir = makeSocketDirectory();
  requireOk(dir.status());
  REQUIRE_FALSE(std::filesystem::exists(abandoned));
  removeSocketDirectory(first);
  removeSocketDirectory(*dir);
  REQUIRE_FALSE(std::filesystem::exists(*dir));
}

}  // namespace graphrun::runtime
