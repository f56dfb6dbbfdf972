#include "runtime/control/heartbeat.h"

#include <unistd.h>

#include "runtime/control/fd_watch.h"
#include "test_util.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Fixture {
  int64_t now = 1000 * kMs;
  std::vector<std::pair<std::string, absl::Status>> lost;
  HeartbeatMonitor monitor{
      2500ms,
      [this](const std::string& name, const absl::Status& why) { lost.emplace_back(name, why); },
      [this] { return now; }};

  void pass(int64_t ms, const std::vector<std::string>& alive) {
    for (int64_t end = now + ms * kMs; now < end;) {
      now += 100 * kMs;
      for (const std::string& name : alive) {
        monitor.seen(name);
      }
      monitor.check();
    }
  }
};

}  // namespace

TEST_CASE("the silent worker is reported once, by name, within its timeout") {
  Fixture f;
  f.monitor.add("node0");
  f.monitor.add("node1");
  f.pass(2400, {"node0"});
  REQUIRE(f.lost.empty());
  f.pass(100, {"node0"});
  REQUIRE(f.lost.size() == 1);
  REQUIRE(f.lost[0].first == "node1");
  requireError(f.lost[0].second, absl::StatusCode::kUnavailable, {"worker node1", "2.5 s"});
  REQUIRE(f.monitor.isLost("node1"));
  f.monitor.seen("node1");  // too late
  f.pass(5000, {"node0"});
  REQUIRE(f.lost.size() == 1);
}

TEST_CASE("a removed worker is not missed, and other knowledge counts once") {
  Fixture f;
  f.monitor.add("node0");
  f.monitor.add("node1");
  f.monitor.remove("node0");
  f.monitor.declareLost("node1", absl::UnavailableError("its process ended"));
  f.monitor.declareLost("node1", absl::UnavailableError("again"));
  f.monitor.declareLost("node0", absl::UnavailableError("gone anyway"));
  f.pass(5000, {});
  REQUIRE(f.lost.size() == 1);
  REQUIRE(f.lost[0].second.message() == "its process ended");
}

TEST_CASE("a coordinator that itself was stopped does not blame its workers") {
  Fixture f;
  f.monitor.add("node0");
  f.pass(1000, {"node0"});
  f.now += 60'000 * kMs;  // nobody called check meanwhile
  f.monitor.check();
  REQUIRE(f.lost.empty());
  f.pass(2600, {});
  REQUIRE(f.lost.size() == 1);
}

TEST_CASE("the worker gives a silent coordinator up, once") {
  int64_t now = 0;
  CoordinatorWatch watch([&] { return now; });
  auto pass = [&](int64_t ms) -> std::optional<absl::Status> {
    for (int64_t end = now + ms * kMs; now < end;) {
      now += 100 * kMs;
      if (auto lost = watch.check()) {
        return lost;
      }
    }
    return std::nullopt;
  };
  REQUIRE_FALSE(pass(10'000));
  watch.start("host:42", 2500ms);
  REQUIRE_FALSE(pass(2000));
  watch.seen();
  REQUIRE_FALSE(pass(2400));
  auto lost = pass(200);
  REQUIRE(lost);
  requireError(*lost, absl::StatusCode::kUnavailable, {"coordinator host:42"});
  REQUIRE_FALSE(pass(10'000));
  watch.start("host:43", 2500ms);
  watch.stop();
  REQUIRE_FALSE(pass(10'000));
}

TEST_CASE("the end of the parent's pipe is noticed") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::atomic<int> gone{0};
  auto watch = watchParent(ends[0], [&] { ++gone; });
  requireOk(watch.status());
  std::this_thread::sleep_for(20ms);
  REQUIRE(gone == 0);
  close(ends[1]);
  REQUIRE(eventually([&] { return gone == 1; }));
  requireError(watchParent(1000, [] {}).status(), absl::StatusCode::kInvalidArgument,
               {"--parent-fd 1000"});
}

TEST_CASE("a parent watch ends quietly while the parent lives") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::atomic<int> gone{0};
  {
    auto watch = watchParent(ends[0], [&] { ++gone; });
  }
  REQUIRE(gone == 0);
  close(ends[1]);
}

}  // namespace graphrun::runtime
