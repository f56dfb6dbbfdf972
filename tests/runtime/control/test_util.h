// Shared by the tests of the control plane.
#ifndef GRAPHRUN_TESTS_RUNTIME_CONTROL_TEST_UTIL_H_
#define GRAPHRUN_TESTS_RUNTIME_CONTROL_TEST_UTIL_H_

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "fake_handler.h"
#include "runtime/control/job.h"
#include "runtime/control/worker_client.h"
#include "runtime/control/worker_service.h"

namespace graphrun::runtime {

using namespace std::chrono_literals;

inline void requireOk(const absl::Status& status) {
  INFO(status.ToString());
  REQUIRE(status.ok());
}

/// The status has the code, and its message each of the texts.
inline void requireError(const absl::Status& status, absl::StatusCode code,
                         const std::vector<std::string>& texts = {}) {
  INFO(status.ToString());
  REQUIRE(status.code() == code);
  for (const std::string& text : texts) {
    INFO("expected: " << text);
    REQUIRE(absl::StrContains(status.message(), text));
  }
}

/// Waits for `condition`, at most `patience`.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds patience = 5s) {
  auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// A private directory that goes with the object.
struct TempDir {
  TempDir() {
    std::string pattern = "/tmp/graphrun_test_XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string path;
};

inline WorkerClientOptions clientOptions(const std::string& name, const std::string& address) {
  WorkerClientOptions options;
  options.name = name;
  options.address = address;
  options.versions = kTestVersions;
  options.job = *randomSecret();
  options.joinTimeout = 10s;
  return options;
}

/// A call of serveSteps, and how it ends.
struct Serving {
  explicit Serving(WorkerClient& client)
      : run(client.serveStepsAsync([this](const absl::Status& why) { ended.set_value(why); })) {}
  absl::Status wait() { return ended.get_future().get(); }
  std::promise<absl::Status> ended;
  uint64_t run;
};

/// A service in this process, and a joined client.
struct InProcess {
  explicit InProcess(const std::string& listen = "127.0.0.1:0") {
    auto started = WorkerService::start({listen, {}, kTestVersions}, &handler);
    requireOk(started.status());
    service = std::move(*started);
    client = connect();
    requireOk(client->join().status());
  }
  std::unique_ptr<WorkerClient> connect() {
    auto created = WorkerClient::create(clientOptions("node0", service->address()));
    requireOk(created.status());
    return std::move(*created);
  }
  FakeHandler handler;
  std::unique_ptr<WorkerService> service;
  std::unique_ptr<WorkerClient> client;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_TESTS_RUNTIME_CONTROL_TEST_UTIL_H_
