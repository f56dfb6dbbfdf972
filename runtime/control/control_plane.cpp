#include "runtime/control/control_plane.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/sibling_library.h"
#include "runtime/base/status.h"

// Null unless the program holds the library's objects.
#pragma weak grControlPlane

namespace graphrun::runtime {
namespace {

constexpr char kLibrary[] = "libgraphrun-control.so";
constexpr char kVariable[] = "GRAPHRUN_CONTROL_LIBRARY";

}  // namespace

absl::StatusOr<const ControlPlane*> controlPlane() {
  if (grControlPlane != nullptr) {
    return grControlPlane();
  }
  const std::string file = findSiblingLibrary(kLibrary, kVariable);
  void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);  // loaded once, and stays
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "workers are reached by gRPC, but the library for it cannot be loaded: ", dlerror(),
        ". Put ", kLibrary, " beside libgraphrun.so or name it in ", kVariable));
  }
  auto entry = reinterpret_cast<decltype(&grControlPlane)>(dlsym(handle, "grControlPlane"));
  const ControlPlane* plane = entry == nullptr ? nullptr : entry();
  absl::string_view version = plane == nullptr ? "" : plane->version;
  if (version != GRAPHRUN_VERSION) {
    return absl::FailedPreconditionError(absl::StrCat(file, " is of version '", version,
                                                      "', expected ", GRAPHRUN_VERSION,
                                                      ": install both libraries from one build"));
  }
  return plane;
}

absl::StatusOr<std::unique_ptr<WorkerClient>> WorkerClient::create(
    const WorkerClientOptions& options) {
  GR_ASSIGN_OR_RETURN(const ControlPlane* plane, controlPlane());
  return plane->makeClient(options);
}

absl::StatusOr<std::unique_ptr<WorkerService>> WorkerService::start(
    const WorkerServiceOptions& options, WorkerHandler* handler) {
  GR_ASSIGN_OR_RETURN(const ControlPlane* plane, controlPlane());
  return plane->startService(options, handler);
}

absl::Status makeCertificates(const std::string& dir, absl::Span<const CertificateName> workers) {
  GR_ASSIGN_OR_RETURN(const ControlPlane* plane, controlPlane());
  return plane->writeCertificates(dir, workers);
}

}  // namespace graphrun::runtime
