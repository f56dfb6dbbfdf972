#include "devices/cuda/program/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace graphrun::devices::cuda {
namespace {

void addOnce(std::vector<uint32_t>& list, uint32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) {
    list.push_back(value);
  }
}

class Scheduler {
 public:
  explicit Scheduler(const Executable& executable) : executable_(executable) {}

  absl::StatusOr<std::vector<Action>> run() && {
    for (uint32_t i = 0; i < executable_.instructions.size(); ++i) {
      const Instruction& instruction = executable_.instructions[i];
      if (instruction.kernel == "receive") {
        closeLaunch();
        sendPending();
        actions_.push_back({.kind = Action::Kind::kReceive, .instruction = i});
      } else if (instruction.kernel == "send") {
        closeLaunch();
        GR_RETURN_IF_ERROR(addSend(i));
      } else if (instruction.operation == kCollectiveMember) {
        closeLaunch();
        sendPending();
        launch_.kind = Action::Kind::kCollective;
        addCompute(i);
        closeLaunch();
      } else {
        addCompute(i);
      }
    }
    closeLaunch();
    sendPending();
    finish();
    return std::move(actions_);
  }

 private:
  BufferKind kindOf(uint32_t buffer) const { return executable_.buffers[buffer].kind; }
  bool isGiven(uint32_t buffer) const {
    return kindOf(buffer) == BufferKind::kInput || kindOf(buffer) == BufferKind::kReceive;
  }

  void addCompute(uint32_t index) {
    const Instruction& instruction = executable_.instructions[index];
    launch_.instructions.push_back(index);
    auto read = [&](const Argument& argument) {
      if (isGiven(argument.buffer) && copied_.insert(argument.buffer).second) {
        launch_.in.push_back(argument.buffer);
      }
    };
    std::for_each(instruction.inputs.begin(), instruction.inputs.end(), read);
    for (const PostOp& op : instruction.postOps) {
      if (op.operand) {
        read(*op.operand);
      }
    }
    for (const Argument& output : instruction.outputs) {
      read(output);                               // it may be written in part
      written_[output.buffer] = actions_.size();  // where the launch will be
    }
  }

  void closeLaunch() {
    if (!launch_.instructions.empty()) {
      actions_.push_back(std::exchange(launch_, {}));
    }
  }

  absl::Status addSend(uint32_t index) {
    uint32_t buffer = executable_.instructions[index].inputs[0].buffer;
    auto writer = written_.find(buffer);
    if (isGiven(buffer) && writer != written_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("executable: ", executable_.instructions[index].label, " sends buffer ",
                       buffer, ", which was received and then written to"));
    }
    if (writer == written_.end() && pending_.empty()) {  // on the host already
      actions_.push_back({.kind = Action::Kind::kSend, .instruction = index});
      return absl::OkStatus();
    }
    if (writer != written_.end()) {
      addOnce(actions_[writer->second].out, buffer);
    }
    pending_.push_back(index);
    return absl::OkStatus();
  }

  void sendPending() {
    for (uint32_t index : std::exchange(pending_, {})) {
      uint32_t buffer = executable_.instructions[index].inputs[0].buffer;
      if (written_.contains(buffer)) {
        actions_.push_back({.kind = Action::Kind::kAwait, .buffer = buffer});
      }
      actions_.push_back({.kind = Action::Kind::kSend, .instruction = index});
    }
  }

  void finish() {
    for (const Endpoint& output : executable_.outputs) {
      if (auto writer = written_.find(output.buffer); writer != written_.end()) {
        addOnce(actions_[writer->second].out, output.buffer);
      }
    }
    bool launches = std::any_of(actions_.begin(), actions_.end(), [](const Action& action) {
      return action.kind == Action::Kind::kLaunch || action.kind == Action::Kind::kCollective;
    });
    if (launches) {
      actions_.push_back({.kind = Action::Kind::kFinish});
    }
  }

  const Executable& executable_;
  std::vector<Action> actions_;
  Action launch_;                       ///< that is being filled
  std::set<uint32_t> copied_;           ///< given buffers that are on the GPU
  std::map<uint32_t, size_t> written_;  ///< buffer -> the action that wrote it last
  std::vector<uint32_t> pending_;       ///< sends whose turn comes after further launches
};

}  // namespace

absl::StatusOr<std::vector<Action>> scheduleOf(const Executable& executable) {
  return Scheduler(executable).run();
}

}  // namespace graphrun::devices::cuda
