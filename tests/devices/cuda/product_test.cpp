// Matrix products through the library: descriptors, batches, epilogues, the workspace.
#include <cublasLt.h>

#include <functional>
#include <random>

#include "devices/cuda/kernels/layouts.h"
#include "tests/devices/cuda/gpu_fixture.h"
#include "tests/devices/cuda/simulator/cublaslt_float8.h"

namespace graphrun::devices::cuda {
namespace {

constexpr int64_t kWorkspace = 4096;

struct Case {
  std::vector<int64_t> lhs, rhs, result;
  bool transposeLhs = false;
  bool transposeRhs = false;
  bool bias = false;
  std::vector<PostOp> postOps;
};

size_t countOf(const std::vector<int64_t>& dims) {
  return static_cast<size_t>(f32(dims).spec().elementCount());
}

std::vector<float> randomValues(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> result(count);
  for (float& value : result) {
    value = values(random);
  }
  return result;
}

/// Inputs 0 and 1, input 2 the bias, output 3, buffer 4 the workspace.
Executable executableOf(const Case& c, int64_t workspace) {
  int64_t columns = c.rhs.size() == 1 ? 1 : c.rhs[c.rhs.size() - (c.transposeRhs ? 2 : 1)];
  std::vector<TensorDesc> descs = {f32(c.lhs), f32(c.rhs), f32({columns}), f32(c.result)};
  Executable e;
  for (uint32_t i = 0; i < 4; ++i) {
    e.buffers.push_back(bufferOf(i == 3 ? BufferKind::kOutput : BufferKind::kInput,
                                 descs[i].spec().byteSize(), i == 3 ? 0 : i));
  }
  e.buffers.push_back(bufferOf(BufferKind::kArena, static_cast<uint64_t>(workspace)));
  e.arenaBytes = static_cast<uint64_t>(workspace);
  Instruction instruction;
  instruction.kernel = "cublaslt.matmul";
  instruction.operation = instruction.label = "gr.matmul";
  instruction.inputs = {{0, descs[0]}, {1, descs[1]}};
  if (c.bias) {
    instruction.inputs.push_back({2, descs[2]});
  }
  instruction.outputs = {{3, descs[3]}};
  instruction.scratch = Argument{4, {runtime::ElementType::kU8, {workspace}, {}, false}};
  instruction.attributes["transpose_lhs"] = c.transposeLhs;
  instruction.attributes["transpose_rhs"] = c.transposeRhs;
  instruction.postOps = c.postOps;
  e.instructions = {instruction};
  e.inputs = {{"lhs", 0, descs[0]}, {"rhs", 1, descs[1]}, {"bias", 2, descs[2]}};
  e.outputs = {{"result", 3, descs[3]}};
  return e;
}

/// The element (row, column) of a matrix in `values`, `matrix` of them before it.
float at(const std::vector<float>& values, size_t matrix, size_t rows, size_t columns, size_t row,
         size_t column, bool transposed) {
  size_t offset = transposed ? column * rows + row : row * columns + column;
  return values[matrix % (values.size() / (rows * columns)) * rows * columns + offset];
}

/// Runs the case and compares every element with the definition.
void check(const Case& c) {
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, executableOf(c, kWorkspace), none);
  INFO(program.status());
  REQUIRE(program.ok());
  std::mt19937 random(3);
  std::vector<float> lhs = randomValues(countOf(c.lhs), random);
  std::vector<float> rhs = randomValues(countOf(c.rhs), random);
  size_t rows =
      c.lhs.size() == 1 ? 1 : static_cast<size_t>(c.lhs[c.lhs.size() - (c.transposeLhs ? 1 : 2)]);
  size_t columns =
      c.rhs.size() == 1 ? 1 : static_cast<size_t>(c.rhs[c.rhs.size() - (c.transposeRhs ? 2 : 1)]);
  size_t depth = countOf(
      c.rhs.size() == 1 ? c.rhs
                        : std::vector<int64_t>{c.rhs[c.rhs.size() - (c.transposeRhs ? 1 : 2)]});
  std::vector<float> bias = randomValues(columns, random);
  std::vector<float> result(countOf(c.result), 0);
  void* addresses[] = {lhs.data(), rhs.data(), bias.data(), result.data()};
  std::copy(addresses, addresses + 4, (*program)->buffers().begin());
  REQUIRE(runCompute(**program).ToString() == "OK");
  for (size_t i = 0; i < result.size(); ++i) {
    size_t column = i % columns;
    size_t row = i / columns % rows;
    double sum = c.bias ? bias[column] : 0;
    for (size_t k = 0; k < depth; ++k) {
      sum +=
          static_cast<double>(at(lhs, i / (rows * columns), rows, depth, row, k, c.transposeLhs)) *
          at(rhs, i / (rows * columns), depth, columns, k, column, c.transposeRhs);
    }
    bool relu = !c.postOps.empty() && c.postOps.back().algorithm == "gr.relu";
    REQUIRE(result[i] == Approx(relu ? std::max(sum, 0.0) : sum).margin(1e-5));
  }
}

}  // namespace

TEST_CASE("products through the library are what the definition says") {
  check({{2, 3}, {3, 5}, {2, 5}});
  check({{3, 2}, {5, 3}, {2, 5}, true, true});
  check({{4, 2, 3}, {3, 5}, {4, 2, 5}});
  check({{4, 2, 3}, {4, 3, 5}, {4, 2, 5}});
  check({{4, 3, 2}, {3, 5}, {4, 2, 5}, true});
  check({{2, 3}, {4, 5, 3}, {4, 2, 5}, false, true});
  check({{3}, {3, 5}, {5}});
  check({{2, 3}, {3}, {2}});
}

TEST_CASE("a bias and an activation are part of the product") {
  check({{7, 3}, {3, 5}, {7, 5}, false, false, true});
  check(
      {{7, 3}, {3, 5}, {7, 5}, false, false, true, {{PostOpKind::kEltwise, "gr.relu", 0, 0, {}}}});
}

TEST_CASE("8-bit floats are multiplied, scaled and biased") {
  using runtime::ElementType;
  constexpr int64_t kRows = 3, kDepth = 32, kColumns = 16;
  TensorDesc lhs{ElementType::kF8E4M3FN, {kRows, kDepth}, {}, false};
  TensorDesc rhs = stridedDesc(ElementType::kF8E5M2, {kDepth, kColumns}, {1, kDepth});
  TensorDesc bias{ElementType::kBF16, {kColumns}, {}, false};
  TensorDesc result{ElementType::kBF16, {kRows, kColumns}, {}, false};
  Executable e = executableOf({{1, 1}, {1, 1}, {1, 1}, false, false, true}, kWorkspace);
  e.buffers[0].bytes = lhs.spec().byteSize();
  e.buffers[1] = bufferOf(BufferKind::kConstant, rhs.spec().byteSize());
  e.buffers[1].desc = rhs;
  e.buffers[2] = bufferOf(BufferKind::kInput, bias.spec().byteSize(), 1);
  e.buffers[3].bytes = result.spec().byteSize();
  e.inputs = {{"lhs", 0, lhs}, {"bias", 2, bias}};
  e.outputs = {{"result", 3, result}};
  e.instructions[0].inputs = {{0, lhs}, {1, rhs}, {2, bias}};
  e.instructions[0].outputs = {{3, result}};
  e.instructions[0].attributes = {{"scales", std::vector<double>{0.5}}};
  std::vector<uint8_t> left(kRows * kDepth, 0x38);    // 1 of e4m3
  left[kDepth] = 0x48;                                // 4, first of the second row
  e.buffers[1].data.assign(kDepth * kColumns, 0x40);  // 2 of e5m2
  e.buffers[1].data[kColumns + 5] = 0x3c;             // 1 at (1, 5)
  std::vector<uint16_t> offsets(kColumns, 0x3f80), sums(kRows * kColumns);  // 1 of bf16
  GpuFixture gpu;
  ListedWeights none;
  auto program = load(gpu, e, none);
  INFO(program.status());
  REQUIRE(program.ok());
  (*program)->buffers()[0] = left.data();
  (*program)->buffers()[2] = offsets.data();
  (*program)->buffers()[3] = sums.data();
  REQUIRE(runCompute(**program).ToString() == "OK");
  CHECK(sums[0] == 0x4204);             // 32 * 2 / 2 + 1
  CHECK(sums[5] == 0x4202);             // 1 less in the sum
  CHECK(sums[kColumns] == 0x4210);      // 3 * 2 / 2 more
  CHECK(sums[kColumns + 5] == 0x420e);  // both
}

TEST_CASE("the simulated library refuses what NVIDIA's does of 8-bit floats") {
  using testing::ProductTerms;
  const ProductTerms known{{CUDA_R_8F_E4M3, 64, 48, 64, true},
                           {CUDA_R_8F_E5M2, 64, 5, 64, false},
                           {CUDA_R_16F, 48, 5, 48, false},
                           {CUDA_R_16F, 48, 5, 48, false},
                           CUBLAS_COMPUTE_32F,
                           CUDA_R_32F,
                           CUBLASLT_EPILOGUE_BIAS,
                           -1};
  CHECK(testing::multipliesFloat8(known));
  auto refused = [&](const std::function<void(ProductTerms&)>& change) {
    ProductTerms changed = known;
    change(changed);
    CHECK_FALSE(testing::multipliesFloat8(changed));
  };
  refused([](ProductTerms& t) { t.a.transposed = false; });
  refused([](ProductTerms& t) { t.b.transposed = true; });
  refused([](ProductTerms& t) { t.a.type = CUDA_R_8F_E5M2; });
  refused([](ProductTerms& t) { t.b.type = CUDA_R_16F; });
  refused([](ProductTerms& t) { t.c.type = t.d.type = CUDA_R_32F; });  // its bias would be bf16
  refused([](ProductTerms& t) { t.c.type = CUDA_R_16BF; });
  refused([](ProductTerms& t) { t.a.rows = t.a.ld = t.b.rows = t.b.ld = 72; });
  refused([](ProductTerms& t) { t.d.rows = t.d.ld = 44; });
  refused([](ProductTerms& t) { t.computeType = CUBLAS_COMPUTE_32F_FAST_TF32; });
  CHECK_FALSE(testing::areAligned({reinterpret_cast<const void*>(8)}));
}

TEST_CASE("a product without room to work in, or without its library, is refused") {
  GpuFixture gpu;
  ListedWeights none;
  absl::Status status = load(gpu, executableOf({{2, 3}, {3, 5}, {2, 5}}, 64), none).status();
  CHECK(absl::IsUnimplemented(status));
  CHECK_THAT(std::string(status.message()),
             Catch::Contains("cuBLASLt has no algorithm for the product with 64 bytes"));
  testing::failCall("cublasLtMatmul", CUDA_ERROR_LAUNCH_FAILED);
  auto program = load(gpu, executableOf({{2, 3}, {3, 5}, {2, 5}}, kWorkspace), none).value();
  std::vector<float> data(15);
  std::fill(program->buffers().begin(), program->buffers().end(), data.data());
  CHECK_THAT(std::string(runCompute(*program).message()),
             Catch::Contains("gr.matmul: cublasLtMatmul: "));
}

TEST_CASE("without cuBLASLt a program of products is refused with how to get it") {
  testing::resetGpus();
  LibraryFiles files = simulatedFiles();
  files.cublasLt = "libnone.so.13";
  Libraries libraries(files);
  auto device = createCudaDevice({"test/cuda:0", "cuda", 0, {}, 0, 0}, libraries).value();
  Executable e = executableOf({{2, 3}, {3, 5}, {2, 5}}, kWorkspace);
  e.fingerprint = device->fingerprint();
  ListedWeights none;
  std::vector<uint8_t> bytes = writeExecutable(e);
  absl::Status status = device->load(bytes, none).status();
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("libnone.so.13 is missing"));
}

}  // namespace graphrun::devices::cuda
