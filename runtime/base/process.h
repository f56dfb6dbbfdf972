// A program sets these for its whole process; a library leaves them to the program that it is in.
#ifndef GRAPHRUN_RUNTIME_BASE_PROCESS_H_
#define GRAPHRUN_RUNTIME_BASE_PROCESS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphrun::runtime {

/// Lets the process open as many files as its hard limit allows: the soft one, of often 1024, is
/// for programs that use select(2), and connections to many workers are more.
void raiseFileLimit();

/// ResourceExhausted where the process may not open `needed` files more; `what` needs them.
absl::Status checkFileLimit(uint64_t needed, absl::string_view what);

/// Makes threads share one of malloc's arenas where the address space is limited (`ulimit -v`):
/// each has 64 MiB of it whatever is allocated. Before threads exist.
void spareAddressSpace();

/// ResourceExhausted where the limit of the address space leaves less than `threads` stacks and
/// `bytes` besides; `what` needs them. Libraries that meet such a limit abort without a word.
absl::Status checkAddressSpace(uint64_t threads, uint64_t bytes, absl::string_view what);

/// Unavailable, as no other plan helps: "<what>: the system gives no more memory", with the limit
/// of the address space where there is one.
absl::Status outOfMemory(absl::string_view what);

/// From now on the process ends with `exitCode` and the name of the file, not by SIGBUS, when it
/// touches a mapped file beyond its end: somebody cut it short, or its disk fails.
void endByCutFiles(int exitCode);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_PROCESS_H_
