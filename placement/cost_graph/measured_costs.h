// Times that were measured of operations on one kind of device also say something of other kinds.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_MEASURED_COSTS_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_MEASURED_COSTS_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/cluster/roofline.h"

namespace graphrun::placement {

/// A CostSource says where a time comes from.
enum class CostSource : uint8_t {
  kMeasured,      ///< this very operation was measured
  kInterpolated,  ///< between operations of its family that were
  kEstimated,     ///< from the device's rates: smaller or larger than all that were, or none was
};

/// "measured", "interpolated", "estimated".
absl::string_view costSourceName(CostSource source);

/// An operation that was measured.
struct MeasuredOp {
  uint64_t signature = 0;  // opSignature
  uint64_t family = 0;     // opFamily
  int64_t flops = 0;
  int64_t bytes = 0;  // read and written
  int64_t ns = 0;
  int64_t weightBytes = 0;   // of its constants as the device lays them out
  int64_t scratchBytes = 0;  // while it runs
};

/// Times of operations on one kind of device. Immutable.
class MeasuredCosts {
 public:
  struct Estimate {
    int64_t ns = 0;
    CostSource source = CostSource::kEstimated;
    /// The measurement of the operation itself, if there is one, else null.
    const MeasuredOp* measured = nullptr;
  };

  MeasuredCosts() = default;
  explicit MeasuredCosts(const std::vector<MeasuredOp>& ops);

  /// The time of an operation: as measured; or by the roofline of `model` times what its nearest
  /// neighbours of the family took over theirs, weighted by their distance in log(flops) and
  /// log(bytes) (inverse distance weighting: Shepard 1968); or by the roofline alone.
  Estimate estimate(uint64_t signature, uint64_t family, const OpWork& work,
                    const DeviceModel& model) const;

 private:
  /// Operations of one family with the range of their work.
  struct Family {
    std::vector<MeasuredOp> ops;
    int64_t leastFlops = 0, mostFlops = 0;
    int64_t leastBytes = 0, mostBytes = 0;

    bool contains(const OpWork& work) const;
    double ratio(const OpWork& work, const DeviceModel& model) const;
  };

  std::unordered_map<uint64_t, MeasuredOp> ops_;  // by signature
  std::map<uint64_t, Family> families_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_MEASURED_COSTS_H_
