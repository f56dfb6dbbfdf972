// The threads of a block as fibers: they wait for each other where a GPU's threads do.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_BLOCK_FIBERS_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_BLOCK_FIBERS_H_

#include <cstdint>
#include <functional>

namespace graphrun::devices::cuda {

/// Runs `body` for each thread of a block, in turns on the calling thread: the next has its turn
/// where one waits. Each warp's threads must take part in the same shuffles, or end before them,
/// and all of a block in the same barriers. Fails the test where threads wait for ever.
void runBlock(int64_t threads, const std::function<void(int64_t thread)>& body);

/// Within runBlock: the value of the thread whose number in the warp differs by the bits of
/// `distance`.
uint32_t shuffleInWarp(uint32_t value, uint32_t distance);

/// Within runBlock: waits for all threads of the block.
void waitForBlock();

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_COMPILER_BLOCK_FIBERS_H_
