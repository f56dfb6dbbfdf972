// Collectives consist of steps, which placement places and which become arithmetic.
#ifndef GRAPHRUN_PASSES_COLLECTIVES_H_
#define GRAPHRUN_PASSES_COLLECTIVES_H_

#include <map>
#include <string>
#include <vector>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace graphrun::passes {

/// Operands of up to so many bytes are sent whole to each member, where a collective of larger ones
/// is cut into parts: a message of this size takes about as long as one of an n-th of it.
inline constexpr int64_t kDirectBytes = int64_t{64} << 10;

/// Attribute of a placed collective: a list of {name, device, rank} (and threads, see
/// ir::kThreadsAttr), one for each of stepsOf.
inline constexpr llvm::StringLiteral kStepsAttr = "gr.steps";
/// A step is the part of a collective that one member carries out at one time. Large operands of
/// all_reduce take two steps a member, as in the reduce-scatter and all-gather of Thakur,
/// Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005):
/// `reduce` combines part `member` of the flattened operands, `gather` joins the parts. All others
/// take one: it reads the operands whole or, in reduce_scatter of large ones, the member's part.
struct CollectiveStep {
  unsigned member = 0;
  std::string suffix;  ///< behind the operation's name: "/0", "/0/reduce", "/0/gather"
  bool cuts = false;   ///< reads part `member` of each operand
  bool joins = false;  ///< reads what the cutting steps made, in the members' order
  bool gives = true;   ///< makes the member's result
  bool isOwn = false;  ///< makes what no other member's does; else it is done once on a device
};

/// gr.all_reduce, gr.all_gather or gr.reduce_scatter.
bool isCollective(mlir::Operation* op);

/// The steps of a collective of static shapes, those that join last.
std::vector<CollectiveStep> stepsOf(mlir::Operation* collective);

/// The type of part `member` of an operand, for steps that cut.
mlir::RankedTensorType partType(mlir::Operation* collective, unsigned member);

/// Returns whether a step finds parts of this operand: they are cut where it is made. Of an input
/// or a constant steps read all and cut it themselves.
bool isCutAtSource(mlir::Value operand);

/// All parts of an operand, by member, at the insertion point.
llvm::SmallVector<mlir::Value> buildParts(mlir::OpBuilder& builder, mlir::Location loc,
                                          mlir::Operation* collective, mlir::Value operand);

/// Builds the computation of a step at the insertion point: `inputs` are the operands, or the parts
/// of them that it finds, or, for a step that joins, the results of the other steps. Combines in
/// the order of the operands, in kernels of up to 16 of them.
mlir::Value buildStep(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* collective,
                      const CollectiveStep& step, mlir::ValueRange inputs);

/// Returns the combination of values of one type in their order. `kind` is one of those of
/// gr.all_reduce; `mean` is the sum divided by `divisor`, rounded as gr.div does: towards zero for
/// integers.
mlir::Value buildCombination(mlir::OpBuilder& builder, mlir::Location loc, ir::ReduceKind kind,
                             mlir::ValueRange values, int64_t divisor);

/// Values joined along `axis`; one alone as it is.
mlir::Value buildConcat(mlir::OpBuilder& builder, mlir::Location loc, mlir::ValueRange values,
                        int64_t axis);
/// The same elements in another shape.
mlir::Value buildReshape(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                         llvm::ArrayRef<int64_t> shape);
/// `count` equal parts along `axis`.
llvm::SmallVector<mlir::Value> buildEqualParts(mlir::OpBuilder& builder, mlir::Location loc,
                                               mlir::Value value, int64_t axis, int64_t count);

/// Maps a device's name to the library that carries out its collectives: devices with equal texts
/// can be in one communicator, devices without a text in none.
using CollectiveLibraries = std::map<std::string, std::string>;

/// Returns whether libraries carry out such collectives: by the types of its operands and how they
/// are cut.
bool isCarried(mlir::Operation* collective);

/// Replaces the placed collectives of `func` by operations with devices and ranks, and lists the
/// communicators that they need (partition.h). What steps compute has their names, of
/// several that are done at once the first one's; what stands for a collective that was not carried
/// out in steps has the collective's. Fails with a
/// diagnostic where kStepsAttr is missing or malformed.
mlir::LogicalResult lowerCollectives(mlir::func::FuncOp func, const CollectiveLibraries& libraries);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_COLLECTIVES_H_
