#include "tests/devices/cuda/simulator/ptx_warp.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"

namespace graphrun::testing::ptx {

Warp::Warp(Machine& machine, uint32_t number)
    : machine_(machine),
      number_(number),
      file_(machine.program.slots * kSlotBytes),
      written_(machine.program.slots) {
  for (const Program::Constant& constant : machine.program.constants) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      setBits(constant.reg, lane, constant.bits);
    }
  }
}

std::array<uint32_t, static_cast<size_t>(Special::kCount)> Warp::specialsOf(uint32_t lane) const {
  const Launch& launch = machine_.launch;
  const std::array<uint32_t, 3>& block = machine_.block;
  uint32_t number = thread(lane);
  uint32_t x = number % launch.block[0];
  uint32_t y = number / launch.block[0] % launch.block[1];
  uint32_t z = number / launch.block[0] / launch.block[1];
  return {x,
          y,
          z,
          block[0],
          block[1],
          block[2],
          launch.block[0],
          launch.block[1],
          launch.block[2],
          launch.grid[0],
          launch.grid[1],
          launch.grid[2],
          lane,
          number_};
}

void Warp::begin() {
  const Program& program = machine_.program;
  std::fill(written_.begin(), written_.end(), 0);
  for (const Program::Constant& constant : program.constants) {
    written_[constant.reg.slot] = kAllLanes;
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    auto specials = specialsOf(lane);
    for (auto [special, reg] : program.specials) {
      setBits(reg, lane, specials[static_cast<size_t>(special)]);
      written_[reg.slot] = kAllLanes;
    }
  }
  const std::array<uint32_t, 3>& block = machine_.launch.block;
  uint32_t threads = block[0] * block[1] * block[2] - number_ * kLanes;
  alive_ = threads >= kLanes ? kAllLanes : (1U << threads) - 1;
  groups_.assign(1, {0, alive_});
}

void Warp::join(Group group) {
  if (group.lanes == 0) {
    return;
  }
  auto found = std::find_if(groups_.begin(), groups_.end(),
                            [&](const Group& other) { return other.at >= group.at; });
  if (found != groups_.end() && found->at == group.at) {
    found->lanes |= group.lanes;
  } else {
    groups_.insert(found, group);
  }
}

bool Warp::isReady(const Group& group) const {
  const Instruction& instruction = machine_.program.code[group.at];
  switch (instruction.operation->flow) {
    case Flow::kBarrier:
      return group.lanes == alive_;
    case Flow::kShuffle: {
      auto first = static_cast<uint32_t>(std::countr_zero(group.lanes));
      Register mask = instruction.operands[instruction.results + instruction.sources - 1];
      uint64_t named = bits(mask, first) & alive_;
      return (named & group.lanes) == named;
    }
    default:
      return true;
  }
}

Warp::State Warp::run() {
  while (!groups_.empty()) {
    auto ready = std::find_if(groups_.begin(), groups_.end(),
                              [this](const Group& group) { return isReady(group); });
    if (ready == groups_.end()) {
      failStuck();
      return State::kFault;
    }
    if (machine_.program.code[ready->at].operation->flow == Flow::kBarrier) {
      return State::kAtBarrier;
    }
    Group group = *ready;
    auto next = groups_.erase(ready);
    advance(group, next == groups_.end() ? ~0U : next->at);
    if (machine_.fault) {
      return State::kFault;
    }
  }
  return State::kEnded;
}

void Warp::passBarrier() {
  if (!groups_.empty()) {
    ++groups_[0].at;
  }
}

/// Runs a group up to where it meets or passes another, branches, or has to wait.
void Warp::advance(Group group, uint32_t until) {
  while (group.at < until) {
    const Instruction& instruction = machine_.program.code[group.at];
    Flow flow = instruction.operation->flow;
    if (flow == Flow::kBarrier || (flow == Flow::kShuffle && !isReady(group))) {
      break;
    }
    uint32_t mask = guarded(instruction, group.lanes);
    if (machine_.fault || !execute(instruction, mask)) {
      return;
    }
    ++group.at;
    if (flow == Flow::kBranch) {
      join({instruction.target, mask});
      join({group.at, group.lanes & ~mask});
      return;
    }
    if (flow == Flow::kExit) {
      alive_ &= ~mask;
      join({group.at, group.lanes & ~mask});
      return;
    }
  }
  join(group);
}

/// The lanes of `mask` that do the instruction.
uint32_t Warp::guarded(const Instruction& instruction, uint32_t mask) {
  if (instruction.guard < 0) {
    return mask;
  }
  Register reg{static_cast<uint32_t>(instruction.guard), 1};
  if (!mayRead(reg, instruction, mask)) {
    return 0;
  }
  Lanes<uint8_t> lanes = read<uint8_t>(reg);
  uint32_t set = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    set |= static_cast<uint32_t>(lanes[lane]) << lane;
  }
  return mask & (instruction.guardNot ? ~set : set);
}

bool Warp::mayRead(Register reg, const Instruction& instruction, uint32_t mask) {
  uint32_t missing = mask & ~written_[reg.slot];
  if (missing != 0) {
    fail(Fault::Kind::kUnwritten, instruction, static_cast<uint32_t>(std::countr_zero(missing)),
         "reads a register that nothing was written to");
  }
  return missing == 0;
}

bool Warp::execute(const Instruction& instruction, uint32_t mask) {
  if (++machine_.instructions > machine_.launch.mostInstructions) {
    fail(Fault::Kind::kTooLong, instruction, 0,
         absl::StrCat("still runs after ", machine_.launch.mostInstructions, " instructions"));
    return false;
  }
  if (mask == 0) {
    return true;
  }
  const Register* operands = instruction.operands.data();
  for (size_t i = instruction.results, end = i + instruction.sources; i < end; ++i) {
    if (!mayRead(operands[i], instruction, mask)) {
      return false;
    }
  }
  if (instruction.operation->flow == Flow::kTrap) {
    fail(Fault::Kind::kTrap, instruction, static_cast<uint32_t>(std::countr_zero(mask)),
         "is reached");
  } else if (instruction.operation->run != nullptr) {
    instruction.operation->run(*this, instruction, mask);
  }
  for (size_t i = 0; i < instruction.results; ++i) {
    written_[operands[i].slot] |= mask;
  }
  return !machine_.fault;
}

void Warp::fail(Fault::Kind kind, const Instruction& instruction, uint32_t lane,
                const std::string& what) {
  auto specials = specialsOf(lane);
  auto triple = [&](Special first) {
    auto at = static_cast<size_t>(first);
    return absl::StrCat("(", specials[at], ", ", specials[at + 1], ", ", specials[at + 2], ")");
  };
  machine_.fault = Fault{
      kind, absl::StrCat("kernel ", machine_.program.name, ", line ", instruction.line, ": ",
                         instruction.operation->name, " ", what, " (block ",
                         triple(Special::kBlockX), ", thread ", triple(Special::kThreadX), ")")};
}

void Warp::failStuck() {
  const Group& group = groups_[0];
  std::string others;
  for (const Group& other : groups_) {
    absl::StrAppend(&others, others.empty() ? "" : ", ", "line ",
                    machine_.program.code[other.at].line, ": ", std::popcount(other.lanes));
  }
  fail(Fault::Kind::kDiverged, machine_.program.code[group.at],
       static_cast<uint32_t>(std::countr_zero(group.lanes)),
       absl::StrCat("waits for threads of its warp that do not come; how many wait where: ",
                    others));
}

}  // namespace graphrun::testing::ptx
