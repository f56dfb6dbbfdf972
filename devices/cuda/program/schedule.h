// The order in which a program on a GPU launches, copies, waits, sends and receives. Internal to
// devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_SCHEDULE_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cuda {

struct Action {
  enum class Kind : uint8_t {
    kLaunch,  ///< copies `in` to the GPU, runs `instructions`, copies `out` to the host; does not
              ///< wait
    kCollective,  ///< the same for one instruction that is a collective, which is never part of a
                  ///< graph
    kAwait,       ///< waits until `buffer` is on the host
    kSend,        ///< `instruction`
    kReceive,     ///< `instruction`
    kFinish       ///< waits for all that was launched
  };
  Kind kind = Kind::kLaunch;
  std::vector<uint32_t> instructions;  ///< kLaunch, kCollective: of the executable, in order
  std::vector<uint32_t> in;            ///< kLaunch, kCollective: buffers
  std::vector<uint32_t> out;           ///< kLaunch, kCollective: buffers
  uint32_t buffer = 0;                 ///< kAwait
  uint32_t instruction = 0;            ///< kSend, kReceive
};

/// A launch for the instructions between two edges; sends and receives in the order of the
/// instructions. What follows a send is launched before the program waits for what is sent, up to
/// the next receive, so that the GPU has work meanwhile. What is bound (inputs, received tensors)
/// is copied to the GPU for the first launch that reads it, outputs and what is sent behind the
/// last that writes them. A collective has a launch of its own: NCCL connects members when they
/// first need each other, and may have to be asked for how far it is before the stream can go on.
/// What is sent goes before it, for some member may wait for that. InvalidArgument for an
/// executable that writes to a received tensor and sends it on.
absl::StatusOr<std::vector<Action>> scheduleOf(const Executable& executable);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_SCHEDULE_H_
