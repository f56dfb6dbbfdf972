// gRPC's own log lines go where ours go.
#ifndef GRAPHRUN_RUNTIME_CONTROL_GRPC_LOG_H_
#define GRAPHRUN_RUNTIME_CONTROL_GRPC_LOG_H_

namespace graphrun::runtime {

/// From the first call on, gRPC's messages appear in our log, at debug level: what matters of them
/// is in the statuses that callers get. Thread-safe.
void routeGrpcLog();

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_GRPC_LOG_H_
