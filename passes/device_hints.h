// A device hint says where the source model wants an operation to run. It lies in the location,
// beside the name of the node: so every rewrite that keeps the name keeps it too, and none has to
// know of it. The planner makes pins (pins.h) of it.
//
//   loc(fused<[["pair", "gpu0", ""]]>["conv1"])
#ifndef GRAPHRUN_PASSES_DEVICE_HINTS_H_
#define GRAPHRUN_PASSES_DEVICE_HINTS_H_

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Location.h"

namespace graphrun::passes {

/// A device that the source model asks for, in its own words. The texts belong to the context.
struct DeviceHint {
  llvm::StringRef configuration;  ///< of devices, in the source model; "" for the name of a layer
  llvm::StringRef name;           ///< of the device or layer
  llvm::StringRef problem;        ///< why it cannot be followed; "" if it can

  bool operator==(const DeviceHint& other) const = default;
};

/// The hints at `loc`, in the order of the model's configurations; of the first part that has some
/// where several operations became one.
llvm::SmallVector<DeviceHint> deviceHintsOf(mlir::Location loc);

/// `loc` with these hints; with none it stays as it is.
mlir::Location withDeviceHints(mlir::Location loc, llvm::ArrayRef<DeviceHint> hints);
/// The name of `loc` alone.
mlir::Location withoutWishes(mlir::Location loc);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_DEVICE_HINTS_H_
