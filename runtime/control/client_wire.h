// The channel of a client, and what its messages stand for.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CLIENT_WIRE_H_
#define GRAPHRUN_RUNTIME_CONTROL_CLIENT_WIRE_H_

#include <grpcpp/support/channel_arguments.h>

#include <vector>

#include "runtime/control/control.pb.h"
#include "runtime/control/worker_client.h"

namespace graphrun::runtime {

/// Limits and times of a connection to a worker.
grpc::ChannelArguments channelArguments();

/// What a worker says of itself, in words within bounds.
JoinedWorker fromWire(const control::JoinReply& reply);
std::vector<DeviceReport> fromWire(const control::PrepareReply& reply);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CLIENT_WIRE_H_
