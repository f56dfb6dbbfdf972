#include "runtime/worker/worker_main.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include "runtime/base/cgroup.h"
#include "runtime/base/process.h"
#include "runtime/base/status.h"
#include "runtime/control/address.h"
#include "runtime/control/fd_watch.h"
#include "runtime/control/worker_service.h"
#include "runtime/transport/ucx.h"
#include "runtime/worker/network_interface.h"

namespace graphrun::runtime {
namespace {

/// For the calls of a job to end, and libraries.
constexpr unsigned kEndSeconds = 5;
constexpr int kForcedExit = 6;

void endNow(int) {
  constexpr char kText[] =
      "graphrun: the worker did not end within 5 s of being told to: something in it hangs; it "
      "ends "
      "now\n";
  const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  static_cast<void>(written);
  _exit(kForcedExit);
}

/// Bounds the end of the process, also where a thread holds a lock for ever. No memory and no
/// thread is needed, which may be what lacks.
void endInTime() {
  std::signal(SIGALRM, endNow);
  alarm(kEndSeconds);
}

/// A thread that turns SIGTERM, SIGINT and SIGHUP into an orderly end. Ctrl-C and the end of a
/// terminal reach the workers that a client started as well: they are for the client, which may
/// have something left to do with them. Under nohup SIGHUP stays ignored.
class SignalWatch {
 public:
  SignalWatch(WorkerCore* core, bool isClients) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    if (!isClients) {
      sigaddset(&signals_, SIGINT);
    }
    if (!isClients && !isIgnored(SIGHUP)) {
      sigaddset(&signals_, SIGHUP);
    }
    sigaddset(&signals_, kWake);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);  // threads made later inherit it
    thread_ = std::thread([this, core] {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (signal != kWake) {
        endInTime();
      }
      core->shutdown().IgnoreError();
    });
  }
  ~SignalWatch() {
    pthread_kill(thread_.native_handle(), kWake);
    thread_.join();
  }

 private:
  static bool isIgnored(int signal) {
    struct sigaction action{};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  }

  static constexpr int kWake = SIGUSR1;
  sigset_t signals_;
  std::thread thread_;
};

}  // namespace

BuildVersions buildVersions() { return {GRAPHRUN_VERSION, ucxVersion()}; }

absl::Status runWorker(const WorkerMainOptions& options) {
  GR_RETURN_IF_ERROR(checkAddressSpace(kThreadsOfWorker, kBytesOfWorker, "a worker"));
  GR_ASSIGN_OR_RETURN(Address address, parseAddress(options.listen));
  GR_RETURN_IF_ERROR(checkInterfaces(options.core.networkInterface));
  WorkerCoreOptions coreOptions = options.core;
  coreOptions.threads = coreOptions.threads != 0 ? coreOptions.threads : fewerThreads();
  GR_ASSIGN_OR_RETURN(std::string interface, interfaceOfListener(address));
  if (coreOptions.networkInterface.empty()) {
    coreOptions.networkInterface = interface;
  }
  WorkerCore core(coreOptions);
  SignalWatch signals(&core, options.parentFd >= 0);
  if (!options.model.empty()) {
    GR_ASSIGN_OR_RETURN(auto model, format::ModelFile::open(options.model));
    core.addModel(model);
  }
  std::unique_ptr<FdWatch> parent;
  if (options.parentFd >= 0) {
    GR_ASSIGN_OR_RETURN(parent,
                        watchParent(options.parentFd, [&core] { core.shutdown().IgnoreError(); }));
  }
  GR_ASSIGN_OR_RETURN(
      std::unique_ptr<WorkerService> service,
      WorkerService::start({options.listen, options.security, buildVersions()}, &core));
  if (options.parentFd < 0) {
    std::fprintf(stderr, "listening at %s\n", service->address().c_str());
  }
  core.waitShutdown();
  endInTime();
  service->stop();
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
