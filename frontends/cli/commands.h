// These functions are the commands of graphrun. Each parses its own arguments (argv[0] is its name)
// and returns an ExitCode.
#ifndef GRAPHRUN_FRONTENDS_CLI_COMMANDS_H_
#define GRAPHRUN_FRONTENDS_CLI_COMMANDS_H_

namespace graphrun::cli {

int runCommand(int argc, char** argv);
int compileCommand(int argc, char** argv);
int checkCommand(int argc, char** argv);
int trainCommand(int argc, char** argv);
int explainCommand(int argc, char** argv);
int placeCommand(int argc, char** argv);
int benchCommand(int argc, char** argv);
int testCommand(int argc, char** argv);
int inspectCommand(int argc, char** argv);
int workerCommand(int argc, char** argv);
int doctorCommand(int argc, char** argv);
int certsCommand(int argc, char** argv);
int cacheCommand(int argc, char** argv);

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_COMMANDS_H_
