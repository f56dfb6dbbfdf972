// These functions compute softmax of rows. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_SOFTMAX_ROWS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_SOFTMAX_ROWS_H_

#include <cstdint>

namespace graphrun::devices::cpu {

/// `scores` become the softmax of themselves plus `mask` (null: nothing), all of `count` floats.
/// With the widest vectors of the machine and the exponentials of devices/functions. A row whose
/// scores are all -infinity becomes NaN, as the definition says.
void softmaxRow(float* scores, const float* mask, int64_t count);

/// y becomes the softmax, or the logarithm of it, of `rows` rows of x that follow each other; y may
/// be x.
void softmaxRows(const float* x, int64_t rows, int64_t count, bool log, float* y);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_SOFTMAX_ROWS_H_
