// This client of the control plane speaks gRPC.
#ifndef GRAPHRUN_RUNTIME_CONTROL_GRPC_CLIENT_H_
#define GRAPHRUN_RUNTIME_CONTROL_GRPC_CLIENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/control/worker_client.h"

namespace graphrun::runtime {

/// See WorkerClient::create.
absl::StatusOr<std::unique_ptr<WorkerClient>> makeGrpcClient(const WorkerClientOptions& options);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_GRPC_CLIENT_H_
