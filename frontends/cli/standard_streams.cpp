#include "frontends/cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "frontends/cli/command_line.h"

namespace graphrun::cli {

void openStandardStreams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // The lowest free number, which is `fd`. What is written to a file open for reading fails.
      int opened = open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
      static_cast<void>(opened);
    }
  }
}

int finishResults(int code) {
  bool lost = std::ferror(stdout) != 0;
  errno = 0;
  lost = std::fflush(stdout) != 0 || lost;
  if (!lost) {
    return code;
  }
  std::string why = errno != 0 ? ": " + std::generic_category().message(errno) : "";
  std::fprintf(stderr, "graphrun: cannot write the results to standard output%s\n", why.c_str());
  return code == kOk ? static_cast<int>(kBadFile) : code;
}

}  // namespace graphrun::cli
