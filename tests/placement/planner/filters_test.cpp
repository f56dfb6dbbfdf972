// Filters that are inputs: oneDNN reads them in another order of their dims, or with one dim more.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {
namespace {

NamedTensor floats(const std::string& name, std::vector<int64_t> dims,
                   const std::vector<float>& values) {
  NamedTensor result{name, HostTensor(TensorSpec{ElementType::kF32, std::move(dims)})};
  std::copy(values.begin(), values.end(), result.tensor.as<float>().begin());
  return result;
}

std::vector<float> run(const std::string& model, NamedTensor x, NamedTensor w) {
  SessionOptions options;
  options.threads = 1;
  options.cacheDirectory = std::filesystem::temp_directory_path() /
                           ("graphrun_filters_" + std::to_string(getpid()) + "_" + model);
  auto session = Session::create(absl::StrCat(GRAPHRUN_STAGE_MODELS "/", model), options);
  INFO(session.status().message());
  REQUIRE(session.ok());
  NamedTensor inputs[] = {std::move(x), std::move(w)};
  std::vector<NamedTensor> outputs;
  absl::Status status = (*session)->run(inputs, outputs);
  session->reset();
  std::filesystem::remove_all(options.cacheDirectory);
  INFO(status.message());
  REQUIRE(status.ok());
  auto y = outputs[0].tensor.as<float>();
  return {y.begin(), y.end()};
}

}  // namespace

TEST_CASE("a transposed convolution with as many channels in as out takes its filter as input") {
  auto y = run("transposed.onnx", floats("x", {1, 2, 1, 1}, {1, 10}),
               floats("w", {2, 2, 1, 1}, {1, 2, 3, 4}));
  CHECK(y == std::vector<float>{31, 42});
}

TEST_CASE("a convolution in groups takes its filter as input") {
  std::vector<float> x(32, 1), w(32 * 16, 0);
  x[16] = 5;
  for (size_t o = 0; o < 32; ++o) {
    w[o * 16] = static_cast<float>(o);  // each output is its number times its group's first input
  }
  auto y = run("grouped.onnx", floats("x", {1, 32, 1, 1}, x), floats("w", {32, 16, 1, 1}, w));
  REQUIRE(y.size() == 32);
  CHECK(y[3] == 3);
  CHECK(y[18] == 90);
}

}  // namespace graphrun::runtime
