// A worker process for tests: fake_worker worker --listen ADDR [--parent-fd N] [--address-file F]
//   [--deaf] (never listens) [--ignore-term] (survives SIGTERM and Shutdown) [--exit CODE]
// and a coordinator for tests: fake_worker coordinator PROGRAM FILE
//   starts two local workers, joins them, writes their pids to FILE and waits to be killed.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "fake_handler.h"
#include "runtime/control/fd_watch.h"
#include "runtime/control/job.h"
#include "runtime/control/local_workers.h"
#include "runtime/control/pulse.h"
#include "runtime/control/worker_client.h"
#include "runtime/control/worker_service.h"

namespace graphrun::runtime {
namespace {

struct Flags {
  std::string listen;
  std::string addressFile;
  int parentFd = -1;
  int exitCode = -1;
  bool deaf = false;
  bool ignoreTerm = false;
};

Flags parse(int argc, char** argv) {
  Flags flags;
  for (int i = 2; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--deaf") {
      flags.deaf = true;
    } else if (flag == "--ignore-term") {
      flags.ignoreTerm = true;
    } else if (i + 1 < argc) {
      std::string value = argv[++i];
      if (flag == "--listen") {
        flags.listen = value;
      } else if (flag == "--address-file") {
        flags.addressFile = value;
      } else if (flag == "--parent-fd") {
        flags.parentFd = std::atoi(value.c_str());
      } else if (flag == "--exit") {
        flags.exitCode = std::atoi(value.c_str());
      }
    }
  }
  return flags;
}

void writeWhole(const std::string& path, const std::string& text) {
  std::ofstream(path + ".part") << text;
  std::rename((path + ".part").c_str(), path.c_str());
}

int runWorker(const Flags& flags) {
  if (flags.exitCode >= 0) {
    return flags.exitCode;
  }
  if (flags.ignoreTerm) {
    signal(SIGTERM, SIG_IGN);
  }
  std::unique_ptr<FdWatch> parent;
  if (flags.parentFd >= 0) {
    auto watch = watchParent(flags.parentFd, [] { _exit(0); });
    if (!watch.ok()) {
      return 2;
    }
    parent = std::move(*watch);
  }
  if (flags.deaf) {
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return 0;
  }
  FakeHandler handler;
  auto service = WorkerService::start({flags.listen, {}, kTestVersions}, &handler);
  if (!service.ok()) {
    std::fprintf(stderr, "%s\n", std::string(service.status().message()).c_str());
    return 3;
  }
  if (!flags.addressFile.empty()) {
    writeWhole(flags.addressFile, (*service)->address());
  }
  do {
    handler.waitDown(std::chrono::seconds(100));  // no test lasts longer
  } while (flags.ignoreTerm);
  return 0;
}

int runCoordinator(const std::string& program, const std::string& file) {
  auto workers = LocalWorkers::create({.command = {program, "worker"}});
  std::string job = *randomSecret();
  std::string pids;
  for (std::string name : {"node0", "node1"}) {
    auto address = (*workers)->start(name);
    if (!address.ok()) {
      return 3;
    }
    auto client = WorkerClient::create(
        {.name = name, .address = *address, .versions = kTestVersions, .job = job});
    if (!(*client)->join().ok()) {
      return 4;
    }
    absl::StrAppend(&pids, *(*workers)->pidOf(name), " ");
  }
  writeWhole(file, pids);
  std::this_thread::sleep_for(std::chrono::seconds(60));
  return 0;
}

}  // namespace
}  // namespace graphrun::runtime

int main(int argc, char** argv) {
  using namespace graphrun::runtime;
  if (argc == 4 && std::string(argv[1]) == "coordinator") {
    return runCoordinator(argv[2], argv[3]);
  }
  return runWorker(parse(argc, argv));
}
