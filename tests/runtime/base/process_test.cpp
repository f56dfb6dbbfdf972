// What a whole program sets: tried in processes of their own.
#include "runtime/base/process.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "runtime/base/mapped_file.h"

namespace graphrun::runtime {
namespace {

struct Ended {
  int status = 0;
  std::string err;
};

/// Runs `work` in a process of its own, which ends with what it returns.
Ended inChild(const std::function<int()>& work) {
  std::array<int, 2> pipes{};
  REQUIRE(pipe(pipes.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGBUS, SIG_DFL);
    dup2(pipes[1], STDERR_FILENO);
    _exit(work());
  }
  close(pipes[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(pipes[0], buffer, sizeof buffer)) > 0;) {
    ended.err.append(buffer, static_cast<size_t>(got));
  }
  close(pipes[0]);
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  return ended;
}

TEST_CASE("a mapped file that is cut short ends the process with its name, not by a signal") {
  char folder[] = "/tmp/graphrun-process-XXXXXX";
  const std::string path = std::string(mkdtemp(folder)) + "/model with spaces.fb";
  std::ofstream(path) << std::string(3 << 16, 'x');
  const Ended ended = inChild([&] {
    endByCutFiles(3);
    absl::StatusOr<MappedFile> file = MappedFile::open(path);
    if (!file.ok() || file->bytes()[2 << 16] != 'x') {
      return 1;
    }
    std::filesystem::resize_file(path, 1 << 16);
    const volatile uint8_t* bytes = file->bytes().data();
    return bytes[0] == 'x' && bytes[2 << 16] == 'x' ? 2 : 4;
  });
  std::filesystem::remove_all(folder);
  CHECK(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 3);
  CHECK_THAT(ended.err, Catch::Contains("cannot use '" + path + "', which is mapped"));
}

TEST_CASE("a bus error that is no file's stays what it is") {
  const Ended ended = inChild([] {
    endByCutFiles(3);
    return raise(SIGBUS);
  });
  // The second one, which is not caught any more, ends the process.
  CHECK(WIFEXITED(ended.status));
  const Ended twice = inChild([] {
    endByCutFiles(3);
    return raise(SIGBUS) + raise(SIGBUS);
  });
  CHECK(WIFSIGNALED(twice.status));
  CHECK(WTERMSIG(twice.status) == SIGBUS);
}

TEST_CASE("a process may open as many files as its hard limit says, and tells how many it lacks") {
  const Ended ended = inChild([] {
    rlimit limit = {64, 128};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return 1;
    }
    raiseFileLimit();
    getrlimit(RLIMIT_NOFILE, &limit);
    const absl::Status few = checkFileLimit(500, "a cluster of 9 workers");
    std::fputs(std::string(few.message()).c_str(), stderr);
    return limit.rlim_cur == 128 && checkFileLimit(20, "this").ok() &&
                   absl::IsResourceExhausted(few)
               ? 0
               : 2;
  });
  CHECK(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 0);
  CHECK_THAT(ended.err, Catch::Contains("a cluster of 9 workers needs 500 open files beyond the") &&
                            Catch::Contains("the limit is 128; allow 5"));
}

TEST_CASE("what the address space has no room for is told with what to allow") {
  const Ended ended = inChild([] {
    if (!checkAddressSpace(9, uint64_t{1} << 50, "anything").ok()) {
      return 1;  // nothing is limited yet
    }
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t used = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
    const rlimit limit = {used + (rlim_t{256} << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
      return 2;
    }
    const absl::Status little = checkAddressSpace(2, uint64_t{1} << 30, "a cluster of 9 workers");
    std::fputs(std::string(little.message()).c_str(), stderr);
    return checkAddressSpace(1, 1 << 20, "this").ok() && absl::IsResourceExhausted(little) ? 0 : 3;
  });
  CHECK(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 0);
  CHECK_THAT(ended.err, Catch::Matches("a cluster of 9 workers needs 1[0-9]+ MiB of address space "
                                       "beyond the [0-9]+ MiB of this process, but the limit is "
                                       "[0-9]+ MiB; allow [0-9]+ MiB \\(`ulimit -v [0-9]+`\\).*"));
}

}  // namespace
}  // namespace graphrun::runtime
