#include "runtime/control/client_wire.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {
namespace {

constexpr int kMinBackoffMs = 50;
constexpr int kMaxBackoffMs = 500;
constexpr int kConnectTimeoutMs = 5'000;

/// Returns the texts that a worker sent, within bounds.
std::vector<std::string> textsOf(const google::protobuf::RepeatedPtrField<std::string>& wire) {
  const int count = std::min(wire.size(), static_cast<int>(kMaxWorkerNotes));
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    texts.push_back(wire[i].substr(0, kMaxErrorBytes));
  }
  return texts;
}

}  // namespace

grpc::ChannelArguments channelArguments() {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(kMaxMessageBytes);
  args.SetMaxSendMessageSize(kMaxMessageBytes);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kMinBackoffMs);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxBackoffMs);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  args.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kConnectionPing.count()));
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(kConnectionTimeout.count()));
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // workers are reached directly
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // one connection a client
  return args;
}

JoinedWorker fromWire(const control::JoinReply& reply) {
  JoinedWorker joined;
  joined.versions = {reply.versions().graphrun(), reply.versions().ucx()};
  joined.incarnation = reply.incarnation();
  joined.offer.transportAddress = reply.transport_address();
  for (const control::DeviceOffer& wire : reply.devices()) {
    DeviceDescription& device = joined.offer.devices.emplace_back();
    device.name = wire.name();
    device.kind = wire.kind();
    device.index = wire.index();
    device.cores.assign(wire.cores().begin(), wire.cores().end());
    device.memoryBytes = wire.memory_bytes();
    device.collectives = wire.collectives().substr(0, kMaxNameBytes);
    device.multipliesBytes = wire.multiplies_bytes();
  }
  joined.offer.missing = textsOf(reply.missing());
  joined.offer.carriesGpuMemory = reply.carries_gpu_memory();
  return joined;
}

std::vector<DeviceReport> fromWire(const control::PrepareReply& reply) {
  std::vector<DeviceReport> reports;
  for (const control::DeviceReport& wire : reply.devices()) {
    reports.push_back({wire.device(), wire.peak_bytes(), wire.prepare_ns(), wire.from_cache(),
                       wire.tuned(), wire.shared_bytes(), wire.fingerprint(), wire.handed_over(),
                       textsOf(wire.notes()), textsOf(wire.refusals())});
  }
  return reports;
}

Millis transferTimeout(Millis base, uint64_t bytes) {
  return base + Millis(static_cast<int64_t>(bytes / kMinTransferBytesPerMs));
}

bool isTlsRefusal(const absl::Status& status) {
  return absl::StrContains(status.message(), "CERTIFICATE_VERIFY_FAILED") ||
         absl::StrContains(status.message(), "SSL_ERROR_SSL") ||
         absl::StrContains(status.message(), "Peer name");
}

}  // namespace graphrun::runtime
