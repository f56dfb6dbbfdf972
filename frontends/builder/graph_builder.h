// This is GraphRun's C++ API for building graphs: include this one.
//
//     #include "frontends/builder/graph_builder.h"
//     using namespace graphrun::builder;
//
//     int main() {
//       Graph g("classifier");
//       Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 3, 32, 32});
//       {
//         auto scope = g.scope("stem");
//         x = layers::conv2d(x, 16, {3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
//         x = relu(layers::batchNorm(x));
//       }
//       x = layers::dense(layers::globalAveragePool(x), 10, {}, "head") / 2.0;
//       g.output("probabilities", softmax(x));
//       absl::Status saved = g.save("classifier.fb");
//       std::cerr << saved.message() << "\n";
//       return saved.ok() ? 0 : 3;
//     }
//
// Nothing throws and nothing aborts: a call that does not fit is noted with its source line and
// gives an invalid Tensor, calls on an invalid Tensor are skipped, and Graph::save reports all that
// was noted. Operations are called "<scope>/<name>", or "<scope>/<op>_<n>" without a name; pins and
// messages use these names.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_GRAPH_BUILDER_H_
#define GRAPHRUN_FRONTENDS_BUILDER_GRAPH_BUILDER_H_

#include "frontends/builder/control_flow.h"
#include "frontends/builder/gradients.h"
#include "frontends/builder/graph.h"
#include "frontends/builder/index_ops.h"
#include "frontends/builder/initializer.h"
#include "frontends/builder/layers.h"
#include "frontends/builder/losses.h"
#include "frontends/builder/metrics.h"
#include "frontends/builder/ops.h"
#include "frontends/builder/optimizers.h"
#include "frontends/builder/tensor.h"
#include "frontends/builder/training.h"
#include "frontends/builder/weight_file.h"

#endif  // GRAPHRUN_FRONTENDS_BUILDER_GRAPH_BUILDER_H_
