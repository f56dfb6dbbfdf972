// Softmax of rows. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_SOFTMAX_ROWS_H_
#define GRAPHRUN_DEVICES_CPU_SOFTMAX_ROWS_H_

#include <cstdint>

namespace graphrun::devices::cpu {

/// y becomes the softmax of x plus `mask` (null: nothing), all of `count` floats; y may be x. With
/// the widest vectors of the machine; exponentials are within 2 ulp. A row whose scores are all
/// -infinity becomes NaN, as the definition says.
void softmaxRow(const float* x, const float* mask, int64_t count, float* y);

/// The same of `rows` rows that follow each other, without a mask, or the logarithm of it.
void softmaxRows(const float* x, int64_t rows, int64_t count, bool log, float* y);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_SOFTMAX_ROWS_H_
