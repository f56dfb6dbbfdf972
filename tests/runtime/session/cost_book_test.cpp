// Measured costs on disk.
#include "runtime/session/cost_book.h"

#include <catch2/catch.hpp>

#include "tests/runtime/session/session_fixture.h"

namespace graphrun::testing {
namespace {

using runtime::CostBook;
using Where = runtime::CostBook::Where;

format::OpTime took(uint64_t signature, uint64_t ns, uint64_t runs) {
  return {signature, 1, 100, 200, ns, runs, 0, 0};
}

TEST_CASE("tensors of about one size count by their median") {
  CostBook book;
  book.noteTransfers({{1000, 5000}, {1010, 5200}, {1020, 900'000}}, 10);
  book.noteTransfers({{1000, 5200}}, 10);
  CHECK(book.fit()->nanos(1000) / 10 == 520);
}

TEST_CASE("a book keeps what it was told, and forgets old times slowly") {
  CostBook book;
  book.note(took(5, 1000, 10), Where::kInner);
  book.note(took(5, 2000, 10), Where::kInner);
  CHECK(book.ops().at(5).ns() == 1500);
  CHECK(book.ops().at(5).runs() == 20);
  for (int i = 0; i < 20; ++i) {
    book.note(took(5, 3000, 1), Where::kInner);
  }
  CHECK(book.ops().at(5).ns() > 2900);
  auto again = CostBook::parse(book.write());
  REQUIRE(again.ok());
  CHECK(again->ops().at(5).ns() == book.ops().at(5).ns());
  CHECK(again->ops().at(5).bytes() == 200);
}

TEST_CASE("a book tells how much it knows, how sure and how old that is") {
  CostBook book;
  CHECK(book.opSummary().entries == 0);
  CHECK(book.opSummary().updated == 0);
  book.note(took(5, 1000, 10), Where::kInner);
  book.note(took(6, 1000, 30), Where::kInner);
  CHECK(book.opSummary().spread == 0);
  book.note(took(5, 1200, 10), Where::kInner);
  book.note(took(6, 1200, 30), Where::kInner);
  book.noteTransfers({{1000, 5000}}, 7);
  auto again = CostBook::parse(book.write());
  REQUIRE(again.ok());
  const CostBook::Summary ops = again->opSummary();
  CHECK(ops.entries == 2);
  CHECK(ops.fewestRuns == 20);
  CHECK(ops.mostRuns == 60);
  CHECK(ops.spread == Approx(0.1));  // half of 20 %
  CHECK(ops.updated > 1'700'000'000);
  CHECK(again->transferSummary().entries == 1);
  CHECK(again->transferSummary().mostRuns == 7);
}

TEST_CASE("an outlier is not believed, and what has changed is followed within some sessions") {
  CostBook book;
  book.noteTransfers({{256 << 10, 47'000}}, 100);
  book.noteTransfers({{256 << 10, 865'000}}, 4);  // a few short runs on a busy machine
  CHECK(book.fit()->nanos(256 << 10) < 75'000);
  for (int session = 0; session < 12; ++session) {
    book.noteTransfers({{256 << 10, 865'000}}, 20);
  }
  CHECK(book.fit()->nanos(256 << 10) > 700'000);

  CostBook unlucky;  // the outlier comes first
  unlucky.noteTransfers({{256 << 10, 865'000}}, 4);
  unlucky.noteTransfers({{256 << 10, 47'000}}, 4);
  CHECK(unlucky.fit()->nanos(256 << 10) < 50'000);

  CostBook sizes;  // larger tensors know better
  sizes.noteTransfers(
      {{64 << 10, 20'000}, {256 << 10, 865'000}, {1 << 20, 150'000}, {4 << 20, 560'000}}, 10);
  CHECK(sizes.fit()->nanos(256 << 10) < 300'000);

  CostBook ops;
  ops.note(took(5, 1000, 100), Where::kInner);
  ops.note(took(5, 50'000, 3), Where::kInner);
  CHECK(ops.ops().at(5).ns() == 1500);
}

TEST_CASE("few runs of one session leave a link unsure") {
  CostBook book;
  CHECK_FALSE(book.isUnsure());
  book.noteTransfers({{256 << 10, 865'000}}, 4);
  auto again = CostBook::parse(book.write());
  REQUIRE(again.ok());
  CHECK(again->isUnsure());
  again->noteTransfers({{256 << 10, 865'000}}, 4);
  CHECK_FALSE(again->isUnsure());
  CHECK_FALSE(CostBook::parse(again->write())->isUnsure());
  book.noteTransfers({{1 << 10, 5'000}}, 50);
  CHECK_FALSE(book.isUnsure());
}

TEST_CASE("what reading takes longer is averaged") {
  CostBook book;
  CHECK(book.nanosPerByte() == 0);
  book.noteExcess({{1000, 900}, {8000, 3600}}, 10);
  CHECK(book.nanosPerByte() == Approx(0.5));
  book.noteExcess({{1000, 0}, {8000, 0}}, 10);  // no truer than what there was
  CHECK(book.nanosPerByte() == Approx(0.25));
}

TEST_CASE("what was measured at a border counts until something better is") {
  CostBook book;
  book.note(took(5, 900, 10), Where::kBorder);
  CHECK(book.ops().at(5).ns() == 900);
  book.note(took(5, 400, 10), Where::kInner);
  CHECK(book.ops().at(5).ns() == 400);
  book.note(took(5, 900, 100), Where::kBorder);
  CHECK(book.ops().at(5).ns() == 400);
}

TEST_CASE("a link's line goes through what transfers took") {
  CostBook book;
  CHECK_FALSE(book.fit().has_value());
  for (uint64_t bytes : {4096, 65'536, 1'048'576, 16'777'216}) {
    book.noteTransfers({{bytes, 20'000 + bytes / 4}}, 10);  // 4 GB/s
  }
  auto fit = book.fit();
  REQUIRE(fit.has_value());
  CHECK(static_cast<double>(fit->small.latencyNs) == Approx(20'000).epsilon(0.01));
  CHECK(fit->small.bytesPerSecond == Approx(4e9).epsilon(0.01));
  CHECK(static_cast<double>(fit->nanos(1 << 20)) == Approx(282'144).epsilon(0.01));

  CostBook one;
  one.noteTransfers({{1000, 5000}}, 1);
  CHECK(one.fit()->nanos(1000) == 5001);
  CostBook falling;  // larger is faster: noise, and no reason for a negative latency or speed
  falling.noteTransfers({{1000, 9000}}, 1);
  falling.noteTransfers({{1'000'000, 8000}}, 1);
  CHECK(falling.fit()->nanos(1000) < 10'000);
  CHECK(falling.fit()->small.bytesPerSecond > 0);
}

TEST_CASE("large tensors have a line of their own where they are sent in another way") {
  CostBook book;
  for (uint64_t bytes = 64; bytes < (1 << 24); bytes *= 4) {
    book.noteTransfers({{bytes, std::min(3'000 + bytes / 2, 60'000 + bytes / 10)}}, 300);
  }
  auto fit = book.fit();
  REQUIRE(fit.has_value());
  CHECK(static_cast<double>(fit->nanos(100)) == Approx(3'050).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(50'000)) == Approx(28'000).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(2'000'000)) == Approx(260'000).epsilon(0.1));
}

TEST_CASE("small tensors may be as fast as the wire where large ones are held to a rate") {
  CostBook book;
  constexpr uint64_t kBurst = 64 << 10;
  for (uint64_t bytes = 64; bytes < (1 << 24); bytes *= 4) {  // 250 MB/s from the burst on
    uint64_t held = bytes - std::min(bytes, kBurst);
    book.noteTransfers({{bytes, 50'000 + bytes / 4 + held * 4}}, 300);
  }
  auto fit = book.fit();
  REQUIRE(fit.has_value());
  CHECK(static_cast<double>(fit->nanos(16'000)) == Approx(54'000).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(60'000)) == Approx(65'000).epsilon(0.1));
  CHECK(static_cast<double>(fit->nanos(2'000'000)) == Approx(8'300'000).epsilon(0.1));
}

TEST_CASE("a line lies in the middle of what is scattered, not below it") {
  CostBook book;
  for (uint64_t i = 0; i < 8; ++i) {
    uint64_t bytes = uint64_t{1000} << i;
    book.noteTransfers({{bytes, uint64_t{i % 2 == 0 ? 50'000U : 150'000U}}}, 10);
  }
  CHECK(static_cast<double>(book.fit()->nanos(10'000)) == Approx(100'000).epsilon(0.15));
}

TEST_CASE("a damaged book is refused, and one on disk is empty then") {
  CostBook book;
  book.note(took(5, 1000, 1), Where::kInner);
  std::vector<uint8_t> bytes = book.write();
  CHECK_FALSE(CostBook::parse(absl::MakeConstSpan(bytes).subspan(0, bytes.size() / 2)).ok());
  bytes[5] ^= 0x40;
  CHECK_FALSE(CostBook::parse(bytes).ok());

  SessionFolder folder;
  runtime::DiskCache cache(folder.path("costs"), 1 << 20);
  runtime::CostShelf shelf(&cache);
  CHECK(shelf.device("cpu").empty());
  REQUIRE(shelf.keepDevice("cpu", book).ok());
  CHECK(shelf.device("cpu").ops().size() == 1);
  CHECK(shelf.device("another cpu").empty());

  runtime::LinkEnd here{{"", "localhost"}};
  runtime::LinkEnd worker{{"w", "localhost"}};
  book.noteTransfers({{1000, 5000}}, 1);
  runtime::LinkEnd other{{"v", "localhost"}};
  REQUIRE(shelf.keepLink(here, worker, book).ok());
  CHECK(shelf.link(here, other).fit().has_value());
  CHECK_FALSE(shelf.link(worker, here).fit().has_value());
  CHECK_FALSE(shelf.link(worker, worker).fit().has_value());
  CHECK_FALSE(shelf.link(worker, other).fit().has_value());
  REQUIRE(shelf.keepLink(worker, other, book).ok());
  CHECK(shelf.link(other, worker).fit().has_value());
  runtime::LinkEnd gpu{{"v", "localhost"}, "cuda"};
  CHECK_FALSE(shelf.link(gpu, worker).fit().has_value());
  CHECK_FALSE(shelf.link(worker, gpu).fit().has_value());

  format::MeasuredDeviceT device;
  device.kind = "cpu";
  device.cores = 2;
  device.fingerprint = "one";
  REQUIRE(shelf.addDevice("localhost", device).ok());
  device.fingerprint = "two";  // its libraries were changed
  REQUIRE(shelf.addDevice("localhost", device).ok());
  REQUIRE(shelf.devicesOf("localhost").size() == 1);
  CHECK(shelf.devicesOf("localhost")[0].fingerprint == "two");
  CHECK(shelf.devicesOf("elsewhere").empty());
  device.kind = "cuda";
  device.cores = 0;
  REQUIRE(shelf.addDevice("localhost", device).ok());
  device.index = 1;
  device.fingerprint = "three";  // another model in the same machine
  REQUIRE(shelf.addDevice("localhost", device).ok());
  CHECK(shelf.devicesOf("localhost").size() == 3);
}

}  // namespace
}  // namespace graphrun::testing
