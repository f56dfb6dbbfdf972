#include "devices/cuda/driver/libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

constexpr const char* kFolders = "GRAPHRUN_CUDA_LIBRARIES";

/// Folders that are looked in before the system's, and after.
std::vector<std::string> givenFolders() {
  const char* given = std::getenv(kFolders);
  return given == nullptr ? std::vector<std::string>()
                          : std::vector<std::string>(absl::StrSplit(given, ':', absl::SkipEmpty()));
}

std::vector<std::string> toolkitFolders() {
  return {GRAPHRUN_CUDA_TOOLKIT "/lib64", GRAPHRUN_CUDA_TOOLKIT "/lib"};
}

std::string pathOf(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 ? map->l_name : "";
}

absl::StatusOr<void*> openFile(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("cannot be loaded: ", dlerror()));
  }
  return handle;
}

/// The file in the first of `folders` that has it; null if none has.
absl::StatusOr<void*> openIn(const std::vector<std::string>& folders, const std::string& file) {
  for (const std::string& folder : folders) {
    std::string path = absl::StrCat(folder, "/", file);
    if (access(path.c_str(), F_OK) == 0) {
      return openFile(path);
    }
  }
  return nullptr;
}

/// Opens the library, or says where it was looked for.
absl::StatusOr<void*> open(const std::string& file) {
  if (file.starts_with('/')) {
    return openFile(file);
  }
  GR_ASSIGN_OR_RETURN(void* given, openIn(givenFolders(), file));
  if (given != nullptr) {
    return given;
  }
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return handle;
  }
  // The system's message begins with the file that is missing: this one, or one that it needs.
  std::string error = dlerror();
  if (!error.starts_with(absl::StrCat(file, ": cannot open shared object file"))) {
    return absl::FailedPreconditionError(absl::StrCat("cannot be loaded: ", error));
  }
  GR_ASSIGN_OR_RETURN(void* ours, openIn(toolkitFolders(), file));
  if (ours != nullptr) {
    return ours;
  }
  std::vector<std::string> looked = givenFolders();
  looked.push_back("the system's library folders");
  looked.push_back(absl::StrJoin(toolkitFolders(), ", "));
  return absl::NotFoundError(
      absl::StrCat("is missing; looked for in ", absl::StrJoin(looked, ", ")));
}

/// Finds functions, and notes those that the library lacks.
class Finder {
 public:
  explicit Finder(void* handle) : handle_(handle) {}

  template <typename Function>
  void find(Function& function, const char* name) {
    void* symbol = dlsym(handle_, name);
    function = reinterpret_cast<Function>(symbol);
    if (symbol == nullptr) {
      missing_.push_back(name);
    }
  }
  absl::Status status() const {
    return missing_.empty() ? absl::OkStatus()
                            : absl::FailedPreconditionError(
                                  absl::StrCat("lacks ", absl::StrJoin(missing_, ", ")));
  }

 private:
  void* handle_;
  std::vector<std::string> missing_;
};

#define GR_CUDA_FIND(name) finder.find(api.name, #name);
void findAll(Finder& finder, DriverApi& api) { GR_CUDA_DRIVER_FUNCTIONS(GR_CUDA_FIND) }
void findAll(Finder& finder, CublasLtApi& api) { GR_CUBLASLT_FUNCTIONS(GR_CUDA_FIND) }
void findAll(Finder& finder, CudnnApi& api) { GR_CUDNN_FUNCTIONS(GR_CUDA_FIND) }
void findAll(Finder& finder, NcclApi& api) { GR_NCCL_FUNCTIONS(GR_CUDA_FIND) }
void findAll(Finder& finder, NvmlApi& api){GR_NVML_FUNCTIONS(GR_CUDA_FIND)}
#undef GR_CUDA_FIND

Version fromNumber(size_t number) {
  auto whole = static_cast<int>(number);
  return {whole / 10000, whole / 100 % 100, whole % 100};
}

/// Nothing where the function is missing. The driver's is that of the newest CUDA that it runs.
std::optional<Version> versionOf(const DriverApi& api) {
  int version = 0;
  if (api.cuDriverGetVersion == nullptr || api.cuDriverGetVersion(&version) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  return Version{version / 1000, version % 1000 / 10, 0};
}

std::optional<Version> versionOf(const CublasLtApi& api) {
  return api.cublasLtGetVersion == nullptr ? std::nullopt
                                           : std::optional(fromNumber(api.cublasLtGetVersion()));
}

std::optional<Version> versionOf(const CudnnApi& api) {
  return api.cudnnGetVersion == nullptr ? std::nullopt
                                        : std::optional(fromNumber(api.cudnnGetVersion()));
}

std::optional<Version> versionOf(const NcclApi& api) {
  int version = 0;
  if (api.ncclGetVersion == nullptr || api.ncclGetVersion(&version) != ncclSuccess) {
    return std::nullopt;
  }
  return fromNumber(static_cast<size_t>(version));
}

std::optional<Version> versionOf(const NvmlApi&) { return std::nullopt; }

/// The version counts first: what an old library lacks is of no interest.
template <typename Api>
absl::Status load(LibraryFacts& facts, Api& api) {
  GR_ASSIGN_OR_RETURN(void* handle, open(facts.file));
  facts.path = pathOf(handle);
  Finder finder(handle);
  findAll(finder, api);
  facts.version = versionOf(api).value_or(Version());
  if (facts.version != Version() && facts.version < facts.least) {
    return absl::FailedPreconditionError(absl::StrCat("is of version ", facts.version.toString(),
                                                      ", expected ", facts.least.toString(),
                                                      " or newer"));
  }
  return finder.status();
}

/// `load`, with what it is about and what to do.
template <typename Api>
absl::Status loadOrExplain(LibraryFacts& facts, Api& api) {
  absl::Status status = load(facts, api);
  if (status.ok()) {
    return status;
  }
  absl::string_view file = facts.path.empty() ? facts.file : facts.path;
  return absl::Status(status.code(), absl::StrCat(file, " ", status.message(), "; ", facts.remedy));
}

absl::Status start(const DriverApi& api) { return driverStatus(api, api.cuInit(0), "cuInit"); }

absl::Status start(const NvmlApi& api) {
  const nvmlReturn_t result = api.nvmlInit_v2();
  return result == 0 ? absl::OkStatus()
                     : absl::FailedPreconditionError(
                           absl::StrCat("nvmlInit_v2: ", api.nvmlErrorString(result)));
}

template <typename Api>
absl::Status start(const Api&) {
  return absl::OkStatus();
}

template <typename Library>
auto use(Library& library) -> absl::StatusOr<const decltype(library.api)*> {
  std::call_once(library.once, [&] {
    absl::Status loaded = loadOrExplain(library.facts, library.api);
    library.facts.status = loaded.ok() ? start(library.api) : loaded;
  });
  GR_RETURN_IF_ERROR(library.facts.status);
  return &library.api;
}

}  // namespace

#define GR_TEXT_INNER(x) #x
#define GR_TEXT(x) GR_TEXT_INNER(x)
LibraryFiles LibraryFiles::usual() {
  return {"libcuda.so.1", "libcublasLt.so." GR_TEXT(CUBLAS_VER_MAJOR),
          "libcudnn.so." GR_TEXT(CUDNN_MAJOR), "libnccl.so." GR_TEXT(NCCL_MAJOR),
          "libnvidia-ml.so.1"};
}
#undef GR_TEXT
#undef GR_TEXT_INNER

std::string Version::toString() const { return absl::StrCat(major, ".", minor, ".", patch); }

// Libraries of a toolkit's major version run on any driver that runs that version. NCCL aborts
// several communicators together from 2.22 on.
Libraries::Libraries(LibraryFiles files)
    : driver_{{"driver",
               std::move(files.driver),
               {CUDA_VERSION / 1000, 0, 0},
               "install NVIDIA's driver 580 or newer (Debian: nvidia-driver)"}},
      cublasLt_{
          {"cublasLt",
           std::move(files.cublasLt),
           {CUBLAS_VER_MAJOR, 0, 0},
           "install CUDA 13's cuBLAS (libcublas-13-0, or nvidia-cublas from PyPI) and name its "
           "folder in GRAPHRUN_CUDA_LIBRARIES if the system does not look there"}},
      cudnn_{
          {"cudnn",
           std::move(files.cudnn),
           {9, 10, 2},  // attention: those before it have faults, or lack kinds of it
           "install cuDNN 9 for CUDA 13 (cudnn9-cuda-13, or nvidia-cudnn-cu13 from PyPI) and name "
           "its folder in GRAPHRUN_CUDA_LIBRARIES if the system does not look there"}},
      nccl_{{"nccl",
             std::move(files.nccl),
             {2, 22, 0},
             "install NCCL (libnccl2, or nvidia-nccl-cu13 from PyPI) and name its folder in "
             "GRAPHRUN_CUDA_LIBRARIES if the system does not look there"}},
      nvml_{{"nvml", std::move(files.nvml), {}, "it comes with NVIDIA's driver"}} {}

absl::StatusOr<const DriverApi*> Libraries::driver() { return use(driver_); }
absl::StatusOr<const CublasLtApi*> Libraries::cublasLt() { return use(cublasLt_); }
absl::StatusOr<const CudnnApi*> Libraries::cudnn() { return use(cudnn_); }
absl::StatusOr<const NcclApi*> Libraries::nccl() { return use(nccl_); }
std::optional<Version> Libraries::ncclVersion() {
  return nccl().ok() ? std::optional(nccl_.facts.version) : std::nullopt;
}
absl::StatusOr<const NvmlApi*> Libraries::nvml() { return use(nvml_); }

std::vector<LibraryFacts> Libraries::facts() {
  static_cast<void>(driver());
  static_cast<void>(cublasLt());
  static_cast<void>(cudnn());
  static_cast<void>(nccl());
  return {driver_.facts, cublasLt_.facts, cudnn_.facts, nccl_.facts};
}

Libraries& libraries() {
  static auto* const kOnly = new Libraries();
  return *kOnly;
}

}  // namespace graphrun::devices::cuda
