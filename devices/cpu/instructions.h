// What the machine's instructions can do, as oneDNN uses them.
#ifndef GRAPHRUN_DEVICES_CPU_INSTRUCTIONS_H_
#define GRAPHRUN_DEVICES_CPU_INSTRUCTIONS_H_

namespace graphrun::devices::cpu {

/// True where u8 times i8 is summed exactly: elsewhere pairs of products saturate to 16 bits.
bool sumsBytesExactly();

/// True where there are products of bf16.
bool multipliesBFloat16();

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_INSTRUCTIONS_H_
