// The devices that operations must run on, which rewrites keep: an attribute, so that no two
// operations are taken for the same that must run on different devices.
//
//   gr.exp %x {gr.pin = {device = "node0/cpu:0", source = "--pin"}} : …
#ifndef GRAPHRUN_PASSES_PINS_H_
#define GRAPHRUN_PASSES_PINS_H_

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Operation.h"
#include "passes/device_hints.h"

namespace graphrun::passes {

/// Operation attribute: see Pin.
inline constexpr llvm::StringLiteral kPinAttr = "gr.pin";

/// The device of the cluster that an operation must run on. The texts belong to the context.
struct Pin {
  llvm::StringRef device;  ///< "" when there is none
  llvm::StringRef source;  ///< who asks, for messages

  explicit operator bool() const { return !device.empty(); }
};

/// The pin of `op`, which the planner made of hints and rules.
Pin pinOf(mlir::Operation* op);
/// Gives `op` this pin in place of its own; without one it has none.
void setPin(mlir::Operation* op, Pin pin);

/// A CommonPin collects the devices where operations that are to become one must run, as far as one
/// of them is pinned.
class CommonPin {
 public:
  /// `op` is not pinned elsewhere.
  bool allows(mlir::Operation* op) const {
    Pin pin = pinOf(op);
    return !pin || !pin_ || pin.device == pin_.device;
  }
  void add(mlir::Operation* op) { pin_ = pin_ ? pin_ : pinOf(op); }
  Pin pin() const { return pin_; }

 private:
  Pin pin_;
};

/// True when what computes `result` from `inputs` and constants may become one operation: no two
/// parts are pinned to different devices, and no two hint for something else. False where there is
/// more than any form has.
bool mayBecomeOne(mlir::Operation* result, mlir::ValueRange inputs);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_PINS_H_
