#include "devices/cuda/program/program_streams.h"

#include "devices/cuda/driver/peers.h"
#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

absl::StatusOr<std::unique_ptr<ProgramStreams>> ProgramStreams::create(
    const ContextPointer& context) {
  std::unique_ptr<ProgramStreams> made(new ProgramStreams);
  for (std::unique_ptr<Stream>* stream : {&made->compute_, &made->in_, &made->out_}) {
    GR_ASSIGN_OR_RETURN(*stream, Stream::create(context));
  }
  for (std::unique_ptr<Event>* event : {&made->given_, &made->computed_, &made->finished_}) {
    GR_ASSIGN_OR_RETURN(*event, Event::create(context));
  }
  return made;
}

absl::Status ProgramStreams::copyIn(const Copy& copy, void* const* buffers) {
  const Context& context = in_->context();
  void* from = buffers[copy.bound];
  switch (copy.memory) {
    case BoundMemory::kOther:
      return fetch(*static_cast<const DeviceValue*>(from), context, copy.address, copy.bytes, *in_);
    case BoundMemory::kOwn:
      return GR_CU(context.driver(), cuMemcpyDtoDAsync_v2, copy.address,
                   reinterpret_cast<CUdeviceptr>(from), copy.bytes, in_->get());
    case BoundMemory::kHost:
      break;
  }
  return GR_CU(context.driver(), cuMemcpyHtoDAsync_v2, copy.address, from, copy.bytes, in_->get());
}

absl::Status ProgramStreams::copyOut(const Copy& copy, void* const* buffers) {
  const DriverApi& driver = out_->context().driver();
  void* to = buffers[copy.bound];
  GR_RETURN_IF_ERROR(
      copy.memory == BoundMemory::kOwn
          ? GR_CU(driver, cuMemcpyDtoDAsync_v2, reinterpret_cast<CUdeviceptr>(to), copy.address,
                  copy.bytes, out_->get())
          : GR_CU(driver, cuMemcpyDtoHAsync_v2, to, copy.address, copy.bytes, out_->get()));
  return copy.arrived->record(*out_);
}

absl::Status ProgramStreams::computeAfterCopies() {
  GR_RETURN_IF_ERROR(given_->record(*in_));
  return given_->holdUp(*compute_);
}

absl::Status ProgramStreams::copyAfterCompute() {
  GR_RETURN_IF_ERROR(computed_->record(*compute_));
  return computed_->holdUp(*out_);
}

// Copies to the GPU hold up the compute stream, which holds up the copies back.
absl::StatusOr<const Event*> ProgramStreams::end() {
  GR_RETURN_IF_ERROR(copyAfterCompute());
  GR_RETURN_IF_ERROR(finished_->record(*out_));
  return finished_.get();
}

void ProgramStreams::synchronize() const {
  for (const Stream* stream : {in_.get(), compute_.get(), out_.get()}) {
    static_cast<void>(stream->synchronize());
  }
}

}  // namespace graphrun::devices::cuda
