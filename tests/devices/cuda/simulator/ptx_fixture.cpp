#include "tests/devices/cuda/simulator/ptx_fixture.h"

namespace graphrun::testing::ptx {

std::string kernelText(const std::string& body) {
  return R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry kernel(
  .param .u64 from,
  .param .u64 to
)
{
  .reg .pred %p<32>;
  .reg .b16 %h<32>;
  .reg .b32 %r<32>;
  .reg .b64 %d<32>;
  .shared .align 16 .b8 buffer[1024];
  ld.param.u64 %d0, [from];
  ld.param.u64 %d1, [to];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.s32 %r0, %r1, %r2, %r0;
)" + body +
         "\n}\n";
}

std::string Case::run() {
  auto module = parse(text);
  if (!module.ok()) {
    return std::string(module.status().message());
  }
  auto program = compile(module->kernels.at(0));
  if (!program.ok()) {
    return std::string(program.status().message());
  }
  Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = threads;
  launch.sharedBytes = sharedBytes;
  launch.mostInstructions = mostInstructions;
  launch.parameters = bytesOf<uint64_t>({kFrom, kTo});
  launch.parameters.resize(program->parameterBytes());
  launch.find = [this](uint64_t address) {
    return address < kTo ? Allocation{kFrom, kFrom + from.size(), from.data()}
                         : Allocation{kTo, kTo + to.size(), to.data()};
  };
  auto fault = ptx::run(*program, launch, &instructions);
  kind = fault ? fault->kind : kind;
  return fault ? fault->message : "OK";
}

}  // namespace graphrun::testing::ptx
