// The checks behind PlanFile::parse.
#ifndef GRAPHRUN_RUNTIME_FORMAT_PLAN_VERIFIER_H_
#define GRAPHRUN_RUNTIME_FORMAT_PLAN_VERIFIER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "runtime/format/plan_generated.h"

namespace graphrun::format {

/// Verifies what PlanFile promises for a Plan whose buffer of `bufferBytes` has passed
/// BudgetVerifier. Errors are InvalidArgument, or FailedPrecondition for a newer version.
absl::Status verifyPlan(const Plan& plan, size_t bufferBytes);

}  // namespace graphrun::format

#endif  // GRAPHRUN_RUNTIME_FORMAT_PLAN_VERIFIER_H_
