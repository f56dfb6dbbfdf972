// Filters as Winograd convolutions read them. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_FILTER_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_FILTER_H_

#include <cstdint>

#include "devices/cpu/base/winograd_layout.h"

namespace graphrun::devices::cpu {

/// Transforms the results [first, first + count) of a filter; first is a multiple of kPanel.
/// `from` has those alone, count x in x 3 x 3, `to` all of the transformed filter.
void transformFilter(const WinogradFilter& filter, int64_t first, int64_t count, const float* from,
                     float* to);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_WINOGRAD_FILTER_H_
