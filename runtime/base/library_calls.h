// Calls of another library are redirected here.
#ifndef GRAPHRUN_RUNTIME_BASE_LIBRARY_CALLS_H_
#define GRAPHRUN_RUNTIME_BASE_LIBRARY_CALLS_H_

#include "absl/types/span.h"

namespace graphrun::runtime {

/// A function that a library calls by name, and what shall be called in its place.
struct CallRedirect {
  const char* name;
  void* target;
};

/// Makes the loaded file that holds the code at `code` call the targets, one after the other, by
/// writing them into its table of addresses (the global offset table). Nothing else of the process
/// is concerned: no symbol has to be exported, and the order in which libraries were loaded does
/// not matter. A function that the file does not call is passed over. Returns whether the last one
/// is called there now; after a failure those behind it are as they were. Thread-safe, also while
/// the file's code runs: but of a file that looks its functions up as they are called (not linked
/// with -z now), a thread that calls one for the first time just then may put the old one back.
/// The targets are called as long as that file is loaded: their own must never be unloaded.
bool redirectCalls(const void* code, absl::Span<const CallRedirect> redirects);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_LIBRARY_CALLS_H_
