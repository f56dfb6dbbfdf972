#include "runtime/control/pulse.h"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"

namespace graphrun::runtime {
namespace {

struct Watched {
  std::shared_ptr<WorkerClient> client;
  bool joined = false;    // gets heartbeats
  bool asked = false;     // one is under way
  int64_t nextNanos = 0;  // when the next one is due
  std::optional<HeartbeatSample> best;
};

}  // namespace

/// Shared with the callbacks of heartbeats under way, which may outlive the Pulse.
struct Pulse::State : std::enable_shared_from_this<State> {
  State(HeartbeatMonitor::OnLost given, Millis beatInterval, Millis beatTimeout)
      : onLost(std::move(given)),
        interval(beatInterval),
        timeout(beatTimeout),
        monitor(beatTimeout,
                [this](const std::string& name, const absl::Status& why) { lose(name, why); }) {}

  void lose(const std::string& name, const absl::Status& why);
  void beat();
  void ask(const std::string& name, const std::shared_ptr<WorkerClient>& client);
  void answered(const std::string& name, const absl::StatusOr<HeartbeatSample>& sample);

  const HeartbeatMonitor::OnLost onLost;
  const Millis interval;
  const Millis timeout;
  HeartbeatMonitor monitor;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  int reporting = 0;  // calls of onLost under way
  std::map<std::string, Watched> workers;
};

void Pulse::State::lose(const std::string& name, const absl::Status& why) {
  std::shared_ptr<WorkerClient> client;
  {
    std::lock_guard lock(mutex);
    if (stopping) {
      return;
    }
    ++reporting;
    if (auto it = workers.find(name); it != workers.end()) {
      client = it->second.client;
      workers.erase(it);
    }
  }
  if (client) {
    client->markLost(why);
  }
  onLost(name, why);
  client.reset();  // while ~Pulse waits: a thread of gRPC must not be the last to hold a client
  std::lock_guard lock(mutex);
  --reporting;
  wake.notify_all();
}

void Pulse::State::beat() {
  std::vector<std::pair<std::string, std::shared_ptr<WorkerClient>>> due;
  {
    std::lock_guard lock(mutex);
    int64_t now = nowNanos();
    for (auto& [name, worker] : workers) {
      if (worker.joined && !worker.asked && now >= worker.nextNanos) {
        worker.asked = true;
        worker.nextNanos = now + std::chrono::nanoseconds(interval).count();
        due.emplace_back(name, worker.client);
      }
    }
  }
  for (const auto& [name, client] : due) {
    ask(name, client);
  }
  monitor.check();
}

void Pulse::State::ask(const std::string& name, const std::shared_ptr<WorkerClient>& client) {
  client->heartbeatAsync(timeout, [self = shared_from_this(), name](const auto& sample) {
    self->answered(name, sample);
  });
}

void Pulse::State::answered(const std::string& name,
                            const absl::StatusOr<HeartbeatSample>& sample) {
  {
    std::lock_guard lock(mutex);
    auto it = workers.find(name);
    if (it == workers.end() || stopping) {
      return;
    }
    Watched& worker = it->second;
    worker.asked = false;
    if (sample.ok() && (!worker.best || sample->roundTripNanos < worker.best->roundTripNanos)) {
      worker.best = *sample;
    }
  }
  if (sample.ok()) {
    monitor.seen(name);
  } else if (absl::IsFailedPrecondition(sample.status())) {
    monitor.declareLost(name, sample.status());
  }
  // Other errors are silence: the next heartbeat may come through.
}

Pulse::Pulse(HeartbeatMonitor::OnLost onLost, Millis interval, Millis timeout)
    : state_(std::make_shared<State>(std::move(onLost), interval, timeout)),
      thread_([this] { loop(); }) {}

Pulse::~Pulse() {
  std::map<std::string, Watched> workers;
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    workers.swap(state_->workers);
  }
  state_->wake.notify_all();
  thread_.join();
  std::unique_lock lock(state_->mutex);
  state_->wake.wait(lock, [this] { return state_->reporting == 0; });
}

void Pulse::loop() {
  std::unique_lock lock(state_->mutex);
  while (!state_->wake.wait_for(lock, kHeartbeatCheck, [this] { return state_->stopping; })) {
    lock.unlock();
    state_->beat();
    lock.lock();
  }
}

void Pulse::expect(std::shared_ptr<WorkerClient> client) {
  std::string name = client->name();
  state_->monitor.expect(name);
  std::lock_guard lock(state_->mutex);
  state_->workers[name] = Watched{std::move(client)};
}

void Pulse::add(std::shared_ptr<WorkerClient> client) {
  std::string name = client->name();
  state_->monitor.add(name);
  std::lock_guard lock(state_->mutex);
  state_->workers[name] = Watched{std::move(client), /*joined=*/true};
}

void Pulse::remove(const std::string& worker) {
  state_->monitor.remove(worker);
  std::shared_ptr<WorkerClient> client;  // released without the lock
  std::lock_guard lock(state_->mutex);
  if (auto it = state_->workers.find(worker); it != state_->workers.end()) {
    client = std::move(it->second.client);
    state_->workers.erase(it);
  }
}

void Pulse::declareLost(const std::string& worker, const absl::Status& why) {
  state_->monitor.declareLost(worker, why);
}

std::optional<int64_t> Pulse::clockOffsetNanos(const std::string& worker) {
  constexpr int kHeartbeats = 16;
  constexpr int64_t kNanos = 50'000'000;
  std::shared_ptr<WorkerClient> client;
  {
    std::lock_guard lock(state_->mutex);
    if (auto it = state_->workers.find(worker); it != state_->workers.end()) {
      client = it->second.client;
    }
  }
  const int64_t end = nowNanos() + kNanos;
  for (int i = 0; client && i < kHeartbeats && nowNanos() < end; ++i) {
    auto answer = std::make_shared<std::promise<void>>();
    std::future<void> answered = answer->get_future();
    client->heartbeatAsync(state_->timeout, [state = state_, worker, answer](const auto& sample) {
      state->answered(worker, sample);
      answer->set_value();
    });
    answered.wait();
  }
  std::lock_guard lock(state_->mutex);
  auto it = state_->workers.find(worker);
  if (it == state_->workers.end()) {
    return std::nullopt;
  }
  const std::optional<HeartbeatSample>& best = it->second.best;
  return best ? std::optional(best->clockOffsetNanos) : std::nullopt;
}

}  // namespace graphrun::runtime
