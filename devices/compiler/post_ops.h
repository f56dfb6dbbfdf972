// The operations that follow an anchor in its group become post-operations of an instruction.
#ifndef GRAPHRUN_DEVICES_COMPILER_POST_OPS_H_
#define GRAPHRUN_DEVICES_COMPILER_POST_OPS_H_

#include "devices/compiler/library_instruction.h"

namespace graphrun::devices {

/// Adds the post-ops for the operations behind an anchor whose result is `anchor`. Unimplemented
/// when one of them is no post-op.
absl::Status addPostOps(LibraryInstruction& library, llvm::ArrayRef<mlir::Operation*> epilogue,
                        mlir::Value anchor);

/// The same behind sums of products of bytes, whose operands `library` has already: constants
/// become the bias and the scales of the sums (attribute "scales", one or one a channel), and what
/// quantises at the end becomes what the library does when it stores bytes: round to nearest, ties
/// to even, and saturate. It adds the zero point before it rounds, so that ties may come out one
/// step apart. What quantises on the way stays spelled out; bytes that are dequantised to be added
/// are added as bytes, in units of theirs.
absl::Status addPostOpsOfSums(LibraryInstruction& library,
                              llvm::ArrayRef<mlir::Operation*> epilogue, mlir::Value anchor);

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_POST_OPS_H_
