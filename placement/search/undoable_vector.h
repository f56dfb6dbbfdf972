// Values that can be set back to what they were.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_UNDOABLE_VECTOR_H_
#define GRAPHRUN_PLACEMENT_SEARCH_UNDOABLE_VECTOR_H_

#include <utility>
#include <vector>

namespace graphrun::placement {

/// A vector that remembers the values of the elements that were edited since the last call of keep,
/// undo or assign. Those cost what was edited, not what there is. Not synchronised.
template <typename T>
class UndoableVector {
 public:
  void assign(size_t count, const T& value) {
    values_.assign(count, value);
    epochs_.assign(count, 0);
    keep();
  }
  int size() const { return static_cast<int>(values_.size()); }
  const T& operator[](int id) const { return values_[static_cast<size_t>(id)]; }

  /// An element to change. The reference holds until `append`.
  T& edit(int id) {
    auto i = static_cast<size_t>(id);
    if (epochs_[i] != epoch_) {
      epochs_[i] = epoch_;
      old_.emplace_back(id, values_[i]);
    }
    return values_[i];
  }
  /// An element to change that nobody needs as it was.
  T& replace(int id) {
    epochs_[static_cast<size_t>(id)] = epoch_;
    return values_[static_cast<size_t>(id)];
  }
  /// A new element at the end, which undo leaves there. Returns its id.
  int append() {
    values_.emplace_back();
    epochs_.push_back(epoch_);
    return size() - 1;
  }

  void undo() {
    for (const auto& [id, old] : old_) {
      values_[static_cast<size_t>(id)] = old;
    }
    keep();
  }
  void keep() {
    ++epoch_;
    old_.clear();
  }

 private:
  std::vector<T> values_;
  std::vector<int> epochs_;  // in which an element was last remembered
  int epoch_ = 0;
  std::vector<std::pair<int, T>> old_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_UNDOABLE_VECTOR_H_
