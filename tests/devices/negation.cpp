#include "tests/devices/subjects.h"

namespace graphrun::devices::testing {

Executable negation(const Device& device) {
  TensorDesc vector{runtime::ElementType::kF32, {4}, {}, false};
  Executable e;
  e.fingerprint = device.fingerprint();
  e.buffers.resize(2);
  e.buffers[0].kind = BufferKind::kInput;
  e.buffers[1].kind = BufferKind::kOutput;
  e.buffers[0].bytes = e.buffers[1].bytes = 16;
  e.instructions.resize(1);
  e.instructions[0].operation = "gr.neg";
  e.instructions[0].inputs = {{0, vector}};
  e.instructions[0].outputs = {{1, vector}};
  e.inputs = {{"x", 0, vector}};
  e.outputs = {{"y", 1, vector}};
  return e;
}

std::vector<uint8_t> cpuNegation(const Device& device) {
  Executable e = negation(device);
  e.instructions[0].kernel = "reference";
  return writeExecutable(e);
}

}  // namespace graphrun::devices::testing
