// A kernel is selected for each work item of a partition, so that few tensors are copied.
#ifndef GRAPHRUN_DEVICES_COMPILER_KERNEL_SELECTION_H_
#define GRAPHRUN_DEVICES_COMPILER_KERNEL_SELECTION_H_

#include <vector>

#include "devices/compiler/assignment.h"
#include "devices/compiler/work_item.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace graphrun::devices {

/// CopyRules give a device's costs of tensors in another layout than the one that an instruction
/// wants.
struct CopyRules {
  llvm::function_ref<bool(const TensorDesc& a, const TensorDesc& b)> same;
  llvm::function_ref<double(const TensorDesc& wanted)> cost;  ///< of the copy

  /// Returns the cost of reading what lies as `given` as `wanted`.
  double costOf(const TensorDesc& given, const TensorDesc& wanted) const {
    return same(given, wanted) ? 0 : cost(wanted);
  }
};

/// Selects a candidate for each work item, so that the costs of the candidates
/// (`costOf(item, candidate)`, finite) and of the copies between them are least (see
/// AssignmentProblem). `WorkItem` is a WorkItemOf. Inputs of the partition come dense; constants
/// are laid out at load. Returns the index of each item's candidate.
template <typename WorkItem, typename Cost>
std::vector<uint32_t> selectKernels(const std::vector<WorkItem>& items, Cost costOf,
                                    const CopyRules& copies) {
  struct Producer {
    uint32_t item, result;
  };
  AssignmentProblem problem;
  llvm::DenseMap<mlir::Value, Producer> producers;
  for (const WorkItem& item : items) {
    std::vector<double> costs;
    costs.reserve(item.candidates.size());
    for (const auto& candidate : item.candidates) {
      double cost = costOf(item, candidate);
      for (auto [operand, wanted] : llvm::zip(item.operands, candidate.operands)) {
        bool given = !producers.contains(operand) && !isConstant(operand);
        cost += given ? copies.costOf({wanted.type, wanted.dims, {}, false}, wanted) : 0;
      }
      costs.push_back(cost);
    }
    uint32_t node = problem.addNode(std::move(costs));
    for (auto [i, operand] : llvm::enumerate(item.operands)) {
      auto found = producers.find(operand);
      if (found == producers.end()) {
        continue;
      }
      auto [from, result] = found->second;
      std::vector<double> pairs;
      pairs.reserve(items[from].candidates.size() * item.candidates.size());
      for (const auto& first : items[from].candidates) {
        for (const auto& second : item.candidates) {
          pairs.push_back(copies.costOf(first.results[result], second.operands[i]));
        }
      }
      problem.addEdge(from, node, pairs);
    }
    for (auto [i, result] : llvm::enumerate(item.results)) {
      producers[result] = {node, static_cast<uint32_t>(i)};
    }
  }
  return problem.solve();
}

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_KERNEL_SELECTION_H_
