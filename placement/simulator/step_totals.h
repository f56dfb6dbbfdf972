// addTotals tells what a step comes to, once its timeline is known.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_STEP_TOTALS_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_STEP_TOTALS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "placement/simulator/ports.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// Adds to `result`, whose nodes, transfers and busy times are filled in, the period with what the
/// client's process adds to it, the overhead and what devices of one machine cost each other.
/// `byDevice`: nodes by device; `ports`: by device; `sideBusy`: by side of an interface, in ns.
void addTotals(const Simulator& simulator, absl::Span<const std::vector<int>> byDevice,
               absl::Span<const PortUse> ports, absl::Span<const int64_t> sideBusy,
               Simulation& result);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_STEP_TOTALS_H_
