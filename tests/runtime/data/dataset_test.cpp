// Datasets of IDX and NumPy files.
#include "runtime/data/dataset.h"

#include "runtime/base/npy.h"
#include "tests/runtime/data/made_files.h"

namespace graphrun::runtime {
namespace {

using Catch::Matchers::Contains;

/// Four pictures of 2x3 with the elements 0 to 23, and the labels 3, 0, 2, 1.
struct Pictures {
  MadeFiles made;
  IdxFiles files;

  Pictures() {
    Bytes pixels(24);
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<uint8_t>(i);
    }
    files.images = made.write("images", idx(0x08, {4, 2, 3}, pixels));
    files.labels = made.write("labels.gz", gzip(idx(0x08, {4}, {3, 0, 2, 1})));
  }
  std::string error() const {
    auto opened = openIdx(files);
    return opened.ok() ? "ok" : std::string(opened.status().message());
  }
};

TEST_CASE("pictures are scaled and reshaped, labels become i64") {
  Pictures pictures;
  pictures.files.scale = 0.5;
  pictures.files.shape = {1, 2, 3};
  pictures.files.range = SampleRange{1, 4};
  auto data = openIdx(pictures.files);
  INFO(data.status().message());
  REQUIRE(data.ok());
  CHECK((*data)->count() == 3);
  REQUIRE((*data)->inputs().size() == 1);
  CHECK((*data)->inputs()[0].name.empty());
  CHECK((*data)->inputs()[0].sample.toString() == "1x2x3xf32");
  CHECK((*data)->target().sample.toString() == "i64");
  std::vector<HostTensor> inputs;
  inputs.emplace_back(TensorSpec{ElementType::kF32, {2, 1, 2, 3}});
  HostTensor target(TensorSpec{ElementType::kI64, {2}});
  REQUIRE((*data)->fill({2, 0}, absl::MakeSpan(inputs), target).ok());
  CHECK(inputs[0].as<float>()[0] == 9);  // the first element of picture 3
  CHECK(inputs[0].as<float>()[6] == 3);  // of picture 1
  CHECK(inputs[0].as<float>()[11] == 5.5);
  CHECK(target.as<int64_t>()[0] == 1);
  CHECK(target.as<int64_t>()[1] == 0);
}

TEST_CASE("fill says what it was given") {
  Pictures pictures;
  auto data = openIdx(pictures.files);
  REQUIRE(data.ok());
  std::vector<HostTensor> inputs;
  inputs.emplace_back(TensorSpec{ElementType::kF32, {1, 2, 3}});
  HostTensor target(TensorSpec{ElementType::kI64, {1}});
  auto errorOf = [&](std::vector<int64_t> indices) {
    return std::string((*data)->fill(indices, absl::MakeSpan(inputs), target).message());
  };
  CHECK(errorOf({0}).empty());
  CHECK_THAT(errorOf({4}), Contains("sample 4 is asked for, expected 0 to 3"));
  CHECK_THAT(errorOf({-1}), Contains("sample -1"));
  CHECK_THAT(errorOf({0, 1}), Contains("is 1x2x3xf32, expected 2x2x3xf32"));
  inputs.clear();
  CHECK_THAT(errorOf({0}), Contains("batch has 0 inputs, expected 1"));
}

TEST_CASE("files that do not fit to each other or to what is asked are refused") {
  Pictures pictures;
  pictures.files.range = SampleRange{2, 5};
  CHECK_THAT(pictures.error(), Contains("range is [2, 5], expected 0 <= begin < end <= 4"));
  pictures.files.range = SampleRange{2, 2};
  CHECK_THAT(pictures.error(), Contains("range is [2, 2]"));
  pictures.files.range = SampleRange{-1, 2};
  CHECK_THAT(pictures.error(), Contains("range is [-1, 2]"));
  pictures.files.range.reset();
  pictures.files.shape = {1, 2, 2};
  CHECK_THAT(pictures.error(),
             Contains("shape [1, 2, 2] has 4 elements, expected 6") && Contains("[2, 3]"));
  pictures.files.shape = {-1, -6};
  CHECK_THAT(pictures.error(), Contains("shape [-1, -6]: ") && Contains("negative dim -1"));
  pictures.files.shape.clear();
  std::swap(pictures.files.images, pictures.files.labels);
  CHECK_THAT(pictures.error(),
             Contains("is 4x2x3xu8, expected one integer a sample") && Contains("exchanged?"));
  std::swap(pictures.files.images, pictures.files.labels);
  pictures.files.labels = pictures.made.write("three", idx(0x08, {3}, {1, 2, 3}));
  CHECK_THAT(pictures.error(), Contains("images'") && Contains("has 4 samples and labels '") &&
                                   Contains("three' 3, expected one number"));
  pictures.files.labels = pictures.made.write("minus", idx(0x09, {4}, {1, 2, 0xff, 3}));
  CHECK_THAT(pictures.error(), Contains("has the label -1 at sample 2, expected 0 to 2147483647"));
  pictures.files.labels = pictures.made.write("none", idx(0x08, {0}, {}));
  pictures.files.images = pictures.made.write("nothing", idx(0x08, {0, 2}, {}));
  CHECK_THAT(pictures.error(), Contains("has 0 samples, expected at least 1"));
  pictures.files.labels = pictures.made.pathOf("absent");
  CHECK(absl::IsNotFound(openIdx(pictures.files).status()));
}

TEST_CASE("labels beyond the classes are told with their sample") {
  Pictures pictures;
  auto all = openIdx(pictures.files);
  REQUIRE(all.ok());
  CHECK((*all)->checkLabels(4).ok());
  CHECK_THAT(std::string((*all)->checkLabels(3).message()),
             Contains("labels.gz' has the label 3 at sample 0, expected 0 to 2"));
  pictures.files.range = SampleRange{1, 4};
  CHECK((*openIdx(pictures.files))->checkLabels(3).ok());  // the range leaves it out
}

TEST_CASE("arrays of NumPy keep their types") {
  MadeFiles made;
  auto write = [&](const std::string& name, const absl::StatusOr<HostTensor>& tensor) {
    REQUIRE(tensor.ok());
    REQUIRE(writeNpy(made.pathOf(name), *tensor).ok());
    return made.pathOf(name);
  };
  NpyFiles files;
  files.inputs = {{"x", write("x.npy", HostTensor::from({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2}))},
                  {"n", write("n.npy", HostTensor::from({7, 8, 9}, {3}))}};
  files.target = write("y.npy", HostTensor::from({0.5F, 1.5F, 2.5F}, {3, 1}));
  auto data = openNpy(files);
  INFO(data.status().message());
  REQUIRE(data.ok());
  CHECK((*data)->inputs()[0].sample.toString() == "2xf64");
  CHECK((*data)->inputs()[1].name == "n");
  CHECK((*data)->target().sample.toString() == "1xf32");
  std::vector<HostTensor> inputs;
  inputs.emplace_back(TensorSpec{ElementType::kF64, {2, 2}});
  inputs.emplace_back(TensorSpec{ElementType::kI32, {2}});
  HostTensor target(TensorSpec{ElementType::kF32, {2, 1}});
  REQUIRE((*data)->fill({2, 1}, absl::MakeSpan(inputs), target).ok());
  CHECK(inputs[0].as<double>()[1] == 6);
  CHECK(inputs[1].as<int32_t>()[0] == 9);
  CHECK(target.as<float>()[1] == 1.5F);
  CHECK_THAT(std::string((*data)->checkLabels(3).message()),
             Contains("y.npy' is of type f32, expected integers"));

  files.inputs[1].path = write("two.npy", HostTensor::from({7, 8}, {2}));
  CHECK_THAT(std::string(openNpy(files).status().message()), Contains("two.npy' has 2 samples"));
  files.inputs[1].path = write("scalar.npy", HostTensor::from({7}, {}));
  CHECK_THAT(std::string(openNpy(files).status().message()),
             Contains("scalar.npy' is i32, expected numbers with a row for each sample"));
  files.inputs[1].path = made.write("bad.npy", {1, 2, 3});
  CHECK_THAT(std::string(openNpy(files).status().message()), Contains("bad.npy"));
}

TEST_CASE("tensors in memory are samples") {
  auto tensor = [](std::vector<float> values, std::vector<int64_t> dims) {
    return NamedTensor{"x", *HostTensor::from(values, std::move(dims))};
  };
  std::vector<NamedTensor> rows;
  rows.push_back(tensor({1, 2, 3, 4, 5, 6}, {3, 2}));
  auto data = datasetOf(std::move(rows), *HostTensor::from({7, 8, 9}, {3}));
  INFO(data.status().message());
  REQUIRE(data.ok());
  CHECK((*data)->count() == 3);
  CHECK((*data)->inputs()[0].name == "x");
  CHECK((*data)->inputs()[0].sample.toString() == "2xf32");
  CHECK((*data)->target().sample.toString() == "i32");
  std::vector<HostTensor> inputs;
  inputs.emplace_back(TensorSpec{ElementType::kF32, {1, 2}});
  HostTensor target(TensorSpec{ElementType::kI32, {1}});
  REQUIRE((*data)->fill({2}, absl::MakeSpan(inputs), target).ok());
  CHECK(inputs[0].as<float>()[1] == 6);
  CHECK(target.as<int32_t>()[0] == 9);

  std::vector<NamedTensor> scalar;
  scalar.push_back(tensor({1}, {}));
  CHECK_THAT(
      std::string(datasetOf(std::move(scalar), *HostTensor::from({7}, {1})).status().message()),
      Contains("input 'x' is f32, expected numbers with a row for each sample"));
  std::vector<NamedTensor> more;
  more.push_back(tensor({1, 2}, {2}));
  CHECK_THAT(
      std::string(datasetOf(std::move(more), *HostTensor::from({7}, {1})).status().message()),
      Contains("input 'x' has 2 samples and the target 1"));
}

}  // namespace
}  // namespace graphrun::runtime
