// Instructions of the operations that gradients are made of, in many shapes.
#ifndef GRAPHRUN_TESTS_DEVICES_CPU_BACKWARD_CASES_H_
#define GRAPHRUN_TESTS_DEVICES_CPU_BACKWARD_CASES_H_

#include <string>
#include <vector>

#include "tests/devices/cpu/instruction_runner.h"
#include "tests/devices/cpu/recurrent_oracle.h"

namespace graphrun::devices::cpu {

struct BackwardCase {
  std::string operation;
  Attributes attributes;
  std::vector<Dims> inputs, outputs;
};

/// How often a window is put down along a dim.
struct WindowCase {
  Dims in, kernel, strides, dilations, before, after;
  bool ceilMode = false;

  Dims out() const {
    Dims dims;
    for (size_t i = 0; i < kernel.size(); ++i) {
      int64_t slack = in[i] + before[i] + after[i] - (kernel[i] - 1) * dilations[i] - 1;
      int64_t last = slack / strides[i];
      // One more where it is not only in the padding behind.
      bool isMore =
          ceilMode && slack % strides[i] != 0 && (last + 1) * strides[i] < in[i] + before[i];
      dims.push_back(last + 1 + (isMore ? 1 : 0));
    }
    return dims;
  }
  Attributes attributes() const {
    Dims pads = before;
    pads.insert(pads.end(), after.begin(), after.end());
    return {{"kernel", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}};
  }
};

inline Dims joined(Dims first, const Dims& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

inline BackwardCase filterCase(int64_t batch, int64_t in, int64_t out, int64_t groups,
                               const WindowCase& window) {
  BackwardCase made{"gr.conv_backward_filter", window.attributes(), {}, {}};
  made.attributes["groups"] = groups;
  made.inputs = {joined({batch, in}, window.in), joined({batch, out}, window.out())};
  made.outputs = {joined({out, in / groups}, window.kernel)};
  return made;
}

inline BackwardCase maxPoolCase(int64_t batch, int64_t channels, const WindowCase& window) {
  Dims x = joined({batch, channels}, window.in);
  return {"gr.max_pool_backward",
          window.attributes(),
          {x, joined({batch, channels}, window.out())},
          {x}};
}

inline BackwardCase avgPoolCase(int64_t batch, int64_t channels, const WindowCase& window,
                                bool countPadding) {
  BackwardCase made{"gr.avg_pool_backward",
                    window.attributes(),
                    {joined({batch, channels}, window.out())},
                    {joined({batch, channels}, window.in)}};
  made.attributes["dims"] = window.in;
  made.attributes["count_include_pad"] = countPadding;
  return made;
}

inline BackwardCase softmaxCase(const Dims& dims, int64_t axis, bool log) {
  return {"gr.softmax_backward", {{"axis", axis}, {"log", log}}, {dims, dims}, {dims}};
}

inline BackwardCase layerNormCase(const Dims& dims, int64_t axis) {
  Dims tail(dims.begin() + axis, dims.end());
  return {"gr.layer_norm_backward",
          {{"axis", axis}, {"epsilon", 1e-3}},
          {dims, tail, dims},
          {dims, tail, tail}};
}

inline BackwardCase batchNormCase(const Dims& dims) {
  Dims channels = {dims[1]};
  return {"gr.batch_norm_backward",
          {{"epsilon", 1e-3}},
          {dims, channels, channels, channels, dims},
          {dims, channels, channels}};
}

inline BackwardCase batchNormTrainingCase(const Dims& dims) {
  Dims channels = {dims[1]};
  return {"gr.batch_norm_training",
          {{"epsilon", 1e-3}},
          {dims, channels, channels},
          {dims, channels, channels}};
}

/// `grid` has the spatial dims of the samples, and a point's coordinates.
inline BackwardCase gridSampleCase(const Dims& in, const Dims& grid, const std::string& mode,
                                   const std::string& padding) {
  Dims out = {in[0], in[1]};
  out.insert(out.end(), grid.begin() + 1, grid.end() - 1);
  return {"gr.grid_sample_backward",
          {{"mode", mode}, {"padding", padding}},
          {in, grid, out},
          {in, grid}};
}

/// What of a layer is not usual.
struct RecurrentBackward {
  std::string cell;
  int64_t steps, batch, hidden;
  bool reverse = false, linear = false, peepholes = false, coupled = false;
  double clip = 0;

  BackwardCase made() const {
    const RecurrentCase layer{cell,    steps,  batch,     hidden,  hidden,
                              reverse, linear, peepholes, coupled, clip};
    const bool lstm = cell == "lstm";
    const int64_t gates = layer.gates();
    const Dims sums = {steps, batch, (gates + (linear ? 1 : 0)) * hidden};
    const Dims all = {steps, batch, hidden};
    const Dims last = {batch, hidden};
    BackwardCase each{"gr.recurrent_backward",
                      layer.operation().attributes,
                      {sums, {gates * hidden, hidden}},
                      {sums, last}};
    if (cell != "rnn") {
      each.inputs.insert(each.inputs.end(), {all, last});
    }
    each.inputs.insert(each.inputs.end(), {all, last});
    if (lstm) {
      each.inputs.push_back(last);
      each.outputs.push_back(last);
    }
    if (peepholes) {
      each.inputs.push_back({3 * hidden});
    }
    return each;
  }
};

/// Windows along one to three dims: strided, dilated, padded on both sides, overlapping or not.
inline std::vector<WindowCase> windowCases() {
  return {
      {{7}, {3}, {2}, {1}, {1}, {0}},
      {{6, 5}, {3, 2}, {2, 2}, {1, 1}, {1, 0}, {1, 1}},
      {{6, 5}, {3, 2}, {2, 2}, {1, 1}, {1, 0}, {1, 1}, /*ceilMode=*/true},
      {{5, 5}, {2, 2}, {1, 1}, {2, 2}, {0, 0}, {0, 0}},
      {{8, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{7, 9}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{9, 33}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
      {{8, 8}, {1, 1}, {3, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{3, 4, 5}, {2, 2, 3}, {1, 2, 1}, {1, 1, 2}, {0, 1, 1}, {1, 0, 1}},
  };
}

inline std::vector<BackwardCase> backwardCases() {
  std::vector<BackwardCase> cases;
  for (const WindowCase& window : windowCases()) {
    if (!window.ceilMode) {
      cases.push_back(filterCase(2, 3, 5, 1, window));
      cases.push_back(filterCase(1, 4, 8, 4, window));
      cases.push_back(filterCase(1, 18, 2, 1, window));
    }
    cases.push_back(maxPoolCase(2, 3, window));
    cases.push_back(avgPoolCase(1, 5, window, /*countPadding=*/false));
    cases.push_back(avgPoolCase(2, 1, window, /*countPadding=*/true));
  }
  for (bool log : {false, true}) {
    cases.push_back(softmaxCase({3, 5}, -1, log));
    cases.push_back(softmaxCase({2, 3, 4}, 1, log));
    cases.push_back(softmaxCase({4, 1}, 0, log));
    cases.push_back(softmaxCase({}, -1, log));
  }
  cases.push_back(layerNormCase({4, 5}, 1));
  cases.push_back(layerNormCase({2, 3, 4}, 1));
  cases.push_back(layerNormCase({3, 700}, 1));
  cases.push_back(layerNormCase({6}, 0));
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    cases.push_back(gridSampleCase({2, 3, 4, 5}, {2, 3, 2, 2}, mode, "border"));
    cases.push_back(gridSampleCase({1, 2, 7}, {1, 9, 1}, mode, "zeros"));
  }
  for (const RecurrentBackward& layer : {RecurrentBackward{"rnn", 3, 2, 5},
                                         {"rnn", 2, 3, 4, true, false, false, false, 0.5},
                                         {"gru", 3, 2, 4},
                                         {"gru", 2, 1, 3, true, true},
                                         {"lstm", 3, 2, 4, true, false, true},
                                         {"lstm", 4, 1, 3, false, false, true, true, 0.7}}) {
    cases.push_back(layer.made());
  }
  for (const Dims& dims : {Dims{4, 3}, Dims{2, 3, 5}, Dims{3, 1, 4, 4}, Dims{1, 4, 2, 3, 2}}) {
    cases.push_back(batchNormCase(dims));
    cases.push_back(batchNormTrainingCase(dims));
  }
  return cases;
}

inline Operation operationOf(const BackwardCase& each, ElementType type) {
  Operation operation{each.operation, each.attributes, {}, {}};
  for (const Dims& dims : each.outputs) {
    operation.outputs.push_back({type, dims});
  }
  return operation;
}

/// f32 operands in [-1, 1); where one is a variance, it is positive.
inline Tensors operandsOf(const BackwardCase& each, std::mt19937& random) {
  Tensors operands;
  for (size_t i = 0; i < each.inputs.size(); ++i) {
    bool isVariance = each.operation == "gr.batch_norm_backward" && i == 3;
    operands.push_back(randomTensor(each.inputs[i], random, isVariance ? 0.1 : -1, 1));
  }
  return operands;
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_TESTS_DEVICES_CPU_BACKWARD_CASES_H_
