// Status macros: the run world reports every failure as absl::Status.
#ifndef GRAPHRUN_RUNTIME_BASE_STATUS_H_
#define GRAPHRUN_RUNTIME_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

/// Returns the status of `expr` from the enclosing function unless it is OK.
#define GR_RETURN_IF_ERROR(expr)                          \
  do {                                                    \
    if (absl::Status grStatus = (expr); !grStatus.ok()) { \
      return grStatus;                                    \
    }                                                     \
  } while (false)

#define GR_STATUS_CONCAT_INNER(a, b) a##b
#define GR_STATUS_CONCAT(a, b) GR_STATUS_CONCAT_INNER(a, b)

/// Evaluates `expr` (a StatusOr); on error returns its status, else moves the value into `lhs`.
#define GR_ASSIGN_OR_RETURN(lhs, expr) \
  GR_ASSIGN_OR_RETURN_IMPL(GR_STATUS_CONCAT(grStatusOr, __LINE__), lhs, expr)

#define GR_ASSIGN_OR_RETURN_IMPL(statusOr, lhs, expr) \
  auto statusOr = (expr);                             \
  if (!statusOr.ok()) {                               \
    return std::move(statusOr).status();              \
  }                                                   \
  lhs = std::move(statusOr).value()

namespace graphrun::runtime {

/// Prepends `context` to the message of a failed status and keeps its code; OK stays OK.
inline absl::Status annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) {
    return status;
  }
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_STATUS_H_
