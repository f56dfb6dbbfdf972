#include "devices/cpu/reference/index_kernel.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphrun::devices::cpu {

absl::Status IndexCheckingKernel::errorMessage(int code) const {
  if (code != kWrongIndex) {
    return Kernel::errorMessage(code);
  }
  return absl::InvalidArgumentError(absl::StrCat("index ", index_, " at ", position(),
                                                 " of the indices is out of range, expected ",
                                                 -bound_, " to ", bound_ - 1));
}

void IndexCheckingKernel::find(void* const* buffers) {
  for (position_ = 0; position_ < indices_.count; ++position_) {
    index_ = indices_.at(buffers, position_);
    bound_ = boundOf(position_);
    if (index_ < -bound_ || index_ >= bound_) {
      return;
    }
  }
}

std::string IndexCheckingKernel::position() const {
  std::vector<int64_t> at(shape_.size());
  int64_t rest = position_;
  for (size_t d = at.size(); d-- > 0;) {
    at[d] = rest % shape_[d];
    rest /= shape_[d];
  }
  return absl::StrCat("[", absl::StrJoin(at, ", "), "]");
}

}  // namespace graphrun::devices::cpu
