#include "devices/cpu/base/kernel.h"

#include "absl/strings/str_cat.h"

namespace graphrun::devices::cpu {

absl::Status Kernel::errorMessage(int code) const {
  return absl::InternalError(absl::StrCat("kernel error ", code));
}

absl::Status OneDnnKernel::errorMessage(int code) const {
  return absl::InternalError(absl::StrCat("oneDNN gave status ", code, " (dnnl_status_t)"));
}

}  // namespace graphrun::devices::cpu
