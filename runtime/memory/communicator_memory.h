// A library of collectives takes memory of a device beside a plan's tensors.
#ifndef GRAPHRUN_RUNTIME_MEMORY_COMMUNICATOR_MEMORY_H_
#define GRAPHRUN_RUNTIME_MEMORY_COMMUNICATOR_MEMORY_H_

#include <cstdint>

namespace graphrun::runtime {

/// Bytes of a communicator on each of its devices: an estimate, as the library tells none. NCCL has
/// a buffer for each protocol (Simple: NCCL_BUFFSIZE, 4 MiB unless that is set; LL128: some 4.7
/// MiB; LL: 512 KiB) of each channel of each connection that it receives on. Counted are 16
/// channels with two: one of a ring and one of a tree.
inline constexpr int64_t kCommunicatorBytes =
    int64_t{16} * 2 * ((int64_t{4} << 20) + (int64_t{4800} << 10) + (int64_t{512} << 10));

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_MEMORY_COMMUNICATOR_MEMORY_H_
