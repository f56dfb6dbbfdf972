#include "tests/devices/cuda/compiler/block_fibers.h"

#include <ucontext.h>

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace graphrun::devices::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr size_t kStackBytes = size_t{64} << 10;

/// A meeting of some threads, again and again: values of one round are read before those of the
/// next but one are written.
struct Meeting {
  int64_t members = 0;
  int64_t arrived = 0;  // in all rounds
  std::array<std::array<uint32_t, kWarp>, 2> values{};
};

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStackBytes);
  int64_t shuffles = 0, barriers = 0;  // that it has begun
  bool ended = false;
};

struct Block {
  ucontext_t scheduler{};
  std::vector<Fiber> fibers;
  std::vector<Meeting> warps;
  Meeting all;
  const std::function<void(int64_t)>* body = nullptr;
  int64_t current = 0;
  bool moved = false;  // a thread arrived or ended in this turn
};

Block* running = nullptr;

void enter() {
  Block& block = *running;
  int64_t thread = block.current;
  (*block.body)(thread);
  block.fibers[static_cast<size_t>(thread)].ended = true;
  block.moved = true;
}

/// Arrives at round `round` of a meeting and waits for the others.
void meet(Meeting& meeting, int64_t round) {
  Block& block = *running;
  Fiber& self = block.fibers[static_cast<size_t>(block.current)];
  ++meeting.arrived;
  block.moved = true;
  while (meeting.arrived < (round + 1) * meeting.members) {
    swapcontext(&self.context, &block.scheduler);
  }
}

void start(Block& block, Fiber& fiber) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = &block.scheduler;
  makecontext(&fiber.context, enter, 0);
}

}  // namespace

void runBlock(int64_t threads, const std::function<void(int64_t)>& body) {
  Block block;
  block.fibers.resize(static_cast<size_t>(threads));
  block.warps.resize(static_cast<size_t>((threads + kWarp - 1) / kWarp), Meeting{kWarp});
  block.all.members = threads;
  block.body = &body;
  running = &block;
  for (Fiber& fiber : block.fibers) {
    start(block, fiber);
  }
  for (bool left = true; left;) {
    left = false;
    block.moved = false;
    for (block.current = 0; block.current < threads; ++block.current) {
      Fiber& fiber = block.fibers[static_cast<size_t>(block.current)];
      if (!fiber.ended) {
        swapcontext(&block.scheduler, &fiber.context);
        left = true;
      }
    }
    REQUIRE((block.moved || !left));
  }
  running = nullptr;
}

uint32_t shuffleInWarp(uint32_t value, uint32_t distance) {
  Block& block = *running;
  int64_t lane = block.current % kWarp;
  Meeting& warp = block.warps[static_cast<size_t>(block.current / kWarp)];
  int64_t round = block.fibers[static_cast<size_t>(block.current)].shuffles++;
  auto& values = warp.values[static_cast<size_t>(round % 2)];
  values[static_cast<size_t>(lane)] = value;
  meet(warp, round);
  return values[static_cast<size_t>(lane) ^ distance];
}

void waitForBlock() {
  Block& block = *running;
  meet(block.all, block.fibers[static_cast<size_t>(block.current)].barriers++);
}

}  // namespace graphrun::devices::cuda
