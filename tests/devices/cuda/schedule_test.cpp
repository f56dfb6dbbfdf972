// The order of launches, copies, waits and edges.
#include "devices/cuda/program/schedule.h"

#include "absl/strings/str_join.h"
#include "tests/devices/cuda/gpu_fixture.h"

namespace graphrun::devices::cuda {
namespace {

/// "launch 0,1 in 0 out 3; await 3; send 2".
std::string textOf(const std::vector<Action>& actions) {
  std::vector<std::string> parts;
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::kLaunch:
      case Action::Kind::kCollective:
        parts.push_back((action.kind == Action::Kind::kCollective ? "meet " : "launch ") +
                        absl::StrJoin(action.instructions, ","));
        if (!action.in.empty()) {
          parts.back() += " in " + absl::StrJoin(action.in, ",");
        }
        if (!action.out.empty()) {
          parts.back() += " out " + absl::StrJoin(action.out, ",");
        }
        break;
      case Action::Kind::kAwait:
        parts.push_back("await " + std::to_string(action.buffer));
        break;
      case Action::Kind::kSend:
        parts.push_back("send " + std::to_string(action.instruction));
        break;
      case Action::Kind::kReceive:
        parts.push_back("receive " + std::to_string(action.instruction));
        break;
      case Action::Kind::kFinish:
        parts.push_back("finish");
    }
  }
  return absl::StrJoin(parts, "; ");
}

/// Buffers: 0 an input, 1 an output, 2 and 3 in the arena, 4 and 5 received.
Executable withBuffers() {
  Executable e;
  e.buffers = {bufferOf(BufferKind::kInput, 16),      bufferOf(BufferKind::kOutput, 16),
               bufferOf(BufferKind::kArena, 16),      bufferOf(BufferKind::kArena, 16, 0, 64),
               bufferOf(BufferKind::kReceive, 16, 7), bufferOf(BufferKind::kReceive, 16, 8)};
  e.inputs = {{"x", 0, f32({4})}};
  e.outputs = {{"y", 1, f32({4})}};
  return e;
}

Instruction instruction(uint32_t from, uint32_t to) {
  return generated("k", {{from, f32({4})}}, {to, f32({4})}, 4);
}
Instruction collective(uint32_t from, uint32_t to) {
  Instruction result = instruction(from, to);
  result.operation = kCollectiveMember;
  return result;
}
Instruction edge(bool send, uint32_t buffer) {
  return edgeInstruction(send, buffer, {buffer, f32({4})});
}

std::string scheduled(std::vector<Instruction> instructions) {
  Executable e = withBuffers();
  e.instructions = std::move(instructions);
  auto actions = scheduleOf(e);
  return actions.ok() ? textOf(*actions) : std::string(actions.status().message());
}

}  // namespace

TEST_CASE("a program without edges is one launch") {
  CHECK(scheduled({instruction(0, 2), instruction(2, 1)}) == "launch 0,1 in 0 out 1; finish");
}

TEST_CASE("what follows a send is launched before the program waits for what is sent") {
  CHECK(scheduled({instruction(0, 2), edge(true, 2), instruction(2, 3), edge(true, 3),
                   instruction(3, 1)}) ==
        "launch 0 in 0 out 2; launch 2 out 3; launch 4 out 1; await 2; send 1; await 3; send 3; "
        "finish");
}

TEST_CASE("a collective is apart, and what is sent goes before: another member may wait for it") {
  CHECK(scheduled({instruction(0, 2), edge(true, 2), instruction(2, 3), collective(3, 3),
                   collective(4, 2), instruction(2, 1)}) ==
        "launch 0 in 0 out 2; launch 2; await 2; send 1; meet 3; meet 4 in 4; launch 5 out 1; "
        "finish");
  CHECK(scheduled({edge(false, 4), collective(4, 1)}) == "receive 0; meet 1 in 4 out 1; finish");
}

TEST_CASE("a receive comes after all sends before it, and its tensor is copied when it is read") {
  CHECK(scheduled({instruction(0, 2), edge(true, 2), edge(false, 4), instruction(2, 3),
                   instruction(4, 1)}) ==
        "launch 0 in 0 out 2; await 2; send 1; receive 2; launch 3,4 in 4 out 1; finish");
}

TEST_CASE("what is on the host already is sent at once and not copied") {
  CHECK(scheduled({edge(false, 4), edge(true, 4), instruction(4, 1)}) ==
        "receive 0; send 1; launch 2 in 4 out 1; finish");
  CHECK(scheduled({edge(false, 4), edge(true, 4)}) == "receive 0; send 1");
  // Behind another send it keeps its turn.
  CHECK(scheduled({edge(false, 4), instruction(4, 2), edge(true, 2), edge(true, 4)}) ==
        "receive 0; launch 1 in 4 out 2; await 2; send 2; send 3; finish");
}

TEST_CASE("an output that is sent is copied once") {
  CHECK(scheduled({instruction(0, 1), edge(true, 1)}) ==
        "launch 0 in 0 out 1; await 1; send 1; finish");
}

TEST_CASE("a received tensor that was written to cannot be sent on") {
  CHECK_THAT(scheduled({edge(false, 4), instruction(0, 4), edge(true, 4)}),
             Catch::Contains("sends buffer 4, which was received and then written to"));
}

}  // namespace graphrun::devices::cuda
