#include "devices/cpu/swish.h"

#include "devices/cpu/exponential.h"
#include "devices/cpu/parallel.h"
#include "devices/cpu/vector.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {

std::optional<Swish> swishOf(const PostOp& op) {
  bool is = op.kind == PostOpKind::kEltwise && op.algorithm == "gr.swish";
  return is ? std::optional<Swish>(Swish{op.alpha}) : std::nullopt;
}

void applySwish(Swish swish, float* data, int64_t count) {
  auto apply = [factor = -swish.alpha](Vector& x) __attribute__((always_inline)) {
    Vector e = x * factor;
    raiseBounded(e);
    x = x / (1.0F + e);
  };
  parallelRanges(count, [=](int64_t begin, int64_t end) {
    runWide([=] {
      auto own = apply;  // in registers: what is stored could lie where a reference leads
      int64_t i = begin;
      for (; i + kVectorLanes <= end; i += kVectorLanes) {
        Vector v;
        loadVector(data + i, v);
        own(v);
        storeVector(v, data + i);
      }
      if (i < end) {
        Vector v;
        loadPart(data + i, end - i, 0, v);
        own(v);
        storePart(v, end - i, data + i);
      }
    });
  });
}

}  // namespace graphrun::devices::cpu
