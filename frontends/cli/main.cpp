// graphrun: one program, a command each; without one it runs a model.
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/standard_streams.h"
#include "runtime/base/names.h"
#include "runtime/base/process.h"

namespace {

struct Command {
  const char* name;
  int (*run)(int, char**);
  const char* what;
};

constexpr Command kCommands[] = {
    {"compile", graphrun::cli::compileCommand, "imports, checks and simplifies an ONNX model"},
    {"check", graphrun::cli::checkCommand, "checks a model, and whether it can be trained"},
    {"train", graphrun::cli::trainCommand, "trains an ONNX model as a recipe says"},
    {"explain", graphrun::cli::explainCommand,
     "shows where a model's operations would run, and why"},
    {"place", graphrun::cli::placeCommand, "places a bare cost graph, without a model"},
    {"bench", graphrun::cli::benchCommand, "measures latency, throughput and memory"},
    {"test", graphrun::cli::testCommand, "runs ONNX test cases"},
    {"inspect", graphrun::cli::inspectCommand, "shows inputs, outputs, operations and sizes"},
    {"worker", graphrun::cli::workerCommand, "serves coordinators on this machine"},
    {"doctor", graphrun::cli::doctorCommand,
     "shows which devices and libraries are found or missing"},
    {"cache", graphrun::cli::cacheCommand, "shows or clears the cache on disk"},
    {"certs", graphrun::cli::certsCommand, "makes certificates for workers on other machines"},
};

void printUsage(FILE* to) {
  std::fprintf(to,
               "graphrun runs a model, on this machine or on a cluster.\n\n"
               "usage: graphrun MODEL [--cluster cluster.yaml] [--data DIR | --input x=@x.npy …]\n"
               "       graphrun COMMAND …\n\ncommands:\n");
  for (const Command& command : kCommands) {
    std::fprintf(to, "  %-9s %s\n", command.name, command.what);
  }
  std::fprintf(
      to,
      "\nMODEL is a .fb or .onnx file. `graphrun run --help` and `graphrun COMMAND --help` "
      "list options.\nExit codes: 0 ok, 1 a result differs, 2 wrong usage, 3 bad model or "
      "file, 4 cannot be placed,\n5 a worker or link failed, or memory ran out, 6 internal "
      "error.\n");
}

/// The command that was meant by a word that is neither one nor a file; "" for a model's path.
std::string misspelt(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    names.emplace_back(command.name);
  }
  bool isPath = word.find_first_of("./") != std::string::npos || access(word.c_str(), F_OK) == 0;
  return isPath || word[0] == '-' ? "" : graphrun::runtime::nearestName(word, names);
}

int run(int argc, char** argv) {
  std::string first = argc > 1 ? argv[1] : "";
  if (first.empty() || first == "--help" || first == "-h" || first == "help") {
    printUsage(first.empty() ? stderr : stdout);
    return first.empty() ? graphrun::cli::kUsage : graphrun::cli::kOk;
  }
  if (first == "--version") {
    std::printf("graphrun %s\n", GRAPHRUN_VERSION);
    return graphrun::cli::kOk;
  }
  for (const Command& command : kCommands) {
    if (first == command.name) {
      return command.run(argc - 1, argv + 1);
    }
  }
  bool named = first == "run";
  if (std::string meant = named ? "" : misspelt(first); !meant.empty()) {
    std::fprintf(stderr, "graphrun: there is no command and no file '%s'; did you mean '%s'?\n",
                 first.c_str(), meant.c_str());
    return graphrun::cli::kUsage;
  }
  return graphrun::cli::runCommand(named ? argc - 1 : argc, named ? argv + 1 : argv);
}

/// Reports an exception of which nothing below made a status.
int unexpected(const std::exception* what) {
  const auto* system = dynamic_cast<const std::system_error*>(what);
  // What a thread that cannot be started throws: its stack is memory, too.
  bool isMemory =
      dynamic_cast<const std::bad_alloc*>(what) != nullptr ||
      (system != nullptr && system->code() == std::errc::resource_unavailable_try_again);
  std::fprintf(stderr, "graphrun: %s%s\n",
               isMemory ? "there is not enough memory, or there are not enough threads; allow more "
                          "(`ulimit -v`, `ulimit -u`)"
                        : "internal error: ",
               isMemory          ? ""
               : what == nullptr ? "an exception of an unknown kind"
                                 : what->what());
  return isMemory ? graphrun::cli::kWorker : graphrun::cli::kInternal;
}

/// In the place of an abort: of exceptions that leave a thread.
[[noreturn]] void endByException() {
  int code = graphrun::cli::kInternal;
  try {
    if (std::exception_ptr current = std::current_exception()) {
      std::rethrow_exception(current);
    }
    std::fputs("graphrun: internal error: the program terminated itself\n", stderr);
  } catch (const std::exception& error) {
    code = unexpected(&error);
  } catch (...) {
    code = unexpected(nullptr);
  }
  _exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  // Large blocks go back to the system when they are freed, whatever was freed before.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // Some of what smaller ones leave is kept: in each step the library packs operands into memory
  // that it allocates, which would be given back and faulted in again every time.
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  std::set_terminate(endByException);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not be that large is told as any failed write
  graphrun::cli::openStandardStreams();
  graphrun::runtime::raiseFileLimit();
  graphrun::runtime::spareAddressSpace();
  graphrun::runtime::endByCutFiles(graphrun::cli::kBadFile);
  int code = graphrun::cli::kInternal;
  try {
    code = run(argc, argv);
  } catch (const std::exception& error) {
    code = unexpected(&error);
  } catch (...) {
    code = unexpected(nullptr);
  }
  return graphrun::cli::finishResults(code);
}
