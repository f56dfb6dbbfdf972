// NVIDIA's libraries, loaded at run time: found, of a version that will do, every function there.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_LIBRARIES_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_LIBRARIES_H_

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/cuda/driver/symbols.h"

namespace graphrun::devices::cuda {

/// A version as a vendor tells it, taken apart.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;

  auto operator<=>(const Version&) const = default;
  std::string toString() const;
};

/// One library: what it is, and what was found of it.
struct LibraryFacts {
  std::string name;     ///< "driver", "cublasLt", "cudnn", "nccl"
  std::string file;     ///< "libcudnn.so.9"; an absolute path is taken as it is
  Version least;        ///< that will do
  std::string remedy;   ///< what to install
  std::string path;     ///< where it was found; "" if it was not
  Version version;      ///< that was found
  absl::Status status;  ///< OK, or why it cannot be used
};

/// The files to load; tests have others.
struct LibraryFiles {
  std::string driver;
  std::string cublasLt;
  std::string cudnn;
  std::string nccl;
  std::string nvml;
  /// The files of this build's toolkit.
  static LibraryFiles usual();
};

/// Loads each library when it is first asked for, once, and never unloads it: NVIDIA's do not
/// survive that. They are looked for in the folders of GRAPHRUN_CUDA_LIBRARIES (separated by
/// colons), then where the system looks, then in the toolkit of this build. Thread-safe.
class Libraries {
 public:
  explicit Libraries(LibraryFiles files = LibraryFiles::usual());

  /// NotFound: it is not there. FailedPrecondition: it is older than needed, lacks functions, or
  /// cannot be loaded. The messages say where it was looked for and what to install. For the
  /// driver also: no GPU can be used, as cuInit told.
  absl::StatusOr<const DriverApi*> driver();
  absl::StatusOr<const CublasLtApi*> cublasLt();
  absl::StatusOr<const CudnnApi*> cudnn();
  absl::StatusOr<const NcclApi*> nccl();
  /// The version of NCCL, loaded now if it was not; nothing where it is not to be had.
  std::optional<Version> ncclVersion();
  /// Started. Nothing depends on it, so it is not among the facts.
  absl::StatusOr<const NvmlApi*> nvml();

  /// All that programs need, loaded now if they were not: for `graphrun doctor`.
  std::vector<LibraryFacts> facts();

 private:
  template <typename Api>
  struct Library {
    LibraryFacts facts;
    std::once_flag once;
    Api api;
  };

  Library<DriverApi> driver_;
  Library<CublasLtApi> cublasLt_;
  Library<CudnnApi> cudnn_;
  Library<NcclApi> nccl_;
  Library<NvmlApi> nvml_;
};

/// Those of the process.
Libraries& libraries();

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_LIBRARIES_H_
