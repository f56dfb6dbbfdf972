// Which network interface tensors are to use.
#ifndef GRAPHRUN_RUNTIME_WORKER_NETWORK_INTERFACE_H_
#define GRAPHRUN_RUNTIME_WORKER_NETWORK_INTERFACE_H_

#include <string>

namespace graphrun::runtime {

/// Name of the interface that has the IP address `host`; "" for a loopback or unknown one.
std::string interfaceOfAddress(const std::string& host);

/// Name of the interface over which the kernel would reach `host` (an IP address or a name); "" for
/// this machine itself or when there is no way.
std::string interfaceTowards(const std::string& host);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_NETWORK_INTERFACE_H_
