// Kernels in a few lines, for the interpreter's tests.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_FIXTURE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_FIXTURE_H_

#include <cstring>
#include <string>
#include <vector>

#include "tests/devices/cuda/simulator/ptx_execution.h"

namespace graphrun::testing::ptx {

/// Where `from` and `to` of a Case begin on the device.
inline constexpr uint64_t kFrom = 0x10000000, kTo = 0x20000000;

/// A kernel (u64 from, u64 to), with registers of all types (%p, %h 16, %r 32, %d 64 bits, each
/// <32>). Before the first line: %d0 and %d1 are the parameters, %r0 the thread's number in the
/// grid. The first line of `body` is line 20.
std::string kernelText(const std::string& body);

/// Runs a text's first kernel.
struct Case {
  std::string text;
  uint32_t blocks = 1, threads = 32;
  std::vector<uint8_t> from, to;  // global memory
  uint64_t sharedBytes = 0;
  uint64_t mostInstructions = 1 << 20;

  /// "OK", the fault's message, or why the text is not taken.
  std::string run();
  Fault::Kind kind = Fault::Kind::kTrap;  // of the last fault
  uint64_t instructions = 0;              // of the last run
};

template <typename V>
std::vector<uint8_t> bytesOf(const std::vector<V>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(V));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename V>
std::vector<V> valuesOf(const std::vector<uint8_t>& bytes) {
  std::vector<V> values(bytes.size() / sizeof(V));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_FIXTURE_H_
