#include "runtime/control/worker_rpcs.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/control/limits.h"
#include "runtime/control/status_grpc.h"
#include "runtime/control/transfer.h"
#include "runtime/control/versions.h"

namespace graphrun::runtime {
namespace {

constexpr Millis kCancelRepeat{50};
constexpr Millis kCancelPatience{5'000};
constexpr Millis kAnswerGrace{200};
constexpr uint32_t kMinHeartbeatTimeoutMs = 100;
constexpr uint32_t kMaxHeartbeatTimeoutMs = 600'000;

/// Returns the status of `work`, or makes one of what it threw: an exception fails a call, not the
/// job.
absl::Status caught(absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the worker has no memory left for this");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("unexpected: ", error.what()));
  }
}

/// A status as the worker's own.
grpc::Status marked(grpc::ServerContext* context, const absl::Status& status) {
  context->AddTrailingMetadata(kAnswerKey, "1");
  return toGrpc(status);
}

void fillReply(const WorkerOffer& offer, control::JoinReply* reply) {
  reply->set_transport_address(offer.transportAddress);
  for (const DeviceDescription& device : offer.devices) {
    control::DeviceOffer* wire = reply->add_devices();
    wire->set_kind(device.kind);
    wire->set_index(device.index);
    wire->mutable_cores()->Add(device.cores.begin(), device.cores.end());
    wire->set_memory_bytes(device.memoryBytes);
    wire->set_name(device.name);
    wire->set_collectives(device.collectives);
    wire->set_multiplies_bytes(device.multipliesBytes);
  }
  reply->set_carries_gpu_memory(offer.carriesGpuMemory);
  reply->mutable_missing()->Add(offer.missing.begin(), offer.missing.end());
}

absl::Status checkJoin(const control::JoinRequest& request) {
  if (request.job().size() != kSecretBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("job id of ", request.job().size(), " bytes, expected ", kSecretBytes));
  }
  if (request.worker().size() > kMaxNameBytes || request.coordinator().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a name is longer than ", kMaxNameBytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PeerInfo>> peersOf(const control::ConnectPeersRequest& request) {
  if (request.peers_size() > static_cast<int>(kMaxPeers)) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.peers_size(), " peers, the limit is ", kMaxPeers));
  }
  std::vector<PeerInfo> peers;
  for (const control::Peer& peer : request.peers()) {
    if (peer.token().size() != kSecretBytes || peer.name().size() > kMaxNameBytes ||
        peer.transport_address().size() > kMaxAddressBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "peer ", peer.rank(), ": token of ", peer.token().size(), " bytes (expected ",
          kSecretBytes, "), name of ", peer.name().size(), " (at most ", kMaxNameBytes,
          "), address of ", peer.transport_address().size(), " (at most ", kMaxAddressBytes, ")"));
    }
    peers.push_back({peer.rank(), peer.name(), peer.transport_address(), peer.token(),
                     peer.carries_gpu_memory()});
  }
  return peers;
}

absl::Status checkCommunicators(int count) {
  return count <= static_cast<int>(kMaxCommunicators)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat(count, " communicators, the limit is ", kMaxCommunicators));
}

absl::StatusOr<std::vector<CommunicatorId>> communicatorIdsOf(
    const control::PrepareRequest& request) {
  GR_RETURN_IF_ERROR(checkCommunicators(request.communicator_ids_size()));
  std::vector<CommunicatorId> communicatorIds;
  communicatorIds.reserve(static_cast<size_t>(request.communicator_ids_size()));
  for (const control::CommunicatorId& communicatorId : request.communicator_ids()) {
    if (communicatorId.data().size() > kMaxCommunicatorIdBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "communicator ", communicatorId.communicator(), " meets by ",
          communicatorId.data().size(), " bytes, the limit is ", kMaxCommunicatorIdBytes));
    }
    communicatorIds.push_back({communicatorId.communicator(), communicatorId.data()});
  }
  return communicatorIds;
}

}  // namespace

WorkerRpcs::WorkerRpcs(WorkerHandler* handler, BuildVersions versions, uint64_t incarnation)
    : handler_(handler), versions_(std::move(versions)), incarnation_(incarnation) {}

/// Every method but Join is run by this.
grpc::Status WorkerRpcs::answer(grpc::ServerContext* context,
                                absl::FunctionRef<absl::Status()> method) {
  return marked(context, gate_.causeOf(*context, caught(method)));
}

bool WorkerRpcs::endJob(const std::string& job, const absl::Status& why) {
  if (!gate_.close(job, why)) {
    return false;
  }
  watch_.stop();
  handler_->cancel(why);
  if (!gate_.drain(kAnswerGrace)) {  // who can answer, and say why, has done so
    gate_.interrupt();
  }
  Millis waited{0};
  for (handler_->cancel(why); !gate_.drain(kCancelRepeat); handler_->cancel(why)) {
    waited += kCancelRepeat;
    if (waited % kCancelPatience == Millis{0}) {
      log(LogLevel::kWarning, absl::StrCat("a call of the ended job still runs after ",
                                           waited.count(), " ms (", why.message(), ")"));
    }
  }
  handler_->endJob(why);
  gate_.release();
  return true;
}

void WorkerRpcs::checkCoordinator() {
  if (auto lost = watch_.check()) {
    log(LogLevel::kWarning, lost->message());
    endJob("", *lost);
  }
}

grpc::Status WorkerRpcs::Join(Context* context, const control::JoinRequest* request,
                              control::JoinReply* reply) {
  return marked(context, caught([&] { return join(context, *request, reply); }));
}

absl::Status WorkerRpcs::join(Context* context, const control::JoinRequest& request,
                              control::JoinReply* reply) {
  GR_RETURN_IF_ERROR(checkJoin(request));
  const control::Versions& theirs = request.versions();
  GR_RETURN_IF_ERROR(
      checkCompatible(versions_, theirs.protocol(), {theirs.graphrun(), theirs.ucx()}));
  absl::StatusOr<WorkerOffer> offer;
  {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass,
                        gate_.open(request.job(), request.coordinator(), context));
    const Millis silence{
        std::clamp(request.heartbeat_timeout_ms(), kMinHeartbeatTimeoutMs, kMaxHeartbeatTimeoutMs)};
    runs_.reset();
    // A coordinator sends no heartbeats before it has our answer, for which libraries are opened
    // and devices looked for: until then it may be silent for as long as it would wait itself.
    watch_.start(request.coordinator(), std::max(silence, kJoinTimeout));
    absl::Status joined = caught([&] {
      offer = handler_->join({request.job(), request.coordinator(), request.worker()});
      return offer.status();
    });
    offer = joined.ok() ? std::move(offer) : joined;
    watch_.start(request.coordinator(), silence);
  }
  if (!offer.ok()) {
    endJob(request.job(), offer.status());
    return offer.status();
  }
  reply->mutable_versions()->set_protocol(kControlProtocol);
  reply->mutable_versions()->set_graphrun(versions_.graphrun);
  reply->mutable_versions()->set_ucx(versions_.ucx);
  reply->set_incarnation(incarnation_);
  fillReply(*offer, reply);
  return absl::OkStatus();
}

grpc::Status WorkerRpcs::LoadPlan(Context* context, grpc::ServerReader<control::PlanChunk>* reader,
                                  control::Done*) {
  auto load = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    PlanAssembler plan;
    control::PlanChunk chunk;
    while (reader->Read(&chunk)) {
      GR_RETURN_IF_ERROR(plan.add(chunk));
    }
    GR_ASSIGN_OR_RETURN(std::string bytes, plan.finish());
    return handler_->loadPlan(plan.plan(), std::move(bytes));
  };
  return answer(context, load);
}

grpc::Status WorkerRpcs::HasWeights(Context* context, const control::HasWeightsRequest* request,
                                    control::HasWeightsReply* reply) {
  auto ask = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    if (request->weights_size() > static_cast<int>(kMaxWeightsAQuery)) {
      return absl::InvalidArgumentError(absl::StrCat(
          request->weights_size(), " weights in one query, the limit is ", kMaxWeightsAQuery));
    }
    std::vector<WeightId> ids;
    for (const control::WeightId& id : request->weights()) {
      ids.push_back({id.checksum(), id.bytes()});
    }
    GR_ASSIGN_OR_RETURN(std::vector<bool> present, handler_->hasWeights(request->plan(), ids));
    reply->mutable_present()->Add(present.begin(), present.end());
    return absl::OkStatus();
  };
  return answer(context, ask);
}

grpc::Status WorkerRpcs::PutWeights(Context* context,
                                    grpc::ServerReader<control::WeightChunk>* reader,
                                    control::Done*) {
  auto put = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    WeightChecker checker;
    control::WeightChunk chunk;
    while (reader->Read(&chunk)) {
      GR_ASSIGN_OR_RETURN(WeightPiece piece, checker.add(chunk));
      GR_RETURN_IF_ERROR(handler_->putWeights(piece));
    }
    return checker.finish();
  };
  return answer(context, put);
}

grpc::Status WorkerRpcs::ConnectPeers(Context* context, const control::ConnectPeersRequest* request,
                                      control::Done*) {
  auto connect = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    GR_ASSIGN_OR_RETURN(std::vector<PeerInfo> peers, peersOf(*request));
    return handler_->connectPeers(request->rank(), peers);
  };
  return answer(context, connect);
}

grpc::Status WorkerRpcs::NewCommunicatorIds(Context* context,
                                            const control::NewCommunicatorIdsRequest* request,
                                            control::NewCommunicatorIdsReply* reply) {
  auto ask = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    GR_RETURN_IF_ERROR(checkCommunicators(request->communicators_size()));
    std::vector<uint32_t> ids(request->communicators().begin(), request->communicators().end());
    GR_ASSIGN_OR_RETURN(std::vector<std::string> communicatorIds,
                        handler_->newCommunicatorIds(request->plan(), ids));
    reply->mutable_communicator_ids()->Add(communicatorIds.begin(), communicatorIds.end());
    return absl::OkStatus();
  };
  return answer(context, ask);
}

grpc::Status WorkerRpcs::PreparePlan(Context* context, const control::PrepareRequest* request,
                                     control::PrepareReply* reply) {
  auto prepare = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    GR_ASSIGN_OR_RETURN(std::vector<CommunicatorId> communicatorIds, communicatorIdsOf(*request));
    GR_ASSIGN_OR_RETURN(
        std::vector<DeviceReport> reports,
        handler_->preparePlan(request->plan(), request->tune_ns(), communicatorIds));
    for (const DeviceReport& report : reports) {
      control::DeviceReport* wire = reply->add_devices();
      wire->set_device(report.device);
      wire->set_peak_bytes(report.peakBytes);
      wire->set_prepare_ns(report.prepareNanos);
      wire->set_from_cache(report.fromCache);
      wire->set_tuned(report.tuned);
      wire->set_shared_bytes(report.sharedBytes);
      wire->set_fingerprint(report.fingerprint);
      wire->set_handed_over(report.handedOver);
      wire->mutable_notes()->Add(report.notes.begin(), report.notes.end());
      wire->mutable_refusals()->Add(report.refusals.begin(), report.refusals.end());
    }
    return absl::OkStatus();
  };
  return answer(context, prepare);
}

grpc::Status WorkerRpcs::ServeSteps(Context* context, const control::ServeRequest* request,
                                    control::Done*) {
  auto serve = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    if (request->run() == 0) {
      return absl::InvalidArgumentError("ServeSteps without a number");
    }
    GR_ASSIGN_OR_RETURN(RunLedger::Run run, runs_.begin(request->run()));
    return handler_->serveSteps(request->run());
  };
  return answer(context, serve);
}

absl::Status WorkerRpcs::cancelRuns(const control::CancelRequest& request) {
  absl::Status cause = fromCause(request.cause());
  runs_.cancel(request.through_run(), cause);
  for (Millis waited{0}; waited < kCancelPatience; waited += kCancelRepeat) {
    handler_->cancel(cause);
    if (runs_.settled(kCancelRepeat)) {
      return absl::OkStatus();
    }
  }
  return absl::DeadlineExceededError(
      absl::StrCat("a cancelled step still runs after ", kCancelPatience.count(), " ms"));
}

grpc::Status WorkerRpcs::Cancel(Context* context, const control::CancelRequest* request,
                                control::Done*) {
  auto cancel = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    return cancelRuns(*request);
  };
  return answer(context, cancel);
}

grpc::Status WorkerRpcs::UnloadPlan(Context* context, const control::PlanRef* request,
                                    control::Done*) {
  auto unload = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    return handler_->unloadPlan(request->plan());
  };
  return answer(context, unload);
}

grpc::Status WorkerRpcs::Heartbeat(Context* context, const control::HeartbeatRequest* request,
                                   control::HeartbeatReply* reply) {
  auto beat = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    watch_.seen();
    reply->set_sequence(request->sequence());
    reply->set_incarnation(incarnation_);
    reply->set_clock_ns(nowNanos());
    return absl::OkStatus();
  };
  return answer(context, beat);
}

grpc::Status WorkerRpcs::GetMetrics(Context* context, const control::Done*, control::Bytes* reply) {
  auto get = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    GR_ASSIGN_OR_RETURN(*reply->mutable_data(), handler_->metrics());
    return absl::OkStatus();
  };
  return answer(context, get);
}

grpc::Status WorkerRpcs::GetTrace(Context* context, const control::Done*,
                                  grpc::ServerWriter<control::Bytes>* writer) {
  auto get = [&]() -> absl::Status {
    GR_ASSIGN_OR_RETURN(JobGate::Pass pass, gate_.enter(context));
    GR_ASSIGN_OR_RETURN(std::string trace, handler_->trace());
    control::Bytes chunk;
    for (size_t offset = 0; offset < trace.size(); offset += kChunkBytes) {
      chunk.set_data(trace.substr(offset, kChunkBytes));
      if (!writer->Write(chunk)) {
        return absl::CancelledError("the coordinator stopped reading the trace");
      }
    }
    return absl::OkStatus();
  };
  return answer(context, get);
}

grpc::Status WorkerRpcs::Leave(Context* context, const control::Cause* cause, control::Done*) {
  auto leave = [&]() -> absl::Status {
    std::string job = jobOf(*context);
    bool ended = !job.empty() && endJob(job, fromCause(*cause));
    return ended ? absl::OkStatus()
                 : absl::FailedPreconditionError("not part of that job any more");
  };
  return answer(context, leave);
}

grpc::Status WorkerRpcs::Shutdown(Context* context, const control::Done*, control::Done*) {
  // The pass is given back first: the handler's main thread will stop the service at once, which
  // cancels the calls that are inside, and this one is to be answered.
  auto shutdown = [&]() -> absl::Status {
    absl::Status allowed = gate_.enter(context).status();
    return allowed.ok() ? handler_->shutdown() : allowed;
  };
  return answer(context, shutdown);
}

}  // namespace graphrun::runtime
