#include "example.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <utility>

using namespace graphrun;

namespace {

constexpr int64_t kSide = 28;

bool parseSteps(const std::string& text, int64_t& steps) {
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, steps).ptr == end && steps > 0;
}

}  // namespace

int runExample(int argc, char** argv, const Example& example) {
  Arguments arguments{.steps = example.steps};
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  const size_t expected = example.files.size() + 1;
  if (words.size() < expected || words.size() > expected + 1 ||
      (words.size() > expected && !parseSteps(words.back(), arguments.steps))) {
    std::string usage = "usage: " + std::string(argc > 0 ? argv[0] : "example");
    for (const std::string& file : example.files) {
      usage += " " + file;
    }
    std::fprintf(stderr, "%s %s [STEPS]\n", usage.c_str(), example.output.c_str());
    return 2;
  }
  arguments.files.assign(words.begin(), words.begin() + static_cast<ptrdiff_t>(expected) - 1);
  arguments.output = words[expected - 1];
  const absl::Status status = example.run(arguments);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}

absl::StatusOr<Digits> openDigits(const Arguments& arguments, std::vector<int64_t> shape) {
  IdxFiles files{.images = arguments.files[0],
                 .labels = arguments.files[1],
                 .scale = 1.0 / 255,
                 .shape = std::move(shape)};
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> all, openIdx(files));
  const int64_t count = all->count();
  Digits digits;
  files.range = {0, count * 4 / 5};
  GR_ASSIGN_OR_RETURN(digits.train, openIdx(files));
  files.range = {count * 4 / 5, count};
  GR_ASSIGN_OR_RETURN(digits.test, openIdx(files));
  return digits;
}

void printStep(const StepReport& report) {
  std::printf("step %lld: loss %.6f", static_cast<long long>(report.step), report.loss);
  for (const MetricValue& metric : report.metrics) {
    std::printf(", %s %.4f", metric.name.c_str(), metric.value);
  }
  std::puts("");
}

void printEvaluation(const Evaluation& evaluation) {
  std::printf("%lld samples that were not trained with: loss %.6f",
              static_cast<long long>(evaluation.samples), evaluation.loss);
  for (const MetricValue& metric : evaluation.metrics) {
    std::printf(", %s %.4f", metric.name.c_str(), metric.value);
  }
  std::puts("");
}

absl::Status writePictures(const std::string& path, absl::Span<const float> pixels,
                           int64_t columns) {
  const auto count = static_cast<int64_t>(pixels.size()) / (kSide * kSide);
  const int64_t rows = count / columns;
  std::ofstream file(path, std::ios::binary);
  file << "P5\n" << columns * kSide << " " << rows * kSide << "\n255\n";
  for (int64_t y = 0; y < rows * kSide; ++y) {
    for (int64_t x = 0; x < columns * kSide; ++x) {
      const int64_t picture = y / kSide * columns + x / kSide;
      const int64_t pixel = (picture * kSide + y % kSide) * kSide + x % kSide;
      const float value = std::clamp(pixels[static_cast<size_t>(pixel)], 0.0F, 1.0F);
      file.put(static_cast<char>(std::lround(value * 255)));
    }
  }
  file.close();
  return file ? absl::OkStatus()
              : absl::UnavailableError("cannot write the picture '" + path + "'");
}
