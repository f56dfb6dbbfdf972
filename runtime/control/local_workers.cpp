#include "runtime/control/local_workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/child_process.h"
#include "runtime/control/fd_watch.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/socket_directory.h"
#include "runtime/control/worker_client.h"

namespace graphrun::runtime {
namespace {

constexpr Millis kReadyPoll{10};

/// True if somebody accepts connections there.
bool answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool connected =
      fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return connected;
}

absl::Status exitError(const std::string& name, pid_t pid, int waitStatus) {
  return withFirstCause(absl::UnavailableError(absl::StrCat("worker ", name, " (process ", pid,
                                                            ", started by this "
                                                            "program) ",
                                                            describeExit(waitStatus))),
                        {.worker = name});
}

}  // namespace

/// The keeper thread starts and reaps all children: the kernel ties a child's life to the thread
/// that forked it.
struct LocalWorkers::Impl {
  struct Worker {
    Child child;
    bool ready = false;             // start() has returned it
    bool stopping = false;          // its end is wanted
    std::optional<int> waitStatus;  // set once reaped
  };
  using Task = std::packaged_task<absl::StatusOr<Child>()>;

  explicit Impl(LocalWorkersOptions given) : options(std::move(given)) {}

  void keep();
  bool runTasks();
  void waitForEvents();
  void reap();
  void poke();
  absl::StatusOr<Child> startOnKeeper(const std::vector<std::string>& arguments);
  absl::Status waitReady(const std::string& name, const std::string& path);
  void signalAll(int signal);
  bool waitAll(Millis patience);
  void markStopping();

  const LocalWorkersOptions options;
  std::string directory;
  int wake = -1;  // an eventfd
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  std::map<std::string, Worker> workers;
  bool ending = false;
  std::thread keeper;
};

void LocalWorkers::Impl::poke() {
  uint64_t one = 1;
  ssize_t written = write(wake, &one, sizeof(one));
  static_cast<void>(written);  // an eventfd with room cannot fail
}

void LocalWorkers::Impl::keep() {
  while (runTasks()) {
    waitForEvents();
    reap();
  }
}

/// False when the keeper may end.
bool LocalWorkers::Impl::runTasks() {
  std::unique_lock lock(mutex);
  while (!tasks.empty()) {
    Task task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
  return !ending;
}

void LocalWorkers::Impl::waitForEvents() {
  std::vector<pollfd> fds = {{wake, POLLIN, 0}};
  {
    std::lock_guard lock(mutex);
    for (const auto& [name, worker] : workers) {
      if (!worker.waitStatus) {
        fds.push_back({worker.child.pidfd, POLLIN, 0});
      }
    }
  }
  poll(fds.data(), fds.size(), -1);
  if (fds[0].revents != 0) {
    uint64_t count;
    ssize_t got = read(wake, &count, sizeof(count));
    static_cast<void>(got);
  }
}

void LocalWorkers::Impl::reap() {
  std::vector<std::pair<std::string, absl::Status>> unexpected;
  {
    std::lock_guard lock(mutex);
    for (auto& [name, worker] : workers) {
      int status = 0;
      if (worker.waitStatus || waitpid(worker.child.pid, &status, WNOHANG) != worker.child.pid) {
        continue;
      }
      worker.waitStatus = status;
      close(worker.child.pidfd);
      close(worker.child.parentPipe);
      if (worker.ready && !worker.stopping) {
        unexpected.emplace_back(name, exitError(name, worker.child.pid, status));
      }
    }
  }
  changed.notify_all();
  for (const auto& [name, why] : unexpected) {
    if (options.onExit) {
      options.onExit(name, why);
    }
  }
}

absl::StatusOr<Child> LocalWorkers::Impl::startOnKeeper(const std::vector<std::string>& arguments) {
  Task task([&arguments] { return startChild(arguments); });
  std::future<absl::StatusOr<Child>> result = task.get_future();
  {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
  }
  poke();
  return result.get();
}

absl::Status LocalWorkers::Impl::waitReady(const std::string& name, const std::string& path) {
  std::unique_lock lock(mutex);
  Worker& worker = workers[name];
  auto end = std::chrono::steady_clock::now() + options.readyTimeout;
  while (!answers(path)) {
    changed.wait_for(lock, kReadyPoll);
    if (worker.waitStatus) {
      return absl::UnavailableError(
          absl::StrCat("worker ", name, " ", describeExit(*worker.waitStatus),
                       " before it listened at unix:", path, "; see its messages above"));
    }
    if (std::chrono::steady_clock::now() > end) {
      return absl::DeadlineExceededError(absl::StrCat(
          "worker ", name, " (process ", worker.child.pid, ") did not listen at unix:", path,
          " within ", options.readyTimeout.count(), " ms"));
    }
  }
  worker.ready = true;
  return absl::OkStatus();
}

void LocalWorkers::Impl::signalAll(int signal) {
  std::lock_guard lock(mutex);
  for (const auto& [name, worker] : workers) {
    if (!worker.waitStatus) {
      // Through the pidfd, so that it cannot be another process.
      syscall(SYS_pidfd_send_signal, worker.child.pidfd, signal, nullptr, 0);
      if (signal == SIGKILL) {
        log(LogLevel::kWarning, absl::StrCat("worker ", name, " (process ", worker.child.pid,
                                             ") did not end when asked; killed"));
      }
    }
  }
}

bool LocalWorkers::Impl::waitAll(Millis patience) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, patience, [this] {
    for (const auto& [name, worker] : workers) {
      if (!worker.waitStatus) {
        return false;
      }
    }
    return true;
  });
}

void LocalWorkers::Impl::markStopping() {
  std::lock_guard lock(mutex);
  for (auto& [name, worker] : workers) {
    worker.stopping = true;
  }
}

absl::StatusOr<std::unique_ptr<LocalWorkers>> LocalWorkers::create(LocalWorkersOptions options) {
  if (options.command.empty()) {
    return absl::InvalidArgumentError("no program given to start local workers with");
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  GR_ASSIGN_OR_RETURN(impl->directory, makeSocketDirectory());
  impl->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (impl->wake < 0) {
    removeSocketDirectory(impl->directory);
    return absl::ResourceExhaustedError(absl::StrCat("eventfd: ", std::strerror(errno)));
  }
  impl->keeper = std::thread([raw = impl.get()] { raw->keep(); });
  return std::unique_ptr<LocalWorkers>(new LocalWorkers(std::move(impl)));
}

LocalWorkers::LocalWorkers(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LocalWorkers::~LocalWorkers() {
  stopAll({});
  {
    std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->poke();
  impl_->keeper.join();
  close(impl_->wake);
  removeSocketDirectory(impl_->directory);
}

const std::string& LocalWorkers::directory() const { return impl_->directory; }

absl::StatusOr<std::string> LocalWorkers::start(const std::string& name,
                                                absl::Span<const std::string> arguments) {
  std::string path = absl::StrCat(impl_->directory, "/", name, ".sock");
  if (name.empty() || name.find('/') != std::string::npos ||
      path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker name '", name, "' does not fit into the socket path ", path));
  }
  std::vector<std::string> command = impl_->options.command;
  command.insert(command.end(),
                 {"--listen", absl::StrCat("unix:", path), "--parent-fd", absl::StrCat(kParentFd)});
  command.insert(command.end(), arguments.begin(), arguments.end());
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->workers.count(name) > 0) {
      return absl::AlreadyExistsError(absl::StrCat("worker ", name, " was started already"));
    }
  }
  auto child = impl_->startOnKeeper(command);
  GR_RETURN_IF_ERROR(annotate(child.status(), absl::StrCat("worker ", name)));
  {
    std::lock_guard lock(impl_->mutex);
    impl_->workers[name].child = *child;
  }
  impl_->poke();  // the keeper watches it from now on
  GR_RETURN_IF_ERROR(impl_->waitReady(name, path));
  return absl::StrCat("unix:", path);
}

void LocalWorkers::stopAll(absl::Span<WorkerClient* const> clients) {
  impl_->markStopping();
  std::vector<std::thread> calls;
  for (WorkerClient* client : clients) {
    calls.emplace_back([this, client] {
      absl::Status status = client->shutdown(impl_->options.shutdownTimeout);
      if (!status.ok()) {
        log(LogLevel::kDebug, status.message());  // signals follow
      }
    });
  }
  for (std::thread& call : calls) {
    call.join();
  }
  if (!clients.empty() && impl_->waitAll(impl_->options.shutdownTimeout)) {
    return;
  }
  impl_->signalAll(SIGCONT);  // a stopped process would not see SIGTERM
  impl_->signalAll(SIGTERM);
  if (!impl_->waitAll(impl_->options.terminateTimeout)) {
    impl_->signalAll(SIGKILL);
    while (!impl_->waitAll(Millis(1'000))) {  // SIGKILL always ends them
    }
  }
}

absl::Status LocalWorkers::ended(const std::string& name) const {
  std::lock_guard lock(impl_->mutex);
  auto it = impl_->workers.find(name);
  return it == impl_->workers.end() || !it->second.waitStatus
             ? absl::OkStatus()
             : exitError(name, it->second.child.pid, *it->second.waitStatus);
}

absl::StatusOr<pid_t> LocalWorkers::pidOf(const std::string& name) const {
  std::lock_guard lock(impl_->mutex);
  auto it = impl_->workers.find(name);
  if (it == impl_->workers.end() || it->second.waitStatus) {
    return absl::NotFoundError(absl::StrCat("no local worker ", name, " runs"));
  }
  return it->second.child.pid;
}

}  // namespace graphrun::runtime
