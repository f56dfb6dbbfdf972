// Loops compiled for the widest vectors that may be used. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_WIDE_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_WIDE_H_

#include <type_traits>

#include "devices/cpu/vectors/instructions.h"

namespace graphrun::devices::cpu {

#if defined(__x86_64__)

template <typename Body>
__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"), flatten)) void runAvx512(
    const Body& body) {
  body();
}

template <typename Body>
__attribute__((target("avx2,fma"), flatten)) void runAvx2(const Body& body) {
  body();
}

/// Runs `body` with all that it calls inlined, in a version for loopInstructions(). Call it inside
/// a parallel loop, around the loop that matters: threads are started by functions of their own.
template <typename Body>
void runWide(const Body& body) {
  switch (loopInstructions()) {
    case InstructionSet::kAvx512:
      return runAvx512(body);
    case InstructionSet::kAvx2:
      return runAvx2(body);
    default:
      return body();
  }
}

/// The same for a body that is given the bits of a vector, as a constant type: GCC 12 takes what is
/// wider than a machine's vectors apart to single numbers.
template <typename Body>
void runVectors(const Body& body) {
  switch (loopInstructions()) {
    case InstructionSet::kAvx512:
      return runAvx512([&] { body(std::integral_constant<int, 512>()); });
    case InstructionSet::kAvx2:
      return runAvx2([&] { body(std::integral_constant<int, 256>()); });
    default:
      return body(std::integral_constant<int, 128>());
  }
}

#else

/// Other machines have one version of their vectors that compilers may always use.
template <typename Body>
void runWide(const Body& body) {
  body();
}
template <typename Body>
void runVectors(const Body& body) {
  body(std::integral_constant<int, 128>());
}

#endif

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_WIDE_H_
