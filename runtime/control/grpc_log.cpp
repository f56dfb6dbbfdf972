#include "runtime/control/grpc_log.h"

#include <grpc/support/log.h>

#include <mutex>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"

namespace graphrun::runtime {

void routeGrpcLog() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args* args) {
      log(LogLevel::kDebug, absl::StrCat("grpc: ", args->message));
    });
  });
}

}  // namespace graphrun::runtime
