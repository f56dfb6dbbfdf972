#include "devices/compiler/place_buffers.h"

#include <algorithm>
#include <limits>

#include "runtime/memory/arena_planner.h"

namespace graphrun::devices {
namespace {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

/// Offsets are sums of sizes, so aligned sizes give aligned offsets. A size near 2^64 stays as it
/// is and is refused by the arena's plan.
uint64_t alignUp(uint64_t bytes, uint64_t alignment) {
  uint64_t aligned = (bytes + alignment - 1) & ~(alignment - 1);
  return std::max(bytes, aligned);
}

/// Calls `visit` for each buffer that `instruction` reads or writes.
template <typename Visit>
void forEachBuffer(const Instruction& instruction, Visit visit) {
  for (const Argument& argument : instruction.inputs) {
    visit(argument.buffer);
  }
  for (const Argument& argument : instruction.outputs) {
    visit(argument.buffer);
  }
  for (const PostOp& post : instruction.postOps) {
    if (post.operand) {
      visit(post.operand->buffer);
    }
  }
  if (instruction.scratch) {
    visit(instruction.scratch->buffer);
  }
}

/// Makes a part of a part a part of the whole.
void resolvePart(std::vector<Buffer>& buffers, uint32_t id) {
  Buffer& buffer = buffers[id];
  while (buffer.within && buffers[*buffer.within].within) {
    buffer.offset += buffers[*buffer.within].offset;
    buffer.within = buffers[*buffer.within].within;
  }
}

}  // namespace

absl::Status placeBuffers(Executable& executable, uint64_t alignment) {
  for (uint32_t id = 0; id < executable.buffers.size(); ++id) {
    resolvePart(executable.buffers, id);
  }
  std::vector<runtime::ArenaBuffer> lifetimes(executable.buffers.size(), {0, kNever, 0});
  uint32_t last = executable.instructions.empty() ? 0 : executable.instructions.size() - 1;
  for (uint32_t i = 0; i < executable.instructions.size(); ++i) {
    forEachBuffer(executable.instructions[i], [&](uint32_t used) {
      uint32_t buffer = executable.buffers[used].within.value_or(used);
      lifetimes[buffer].firstUse = std::min(lifetimes[buffer].firstUse, i);
      // The other end of an edge may read a sent buffer until the step ends.
      bool sent = executable.instructions[i].kernel == "send";
      lifetimes[buffer].lastUse = std::max(lifetimes[buffer].lastUse, sent ? last : i);
    });
  }
  std::vector<runtime::ArenaBuffer> placed;
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < executable.buffers.size(); ++id) {
    const Buffer& buffer = executable.buffers[id];
    if (buffer.kind == BufferKind::kArena && !buffer.within && lifetimes[id].firstUse != kNever) {
      lifetimes[id].bytes = alignUp(buffer.bytes, alignment);
      placed.push_back(lifetimes[id]);
      ids.push_back(id);
    }
  }
  GR_ASSIGN_OR_RETURN(runtime::ArenaPlan plan, runtime::planArena(placed));
  for (size_t i = 0; i < ids.size(); ++i) {
    executable.buffers[ids[i]].offset = plan.offsets[i];
  }
  for (Buffer& buffer : executable.buffers) {
    if (buffer.within) {
      buffer.offset += executable.buffers[*buffer.within].offset;
    }
  }
  executable.arenaBytes = plan.arenaBytes;
  return absl::OkStatus();
}

}  // namespace graphrun::devices
