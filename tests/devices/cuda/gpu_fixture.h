// A simulated GPU and executables made by hand, for the tests of the CUDA device.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_GPU_FIXTURE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_GPU_FIXTURE_H_

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/cuda/driver/libraries.h"
#include "devices/cuda/program/cuda_device.h"
#include "devices/executable/executable.h"
#include "tests/devices/cuda/simulator/simulator.h"

namespace graphrun::devices::cuda {

/// The simulator in the place of the driver, cuBLASLt, cuDNN and NVML; NCCL is not there.
inline LibraryFiles simulatedFiles() {
  return {SIMULATOR, SIMULATOR, SIMULATOR, "/nonexistent/libnccl.so", SIMULATOR};
}

/// The same with NCCL.
inline LibraryFiles withCollectives() {
  LibraryFiles files = simulatedFiles();
  files.nccl = SIMULATOR;
  return files;
}

/// GPUs as after a restart, and a device on the first. At its end nothing may be alive.
struct GpuFixture {
  explicit GpuFixture(size_t bytes = size_t{8} << 30) {
    testing::resetGpus(1, bytes);
    auto made = createCudaDevice({"test/cuda:0", "cuda", 0, {}, 0, 0}, libraries);
    INFO(made.status());
    REQUIRE(made.ok());
    device = *std::move(made);
    REQUIRE(device->attachThread().ok());
  }
  ~GpuFixture() {
    device.reset();
    CHECK(testing::gpuCounts().alive() == 0);
  }

  Libraries libraries{simulatedFiles()};
  std::unique_ptr<Device> device;
};

/// Weights by index.
class ListedWeights : public WeightSource {
 public:
  absl::StatusOr<Weight> weight(uint32_t index) override {
    ++reads;
    return Weight{absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(values[index].data()),
                                      values[index].size() * sizeof(float)),
                  nullptr, checksum(index)};
  }
  uint64_t checksum(uint32_t index) const override { return checksums ? index + 77 : 0; }

  std::vector<std::vector<float>> values;
  bool checksums = true;
  int reads = 0;
};

inline TensorDesc f32(std::vector<int64_t> dims) {
  return {runtime::ElementType::kF32, std::move(dims), {}, false};
}

inline Buffer bufferOf(BufferKind kind, uint64_t bytes, uint32_t index = 0, uint64_t offset = 0) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.index = index;
  buffer.offset = offset;
  return buffer;
}

/// PTX of kernels (from, to, count) for one block: `to[i] = from[i] + 1`.
inline std::vector<uint8_t> codeOf(const std::vector<std::string>& kernels) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
  for (const std::string& name : kernels) {
    text += ".visible .entry " + name + R"((.param .u64 from, .param .u64 to, .param .u64 count) {
  .reg .pred %outside;
  .reg .b32 %thread;
  .reg .f32 %value;
  .reg .b64 %source, %target, %size, %index;
  ld.param.u64 %source, [from];
  ld.param.u64 %target, [to];
  ld.param.u64 %size, [count];
  mov.u32 %thread, %tid.x;
  cvt.u64.u32 %index, %thread;
  setp.ge.u64 %outside, %index, %size;
  @%outside ret;
  shl.b64 %index, %index, 2;
  add.u64 %source, %source, %index;
  add.u64 %target, %target, %index;
  ld.global.f32 %value, [%source];
  add.f32 %value, %value, 0f3f800000;
  st.global.f32 [%target], %value;
  ret;
}
)";
  }
  return {text.begin(), text.end()};
}

/// A launch of one block for `count` elements.
inline Instruction generated(std::string symbol, std::vector<Argument> inputs, Argument output,
                             int64_t count) {
  Instruction instruction;
  instruction.kernel = "generated";
  instruction.operation = "gr.group";
  instruction.symbol = instruction.label = std::move(symbol);
  instruction.inputs = std::move(inputs);
  instruction.outputs = {std::move(output)};
  instruction.sizes = {count};
  instruction.grid = {1, 1, 1};
  instruction.block = {128, 1, 1};
  return instruction;
}

inline Instruction edgeInstruction(bool send, uint32_t edge, Argument end) {
  Instruction instruction;
  instruction.kernel = send ? "send" : "receive";
  instruction.label = instruction.kernel + std::to_string(edge);
  instruction.edge = edge;
  (send ? instruction.inputs : instruction.outputs).push_back(std::move(end));
  return instruction;
}

/// Loads `executable` for the fixture's device.
inline absl::StatusOr<std::unique_ptr<Program>> load(GpuFixture& gpu, Executable executable,
                                                     WeightSource& weights) {
  executable.fingerprint = gpu.device->fingerprint();
  std::vector<uint8_t> bytes = writeExecutable(executable);
  return gpu.device->load(bytes, weights);
}

/// Runs the compute records in order; the status of the first that fails. Then it settles the
/// program, as an executor does.
inline absl::Status runCompute(Program& program) {
  for (const OpRecord& record : program.records()) {
    int code = record.kind == OpRecord::Kind::kCompute
                   ? record.run(record.state, program.buffers().data())
                   : 0;
    if (code != 0) {
      program.synchronize();
      return program.errorMessage(record, code);
    }
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_GPU_FIXTURE_H_
