// The private directory of the sockets of one run.
#ifndef GRAPHRUN_RUNTIME_CONTROL_SOCKET_DIRECTORY_H_
#define GRAPHRUN_RUNTIME_CONTROL_SOCKET_DIRECTORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// Makes a directory of mode 0700 under $XDG_RUNTIME_DIR, $TMPDIR or /tmp whose name carries our
/// process id. Removes those of ours whose process is dead (it was killed).
absl::StatusOr<std::string> makeSocketDirectory();

/// Removes a directory that makeSocketDirectory made, with the sockets in it and nothing else.
void removeSocketDirectory(const std::string& dir);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_SOCKET_DIRECTORY_H_
