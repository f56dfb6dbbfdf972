// A child process is a program that is started so that it cannot outlive us.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CHILD_PROCESS_H_
#define GRAPHRUN_RUNTIME_CONTROL_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// A started program, not yet reaped.
struct Child {
  pid_t pid = -1;
  int pidfd = -1;       // readable once the process has ended
  int parentPipe = -1;  // closing it tells the child that we are gone
};

/// Starts `arguments[0]` (a path, no search) with the read end of a pipe at kParentFd, /dev/null as
/// stdin and our stderr as stdout and stderr; no other descriptor is inherited. SIGINT and SIGHUP
/// are ignored in it, so that Ctrl-C, or the end of the terminal, ends the coordinator, which ends
/// it. The kernel kills it when the *calling
/// thread* ends (PR_SET_PDEATHSIG), so call this from a thread that lives as long as the child may.
/// NotFound or Internal when the program cannot be run; then nothing is left behind.
absl::StatusOr<Child> startChild(const std::vector<std::string>& arguments);

/// Describes waitpid's status: "exited with status 3", "was killed by signal 9 (Killed)".
std::string describeExit(int waitStatus);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CHILD_PROCESS_H_
