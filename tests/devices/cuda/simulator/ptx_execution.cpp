#include "tests/devices/cuda/simulator/ptx_execution.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/simulator/ptx_warp.h"

namespace graphrun::testing::ptx {
namespace {

constexpr uint64_t kMostThreads = 1024;

using Warps = std::vector<std::unique_ptr<Warp>>;

/// Runs the machine's block to its end, or to a fault.
void runBlock(Machine& machine, Warps& warps) {
  machine.shared.beginBlock();
  for (auto& warp : warps) {
    warp->begin();
  }
  for (bool waits = true; waits;) {
    waits = false;
    for (auto& warp : warps) {
      Warp::State state = warp->run();
      if (state == Warp::State::kFault) {
        return;
      }
      waits |= state == Warp::State::kAtBarrier;
    }
    machine.shared.passBarrier();
    for (auto& warp : warps) {
      warp->passBarrier();
    }
  }
}

}  // namespace

std::string whyNotLaunched(const Program& program, const Launch& launch) {
  uint64_t threads = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0 || launch.block[i] > kMostThreads) {
      return "a grid or block without threads, or a block of more than 1024";
    }
    threads *= launch.block[i];
    if (program.blockThreads[0] != 0 && program.blockThreads[i] != launch.block[i]) {
      return absl::StrCat("got a block of ", launch.block[i], " threads, expected ",
                          program.blockThreads[i], " (.reqntid)");
    }
  }
  if (threads > kMostThreads) {
    return absl::StrCat("got a block of ", threads, " threads, expected at most ", kMostThreads);
  }
  if (launch.parameters.size() != program.parameterBytes()) {
    return absl::StrCat("got ", launch.parameters.size(), " bytes of parameters, expected ",
                        program.parameterBytes());
  }
  return "";
}

std::optional<Fault> run(const Program& program, const Launch& launch, uint64_t* done) {
  if (std::string why = whyNotLaunched(program, launch); !why.empty()) {
    return Fault{Fault::Kind::kBadLaunch, absl::StrCat("kernel ", program.name, ": ", why)};
  }
  Machine machine(program, launch);
  Warps warps;
  uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  for (uint32_t number = 0; number * kLanes < threads; ++number) {
    warps.push_back(std::make_unique<Warp>(machine, number));
  }
  auto& [x, y, z] = machine.block;
  for (z = 0; z < launch.grid[2]; ++z) {
    for (y = 0; y < launch.grid[1]; ++y) {
      for (x = 0; x < launch.grid[0] && !machine.fault; ++x) {
        runBlock(machine, warps);
      }
    }
  }
  if (done != nullptr) {
    *done = machine.instructions;
  }
  return std::move(machine.fault);
}

}  // namespace graphrun::testing::ptx
