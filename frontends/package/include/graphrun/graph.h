// This is GraphRun's C++ API for building graphs: link GraphRun::compiler.
//
//     #include <graphrun/graph.h>
//
//     graphrun::Graph g("sum");
//     graphrun::Tensor x = g.input("x", graphrun::ElementType::kF32, {2, 3});
//     g.output("y", reduce(relu(x) + 1.0, graphrun::Reduction::kSum));
//
// All of frontends/builder/graph_builder.h, which has a larger example, under its short names.
#ifndef GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_GRAPH_H_
#define GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_GRAPH_H_

#include "frontends/builder/graph_builder.h"

namespace graphrun {

using namespace builder;

}  // namespace graphrun

#endif  // GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_GRAPH_H_
