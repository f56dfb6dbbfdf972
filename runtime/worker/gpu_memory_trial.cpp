#include "runtime/worker/gpu_memory_trial.h"

#include <array>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/transport/edge.h"

namespace graphrun::runtime {
namespace {

/// In bytes: one payload that goes with its message, and one that is fetched.
constexpr std::array<size_t, 2> kPayloads = {64, size_t{2} << 20};
constexpr int64_t kPatienceNanos = 5'000'000'000;
constexpr LinkToken kToken = {0x67707520, 0x74726961};

/// Memory of a device's own, known to a transport.
class Region {
 public:
  static absl::StatusOr<std::unique_ptr<Region>> create(devices::DirectTransfers& device,
                                                        Transport& transport, size_t bytes) {
    std::unique_ptr<Region> region(new Region(device, transport));
    GR_ASSIGN_OR_RETURN(region->data_, device.allocateDevice(bytes));
    GR_RETURN_IF_ERROR(transport.registerMemory(region->data_, bytes, device.memory()));
    return region;
  }
  ~Region() {
    if (data_ != nullptr) {
      transport_.unregisterMemory(data_);
      device_.deallocateDevice(data_);
    }
  }
  void* data() const { return data_; }

 private:
  Region(devices::DirectTransfers& device, Transport& transport)
      : device_(device), transport_(transport) {}

  devices::DirectTransfers& device_;
  Transport& transport_;
  void* data_ = nullptr;
};

absl::Status link(Transport& a, Transport& b) {
  GR_RETURN_IF_ERROR(a.connect(b.rank(), b.localAddress(), kToken));
  GR_RETURN_IF_ERROR(b.connect(a.rank(), a.localAddress(), kToken));
  GR_RETURN_IF_ERROR(a.waitConnected(b.rank(), WaitOptions::within(kPatienceNanos)));
  return b.waitConnected(a.rank(), WaitOptions::within(kPatienceNanos));
}

EdgeSpec edgeTo(const Transport& peer, const std::string& memory, uint32_t number, size_t bytes) {
  EdgeSpec spec;
  spec.plan = 1;
  spec.edge = number;
  spec.peer = peer.rank();
  spec.maxBytes = bytes;
  spec.slots = 1;
  spec.memory = memory;
  spec.name = "of a trial";
  return spec;
}

absl::Status move(SendEdge& out, RecvEdge& in, const void* data, size_t bytes) {
  const WaitOptions patience = WaitOptions::within(kPatienceNanos);
  GR_RETURN_IF_ERROR(out.send(0, data, bytes, patience));
  GR_RETURN_IF_ERROR(in.wait(0, patience).status());
  in.release(0);
  return out.waitSent(0, patience);
}

absl::Status tryPayload(Transport& from, Transport& to, devices::DirectTransfers& device,
                        uint32_t number) {
  std::vector<uint8_t> given(kPayloads[number]);
  std::iota(given.begin(), given.end(), uint8_t{7});
  const size_t bytes = given.size();
  const std::string memory(device.memory());
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Region> source, Region::create(device, from, bytes));
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Region> target, Region::create(device, to, bytes));
  GR_RETURN_IF_ERROR(device.copyToDevice(source->data(), given.data(), bytes));
  GR_ASSIGN_OR_RETURN(SendEdge * out, from.openSend(edgeTo(to, memory, number, bytes)));
  absl::StatusOr<RecvEdge*> in = to.openRecv(edgeTo(from, memory, number, bytes), {target->data()});
  absl::Status moved = in.ok() ? move(*out, **in, source->data(), bytes) : in.status();
  if (in.ok()) {
    to.close(*in);
  }
  from.close(out);
  GR_RETURN_IF_ERROR(moved);
  std::vector<uint8_t> arrived(bytes);
  GR_RETURN_IF_ERROR(device.copyFromDevice(arrived.data(), target->data(), bytes));
  return arrived == given ? absl::OkStatus()
                          : absl::DataLossError(absl::StrCat("a trial of ", bytes,
                                                             " bytes arrived with other bytes"));
}

}  // namespace

absl::Status noGpuMemory(absl::string_view memory) {
  return absl::UnimplementedError(
      absl::StrCat("the network's library carries the host's memory only; put a ",
                   absl::AsciiStrToUpper(memory), "-aware UCX on the library path"));
}

absl::Status tryGpuMemory(const TransportFactory& makeTransport, devices::DirectTransfers& device) {
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Transport> from, makeTransport(0));
  if (!from->carries(device.memory())) {
    return noGpuMemory(device.memory());
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Transport> to, makeTransport(1));
  GR_RETURN_IF_ERROR(link(*from, *to));
  for (uint32_t number = 0; number < kPayloads.size(); ++number) {
    GR_RETURN_IF_ERROR(tryPayload(*from, *to, device, number));
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
