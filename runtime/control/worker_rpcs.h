// The gRPC methods of a worker: checks, then the handler.
#ifndef GRAPHRUN_RUNTIME_CONTROL_WORKER_RPCS_H_
#define GRAPHRUN_RUNTIME_CONTROL_WORKER_RPCS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/control/control.grpc.pb.h"
#include "runtime/control/heartbeat.h"
#include "runtime/control/job_gate.h"
#include "runtime/control/run_ledger.h"
#include "runtime/control/worker_handler.h"

namespace graphrun::runtime {

/// gRPC trailing metadata that tells a worker's own answer from an error of the connection.
inline constexpr char kAnswerKey[] = "graphrun-answer";

/// Thread-safe, as the handler is.
class WorkerRpcs final : public control::Worker::Service {
 public:
  WorkerRpcs(WorkerHandler* handler, BuildVersions versions, uint64_t incarnation);

  /// Ends `job` ("" for whichever runs): cancels its calls, waits for them, tells the handler.
  /// False if it was not running.
  bool endJob(const std::string& job, const absl::Status& why);
  /// Ends the job whose coordinator has been silent for too long. Call it every kHeartbeatCheck.
  void checkCoordinator();

  using Context = grpc::ServerContext;
  grpc::Status Join(Context*, const control::JoinRequest*, control::JoinReply*) override;
  grpc::Status LoadPlan(Context*, grpc::ServerReader<control::PlanChunk>*, control::Done*) override;
  grpc::Status HasWeights(Context*, const control::HasWeightsRequest*,
                          control::HasWeightsReply*) override;
  grpc::Status PutWeights(Context*, grpc::ServerReader<control::WeightChunk>*,
                          control::Done*) override;
  grpc::Status ConnectPeers(Context*, const control::ConnectPeersRequest*, control::Done*) override;
  grpc::Status NewCommunicatorIds(Context*, const control::NewCommunicatorIdsRequest*,
                                  control::NewCommunicatorIdsReply*) override;
  grpc::Status PreparePlan(Context*, const control::PrepareRequest*,
                           control::PrepareReply*) override;
  grpc::Status ServeSteps(Context*, const control::ServeRequest*, control::Done*) override;
  grpc::Status Cancel(Context*, const control::CancelRequest*, control::Done*) override;
  grpc::Status UnloadPlan(Context*, const control::PlanRef*, control::Done*) override;
  grpc::Status Heartbeat(Context*, const control::HeartbeatRequest*,
                         control::HeartbeatReply*) override;
  grpc::Status GetMetrics(Context*, const control::Done*, control::Bytes*) override;
  grpc::Status GetTrace(Context*, const control::Done*,
                        grpc::ServerWriter<control::Bytes>*) override;
  grpc::Status Leave(Context*, const control::Cause*, control::Done*) override;
  grpc::Status Shutdown(Context*, const control::Done*, control::Done*) override;

 private:
  grpc::Status answer(grpc::ServerContext* context, absl::FunctionRef<absl::Status()> method);
  absl::Status join(Context* context, const control::JoinRequest& request,
                    control::JoinReply* reply);
  absl::Status cancelRuns(const control::CancelRequest& request);

  WorkerHandler* const handler_;
  const BuildVersions versions_;
  const uint64_t incarnation_;
  JobGate gate_;
  RunLedger runs_;
  CoordinatorWatch watch_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_WORKER_RPCS_H_
