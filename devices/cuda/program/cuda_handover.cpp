// Sends tensors from a program to another device without the host's memory.
#include <algorithm>
#include <utility>

#include "devices/cuda/program/cuda_program.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

/// The launch behind which the buffer is copied to the host; null when it is there anyway.
CudaProgram::Record* CudaProgram::writerOf(uint32_t buffer) const {
  for (const std::unique_ptr<Record>& record : states_) {
    for (const Copy& copy : record->out) {
      if (copy.buffer == buffer) {
        return record.get();
      }
    }
  }
  return nullptr;
}

/// The copies to the GPU of a buffer that was received.
std::vector<Copy*> CudaProgram::readersOf(uint32_t buffer) const {
  std::vector<Copy*> readers;
  for (const std::unique_ptr<Record>& record : states_) {
    for (Copy& copy : record->in) {
      if (copy.buffer == buffer) {
        readers.push_back(&copy);
      }
    }
  }
  return readers;
}

bool CudaProgram::isSent(uint32_t buffer) const {
  return std::any_of(bindings_.edges.begin(), bindings_.edges.end(),
                     [&](const EdgeBinding& edge) { return edge.send && edge.buffer == buffer; });
}

bool CudaProgram::isOutput(uint32_t buffer) const {
  return std::any_of(bindings_.outputs.begin(), bindings_.outputs.end(),
                     [&](const Binding& output) { return output.buffer == buffer; });
}

bool CudaProgram::canTransferDirectly(size_t index) const {
  const EdgeBinding& edge = bindings_.edges[index];
  if (edge.send) {
    return writerOf(edge.buffer) != nullptr;
  }
  return !readersOf(edge.buffer).empty() && !isSent(edge.buffer) && !isOutput(edge.buffer);
}

absl::Status CudaProgram::transferDirectly(size_t index, DirectTransfer transfer) {
  ScopedContext scope(*device_.context);
  EdgeBinding& edge = bindings_.edges[index];
  const uint32_t buffer = edge.buffer;
  const auto entry = static_cast<uint32_t>(hostBuffers_.size());
  hostBuffers_.push_back(nullptr);  // what is received, the executor binds
  const auto kind = edge.send ? OpRecord::Kind::kSend : OpRecord::Kind::kReceive;
  for (OpRecord& record : records_) {
    if (record.kind == kind && record.edge == edge.edge) {
      record.buffer = entry;
    }
  }
  edge.buffer = entry;
  if (!edge.send) {
    for (Copy* reader : readersOf(buffer)) {
      reader->bound = entry;
      reader->memory =
          transfer == DirectTransfer::kPeerCopy ? BoundMemory::kOther : BoundMemory::kOwn;
    }
    return absl::OkStatus();
  }
  if (transfer == DirectTransfer::kPeerCopy) {
    GR_ASSIGN_OR_RETURN(hostBuffers_[entry], peerValue(buffer));
  } else {
    GR_RETURN_IF_ERROR(carry(buffer, entry));
  }
  dropCopyOut(buffer);
  return absl::OkStatus();
}

/// The value that tells another device of a buffer of this GPU. The launch that writes the buffer
/// last sets its event.
absl::StatusOr<DeviceValue*> CudaProgram::peerValue(uint32_t buffer) {
  if (DeviceValue* known = sent_->peerValue(buffer)) {
    return known;
  }
  GR_ASSIGN_OR_RETURN(Event * made, sent_->makePeerValue(buffer, buffers_->address(buffer)));
  writerOf(buffer)->made.push_back(made);
  return sent_->peerValue(buffer);
}

/// A copy of the buffer, in memory that a transport can make known to its adapters, behind the one
/// to the host: who awaits that awaits this, too.
absl::Status CudaProgram::carry(uint32_t buffer, uint32_t entry) {
  std::vector<Copy>& out = writerOf(buffer)->out;
  auto host =
      std::find_if(out.begin(), out.end(), [&](const Copy& one) { return one.buffer == buffer; });
  Copy copy = *host;
  GR_ASSIGN_OR_RETURN(hostBuffers_[entry], sent_->allocateForNetwork(copy.bytes));
  copy.bound = entry;
  copy.memory = BoundMemory::kOwn;
  out.insert(host + 1, copy);
  return absl::OkStatus();
}

/// Drops the copy to the host of a buffer that is no more sent from there, unless it is an output.
void CudaProgram::dropCopyOut(uint32_t buffer) {
  if (isSent(buffer)) {
    return;
  }
  bool isCarried = false;
  for (const std::unique_ptr<Record>& record : states_) {
    std::erase_if(record->out, [&](const Copy& out) {
      return out.buffer == buffer && out.memory == BoundMemory::kHost && !isOutput(buffer);
    });
    isCarried |= std::any_of(record->out.begin(), record->out.end(), [&](const Copy& out) {
      return out.buffer == buffer && out.memory == BoundMemory::kOwn;
    });
  }
  for (const std::unique_ptr<Record>& record : states_) {
    if (!isCarried && record->awaited == sent_->arrival(buffer)) {
      record->awaited = nullptr;
    }
  }
  if (sent_->unstage(hostBuffers_[buffer])) {
    hostBuffers_[buffer] = nullptr;
  }
}

}  // namespace graphrun::devices::cuda
