// A StateCell is the memory of a tensor that outlives plans.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_STATE_CELL_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_STATE_CELL_H_

#include <cstdint>
#include <memory>
#include <utility>

namespace graphrun::runtime {

/// Two blocks of a device's memory, of which one has the state's value and the other takes the next
/// one while a step runs. A step that succeeds makes them change places: so one that fails changes
/// nothing, and the last one can be taken back. Not thread-safe: one step that uses it runs at a
/// time.
class StateCell {
 public:
  /// A state that nothing updates yet needs one block.
  explicit StateCell(std::shared_ptr<void> value) : blocks_{std::move(value), nullptr} {}

  void* value() const { return blocks_[current_].get(); }
  /// Where the next value goes; null before `growNext`.
  void* next() const { return blocks_[1 - current_].get(); }
  /// Gives it the second block, of as many bytes.
  void growNext(std::shared_ptr<void> next) { blocks_[1 - current_] = std::move(next); }

  /// The step has succeeded: its next value is the value now.
  void commit() { current_ = 1 - current_; }
  /// Takes the last commit back; once, before another step runs.
  void revert() { current_ = 1 - current_; }

 private:
  std::shared_ptr<void> blocks_[2];
  uint32_t current_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_STATE_CELL_H_
