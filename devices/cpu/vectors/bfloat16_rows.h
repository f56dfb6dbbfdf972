// These functions convert rows of bf16 to and from f32, vectorised for the machine. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_BFLOAT16_ROWS_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_BFLOAT16_ROWS_H_

#include <cstdint>

#include "devices/cpu/vectors/element.h"

namespace graphrun::devices::cpu {

/// `count` elements as f32: exact.
void widenRow(const BFloat16* from, float* to, int64_t count);

/// `count` elements rounded to bf16, to nearest and ties to even; a NaN stays one.
void narrowRow(const float* from, BFloat16* to, int64_t count);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_BFLOAT16_ROWS_H_
