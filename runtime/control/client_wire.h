// These functions make a client's channel, and tell what its messages stand for.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CLIENT_WIRE_H_
#define GRAPHRUN_RUNTIME_CONTROL_CLIENT_WIRE_H_

#include <grpcpp/support/channel_arguments.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/control/control.pb.h"
#include "runtime/control/worker_client.h"

namespace graphrun::runtime {

/// Returns the limits and times of a connection to a worker.
grpc::ChannelArguments channelArguments();

/// Returns the time for a transfer over the slowest link that we wait for.
Millis transferTimeout(Millis base, uint64_t bytes);

/// Returns whether an error is a failure of TLS that no waiting heals.
bool isTlsRefusal(const absl::Status& status);

/// Returns what a worker says of itself, with its words within bounds.
JoinedWorker fromWire(const control::JoinReply& reply);
std::vector<DeviceReport> fromWire(const control::PrepareReply& reply);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CLIENT_WIRE_H_
