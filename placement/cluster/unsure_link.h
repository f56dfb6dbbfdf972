// Links of which little was measured.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_UNSURE_LINK_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_UNSURE_LINK_H_

#include "placement/cluster/cluster.h"

namespace graphrun::placement {

/// Limits a link that was measured in few runs of one session: it is taken as measured, but so many
/// times as slow as usual at most. A machine that was busy then would make the link look too slow
/// to use again, and so never be found out.
LinkModel atMostSoSlow(LinkModel measured, const LinkModel& usual);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_UNSURE_LINK_H_
