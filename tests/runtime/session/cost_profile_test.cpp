// Measured costs on disk.
#include "runtime/session/profile/cost_profile.h"

#include <catch2/catch.hpp>

#include "tests/runtime/session/session_fixture.h"

namespace graphrun::testing {
namespace {

using runtime::CostProfile;
using Where = runtime::CostProfile::Where;

format::OpTime took(uint64_t signature, uint64_t ns, uint64_t runs) {
  return {signature, 1, 100, 200, ns, runs, 0, 0};
}

TEST_CASE("tensors of about one size count by their median") {
  CostProfile profile;
  profile.noteTransfers({{1000, 5000}, {1010, 5200}, {1020, 900'000}}, 10);
  profile.noteTransfers({{1000, 5200}}, 10);
  CHECK(profile.fit()->nanos(1000) / 10 == 520);
}

TEST_CASE("a profile keeps what it was told, and forgets old times slowly") {
  CostProfile profile;
  profile.note(took(5, 1000, 10), Where::kInner);
  profile.note(took(5, 2000, 10), Where::kInner);
  CHECK(profile.ops().at(5).ns() == 1500);
  CHECK(profile.ops().at(5).runs() == 20);
  for (int i = 0; i < 20; ++i) {
    profile.note(took(5, 3000, 1), Where::kInner);
  }
  CHECK(profile.ops().at(5).ns() > 2900);
  auto again = CostProfile::parse(profile.write());
  REQUIRE(again.ok());
  CHECK(again->ops().at(5).ns() == profile.ops().at(5).ns());
  CHECK(again->ops().at(5).bytes() == 200);
}

TEST_CASE("a profile tells how much it knows, how sure and how old that is") {
  CostProfile profile;
  CHECK(profile.opSummary().entries == 0);
  CHECK(profile.opSummary().updated == 0);
  profile.note(took(5, 1000, 10), Where::kInner);
  profile.note(took(6, 1000, 30), Where::kInner);
  CHECK(profile.opSummary().spread == 0);
  profile.note(took(5, 1200, 10), Where::kInner);
  profile.note(took(6, 1200, 30), Where::kInner);
  profile.noteTransfers({{1000, 5000}}, 7);
  auto again = CostProfile::parse(profile.write());
  REQUIRE(again.ok());
  const CostProfile::Summary ops = again->opSummary();
  CHECK(ops.entries == 2);
  CHECK(ops.fewestRuns == 20);
  CHECK(ops.mostRuns == 60);
  CHECK(ops.spread == Approx(0.1));  // half of 20 %
  CHECK(ops.updated > 1'700'000'000);
  CHECK(again->transferSummary().entries == 1);
  CHECK(again->transferSummary().mostRuns == 7);
}

TEST_CASE("an outlier is not believed, and what has changed is followed within some sessions") {
  CostProfile profile;
  profile.noteTransfers({{256 << 10, 47'000}}, 100);
  profile.noteTransfers({{256 << 10, 865'000}}, 4);  // a few short runs on a busy machine
  CHECK(profile.fit()->nanos(256 << 10) < 75'000);
  for (int session = 0; session < 12; ++session) {
    profile.noteTransfers({{256 << 10, 865'000}}, 20);
  }
  CHECK(profile.fit()->nanos(256 << 10) > 700'000);

  CostProfile unlucky;  // the outlier comes first
  unlucky.noteTransfers({{256 << 10, 865'000}}, 4);
  unlucky.noteTransfers({{256 << 10, 47'000}}, 4);
  CHECK(unlucky.fit()->nanos(256 << 10) < 50'000);

  CostProfile sizes;  // larger tensors know better
  sizes.noteTransfers(
      {{64 << 10, 20'000}, {256 << 10, 865'000}, {1 << 20, 150'000}, {4 << 20, 560'000}}, 10);
  CHECK(sizes.fit()->nanos(256 << 10) < 300'000);

  CostProfile ops;
  ops.note(took(5, 1000, 100), Where::kInner);
  ops.note(took(5, 50'000, 3), Where::kInner);
  CHECK(ops.ops().at(5).ns() == 1500);
}

TEST_CASE("few runs of one session leave a link unsure") {
  CostProfile profile;
  CHECK_FALSE(profile.isUnsure());
  profile.noteTransfers({{256 << 10, 865'000}}, 4);
  auto again = CostProfile::parse(profile.write());
  REQUIRE(again.ok());
  CHECK(again->isUnsure());
  again->noteTransfers({{256 << 10, 865'000}}, 4);
  CHECK_FALSE(again->isUnsure());
  CHECK_FALSE(CostProfile::parse(again->write())->isUnsure());
  profile.noteTransfers({{1 << 10, 5'000}}, 50);
  CHECK_FALSE(profile.isUnsure());
}

TEST_CASE("what reading takes longer is averaged") {
  CostProfile profile;
  CHECK(profile.nanosPerByte() == 0);
  profile.noteExcess({{1000, 900}, {8000, 3600}}, 10);
  CHECK(profile.nanosPerByte() == Approx(0.5));
  profile.noteExcess({{1000, 0}, {8000, 0}}, 10);  // no truer than what there was
  CHECK(profile.nanosPerByte() == Approx(0.25));
}

TEST_CASE("what was measured at a border counts until something better is") {
  CostProfile profile;
  profile.note(took(5, 900, 10), Where::kBorder);
  CHECK(profile.ops().at(5).ns() == 900);
  profile.note(took(5, 400, 10), Where::kInner);
  CHECK(profile.ops().at(5).ns() == 400);
  profile.note(took(5, 900, 100), Where::kBorder);
  CHECK(profile.ops().at(5).ns() == 400);
}

TEST_CASE("a link's line goes through what transfers took") {
  CostProfile profile;
  CHECK_FALSE(profile.fit().has_value());
  for (uint64_t bytes : {4096, 65'536, 1'048'576, 16'777'216}) {
    profile.noteTransfers({{bytes, 20'000 + bytes / 4}}, 10);  // 4 GB/s
  }
  auto fit = profile.fit();
  REQUIRE(fit.has_value());
  CHECK(static_cast<double>(fit->small.latencyNs) == Approx(20'000).epsilon(0.01));
  CHECK(fit->small.bytesPerSecond == Approx(4e9).epsilon(0.01));
  CHECK(static_cast<double>(fit->nanos(1 << 20)) == Approx(282'144).epsilon(0.01));

  CostProfile one;
  one.noteTransfers({{1000, 5000}}, 1);
  CHECK(one.fit()->nanos(1000) == 5001);
  CostProfile falling;  // larger is faster: noise, and no reason for a negative latency or speed
  falling.noteTransfers({{1000, 9000}}, 1);
  falling.noteTransfers({{1'000'000, 8000}}, 1);
  CHECK(falling.fit()->nanos(1000) < 10'000);
  CHECK(falling.fit()->small.bytesPerSecond > 0);
}

TEST_CASE("large tensors have a line of their own where they are sent in another way") {
  CostProfile profile;
  for (uint64_t bytes = 64; bytes < (1 << 24); bytes *= 4) {
    profile.noteTransfers({{bytes, std::min(3'000 + bytes / 2, 60'000 + bytes / 10)}}, 300);
  }
  auto fit = profile.fit();
  REQUIRE(fit.has_value());
  CHECK(static_cast<double>(fit->nanos(100)) == Approx(3'050).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(50'000)) == Approx(28'000).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(2'000'000)) == Approx(260'000).epsilon(0.1));
}

TEST_CASE("small tensors may be as fast as the wire where large ones are held to a rate") {
  CostProfile profile;
  constexpr uint64_t kBurst = 64 << 10;
  for (uint64_t bytes = 64; bytes < (1 << 24); bytes *= 4) {  // 250 MB/s from the burst on
    uint64_t held = bytes - std::min(bytes, kBurst);
    profile.noteTransfers({{bytes, 50'000 + bytes / 4 + held * 4}}, 300);
  }
  auto fit = profile.fit();
  REQUIRE(fit.has_value());
  CHECK(static_cast<double>(fit->nanos(16'000)) == Approx(54'000).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(60'000)) == Approx(65'000).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(2'000'000)) == Approx(8'300'000).epsilon(0.1));
}

TEST_CASE("a line lies in the middle of what is scattered, not below it") {
  CostProfile profile;
  for (uint64_t i = 0; i < 8; ++i) {
    uint64_t bytes = uint64_t{1000} << i;
    profile.noteTransfers({{bytes, uint64_t{i % 2 == 0 ? 50'000U : 150'000U}}}, 10);
  }
  CHECK(static_cast<double>(profile.fit()->nanos(10'000)) == Approx(100'000).epsilon(0.15));
}

TEST_CASE("a damaged profile is refused, and one on disk is empty then") {
  CostProfile profile;
  profile.note(took(5, 1000, 1), Where::kInner);
  std::vector<uint8_t> bytes = profile.write();
  CHECK_FALSE(CostProfile::parse(absl::MakeConstSpan(bytes).subspan(0, bytes.size() / 2)).ok());
  bytes[5] ^= 0x40;
  CHECK_FALSE(CostProfile::parse(bytes).ok());

  SessionFolder folder;
  runtime::DiskCache cache(folder.path("costs"), 1 << 20);
  runtime::ProfileStore store(&cache);
  CHECK(store.device("cpu").empty());
  REQUIRE(store.keepDevice("cpu", profile).ok());
  CHECK(store.device("cpu").ops().size() == 1);
  CHECK(store.device("another cpu").empty());

  runtime::LinkEnd here{{"", "localhost"}};
  runtime::LinkEnd worker{{"w", "localhost"}};
  profile.noteTransfers({{1000, 5000}}, 1);
  runtime::LinkEnd other{{"v", "localhost"}};
  REQUIRE(store.keepLink(here, worker, profile).ok());
  CHECK(store.link(here, other).fit().has_value());
  CHECK_FALSE(store.link(worker, here).fit().has_value());
  CHECK_FALSE(store.link(worker, worker).fit().has_value());
  CHECK_FALSE(store.link(worker, other).fit().has_value());
  REQUIRE(store.keepLink(worker, other, profile).ok());
  CHECK(store.link(other, worker).fit().has_value());
  runtime::LinkEnd gpu{{"v", "localhost"}, "cuda"};
  CHECK_FALSE(store.link(gpu, worker).fit().has_value());
  CHECK_FALSE(store.link(worker, gpu).fit().has_value());

  format::MeasuredDeviceT device;
  device.kind = "cpu";
  device.cores = 2;
  device.fingerprint = "one";
  REQUIRE(store.addDevice("localhost", device).ok());
  device.fingerprint = "two";  // its libraries were changed
  REQUIRE(store.addDevice("localhost", device).ok());
  REQUIRE(store.devicesOf("localhost").size() == 1);
  CHECK(store.devicesOf("localhost")[0].fingerprint == "two");
  CHECK(store.devicesOf("elsewhere").empty());
  device.kind = "cuda";
  device.cores = 0;
  REQUIRE(store.addDevice("localhost", device).ok());
  device.index = 1;
  device.fingerprint = "three";  // another model in the same machine
  REQUIRE(store.addDevice("localhost", device).ok());
  CHECK(store.devicesOf("localhost").size() == 3);
}

}  // namespace
}  // namespace graphrun::testing
