// Rows of scores become rows of weights. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ATTENTION_ROWS_H_
#define GRAPHRUN_DEVICES_CPU_ATTENTION_ROWS_H_

#include <cstdint>

namespace graphrun::devices::cpu {

/// The softmax of `scores[0, count)` plus `mask[0, count)` (null: nothing), in place; what lies in
/// [count, width) becomes 0. With the widest vectors of the machine; exponentials are within 2 ulp.
/// A row whose scores are all -infinity becomes NaN, as the definition says.
void softmaxRow(float* scores, const float* mask, int64_t count, int64_t width);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ATTENTION_ROWS_H_
