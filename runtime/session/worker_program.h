// The program that `address: local` workers run.
#ifndef GRAPHRUN_RUNTIME_SESSION_WORKER_PROGRAM_H_
#define GRAPHRUN_RUNTIME_SESSION_WORKER_PROGRAM_H_

#include <string>
#include <vector>

namespace graphrun::runtime {

/// {"/…/graphrun", "worker"}: $GRAPHRUN_WORKER_PROGRAM, else graphrun beside this program, beside
/// this library (lib/../bin), or on the PATH. Empty if there is none.
std::vector<std::string> findWorkerCommand();

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_WORKER_PROGRAM_H_
