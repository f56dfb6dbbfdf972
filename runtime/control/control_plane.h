// Loads the part of the control plane that needs gRPC and OpenSSL: libgraphrun-control.so, which is
// loaded by the first call. A process without workers never does.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CONTROL_PLANE_H_
#define GRAPHRUN_RUNTIME_CONTROL_CONTROL_PLANE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/control/certs.h"
#include "runtime/control/worker_client.h"
#include "runtime/control/worker_service.h"

namespace graphrun::runtime {

/// A ControlPlane has the functions behind WorkerClient::create, WorkerService::start and
/// makeCertificates.
struct ControlPlane {
  const char* version;  ///< GraphRun's: both sides share C++ types
  absl::StatusOr<std::unique_ptr<WorkerClient>> (*makeClient)(const WorkerClientOptions& options);
  absl::StatusOr<std::unique_ptr<WorkerService>> (*startService)(
      const WorkerServiceOptions& options, WorkerHandler* handler);
  absl::Status (*writeCertificates)(const std::string& dir,
                                    absl::Span<const CertificateName> workers);
};

/// The one that is linked into the program (tests), else that of the library that
/// $GRAPHRUN_CONTROL_LIBRARY names, that lies beside this one, or that the dynamic linker finds.
/// NotFound when it is missing, FailedPrecondition when it is of another version. Thread-safe.
absl::StatusOr<const ControlPlane*> controlPlane();

}  // namespace graphrun::runtime

/// The library exports this function.
extern "C" const graphrun::runtime::ControlPlane* grControlPlane();

#endif  // GRAPHRUN_RUNTIME_CONTROL_CONTROL_PLANE_H_
