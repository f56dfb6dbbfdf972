// graphrun worker, certs and doctor: the machines.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "devices/device.h"
#include "frontends/cli/calibrate.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/option_values.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"
#include "runtime/control/certs.h"
#include "runtime/control/control_plane.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/error_domain.h"
#include "runtime/session/own_devices.h"
#include "runtime/session/worker_program.h"
#include "runtime/worker/worker_main.h"

namespace graphrun::cli {
namespace {

void printDevice(const std::string& name, const std::string& kind, uint32_t index, size_t cores,
                 uint64_t memoryBytes) {
  std::string processors = cores == 0 ? "" : absl::StrCat(cores, " logical CPUs, ");
  std::printf("  %s%s:%u  %s%.1f GiB\n", name.c_str(), kind.c_str(), index, processors.c_str(),
              static_cast<double>(memoryBytes) / (1 << 30));
}

/// Tells how tensors of GPUs go to other processes, where there are devices with memory of their
/// own.
void printGpuNetwork(runtime::Compiler& compiler) {
  const std::vector<devices::DeviceDescription> devices = devices::discoverDevices();
  if (std::none_of(devices.begin(), devices.end(), [](const devices::DeviceDescription& device) {
        return devices::kindNamed(device.kind).hasOwnMemory();
      })) {
    return;
  }
  runtime::WorkerCoreOptions options;
  options.name = runtime::kClientName;
  options.compiler = &compiler;
  absl::Status carries = runtime::WorkerCore(options).carriesGpuMemory();
  std::printf("           tensors of GPUs go to other processes %s\n",
              carries.ok()
                  ? "directly"
                  : absl::StrCat("through the host's memory: ", carries.message()).c_str());
}

/// One line a finding; false if something is missing that most users need.
bool checkMachine() {
  runtime::BuildVersions versions = runtime::buildVersions();
  std::printf("graphrun   %s\n", versions.graphrun.c_str());
  std::printf("devices\n");
  for (const devices::DeviceDescription& device : devices::discoverDevices()) {
    printDevice("", device.kind, device.index, device.cores.size(), device.memoryBytes);
  }
  for (const devices::KindFindings& kind : devices::findKinds()) {
    std::printf("%s\n", kind.kind.c_str());
    for (const std::string& line : kind.lines) {
      std::printf("  %s\n", line.c_str());
    }
  }
  std::printf("network    %s\n", versions.ucx.empty() ? "UCX is missing: apt-get install libucx0"
                                                      : absl::StrCat("UCX ", versions.ucx).c_str());
  runtime::CompilerLoader loader;
  printGpuNetwork(loader);
  absl::Status compiler = loader.check();
  std::printf("compiler   %s\n", compiler.ok() ? "found" : std::string(compiler.message()).c_str());
  absl::Status control = runtime::controlPlane().status();
  std::printf("control    %s\n", control.ok() ? "found" : std::string(control.message()).c_str());
  std::vector<std::string> program = runtime::findWorkerCommand();
  std::printf("workers    %s\n",
              program.empty() ? "the program graphrun is not on the PATH" : program[0].c_str());
  std::string cache = runtime::defaultCacheDirectory();
  std::error_code error;
  std::filesystem::create_directories(cache, error);
  bool writable = access(cache.c_str(), W_OK) == 0;
  std::printf("cache      %s%s\n", cache.c_str(),
              writable ? "" : " cannot be written; set GRAPHRUN_CACHE_DIR");
  return compiler.ok() && control.ok() && writable && !versions.ucx.empty();
}

absl::Status checkCluster(const PlaceOptions& place) {
  GR_ASSIGN_OR_RETURN(const runtime::SessionOptions session, place.toSession());
  absl::StatusOr<runtime::ClusterFile> cluster =
      runtime::readClusterFile(place.cluster, devices::deviceKinds());
  if (!cluster.ok()) {
    return fileError(cluster.status());
  }
  runtime::CompilerLoader loader;
  runtime::WorkerCoreOptions coreOptions;
  coreOptions.name = runtime::kClientName;
  coreOptions.compiler = &loader;
  coreOptions.networkInterface = runtime::interfacesFor(cluster->processes());
  runtime::WorkerCore core(coreOptions);
  runtime::CoordinatorOptions options;
  options.workers = cluster->processes();
  options.joinTimeout = session.joinTimeout;
  if (const std::optional<runtime::GivenSecurity>& files = cluster->description.security) {
    options.security = {files->ca, files->cert, files->key};
  }
  GR_RETURN_IF_ERROR(runtime::checkOwnCores(cluster->description));
  options.workerCommand = runtime::findWorkerCommand();
  runtime::Coordinator coordinator(options, &core);
  GR_RETURN_IF_ERROR(runtime::inDomain(coordinator.start(), runtime::ErrorDomain::kRun));
  for (const auto& [name, worker] : coordinator.joined()) {
    std::printf("worker %s: graphrun %s, UCX %s\n", name.c_str(), worker.versions.graphrun.c_str(),
                worker.versions.ucx.c_str());
    for (const runtime::DeviceDescription& device : worker.offer.devices) {
      printDevice(name + "/", device.kind, device.index, device.cores.size(), device.memoryBytes);
    }
    for (const std::string& why : worker.offer.missing) {
      std::printf("  %s has no %s\n", name.c_str(), why.c_str());
    }
  }
  return absl::OkStatus();
}

/// "node1=10.0.0.2" or "10.0.0.2".
runtime::CertificateName parseName(const std::string& text) {
  std::vector<std::string> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
  return {sides[0], sides.back()};
}

absl::Status printCalibration(const CalibrationOptions& options) {
  GR_ASSIGN_OR_RETURN(CalibrationNotes notes, calibrate(options));
  std::printf("times\n");
  for (const std::string& note : notes) {
    std::printf("  %s\n", note.c_str());
  }
  return absl::OkStatus();
}

/// Checks that the files that the options name can be read.
absl::Status checkFiles(const runtime::WorkerMainOptions& options) {
  const runtime::Security& security = options.security;
  for (const std::string& path : {security.ca, security.cert, security.key, options.model}) {
    if (!path.empty()) {
      GR_RETURN_IF_ERROR(fileError(runtime::MappedFile::open(path).status()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int workerCommand(int argc, char** argv) {
  CLI::App app("Serves coordinators: runs their parts of models on this machine's devices.",
               "graphrun worker");
  runtime::WorkerMainOptions options;
  app.add_option("--listen", options.listen, "Address to listen at: HOST:PORT or unix:PATH")
      ->required();
  app.add_option("--ca", options.security.ca, "The authority's certificate (graphrun certs)");
  app.add_option("--cert", options.security.cert, "This worker's certificate");
  app.add_option("--key", options.security.key, "This worker's key");
  app.add_option("--interface", options.core.networkInterface,
                 "Network interfaces for tensors, separated by commas; default: the one that has "
                 "the address of --listen");
  addCount(app, "--threads", options.core.threads,
           "Threads of devices without cores of their own; 0: as many as allowed (0)", 0,
           kMostThreads);
  app.add_option("--cache", options.core.cacheDirectory,
                 "Folder of the cache; default: the user's cache folder");
  app.add_option("--weights-from", options.model,
                 "A local copy of the model, whose weights are then not sent");
  app.add_option("--parent-fd", options.parentFd, "Ends with the process that started it")
      ->group("");
  return parseAndRun(app, argc, argv, [&]() -> int {
    runtime::CompilerLoader loader;
    options.core.compiler = &loader;
    if (absl::Status files = checkFiles(options); !files.ok()) {
      return report(files);
    }
    absl::Status status = runtime::runWorker(options);
    if (status.ok()) {
      return kOk;
    }
    report(status);
    return absl::IsInvalidArgument(status) ? kUsage : kWorker;
  });
}

int doctorCommand(int argc, char** argv) {
  CLI::App app("Shows which devices and libraries are found or missing, and how to get them.",
               "graphrun doctor");
  CalibrationOptions calibration;
  calibration.place.add(app);
  calibration.feed.add(app);
  app.get_option("--cluster")->description("Also joins the machines of this cluster");
  CLI::Option* calibrated =
      app.add_option(
             "--calibrate", calibration.model,
             "Measures on each device what is not known of this model's operations (without "
             "a model: operations of all kinds and sizes) and of the links between devices")
          ->expected(0, 1);
  return parseAndRun(app, argc, argv, [&]() -> int {
    int code = checkMachine() ? kOk : kInternal;
    std::fflush(stdout);
    const PlaceOptions& place = calibration.place;
    absl::Status status = place.cluster.empty() ? absl::OkStatus() : checkCluster(place);
    if (status.ok() && *calibrated) {
      status = printCalibration(calibration);
    }
    return status.ok() ? code : report(status);
  });
}

int certsCommand(int argc, char** argv) {
  CLI::App app(
      "Makes a certificate authority, one certificate for the coordinator and one for each "
      "worker.",
      "graphrun certs");
  std::string folder;
  std::vector<std::string> workers;
  app.add_option("DIR", folder, "The folder to write to")->required();
  app.add_option("WORKER", workers,
                 "NAME=HOST, as in node1=10.0.0.2; the host that the cluster has")
      ->required();
  return parseAndRun(app, argc, argv, [&]() -> int {
    std::vector<runtime::CertificateName> names;
    names.reserve(workers.size());
    for (const std::string& worker : workers) {
      names.push_back(parseName(worker));
    }
    absl::Status status = runtime::makeCertificates(folder, names);
    if (!status.ok()) {
      report(status);
      return absl::IsInvalidArgument(status) ? kUsage
             : absl::IsNotFound(status)      ? kInternal  // the library that makes them
                                             : kBadFile;
    }
    std::printf("wrote ca, coordinator and %zu worker certificates to %s\n", names.size(),
                folder.c_str());
    return kOk;
  });
}

}  // namespace graphrun::cli
