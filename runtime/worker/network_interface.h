// These functions choose the network interfaces that tensors are to use.
#ifndef GRAPHRUN_RUNTIME_WORKER_NETWORK_INTERFACE_H_
#define GRAPHRUN_RUNTIME_WORKER_NETWORK_INTERFACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/control/address.h"

namespace graphrun::runtime {

/// Name of the loopback interface; "" if this machine has none.
std::string loopbackInterface();

/// Name of the interface on which a worker that listens at `address` is reached: loopback's for a
/// Unix socket; "" for the address of all interfaces. A host name is resolved. InvalidArgument: it
/// cannot be, or no interface of this machine has the address.
absl::StatusOr<std::string> interfaceOfListener(const Address& address);

/// InvalidArgument where one of `interfaces`, a list with commas, is no interface of this machine:
/// of the network, or an RDMA device, whose port may follow ("mlx5_0:1"). "all" and "" are for any.
absl::Status checkInterfaces(const std::string& interfaces);

/// Name of the interface over which the kernel would reach `host` (an IP address or a name);
/// loopback's for a loopback address; "" when there is no way.
std::string interfaceTowards(const std::string& host);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_NETWORK_INTERFACE_H_
