// Products with weights that are packed as panels. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_PANEL_PRODUCT_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_PANEL_PRODUCT_H_

#include <cstdint>

#include "devices/cpu/vectors/vector.h"

namespace graphrun::devices::cpu {

/// Columns of a panel.
inline constexpr int64_t kPanel = 64;

/// A matrix: element k of row r lies at data[r * stride + k / 16 * block + k % 16].
struct PanelRows {
  const float* data;
  int64_t stride;
  int64_t block = kVectorLanes;  ///< as it is: the elements of a row follow each other
};

/// A product of `x`, rows x depth, and `panel`, depth x width, which is aligned to 64 bytes. A
/// panel of fewer columns than kPanel has whole vectors of them.
struct PanelProduct {
  PanelRows x;
  int64_t rows, depth;
  const float* panel;
  int64_t width = kPanel;
};

/// Leaves the product in `sums`, rows x width, aligned to 64 bytes. One thread, with the widest
/// vectors of the machine.
void makePanelProduct(const PanelProduct& product, float* sums);

/// Adds it to them.
void addPanelProduct(const PanelProduct& product, float* sums);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_PANEL_PRODUCT_H_
