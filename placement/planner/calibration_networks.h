// The calibration set has these networks, one function each. Internal.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_CALIBRATION_NETWORKS_H_
#define GRAPHRUN_PLACEMENT_PLANNER_CALIBRATION_NETWORKS_H_

#include "frontends/builder/graph.h"

namespace graphrun::compiler {

/// Convolutions with 1x1 and 3x3 filters and sums, as in residual networks.
void addConvolutions(builder::Graph& graph);
/// Convolutions with other filters and strides, first layers, and concatenations of branches.
void addWindows(builder::Graph& graph);
/// Depthwise convolutions, gates of channels, hard-swish.
void addDepthwise(builder::Graph& graph);
/// Convolutions in groups, shuffled channels.
void addGrouped(builder::Graph& graph);
/// Pooling, normalisation, element-wise operations, reductions, resizing, movement of data.
void addLayers(builder::Graph& graph);
/// Matrix products, attention, layer normalisation, softmax.
void addTransformers(builder::Graph& graph);
/// Long and short-term memories and gated units.
void addRecurrent(builder::Graph& graph);
/// See writeCalibrationModel.
void addLinks(builder::Graph& graph);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_CALIBRATION_NETWORKS_H_
