// Standard input, output and error as a program finds and leaves them.
#ifndef GRAPHRUN_FRONTENDS_CLI_STANDARD_STREAMS_H_
#define GRAPHRUN_FRONTENDS_CLI_STANDARD_STREAMS_H_

namespace graphrun::cli {

/// Puts something in the place of the streams that are closed, so that no file that is opened gets
/// their numbers. Writing to a standard output that was closed still fails.
void openStandardStreams();

/// Writes out what was printed. Where standard output did not take all of it: a message, and
/// kBadFile in the place of kOk; else `code`.
int finishResults(int code);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_STANDARD_STREAMS_H_
