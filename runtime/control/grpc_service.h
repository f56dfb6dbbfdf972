// This server of a worker's control plane speaks gRPC.
#ifndef GRAPHRUN_RUNTIME_CONTROL_GRPC_SERVICE_H_
#define GRAPHRUN_RUNTIME_CONTROL_GRPC_SERVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/control/worker_service.h"

namespace graphrun::runtime {

/// See WorkerService::start.
absl::StatusOr<std::unique_ptr<WorkerService>> startGrpcService(const WorkerServiceOptions& options,
                                                                WorkerHandler* handler);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_GRPC_SERVICE_H_
