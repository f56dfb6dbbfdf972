// The programs have this beside training: arguments, digits, lines of progress, pictures.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_TRAINING_EXAMPLE_H_
#define GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_TRAINING_EXAMPLE_H_

#include <graphrun/trainer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Arguments are what a program is called with: PROGRAM FILE… OUTPUT [STEPS].
struct Arguments {
  std::vector<std::string> files{};  ///< to read
  std::string output{};              ///< to write
  int64_t steps = 0;
};

struct Example {
  std::vector<std::string> files{};  ///< what they are, for messages: "IMAGES"
  std::string output{};              ///< "MODEL.fb"
  int64_t steps = 0;                 ///< unless the arguments say
  std::function<absl::Status(const Arguments&)> run{};
};

/// Runs an example and returns the program's exit code; problems go to standard error.
int runExample(int argc, char** argv, const Example& example);

/// Handwritten digits, such as MNIST's: pictures of `shape` with numbers from 0 to 1, and labels.
struct Digits {
  std::unique_ptr<graphrun::Dataset> train;  ///< the first four fifths of the files
  std::unique_ptr<graphrun::Dataset> test;   ///< the rest
};
absl::StatusOr<Digits> openDigits(const Arguments& arguments, std::vector<int64_t> shape);

/// One line on standard output.
void printStep(const graphrun::StepReport& report);
void printEvaluation(const graphrun::Evaluation& evaluation);

/// Writes pictures of 28 x 28 numbers from 0 to 1, so many in a row, as a picture in PGM format.
absl::Status writePictures(const std::string& path, absl::Span<const float> pixels,
                           int64_t columns);

#endif  // GRAPHRUN_FRONTENDS_BUILDER_EXAMPLES_TRAINING_EXAMPLE_H_
