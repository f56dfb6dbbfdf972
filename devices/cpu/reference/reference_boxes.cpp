// Selection of boxes.
#include <algorithm>
#include <numeric>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

constexpr const char* kMessages[] = {
    "max_boxes at run time is above its bound, so the result has no room"};

/// A box by its least and greatest coordinates.
template <typename C>
struct Box {
  C low[2], high[2];

  /// From two corners, or from centre and size.
  template <typename T>
  static Box make(const T* four, bool centre) {
    Box box;
    for (int d = 0; d < 2; ++d) {
      C a = load(four[d]);
      C b = load(four[d + 2]);
      box.low[d] = centre ? a - b / 2 : std::min(a, b);
      box.high[d] = centre ? a + b / 2 : std::max(a, b);
    }
    return box;
  }
  C area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

/// Intersection over union is above the threshold.
template <typename C>
bool overlap(const Box<C>& a, const Box<C>& b, C threshold) {
  C shared = 1;
  for (int d = 0; d < 2; ++d) {
    C width = std::min(a.high[d], b.high[d]) - std::max(a.low[d], b.low[d]);
    if (width <= 0) {
      return false;
    }
    shared *= width;
  }
  C whole = a.area() + b.area() - shared;
  return a.area() > 0 && b.area() > 0 && whole > 0 && shared / whole > threshold;
}

/// One step selects from these.
template <typename T>
struct Selection {
  const T* boxes;   ///< of one batch
  const T* scores;  ///< of one class
  int64_t count;
  int64_t most;
  Compute<T> overlapThreshold, scoreThreshold;
  bool centre;

  /// Writes rows (batch, class, box) at `rows` on, at most `room`; gives their number, or -1 when
  /// the room is too small. `order` is scratch of `count`.
  int64_t run(int64_t batch, int64_t klass, Dims& order, int64_t* rows, int64_t room) const {
    std::iota(order.begin(), order.end(), int64_t{0});
    auto end = std::remove_if(order.begin(), order.end(),
                              [&](int64_t i) { return !(load(scores[i]) > scoreThreshold); });
    std::sort(order.begin(), end, [&](int64_t a, int64_t b) {
      Compute<T> u = load(scores[a]);
      Compute<T> v = load(scores[b]);
      return u > v || (u == v && a < b);
    });
    int64_t taken = 0;
    for (auto next = order.begin(); next != end && taken < most; ++next) {
      if (!isFree(*next, rows, taken)) {
        continue;
      }
      if (taken == room) {
        return -1;
      }
      int64_t* row = rows + 3 * taken++;
      row[0] = batch;
      row[1] = klass;
      row[2] = *next;
    }
    return taken;
  }

 private:
  bool isFree(int64_t i, const int64_t* rows, int64_t taken) const {
    auto box = Box<Compute<T>>::make(boxes + 4 * i, centre);
    for (int64_t j = 0; j < taken; ++j) {
      auto other = Box<Compute<T>>::make(boxes + 4 * rows[3 * j + 2], centre);
      if (overlap(box, other, overlapThreshold)) {
        return false;
      }
    }
    return true;
  }
};

template <typename T>
KernelOr makeSuppression(const Instruction& instruction, bool centre, IntOperand most) {
  const Dims& scores = instruction.inputs[1].desc.dims;
  std::vector<uint32_t> in;
  in.reserve(instruction.inputs.size());
  for (const Argument& input : instruction.inputs) {
    in.push_back(input.buffer);
  }
  uint32_t selected = instruction.outputs[0].buffer;
  uint32_t found = instruction.outputs[1].buffer;
  int64_t rows = instruction.outputs[0].desc.dims[0];
  return makeKernel(
      [=, order = Dims(static_cast<size_t>(scores[2]))](void* const* buffers) mutable {
        auto* to = static_cast<int64_t*>(buffers[selected]);
        std::fill(to, to + 3 * rows, 0);
        int64_t count = 0;
        for (int64_t i = 0; i < scores[0] * scores[1]; ++i) {
          int64_t batch = i / scores[1];
          Selection<T> selection{static_cast<const T*>(buffers[in[0]]) + batch * scores[2] * 4,
                                 static_cast<const T*>(buffers[in[1]]) + i * scores[2],
                                 scores[2],
                                 most.at(buffers, 0),
                                 load(*static_cast<const T*>(buffers[in[3]])),
                                 load(*static_cast<const T*>(buffers[in[4]])),
                                 centre};
          int64_t taken = selection.run(batch, i % scores[1], order, to + 3 * count, rows - count);
          if (taken < 0) {
            return 1;
          }
          count += taken;
        }
        *static_cast<int64_t*>(buffers[found]) = count;
        return 0;
      },
      kMessages);
}

KernelOr createSuppression(const Instruction& instruction) {
  const Dims& boxes = instruction.inputs[0].desc.dims;
  const Dims& scores = instruction.inputs[1].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(bool centre, attributeOr(instruction, "center_point_box", false));
  GR_ASSIGN_OR_RETURN(IntOperand most, IntOperand::make(instruction, 2));
  ElementType type = instruction.inputs[0].desc.type;
  bool fits = scores.size() == 3 && boxes == Dims{scores[0], scores[2], 4} && out.size() == 2 &&
              out[1] == 3 && countOf(instruction.outputs[1].desc.dims) == 1 &&
              runtime::isFloat(type);
  for (size_t i : {1, 3, 4}) {
    fits = fits && instruction.inputs[i].desc.type == type;
  }
  for (size_t i : {2, 3, 4}) {
    fits = fits && countOf(instruction.inputs[i].desc.dims) == 1;
  }
  if (!fits) {
    return invalidInstruction(instruction,
                              "the types and shapes of operands and results do not fit");
  }
  return dispatchFloat(type, [&]<typename T>() -> KernelOr {
    return makeSuppression<T>(instruction, centre, most);
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.non_max_suppression", TypeRule::kIndices, createSuppression, 5, 5, 2},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceBoxes() { return kEntries; }

}  // namespace graphrun::devices::cpu
