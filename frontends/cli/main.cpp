// graphrun: one program, a command each; without one it runs a model.
#include <malloc.h>

#include <cstdio>
#include <string>

#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"

namespace {

struct Command {
  const char* name;
  int (*run)(int, char**);
  const char* what;
};

constexpr Command kCommands[] = {
    {"compile", graphrun::cli::compileCommand, "imports, checks and simplifies an ONNX model"},
    {"explain", graphrun::cli::explainCommand,
     "shows where a model's operations would run, and why"},
    {"place", graphrun::cli::placeCommand, "places a bare cost graph, without a model"},
    {"bench", graphrun::cli::benchCommand, "measures latency, throughput and memory"},
    {"test", graphrun::cli::testCommand, "runs ONNX test cases"},
    {"inspect", graphrun::cli::inspectCommand, "shows inputs, outputs, operations and sizes"},
    {"worker", graphrun::cli::workerCommand, "serves coordinators on this machine"},
    {"doctor", graphrun::cli::doctorCommand, "tells what is found and what is missing"},
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
      "file, 4 cannot be placed,\n5 a worker or link failed, 6 internal error.\n");
}

}  // namespace

int main(int argc, char** argv) {
  // Large blocks go back to the system when they are freed, whatever was freed before.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // Some of what smaller ones leave is kept: in each step the library packs operands into memory
  // that it allocates, which would be given back and faulted in again every time.
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
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
  return graphrun::cli::runCommand(named ? argc - 1 : argc, named ? argv + 1 : argv);
}
