// Products with weights that are packed as panels. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_PANEL_PRODUCT_H_
#define GRAPHRUN_DEVICES_CPU_PANEL_PRODUCT_H_

#include <cstdint>

namespace graphrun::devices::cpu {

/// Columns of a panel.
inline constexpr int64_t kPanel = 64;

/// Adds to `sums`, rows x kPanel, the product of `x`, rows x depth with `stride` floats from row to
/// row, and `panel`, depth x kPanel. `panel` and `sums` are aligned to 64 bytes. One thread, with
/// the widest vectors of the machine.
void addPanelProduct(const float* x, int64_t stride, int64_t rows, int64_t depth,
                     const float* panel, float* sums);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_PANEL_PRODUCT_H_
