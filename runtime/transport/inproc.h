// Tensors between devices of one process: pointers are passed, or one copy is made.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_INPROC_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_INPROC_H_

#include <memory>

#include "runtime/transport/transport.h"

namespace graphrun::runtime {

/// The in-process transports of one process find each other in an InprocHub.
class InprocHub;

std::shared_ptr<InprocHub> makeInprocHub();

/// A transport for `rank`, unique in the hub. The usual worker has one, linked to itself. Sending
/// and releasing act at once, on the caller's thread.
absl::StatusOr<std::unique_ptr<Transport>> makeInprocTransport(std::shared_ptr<InprocHub> hub,
                                                               uint32_t rank);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_INPROC_H_
