#include "devices/cuda/driver/peers.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "devices/cuda/driver/vendor_status.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

/// The length of the trial in 32-bit words: more than one page of any size that GPUs have, and
/// some.
constexpr size_t kTriedWords = (size_t{4} << 20) / sizeof(uint32_t) + 5;

absl::Status giveAccess(const MemoryPool& from, const Context& to) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, to.gpu()};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ScopedContext scope(from.context());
  return GR_CU(to.driver(), cuMemPoolSetAccess, from.handle(), &access, 1);
}

/// Puts `words` on the GPU of `pool`; `made` comes when they are there.
absl::Status upload(const std::vector<uint32_t>& words, const DeviceMemory& to,
                    const Stream& stream, Event& made) {
  GR_RETURN_IF_ERROR(GR_CU(stream.context().driver(), cuMemcpyHtoDAsync_v2, to.address(),
                           words.data(), to.bytes(), stream.get()));
  return made.record(stream);
}

absl::StatusOr<std::vector<uint32_t>> download(const DeviceMemory& from, const Stream& stream) {
  std::vector<uint32_t> words(from.bytes() / sizeof(uint32_t));
  GR_RETURN_IF_ERROR(GR_CU(stream.context().driver(), cuMemcpyDtoHAsync_v2, words.data(),
                           from.address(), from.bytes(), stream.get()));
  GR_RETURN_IF_ERROR(stream.synchronize());
  return words;
}

/// Copies `words` from one GPU to the other, and returns what arrives there.
absl::StatusOr<std::vector<uint32_t>> sent(const std::vector<uint32_t>& words,
                                           const MemoryPool& from, const MemoryPool& to) {
  const size_t bytes = words.size() * sizeof(uint32_t);
  GR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> source, from.allocate(bytes));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> target, to.allocate(bytes));
  ScopedContext there(from.context());
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Stream> sending, Stream::create(from.contextPointer()));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Event> made, Event::create(from.contextPointer()));
  GR_RETURN_IF_ERROR(upload(words, *source, *sending, *made));
  GR_RETURN_IF_ERROR(sending->synchronize());
  const DeviceValue value{source->address(), from.context().handle(), made.get()};
  absl::StatusOr<std::vector<uint32_t>> arrived;
  {
    ScopedContext here(to.context());
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Stream> receiving, Stream::create(to.contextPointer()));
    absl::Status status = fetch(value, to.context(), target->address(), bytes, *receiving);
    arrived = status.ok() ? download(*target, *receiving) : status;
    static_cast<void>(receiving->synchronize());  // nothing touches the memory when it goes
  }
  return arrived;
}

}  // namespace

absl::Status fetch(const DeviceValue& value, const Context& context, CUdeviceptr to, size_t bytes,
                   const Stream& stream) {
  GR_RETURN_IF_ERROR(value.made->holdUp(stream));
  return GR_CU(context.driver(), cuMemcpyPeerAsync, to, context.handle(), value.address,
               value.context, bytes, stream.get());
}

absl::Status checkPeers(const std::shared_ptr<const MemoryPool>& from,
                        const std::shared_ptr<const MemoryPool>& to) {
  const Context& source = from->context();
  const Context& target = to->context();
  if (source.gpu() == target.gpu()) {
    return absl::OkStatus();
  }
  int can = 0;
  GR_RETURN_IF_ERROR(
      GR_CU(target.driver(), cuDeviceCanAccessPeer, &can, target.gpu(), source.gpu()));
  if (can == 0) {
    return absl::FailedPreconditionError(
        "the driver gives one no access to the other's memory (cuDeviceCanAccessPeer)");
  }
  GR_RETURN_IF_ERROR(giveAccess(*from, target));
  std::vector<uint32_t> words(kTriedWords);
  std::iota(words.begin(), words.end(), 0x9e3779b9U);
  GR_ASSIGN_OR_RETURN(std::vector<uint32_t> arrived, sent(words, *from, *to));
  const auto [wrong, expected] = std::mismatch(arrived.begin(), arrived.end(), words.begin());
  return wrong == arrived.end()
             ? absl::OkStatus()
             : absl::DataLossError(absl::StrCat(
                   "a trial of ", words.size() * sizeof(uint32_t),
                   " bytes arrived with other bytes from ",
                   (wrong - arrived.begin()) * static_cast<ptrdiff_t>(sizeof(uint32_t)),
                   " on; that is known of machines whose IOMMU or PCI access control is on"));
}

}  // namespace graphrun::devices::cuda
