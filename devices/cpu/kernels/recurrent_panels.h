// Kernels of recurrent layers whose hidden values lie in panels share this. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_RECURRENT_PANELS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_RECURRENT_PANELS_H_

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {

/// Runs all panels of a layer on one team of threads, which may wait for each other at each step.
class RecurrentPanelKernel : public Kernel {
 protected:
  /// `work`: multiplications of one step; few are not worth many threads. `scratch` is a buffer.
  RecurrentPanelKernel(const Instruction& instruction, int64_t panels, int64_t work,
                       uint32_t scratch)
      : panels_(panels),
        threads_(static_cast<int>(std::min<int64_t>(
            {omp_get_max_threads(), panels, std::max<int64_t>(1, work / kParallelWork)}))),
        scratch_(scratch) {
    for (const Argument& input : instruction.inputs) {
      inputs_.push_back(input.buffer);
    }
    for (const Argument& output : instruction.outputs) {
      outputs_.push_back(output.buffer);
    }
  }

  const float* input(void* const* buffers, size_t i) const {
    return static_cast<const float*>(buffers[inputs_[i]]);
  }
  float* output(void* const* buffers, size_t i) const {
    return static_cast<float*>(buffers[outputs_[i]]);
  }
  size_t outputs() const { return outputs_.size(); }
  float* scratch(void* const* buffers) const { return static_cast<float*>(buffers[scratch_]); }

  /// Calls `run.runPanels(begin, end)` on each thread of the team, for its part of the panels.
  template <typename Run>
  void runAll(const Run& run) const {
    if (threads_ == 1) {
      return run.runPanels(0, panels_);
    }
#pragma omp parallel num_threads(threads_)
    {
      int64_t count = omp_get_num_threads(), mine = omp_get_thread_num();
      run.runPanels(panels_ * mine / count, panels_ * (mine + 1) / count);
    }
  }

 private:
  int64_t panels_;
  int threads_;
  uint32_t scratch_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> outputs_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_RECURRENT_PANELS_H_
