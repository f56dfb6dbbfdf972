#include "runtime/control/grpc_client.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/auth_context.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/address.h"
#include "runtime/control/client_call.h"
#include "runtime/control/client_wire.h"
#include "runtime/control/control.grpc.pb.h"
#include "runtime/control/credentials.h"
#include "runtime/control/first_cause.h"
#include "runtime/control/grpc_log.h"
#include "runtime/control/job.h"
#include "runtime/control/status_grpc.h"
#include "runtime/control/transfer.h"
#include "runtime/control/unix_listener.h"
#include "runtime/control/versions.h"

namespace graphrun::runtime {
namespace {

constexpr Millis kJoinAttempt{5'000};
constexpr Millis kJoinPause{100};
constexpr int64_t kProgressNanos = 3'000'000'000;
constexpr int64_t kNanosPerMilli = 1'000'000;

class GrpcClient final : public WorkerClient {
 public:
  GrpcClient(const WorkerClientOptions& options, const Address& address,
             std::shared_ptr<grpc::ChannelCredentials> credentials)
      : options_(options),
        target_(address.grpcTarget()),
        socketPath_(address.path),
        credentials_(std::move(credentials)),
        calls_(options.name, options.address, options.job) {
    reconnect();
  }
  ~GrpcClient() override {
    giveUp(absl::CancelledError(absl::StrCat(calls_.label(), ": the client was closed")));
    calls_.drain();
  }

  const std::string& name() const override { return options_.name; }
  const std::string& address() const override { return options_.address; }
  absl::StatusOr<JoinedWorker> join() override {
    return joinUnlessBusy(options_.joinTimeout, options_.joinTimeout);
  }
  absl::StatusOr<JoinedWorker> joinUnlessBusy(Millis timeout, Millis busyPatience) override;
  absl::Status loadPlan(uint64_t plan, absl::string_view bytes) override;
  absl::StatusOr<std::vector<bool>> hasWeights(uint64_t plan,
                                               absl::Span<const WeightId> weights) override;
  absl::Status putWeights(uint64_t plan, absl::Span<const WeightSource> weights,
                          absl::FunctionRef<void(uint64_t)> sent) override;
  absl::Status connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) override;
  absl::StatusOr<std::vector<std::string>> newCommunicatorIds(
      uint64_t plan, absl::Span<const uint32_t> communicators) override;
  absl::StatusOr<std::vector<DeviceReport>> preparePlan(
      uint64_t plan, uint64_t tuneNanos, absl::Span<const CommunicatorId> communicatorIds) override;
  uint64_t serveStepsAsync(std::function<void(const absl::Status&)> ended) override;
  absl::Status cancel(const absl::Status& cause) override;
  absl::Status unloadPlan(uint64_t plan) override;
  absl::Status leave(const absl::Status& why) override;
  absl::Status shutdown(Millis timeout) override;
  absl::StatusOr<std::string> metrics() override;
  absl::StatusOr<std::string> trace() override;
  void heartbeatAsync(Millis timeout,
                      std::function<void(absl::StatusOr<HeartbeatSample>)> done) override;
  void markLost(const absl::Status& why) override { giveUp(why); }

 private:
  /// An Attempt says how far one attempt to join came.
  enum class Attempt { kFinal, kUnreached, kBusy };
  absl::StatusOr<JoinedWorker> tryJoin(Millis timeout, Attempt* attempt);
  absl::Status checkJoined(const control::JoinReply& reply) const;
  absl::Status checkCertificate(const grpc::ClientContext& context) const;
  absl::Status joinTimedOut(Millis timeout, const absl::Status& last) const;
  bool sendWeight(grpc::ClientWriter<control::WeightChunk>* writer, uint64_t plan,
                  const WeightSource& weight, absl::FunctionRef<void(size_t)> sent);
  void giveUp(const absl::Status& why) {
    calls_.fail(withFirstCause(why, {.worker = options_.name}));
  }

  /// A unary call: method, request, reply.
  template <typename Method, typename Request, typename Reply>
  absl::Status unary(const char* name, Method method, const Request& request, Reply* reply,
                     Millis timeout) {
    ClientCall call(&calls_, name, timeout);
    return call.finish((stub().get()->*method)(call.context(), request, reply));
  }
  std::shared_ptr<control::Worker::Stub> stub() {
    std::lock_guard lock(mutex_);
    return stub_;
  }
  /// A new connection: gRPC drives a channel's attempts to connect only while a call waits on it,
  /// so that an old one may report a failure of long ago.
  void reconnect() {
    auto fresh = control::Worker::NewStub(
        grpc::CreateCustomChannel(target_, credentials_, channelArguments()));
    std::lock_guard lock(mutex_);
    stub_ = std::move(fresh);
  }

  const WorkerClientOptions options_;
  const std::string target_;
  const std::string socketPath_;  // "" for TCP
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  ClientCalls calls_;
  std::mutex mutex_;
  std::shared_ptr<control::Worker::Stub> stub_;
  std::atomic<uint64_t> runs_{0};
  std::atomic<uint64_t> beats_{0};
};

absl::Status GrpcClient::checkJoined(const control::JoinReply& reply) const {
  const control::Versions& theirs = reply.versions();
  GR_RETURN_IF_ERROR(annotate(
      checkCompatible(options_.versions, theirs.protocol(), {theirs.graphrun(), theirs.ucx()}),
      calls_.label()));
  if (reply.transport_address().size() > kMaxAddressBytes ||
      reply.devices_size() > static_cast<int>(kMaxPeers)) {
    return absl::InvalidArgumentError(
        absl::StrCat(calls_.label(), ": offers ", reply.devices_size(),
                     " devices and an address of ", reply.transport_address().size(),
                     " bytes; the limits are ", kMaxPeers, " and ", kMaxAddressBytes));
  }
  return absl::OkStatus();
}

/// Workers of one host have certificates for the same address: it is the name that tells them
/// apart.
absl::Status GrpcClient::checkCertificate(const grpc::ClientContext& context) const {
  std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) {
    return absl::OkStatus();  // without TLS
  }
  std::vector<std::string> names;
  for (const char* property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : peer->FindPropertyValues(property)) {
      names.emplace_back(name.data(), name.size());
    }
  }
  if (std::find(names.begin(), names.end(), options_.name) != names.end()) {
    return absl::OkStatus();
  }
  return withFirstCause(
      absl::UnauthenticatedError(absl::StrCat(
          calls_.label(), ": shows a certificate of ", absl::StrJoin(names, ", "),
          ", expected one with the name ", options_.name,
          "; give each worker its own files of `graphrun certs DIR`, or correct the address")),
      {.worker = options_.name});
}

absl::StatusOr<JoinedWorker> GrpcClient::tryJoin(Millis timeout, Attempt* attempt) {
  *attempt = Attempt::kFinal;
  if (absl::Status owner = checkSocketOwner(socketPath_); !owner.ok()) {
    return withFirstCause(annotate(owner, calls_.label()), {.worker = options_.name});
  }
  control::JoinRequest request;
  request.mutable_versions()->set_protocol(kControlProtocol);
  request.mutable_versions()->set_graphrun(options_.versions.graphrun);
  request.mutable_versions()->set_ucx(options_.versions.ucx);
  request.set_job(options_.job);
  request.set_coordinator(processLabel());
  request.set_worker(options_.name);
  request.set_heartbeat_timeout_ms(static_cast<uint32_t>(options_.heartbeatTimeout.count()));
  control::JoinReply reply;
  ClientCall call(&calls_, "Join", timeout);
  absl::Status status = call.finish(stub()->Join(call.context(), request, &reply));
  if (status.ok()) {
    status = checkCertificate(*call.context());
    status.Update(checkJoined(reply));
  } else if (call.answered()) {
    *attempt = absl::IsUnavailable(status) ? Attempt::kBusy : Attempt::kFinal;
  } else if ((absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) &&
             !isTlsRefusal(status)) {
    *attempt = Attempt::kUnreached;
  }
  GR_RETURN_IF_ERROR(status);
  return fromWire(reply);
}

absl::Status GrpcClient::joinTimedOut(Millis timeout, const absl::Status& last) const {
  absl::string_view hint =
      options_.security.empty()
          ? "is it started, and is the address right? (`graphrun worker --listen ADDR`; a worker "
            "that has certificates wants them here too)"
          : "is it started, is the address right, and does it have certificates of the same "
            "authority?";
  return withFirstCause(absl::UnavailableError(absl::StrFormat(
                            "%s did not join within %.1f s: %s. Last error: %s", calls_.label(),
                            timeout.count() * 1e-3, hint, last.message())),
                        {.worker = options_.name});
}

absl::StatusOr<JoinedWorker> GrpcClient::joinUnlessBusy(Millis timeout, Millis busyPatience) {
  int64_t start = nowNanos();
  int64_t end = start + timeout.count() * kNanosPerMilli;
  int64_t busySince = 0;  // 0: it is not known to be
  int64_t report = start + kProgressNanos;
  while (true) {
    Millis left((end - nowNanos()) / kNanosPerMilli + 1);
    Attempt attempt = Attempt::kFinal;
    auto joined = tryJoin(std::min(left, kJoinAttempt), &attempt);
    if (joined.ok() || attempt == Attempt::kFinal || calls_.failed()) {
      return joined;
    }
    const int64_t pauseEnd = nowNanos() + kJoinPause.count() * kNanosPerMilli;
    busySince = attempt != Attempt::kBusy ? 0 : busySince == 0 ? nowNanos() : busySince;
    if (busySince != 0 && pauseEnd - busySince >= busyPatience.count() * kNanosPerMilli &&
        busyPatience < timeout) {
      return withFirstCause(absl::AbortedError(joined.status().message()),
                            {.worker = options_.name});
    }
    if (pauseEnd >= end) {
      return joinTimedOut(timeout, joined.status());
    }
    if (nowNanos() >= report) {
      report += kProgressNanos;
      log(LogLevel::kInfo,
          absl::StrCat("waiting for ", calls_.label(), " since ",
                       (nowNanos() - start) / 1'000'000'000, " s: ", joined.status().message()));
    }
    std::this_thread::sleep_for(kJoinPause);
    reconnect();
  }
}

absl::Status GrpcClient::loadPlan(uint64_t plan, absl::string_view bytes) {
  ClientCall call(&calls_, "LoadPlan", transferTimeout(options_.callTimeout, bytes.size()));
  control::Done done;
  auto writer = stub()->LoadPlan(call.context(), &done);
  control::PlanChunk chunk;
  chunk.set_plan(plan);
  chunk.set_total_bytes(bytes.size());
  chunk.set_checksum(checksumOf(bytes));
  for (size_t offset = 0; offset < bytes.size(); offset += kChunkBytes) {
    chunk.set_data(std::string(bytes.substr(offset, kChunkBytes)));
    if (!writer->Write(chunk)) {
      break;  // Finish says why
    }
  }
  writer->WritesDone();
  return call.finish(writer->Finish());
}

absl::StatusOr<std::vector<bool>> GrpcClient::hasWeights(uint64_t plan,
                                                         absl::Span<const WeightId> weights) {
  std::vector<bool> present;
  for (size_t first = 0; first < weights.size(); first += kMaxWeightsAQuery) {
    control::HasWeightsRequest request;
    request.set_plan(plan);
    for (const WeightId& id : weights.subspan(first, kMaxWeightsAQuery)) {
      control::WeightId* wire = request.add_weights();
      wire->set_checksum(id.checksum);
      wire->set_bytes(id.bytes);
    }
    control::HasWeightsReply reply;
    GR_RETURN_IF_ERROR(unary("HasWeights", &control::Worker::Stub::HasWeights, request, &reply,
                             options_.callTimeout));
    if (reply.present_size() != request.weights_size()) {
      return absl::InternalError(absl::StrCat(calls_.label(), ": HasWeights answered for ",
                                              reply.present_size(), " of ", request.weights_size(),
                                              " weights"));
    }
    present.insert(present.end(), reply.present().begin(), reply.present().end());
  }
  return present;
}

bool GrpcClient::sendWeight(grpc::ClientWriter<control::WeightChunk>* writer, uint64_t plan,
                            const WeightSource& weight, absl::FunctionRef<void(size_t)> sent) {
  control::WeightChunk chunk;
  chunk.set_plan(plan);
  chunk.set_index(weight.index);
  chunk.mutable_id()->set_checksum(weight.checksum);
  chunk.mutable_id()->set_bytes(weight.data.size());
  size_t offset = 0;
  do {  // an empty weight is one empty chunk
    absl::string_view data = weight.data.substr(offset, kChunkBytes);
    chunk.set_offset(offset);
    chunk.set_data(data.data(), data.size());
    chunk.set_chunk_checksum(checksumOf(data));
    if (!writer->Write(chunk)) {
      return false;
    }
    offset += data.size();
    sent(data.size());
  } while (offset < weight.data.size());
  return true;
}

absl::Status GrpcClient::putWeights(uint64_t plan, absl::Span<const WeightSource> weights,
                                    absl::FunctionRef<void(uint64_t)> sent) {
  uint64_t bytes = 0;
  for (const WeightSource& weight : weights) {
    bytes += weight.data.size();
  }
  ClientCall call(&calls_, "PutWeights", transferTimeout(options_.callTimeout, bytes));
  control::Done done;
  auto writer = stub()->PutWeights(call.context(), &done);
  uint64_t gone = 0;
  auto count = [&](size_t chunk) { sent(gone += chunk); };
  for (const WeightSource& weight : weights) {
    if (!sendWeight(writer.get(), plan, weight, count)) {
      break;  // Finish says why
    }
  }
  writer->WritesDone();
  return call.finish(writer->Finish());
}

absl::Status GrpcClient::connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) {
  control::ConnectPeersRequest request;
  request.set_rank(rank);
  for (const PeerInfo& peer : peers) {
    control::Peer* wire = request.add_peers();
    wire->set_rank(peer.rank);
    wire->set_name(peer.name);
    wire->set_transport_address(peer.transportAddress);
    wire->set_token(peer.token);
    wire->set_carries_gpu_memory(peer.carriesGpuMemory);
  }
  control::Done done;
  return unary("ConnectPeers", &control::Worker::Stub::ConnectPeers, request, &done,
               options_.callTimeout);
}

absl::StatusOr<std::vector<std::string>> GrpcClient::newCommunicatorIds(
    uint64_t plan, absl::Span<const uint32_t> communicators) {
  control::NewCommunicatorIdsRequest request;
  request.set_plan(plan);
  request.mutable_communicators()->Add(communicators.begin(), communicators.end());
  control::NewCommunicatorIdsReply reply;
  GR_RETURN_IF_ERROR(unary("NewCommunicatorIds", &control::Worker::Stub::NewCommunicatorIds,
                           request, &reply, options_.callTimeout));
  const bool fits = std::all_of(reply.communicator_ids().begin(), reply.communicator_ids().end(),
                                [](const std::string& communicatorId) {
                                  return communicatorId.size() <= kMaxCommunicatorIdBytes;
                                });
  if (reply.communicator_ids_size() != request.communicators_size() || !fits) {
    return absl::InternalError(absl::StrCat(
        calls_.label(), ": NewCommunicatorIds answered for ", reply.communicator_ids_size(), " of ",
        request.communicators_size(), " communicators, or with more than ", kMaxCommunicatorIdBytes,
        " bytes for one"));
  }
  return std::vector<std::string>(reply.communicator_ids().begin(), reply.communicator_ids().end());
}

absl::StatusOr<std::vector<DeviceReport>> GrpcClient::preparePlan(
    uint64_t plan, uint64_t tuneNanos, absl::Span<const CommunicatorId> communicatorIds) {
  control::PrepareRequest request;
  request.set_plan(plan);
  request.set_tune_ns(tuneNanos);
  for (const CommunicatorId& communicatorId : communicatorIds) {
    control::CommunicatorId* wire = request.add_communicator_ids();
    wire->set_communicator(communicatorId.communicator);
    wire->set_data(communicatorId.data);
  }
  control::PrepareReply reply;
  GR_RETURN_IF_ERROR(
      unary("PreparePlan", &control::Worker::Stub::PreparePlan, request, &reply, kPrepareTimeout));
  return fromWire(reply);
}

uint64_t GrpcClient::serveStepsAsync(std::function<void(const absl::Status&)> ended) {
  struct State {
    ClientCall call;
    control::ServeRequest request;
    control::Done reply;
  };
  auto* state = new State{{&calls_, "ServeSteps", kServeTimeout}, {}, {}};
  const uint64_t run = ++runs_;
  state->request.set_run(run);
  stub()->async()->ServeSteps(
      state->call.context(), &state->request, &state->reply,
      [this, state, ended = std::move(ended)](const grpc::Status& status) {
        absl::Status why = state->call.finish(status);
        ended(!why.ok() ? why
                        : absl::InternalError(absl::StrCat(
                              calls_.label(), ": stopped serving steps without a reason")));
        delete state;  // last: the client waits for it
      });
  return run;
}

absl::Status GrpcClient::cancel(const absl::Status& cause) {
  control::CancelRequest request;
  *request.mutable_cause() = toCause(cause);
  request.set_through_run(runs_);
  control::Done done;
  return unary("Cancel", &control::Worker::Stub::Cancel, request, &done, options_.callTimeout);
}

absl::Status GrpcClient::unloadPlan(uint64_t plan) {
  control::PlanRef request;
  request.set_plan(plan);
  control::Done done;
  return unary("UnloadPlan", &control::Worker::Stub::UnloadPlan, request, &done,
               options_.callTimeout);
}

absl::Status GrpcClient::leave(const absl::Status& why) {
  control::Done done;
  return unary("Leave", &control::Worker::Stub::Leave, toCause(why), &done, options_.callTimeout);
}

absl::Status GrpcClient::shutdown(Millis timeout) {
  control::Done done;
  return unary("Shutdown", &control::Worker::Stub::Shutdown, control::Done(), &done, timeout);
}

absl::StatusOr<std::string> GrpcClient::metrics() {
  control::Bytes reply;
  GR_RETURN_IF_ERROR(unary("GetMetrics", &control::Worker::Stub::GetMetrics, control::Done(),
                           &reply, options_.callTimeout));
  return std::move(*reply.mutable_data());
}

absl::StatusOr<std::string> GrpcClient::trace() {
  ClientCall call(&calls_, "GetTrace", transferTimeout(options_.callTimeout, kMaxTraceBytes));
  auto reader = stub()->GetTrace(call.context(), control::Done());
  std::string trace;
  control::Bytes chunk;
  bool tooLong = false;
  while (!tooLong && reader->Read(&chunk)) {
    tooLong = trace.size() + chunk.data().size() > kMaxTraceBytes;
    trace += chunk.data();
  }
  if (tooLong) {
    call.context()->TryCancel();
  }
  absl::Status status = call.finish(reader->Finish());
  if (tooLong) {
    return absl::ResourceExhaustedError(
        absl::StrCat(calls_.label(), ": its trace has over ", kMaxTraceBytes, " bytes"));
  }
  GR_RETURN_IF_ERROR(status);
  return trace;
}

void GrpcClient::heartbeatAsync(Millis timeout,
                                std::function<void(absl::StatusOr<HeartbeatSample>)> done) {
  struct State {
    ClientCall call;
    control::HeartbeatRequest request;
    control::HeartbeatReply reply;
    int64_t sent;
  };
  auto* state = new State{{&calls_, "Heartbeat", timeout}, {}, {}, nowNanos()};
  state->request.set_sequence(++beats_);
  state->call.context()->set_wait_for_ready(true);  // a broken connection is made anew
  stub()->async()->Heartbeat(
      state->call.context(), &state->request, &state->reply,
      [state, label = calls_.label(), done = std::move(done)](const grpc::Status& status) {
        int64_t now = nowNanos();
        absl::Status result = state->call.finish(status);
        const int64_t clock = state->reply.clock_ns();
        if (result.ok() && (clock < -kMaxClockNanos || clock > kMaxClockNanos)) {
          result = absl::FailedPreconditionError(absl::StrCat(
              label, ": Heartbeat: its clock is at ", clock, " ns, which no clock reaches"));
        }
        HeartbeatSample sample{result.ok() ? clock - (state->sent + now) / 2 : 0,
                               now - state->sent};
        delete state;  // before `done`, which may drop the last reference to the client
        done(result.ok() ? absl::StatusOr<HeartbeatSample>(sample) : result);
      });
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerClient>> makeGrpcClient(const WorkerClientOptions& options) {
  routeGrpcLog();
  if (options.job.size() != kSecretBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("job id of ", options.job.size(), " bytes, expected ", kSecretBytes));
  }
  std::string where = absl::StrCat("worker ", options.name);
  auto address = parseAddress(options.address);
  GR_RETURN_IF_ERROR(annotate(address.status(), where));
  auto credentials = channelCredentials(*address, options.security);
  GR_RETURN_IF_ERROR(annotate(credentials.status(), where));
  return std::make_unique<GrpcClient>(options, *address, *credentials);
}

}  // namespace graphrun::runtime
