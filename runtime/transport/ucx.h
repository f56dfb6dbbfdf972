// This transport carries tensors between processes and machines over UCX: shared memory, TCP, RDMA.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_UCX_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_UCX_H_

#include <memory>
#include <string>

#include "runtime/transport/transport.h"

namespace graphrun::runtime {

struct UcxOptions {
  uint32_t rank = 0;
  /// The network interfaces that TCP and RDMA use, as a list with commas ("eth0", "lo,mlx5_0:1"),
  /// and on which it listens; "" for all, of which UCX may take one that peers cannot reach.
  std::string networkInterface;
  /// Lets UCX hook malloc and mmap, as its registration cache needs, and with it registerMemory to
  /// be of use for RDMA in UCX before 1.14. Without, RDMA registers each large payload anew. Shared
  /// memory and TCP need neither.
  bool memoryEvents = false;
};

/// A transport with its own UCX worker and one background thread, which sleeps while there is no
/// traffic or waiters move messages themselves. Environment variables UCX_* win over our defaults
/// (tests force UCX_TLS=tcp so). The first call loads libucp, without its signal handlers and
/// malloc hooks unless the environment asks for them; meanwhile no other thread may read the
/// environment. NotFound: no UCX on this machine. FailedPrecondition: memoryEvents differs from the
/// first call's.
absl::StatusOr<std::unique_ptr<Transport>> makeUcxTransport(const UcxOptions& options);

/// "1.13.1", of the library that runs, which is loaded if it is not yet; "" if there is none. Peers
/// compare it when they meet.
std::string ucxVersion();

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_UCX_H_
