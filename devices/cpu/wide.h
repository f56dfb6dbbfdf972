// Loops compiled for the widest vectors that the machine has. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_WIDE_H_
#define GRAPHRUN_DEVICES_CPU_WIDE_H_

namespace graphrun::devices::cpu {

#if defined(__x86_64__)

template <typename Body>
__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq"), flatten)) void runAvx512(
    const Body& body) {
  body();
}

template <typename Body>
__attribute__((target("avx2"), flatten)) void runAvx2(const Body& body) {
  body();
}

/// Runs `body` with all that it calls inlined, in a version for this machine. Call it inside a
/// parallel loop, around the loop that matters: threads are started by functions of their own.
template <typename Body>
void runWide(const Body& body) {
  static const bool kAvx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kAvx512) {
    runAvx512(body);
  } else if (kAvx2) {
    runAvx2(body);
  } else {
    body();
  }
}

#else

/// Other machines have one version of their vectors that compilers may always use.
template <typename Body>
void runWide(const Body& body) {
  body();
}

#endif

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_WIDE_H_
