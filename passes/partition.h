// Partitioning cuts a placed graph into one graph a device.
#ifndef GRAPHRUN_PASSES_PARTITION_H_
#define GRAPHRUN_PASSES_PARTITION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::passes {

/// Module attribute: the edges between the partitions, in order of their ids.
inline constexpr llvm::StringLiteral kEdgesAttr = "gr.edges";

/// Function and module attribute: the devices of each communicator, as lists of names.
inline constexpr llvm::StringLiteral kCommunicatorsAttr = "gr.communicators";

/// One tensor from one device to one other, every step.
struct PartitionEdge {
  int64_t id;                  ///< dense from 0
  std::string name;            ///< of the value: an input, or the label of what computes it
  std::string source, target;  ///< devices
  mlir::Type type;
};

struct PartitionOptions {
  /// The device that has the graph's inputs and wants its outputs.
  std::string home = "client/host";
  /// Devices in the process of `home`: they read inputs and give outputs themselves.
  std::vector<std::string> localDevices;
};

/// Names of devices that carry out collectives together, in the order of the members.
using Communicator = std::vector<std::string>;

struct Partitioning {
  /// One function a device, its symbol and `gr.device` the device's name, operations in the order
  /// of execution; the home device's first, where it has anything to do.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<PartitionEdge> edges;
  std::vector<Communicator> communicators;
};

/// Cuts `func`, whose operations carry `gr.device` (constants, and small computations on constants,
/// need none: they are repeated where they are used), into one function a device. On each device
/// operations keep the order of their ranks (`gr.rank`) or, without ranks, of `func`. Fails with
/// diagnostics for operations without a device or rank, and for orders that cannot be executed; the
/// result has passed verifyPartition.
mlir::FailureOr<Partitioning> partition(mlir::func::FuncOp func, const PartitionOptions& options);

/// Proves that the partitions of `module` fit together: edges are dense, each is sent once by its
/// source and received once by its target, with one type; each gr.collective_member is on a device
/// of its communicator; and run in order, with receives that wait, sends that do not and members of
/// a communicator that wait for each other, every operation is reached: no deadlock, and those that
/// meet do the same collective. Reports each problem.
mlir::LogicalResult verifyPartition(mlir::ModuleOp module, llvm::ArrayRef<PartitionEdge> edges);

/// The edges in the module's `gr.edges`; fails with a diagnostic when it is missing or malformed.
mlir::FailureOr<std::vector<PartitionEdge>> edgesOf(mlir::ModuleOp module);
void setEdges(mlir::ModuleOp module, llvm::ArrayRef<PartitionEdge> edges);

/// The communicators in the attribute kCommunicatorsAttr of a graph's function or of a module of
/// partitions; none without it.
std::vector<Communicator> communicatorsOf(mlir::Operation* owner);
void setCommunicators(mlir::Operation* owner, llvm::ArrayRef<Communicator> communicators);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_PARTITION_H_
