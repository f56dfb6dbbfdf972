// A worker process over the toy world: toy_worker worker --listen ADDR [--parent-fd N]
// [--weights-from MODEL] [--cache DIR] [--look-for-devices SECONDS]
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "runtime/worker/worker_main.h"
#include "tests/runtime/session/toy_world.h"

int main(int argc, char** argv) {
  graphrun::testing::ToyCompiler compiler;
  graphrun::runtime::WorkerMainOptions options;
  options.core.compiler = &compiler;
  options.core.makeDevice = graphrun::testing::makeToyDevice;
  for (int i = 2; i + 1 < argc; i += 2) {
    std::string flag = argv[i];
    std::string value = argv[i + 1];
    if (flag == "--listen") {
      options.listen = value;
    } else if (flag == "--parent-fd") {
      options.parentFd = std::stoi(value);
    } else if (flag == "--weights-from") {
      options.model = value;
    } else if (flag == "--look-for-devices") {  // so many seconds
      options.core.discover = [seconds = std::stoi(value)] {
        std::this_thread::sleep_for(std::chrono::seconds(seconds));
        return graphrun::devices::discoverDevices();
      };
    } else if (flag == "--cache") {
      options.core.cacheDirectory = value;
    }
  }
  absl::Status status = graphrun::runtime::runWorker(options);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 5;
  }
  return 0;
}
