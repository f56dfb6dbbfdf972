// A build has these compilers of devices, a row a kind.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_DEVICE_COMPILERS_H_
#define GRAPHRUN_PLACEMENT_PLANNER_DEVICE_COMPILERS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/device_compiler.h"
#include "runtime/base/device_kind.h"

namespace graphrun::devices {

/// A CompilerRow is the compile world's entry for a kind.
struct CompilerRow {
  runtime::DeviceKind (*record)();
  absl::StatusOr<std::unique_ptr<DeviceCompiler>> (*create)(runtime::CodeStore* code);
};

/// device_compilers.cpp has those of the product. A library that is linked with a definition of its
/// own, as tests are, has other kinds.
absl::Span<const CompilerRow> compilerRows();

/// The kinds that can be planned for, whether their compilers are built in or not.
std::vector<runtime::DeviceKind> compilerKinds();

}  // namespace graphrun::devices

#endif  // GRAPHRUN_PLACEMENT_PLANNER_DEVICE_COMPILERS_H_
