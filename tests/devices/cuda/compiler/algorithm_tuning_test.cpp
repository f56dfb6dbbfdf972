// Plans are measured on the simulated GPU, by a clock on which its engines take what they are told
// to.
#include "devices/cuda/compiler/algorithm_tuning.h"

#include "tests/devices/cuda/cudnn_runner.h"

namespace graphrun::devices::cuda {
namespace {

using std::chrono::milliseconds;

/// A convolution of f16, for which all engines will do.
Instruction convolution() {
  WindowCase c = {"gr.conv", {1, 4, 5, 6}, {6, 4, 3, 3}, {1, 6, 3, 4}, {}};
  c.type = ElementType::kF16;
  return instructionOf(c);
}

/// The third of the library's three is the fastest.
void setEngines() {
  testing::setCudnnEngines({{7, 0, {}, false, CUDNN_STATUS_SUCCESS, milliseconds(60)},
                            {8, 0, {}, false, CUDNN_STATUS_NOT_SUPPORTED_SHAPE},
                            {9, 0, {}, false, CUDNN_STATUS_SUCCESS, milliseconds(40)},
                            {3, 0, {}, true, CUDNN_STATUS_SUCCESS, milliseconds(0)}});
}

Tuning tuningFor(uint64_t budget, std::string known = "") {
  Tuning tuning;
  tuning.timings = std::move(known);
  tuning.budgetNanos = budget;
  return tuning;
}

TEST_CASE("each plan of a library is timed by the GPU's clock") {
  CudnnFixture gpu;
  setEngines();
  Executable executable = compile(convolution()).value();
  auto trials = AlgorithmTrials::create(0, gpu.libraries).value();
  std::vector<PlanTime> times = trials->run(executable.instructions[0]).value();
  REQUIRE(times.size() == 3);
  CHECK((times[0].plan == 0 && times[1].plan == 2 && times[2].plan == 3));
  CHECK(times[0].nanos >= 60'000'000);
  CHECK((times[1].nanos >= 40'000'000 && times[1].nanos < times[0].nanos));
  CHECK(fastestPlan(times) == 3);
  CHECK(fastestPlan({{1, 1000}, {2, 990}, {4, 2000}}) == 1);
}

TEST_CASE("the fastest plan is measured once, remembered, and run") {
  CudnnFixture gpu;
  setEngines();
  Executable executable = compile(convolution()).value();
  Tuning none = tuningFor(0);
  choosePlans(executable, 0, gpu.libraries, none);
  CHECK_FALSE(none.complete);
  CHECK(!executable.instructions[0].attributes.contains("plan"));

  Tuning measured = tuningFor(1'000'000'000);
  choosePlans(executable, 0, gpu.libraries, measured);
  CHECK(measured.complete);
  CHECK(std::get<int64_t>(executable.instructions[0].attributes.at("plan")) == 3);

  Executable next = compile(convolution()).value();
  Tuning known = tuningFor(0, measured.timings);
  choosePlans(next, 0, gpu.libraries, known);
  CHECK(known.complete);
  CHECK(std::get<int64_t>(next.instructions[0].attributes.at("plan")) == 3);
  ListedWeights weights;
  REQUIRE(load(gpu, next, weights).ok());
  Instruction instruction = convolution();
  instruction.attributes["plan"] = int64_t{3};
  REQUIRE(runInstruction(gpu, instruction, randomInputs(instruction)).ok());
  CHECK(testing::lastCudnnEngine() == 3);
  testing::setCudnnEngines({{5, 0}});  // fewer than there were
  REQUIRE(runInstruction(gpu, instruction, randomInputs(instruction)).ok());
  CHECK(testing::lastCudnnEngine() == 5);
}

TEST_CASE("a deterministic session measures nothing and takes the library's first plan") {
  CudnnFixture gpu;
  setEngines();
  Executable executable = compile(convolution()).value();
  Tuning tuning = tuningFor(1'000'000'000);
  tuning.numerics = runtime::Numerics::kDeterministic;
  choosePlans(executable, 0, gpu.libraries, tuning);
  CHECK(tuning.complete);
  CHECK(tuning.timings.empty());
  CHECK(!executable.instructions[0].attributes.contains("plan"));
}

TEST_CASE("what is remembered survives as text, but for damaged lines") {
  Instruction instruction = convolution();
  instruction.kernel = "cudnn.conv";
  PlanChoices choices;
  choices.add(instruction, 3);
  PlanChoices same(choices.text());
  CHECK(same.find(instruction) == 3);
  instruction.inputs[0].desc.dims[0] = 2;
  CHECK_FALSE(same.find(instruction));
  CHECK(PlanChoices(choices.text() + "9999\tmany\nx\n").text() == choices.text());
  CHECK(PlanChoices("graphrun plans 0\n3\tx\n").text() == PlanChoices().text());
}

TEST_CASE("what was not asked for longest is forgotten first") {
  Instruction instruction = convolution();
  instruction.kernel = "cudnn.conv";
  auto ofBatch = [&](size_t batch) -> Instruction& {
    instruction.inputs[0].desc.dims[0] = static_cast<int64_t>(batch);
    return instruction;
  };
  PlanChoices filled;
  for (size_t i = 1; i <= PlanChoices::kMostInstructions; ++i) {
    filled.add(ofBatch(i), i % 5);
  }
  REQUIRE(filled.find(ofBatch(1)) == 1);
  PlanChoices choices(filled.text());  // the order of use survives
  choices.add(ofBatch(PlanChoices::kMostInstructions + 1), 4);
  CHECK(choices.find(ofBatch(PlanChoices::kMostInstructions + 1)) == 4);
  CHECK(choices.find(ofBatch(1)) == 1);
  CHECK_FALSE(choices.find(ofBatch(2)));
  CHECK(choices.find(ofBatch(3)) == 3);
}

TEST_CASE("a plan that is no number of an answer is refused") {
  CudnnFixture gpu;
  Instruction instruction = convolution();
  instruction.attributes["plan"] = int64_t{-1};
  CHECK_THAT(
      std::string(runInstruction(gpu, instruction, randomInputs(instruction)).status().message()),
      Catch::Contains("the plan is -1, expected 0 to 1023"));
}

}  // namespace
}  // namespace graphrun::devices::cuda
