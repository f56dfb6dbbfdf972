#include "runtime/control/grpc_service.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/control/address.h"
#include "runtime/control/credentials.h"
#include "runtime/control/grpc_log.h"
#include "runtime/control/job.h"
#include "runtime/control/limits.h"
#include "runtime/control/unix_listener.h"
#include "runtime/control/worker_rpcs.h"

namespace graphrun::runtime {
namespace {

constexpr int kMaxThreads = 64;
constexpr int kMaxStreams = 64;             // calls side by side on one connection
constexpr int kHandshakeTimeoutMs = 5'000;  // a peer that connects and says nothing
constexpr Millis kStopGrace{500};

void configure(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("control").SetMaxThreads(kMaxThreads));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two workers must not share a port
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kConnectionPing.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(kConnectionTimeout.count()));
  // A client's pings are welcome: gRPC would end the connection of one that sends more.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(kConnectionPing.count() / 2));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

class GrpcService final : public WorkerService {
 public:
  GrpcService(WorkerHandler* handler, BuildVersions versions, uint64_t incarnation)
      : incarnation_(incarnation), rpcs_(handler, std::move(versions), incarnation) {}
  ~GrpcService() override { end(); }

  absl::Status listen(const Address& where, const Security& security);
  const std::string& address() const override { return address_; }
  uint64_t incarnation() const override { return incarnation_; }
  void stop() override { end(); }

 private:
  absl::Status listenUnix(const Address& where, grpc::ServerBuilder& builder);
  void watchCoordinator();
  void end();

  const uint64_t incarnation_;
  WorkerRpcs rpcs_;
  std::string address_;
  std::unique_ptr<UnixListener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread watcher_;
};

absl::Status GrpcService::listenUnix(const Address& where, grpc::ServerBuilder& builder) {
  GR_ASSIGN_OR_RETURN(listener_, UnixListener::create(where.path));
  // We accept, because gRPC would not ask the kernel who the peer is.
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  return absl::OkStatus();
}

absl::Status GrpcService::listen(const Address& where, const Security& security) {
  bool isUnix = where.kind == Address::Kind::kUnix;
  grpc::ServerBuilder builder;
  configure(builder);
  builder.RegisterService(&rpcs_);
  int port = 0;
  if (isUnix) {
    GR_RETURN_IF_ERROR(listenUnix(where, builder));
  } else {
    GR_ASSIGN_OR_RETURN(auto credentials, serverCredentials(where, security));
    builder.AddListeningPort(where.toString(), credentials, &port);
  }
  server_ = builder.BuildAndStart();
  if (!server_ || (!isUnix && port == 0)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen at ", where.toString(),
                     ": the port is taken, the address is not one of this machine's, or the "
                     "certificate does not fit its key"));
  }
  Address real = where;
  real.port = port;
  address_ = real.toString();
  if (isUnix) {
    listener_->start([this](int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = fd;
      acceptor_->HandleNewConnection(&connection);
    });
  }
  watcher_ = std::thread([this] { watchCoordinator(); });
  return absl::OkStatus();
}

void GrpcService::watchCoordinator() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kHeartbeatCheck, [this] { return stopping_; })) {
    lock.unlock();
    rpcs_.checkCoordinator();
    lock.lock();
  }
}

void GrpcService::end() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) {
      return;
    }
    stopping_ = true;
  }
  stopped_.notify_all();
  if (watcher_.joinable()) {
    watcher_.join();
  }
  if (listener_) {
    listener_->stop();
  }
  rpcs_.endJob("", absl::UnavailableError("its process was told to end"));
  if (server_) {
    server_->Shutdown(std::chrono::system_clock::now() + kStopGrace);
    server_->Wait();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerService>> startGrpcService(const WorkerServiceOptions& options,
                                                                WorkerHandler* handler) {
  routeGrpcLog();
  GR_ASSIGN_OR_RETURN(Address address, parseAddress(options.address));
  GR_ASSIGN_OR_RETURN(uint64_t incarnation, randomIncarnation());
  auto service = std::make_unique<GrpcService>(handler, options.versions, incarnation);
  GR_RETURN_IF_ERROR(service->listen(address, options.security));
  return service;
}

}  // namespace graphrun::runtime
