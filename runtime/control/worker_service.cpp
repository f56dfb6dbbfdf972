#include "runtime/control/worker_service.h"

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
constexpr int kMaxMetadataBytes = 64 << 10;
constexpr Millis kStopGrace{500};

void configure(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("control").SetMaxThreads(kMaxThreads));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two workers must not share a port
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
}

}  // namespace

struct WorkerService::Impl {
  Impl(WorkerHandler* handler, BuildVersions versions, uint64_t number)
      : incarnation(number), rpcs(handler, std::move(versions), number) {}

  absl::Status listen(const Address& where, const Security& security);
  absl::Status listenUnix(const Address& where, grpc::ServerBuilder& builder);
  void watchCoordinator();
  void stop();

  const uint64_t incarnation;
  WorkerRpcs rpcs;
  std::string address;
  std::unique_ptr<UnixListener> listener;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
  std::mutex mutex;
  std::condition_variable stopped;
  bool stopping = false;
  std::thread watcher;
};

absl::Status WorkerService::Impl::listenUnix(const Address& where, grpc::ServerBuilder& builder) {
  GR_ASSIGN_OR_RETURN(listener, UnixListener::create(where.path));
  // We accept, because gRPC would not ask the kernel who the peer is.
  acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  return absl::OkStatus();
}

absl::Status WorkerService::Impl::listen(const Address& where, const Security& security) {
  bool isUnix = where.kind == Address::Kind::kUnix;
  grpc::ServerBuilder builder;
  configure(builder);
  builder.RegisterService(&rpcs);
  int port = 0;
  if (isUnix) {
    GR_RETURN_IF_ERROR(listenUnix(where, builder));
  } else {
    GR_ASSIGN_OR_RETURN(auto credentials, serverCredentials(where, security));
    builder.AddListeningPort(where.toString(), credentials, &port);
  }
  server = builder.BuildAndStart();
  if (!server || (!isUnix && port == 0)) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen at ", where.toString(),
                     ": the port is taken, the address is not one of this machine's, or the "
                     "certificate does not fit its key"));
  }
  Address real = where;
  real.port = port;
  address = real.toString();
  if (isUnix) {
    listener->start([this](int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.fd = fd;
      acceptor->HandleNewConnection(&connection);
    });
  }
  watcher = std::thread([this] { watchCoordinator(); });
  return absl::OkStatus();
}

void WorkerService::Impl::watchCoordinator() {
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, kHeartbeatCheck, [this] { return stopping; })) {
    lock.unlock();
    rpcs.checkCoordinator();
    lock.lock();
  }
}

void WorkerService::Impl::stop() {
  {
    std::lock_guard lock(mutex);
    if (stopping) {
      return;
    }
    stopping = true;
  }
  stopped.notify_all();
  if (watcher.joinable()) {
    watcher.join();
  }
  if (listener) {
    listener->stop();
  }
  rpcs.endJob("", absl::CancelledError("the worker is shutting down"));
  if (server) {
    server->Shutdown(std::chrono::system_clock::now() + kStopGrace);
    server->Wait();
  }
}

absl::StatusOr<std::unique_ptr<WorkerService>> WorkerService::start(
    const WorkerServiceOptions& options, WorkerHandler* handler) {
  routeGrpcLog();
  GR_ASSIGN_OR_RETURN(Address address, parseAddress(options.address));
  GR_ASSIGN_OR_RETURN(uint64_t incarnation, randomIncarnation());
  std::unique_ptr<WorkerService> service(
      new WorkerService(std::make_unique<Impl>(handler, options.versions, incarnation)));
  GR_RETURN_IF_ERROR(service->impl_->listen(address, options.security));
  return service;
}

WorkerService::WorkerService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerService::~WorkerService() { stop(); }
const std::string& WorkerService::address() const { return impl_->address; }
uint64_t WorkerService::incarnation() const { return impl_->incarnation; }
void WorkerService::stop() { impl_->stop(); }

}  // namespace graphrun::runtime
