// SessionStatistics counts what a session does.
#ifndef GRAPHRUN_RUNTIME_SESSION_SESSION_STATISTICS_H_
#define GRAPHRUN_RUNTIME_SESSION_SESSION_STATISTICS_H_

#include <cstdint>
#include <mutex>

#include "runtime/session/active_plan.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// SessionStats while a session is used. Thread-safe.
class SessionStatistics {
 public:
  SessionStats read() const;

  /// Notes that the model was opened since `begin`, of nowNanos().
  void noteOpened(bool imported, int64_t begin);
  /// Notes that a plan was found since `begin`.
  void noteFound(const FoundPlan& found, int64_t begin);
  /// Notes that a plan was loaded already.
  void noteHit();
  /// Notes a plan that is loaded in the place of another, and the last one now; so many had to go
  /// for others.
  void noteLoad(const ActivePlan& plan, uint64_t evicted);
  /// Does as noteLoad, for a plan in the place of none.
  void noteNewLoad(const ActivePlan& plan, uint64_t evicted);
  /// Notes that a run's stage, made ready for since `begin`, is about to begin.
  void notePrepared(int64_t begin);
  /// Notes that a step of the plan has ended, which is now the last one.
  void noteStep(const ActivePlan& plan, bool ok);
  void noteRun();

 private:
  void setPlan(const ActivePlan& plan);

  mutable std::mutex mutex_;
  SessionStats stats_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SESSION_STATISTICS_H_
