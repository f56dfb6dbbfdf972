// Folders in which nobody but the user can have put anything.
#ifndef GRAPHRUN_RUNTIME_BASE_PRIVATE_FOLDER_H_
#define GRAPHRUN_RUNTIME_BASE_PRIVATE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace graphrun::runtime {

/// Checks that only the user, or root, can have put what is in `folder` there: one of them has it,
/// as a folder or as a link to one, and nobody else may write to it. OK too where there is none.
/// PermissionDenied tells owner or mode and what to do.
absl::Status checkPrivate(const std::string& folder);

/// Checks a folder that private ones lie in: nobody else may put another in their place. The folder
/// for temporary files will do.
absl::Status checkKeeps(const std::string& folder);

/// Makes `folder` and what is missing above it, for the user alone, and checks it.
absl::Status makePrivate(const std::string& folder);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_PRIVATE_FOLDER_H_
