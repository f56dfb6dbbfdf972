// A plan is made for an objective, and a bounded number of its steps can be under way.
#ifndef GRAPHRUN_RUNTIME_BASE_OBJECTIVE_H_
#define GRAPHRUN_RUNTIME_BASE_OBJECTIVE_H_

#include <cstdint>

namespace graphrun::runtime {

/// A placement minimises its objective. In files as a number: append only.
enum class Objective : uint8_t {
  kLatency,     ///< the time of one step
  kThroughput,  ///< the time between steps that follow each other without a gap
};

/// Steps of a plan that may be in flight beside each other, whatever takes part in them.
inline constexpr uint32_t kMostStepsInFlight = 8;

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_OBJECTIVE_H_
