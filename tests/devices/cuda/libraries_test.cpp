// NVIDIA's libraries: every function that is used is in those that are installed; what is missing
// or too old is told.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "devices/cuda/driver/libraries.h"
#include "devices/cuda/driver/vendor_status.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

LibraryFacts factsOf(Libraries& libraries, const std::string& name) {
  for (const LibraryFacts& facts : libraries.facts()) {
    if (facts.name == name) {
      return facts;
    }
  }
  FAIL("no library " << name);
  return {};
}

/// A variable of the environment, as it was when this goes.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) {
      before_ = before;
    }
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

}  // namespace

TEST_CASE("every function that is used is in the installed libraries") {
  Libraries libraries;
  for (const LibraryFacts& facts : libraries.facts()) {
    CAPTURE(facts.name, facts.status);
    if (absl::IsNotFound(facts.status)) {
      WARN(facts.name << " was not checked: " << facts.status.message());
      continue;
    }
    CHECK(facts.status.ok());
    CHECK(facts.version >= facts.least);
    CHECK(!facts.path.empty());
  }
}

TEST_CASE("every function of the driver is in the toolkit's stub of it") {
  LibraryFiles files = simulatedFiles();
  for (const char* folder : {"/lib64/stubs", "/lib/stubs"}) {
    files.driver = std::string(TOOLKIT) + folder + "/libcuda.so";
    if (access(files.driver.c_str(), F_OK) != 0) {
      WARN("there is no " << files.driver);
      continue;
    }
    Libraries libraries(files);
    // It is loaded and complete, but nothing more than a stub.
    CHECK_THAT(std::string(libraries.driver().status().message()), Catch::StartsWith("cuInit: "));
  }
}

TEST_CASE("the simulator has every function of the driver, of cuBLASLt, of cuDNN and of NCCL") {
  testing::resetGpus();
  Libraries libraries(withCollectives());
  CHECK(libraries.driver().status().ToString() == "OK");
  CHECK(libraries.cublasLt().status().ToString() == "OK");
  CHECK(libraries.cudnn().status().ToString() == "OK");
  CHECK(libraries.nccl().status().ToString() == "OK");
  CHECK(factsOf(libraries, "driver").path == SIMULATOR);
  CHECK(factsOf(libraries, "driver").version == Version{13, 0, 0});
}

TEST_CASE("a library that is missing is told with where it was looked for and how to get it") {
  ScopedVariable folders("GRAPHRUN_CUDA_LIBRARIES", "/given/folder");
  LibraryFiles files = simulatedFiles();
  files.driver = "libnone.so.1";
  Libraries libraries(files);
  absl::Status status = libraries.driver().status();
  CHECK(absl::IsNotFound(status));
  for (const char* part : {"libnone.so.1 is missing", "/given/folder", "the system's library",
                           "/lib64", "install NVIDIA's driver 580"}) {
    CHECK_THAT(std::string(status.message()), Catch::Contains(part));
  }
}

TEST_CASE("a library is taken from the folder that the environment names") {
  std::string file = SIMULATOR;
  size_t slash = file.rfind('/');
  ScopedVariable folders("GRAPHRUN_CUDA_LIBRARIES", "/none:" + file.substr(0, slash));
  testing::resetGpus();
  LibraryFiles files = simulatedFiles();
  files.driver = file.substr(slash + 1);
  Libraries libraries(files);
  CHECK(libraries.driver().ok());
  CHECK(factsOf(libraries, "driver").path == file);
}

TEST_CASE("a library that is too old is refused with both versions") {
  testing::resetGpus();
  testing::setDriver(12040);
  Libraries libraries(simulatedFiles());
  absl::Status status = libraries.driver().status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("is of version 12.4.0, expected 13.0.0 or newer"));
}

TEST_CASE("a library that lacks functions is refused with their names") {
  LibraryFiles files = simulatedFiles();
  files.nccl = "libc.so.6";
  Libraries libraries(files);
  absl::Status status = libraries.nccl().status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("lacks ncclGetVersion"));
  files.cudnn = "/etc/passwd";
  Libraries others(files);
  CHECK_THAT(std::string(others.cudnn().status().message()), Catch::Contains("cannot be loaded"));
}

TEST_CASE("a driver without a GPU says so") {
  testing::resetGpus();
  testing::setDriver(13000, CUDA_ERROR_NO_DEVICE);
  Libraries libraries(simulatedFiles());
  CHECK(absl::IsNotFound(libraries.driver().status()));
  CHECK_THAT(std::string(libraries.driver().status().message()),
             Catch::Contains("cuInit: CUDA_ERROR_NO_DEVICE"));
  CHECK(discoverCudaDevices(libraries).empty());
}

TEST_CASE("vendors' errors become a status that names the operation") {
  testing::resetGpus();
  Libraries libraries(simulatedFiles());
  const DriverApi& driver = *libraries.driver().value();
  auto code = [&](CUresult result) { return driverStatus(driver, result, "op").code(); };
  CHECK(driverStatus(driver, CUDA_SUCCESS, "op").ok());
  CHECK(code(CUDA_ERROR_OUT_OF_MEMORY) == absl::StatusCode::kResourceExhausted);
  CHECK(code(CUDA_ERROR_INVALID_DEVICE) == absl::StatusCode::kNotFound);
  CHECK(code(CUDA_ERROR_INVALID_PTX) == absl::StatusCode::kInvalidArgument);
  CHECK(code(CUDA_ERROR_UNSUPPORTED_PTX_VERSION) == absl::StatusCode::kFailedPrecondition);
  CHECK(code(CUDA_ERROR_NOT_SUPPORTED) == absl::StatusCode::kUnimplemented);
  CHECK(code(CUDA_ERROR_LAUNCH_FAILED) == absl::StatusCode::kInternal);
  CHECK(driverStatus(driver, CUDA_ERROR_ILLEGAL_ADDRESS, "cuEventQuery").message() ==
        "cuEventQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700): as the simulator was told; the GPU takes "
        "no more work of this process, start it again");
  const CublasLtApi& products = *libraries.cublasLt().value();
  CHECK(absl::IsUnimplemented(cublasLtStatus(products, CUBLAS_STATUS_NOT_SUPPORTED, "op")));
  CHECK(cublasLtStatus(products, CUBLAS_STATUS_SUCCESS, "op").ok());
}

TEST_CASE("cuDNN and NCCL put their errors into words without a GPU") {
  Libraries libraries;
  if (auto cudnn = libraries.cudnn(); cudnn.ok()) {
    absl::Status status =
        cudnnStatus(**cudnn, CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "cudnnBackendFinalize");
    CHECK(absl::IsUnimplemented(status));
    CHECK_THAT(std::string(status.message()),
               Catch::Contains("cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED_SHAPE"));
  } else {
    WARN("cuDNN was not asked: " << cudnn.status().message());
  }
  if (auto nccl = libraries.nccl(); nccl.ok()) {
    CHECK(absl::IsInvalidArgument(ncclStatus(**nccl, ncclInvalidArgument, "ncclAllReduce")));
  } else {
    WARN("NCCL was not asked: " << nccl.status().message());
  }
}

}  // namespace graphrun::devices::cuda
