#include "runtime/base/units.h"

#include <catch2/catch.hpp>

#include "runtime/base/names.h"

namespace graphrun::runtime {
namespace {

TEST_CASE("bytes are parsed with decimal and binary units") {
  CHECK(parseBytes("48GiB").value() == int64_t{48} << 30);
  CHECK(parseBytes("1.5KiB").value() == 1536);
  CHECK(parseBytes("2KB").value() == 2000);
  CHECK(parseBytes("3MB").value() == 3'000'000);
  CHECK(parseBytes("3MiB").value() == 3 << 20);
  CHECK(parseBytes("7GB").value() == 7'000'000'000);
}

TEST_CASE("what is no plain quantity is refused") {
  for (const char* text :
       {"", "48", "GiB", "48 GiB", "48gib", "-1GiB", "+1GiB", "1e3KB", "infKB", "nanGB", "1.GiB",
        ".5GiB", "1..5GiB", "48GiBs", "0GiB", "99999999999GiB", "0x10KB"}) {
    CAPTURE(text);
    CHECK(!parseBytes(text).ok());
  }
  CHECK(!parseBandwidth("12GB").ok());
  CHECK(!parseBandwidth("0GB/s").ok());
  CHECK(!parseDuration("3").ok());
  CHECK(!parseDuration("3ns").ok());
  CHECK(!parseDuration("3 us").ok());
  CHECK(std::string(parseBytes("48G").status().message()) ==
        "'48G' is not a number followed by one of B, KB, KiB, MB, MiB, GB, GiB, TB, TiB");
}

TEST_CASE("bandwidth and durations") {
  CHECK(parseBandwidth("12GB/s").value() == 12e9);
  CHECK(parseBandwidth("1GiB/s").value() == 1073741824.0);
  CHECK(parseBandwidth("100Gbps").value() == 12.5e9);
  CHECK(parseDuration("3us").value() == 3000);
  CHECK(parseDuration("1.5ms").value() == 1'500'000);
  CHECK(parseDuration("2s").value() == 2'000'000'000);
  CHECK(parseDuration("0us").value() == 0);
  CHECK(parseDuration("2min").value() == 120'000'000'000);
}

TEST_CASE("a time without a unit is seconds where that is allowed") {
  CHECK(parseSeconds("1").value() == 1'000'000'000);
  CHECK(parseSeconds("0.25").value() == 250'000'000);
  CHECK(parseSeconds("200ms").value() == 200'000'000);
  CHECK(parseSeconds("1s").value() == parseSeconds("1").value());
  for (const char* text :
       {"", "s", "1 s", "-1", "1e3", "nan", "inf", "1h", ".5", "1.", "99999999999"}) {
    CAPTURE(text);
    CHECK(!parseSeconds(text).ok());
  }
}

TEST_CASE("core lists") {
  CHECK(parseCores("0-3").value() == std::vector<int>{0, 1, 2, 3});
  CHECK(parseCores("9,0-1").value() == std::vector<int>{0, 1, 9});
  CHECK(parseCores("4").value() == std::vector<int>{4});
  for (const char* text :
       {"", "a", "3-1", "0-", "-3", "0,0", "0-3,2", "1 2", "0--1", "70000", "1,,2"}) {
    CAPTURE(text);
    CHECK(!parseCores(text).ok());
  }
  // Refused at the first core that comes again, however many follow.
  std::string many = "0-65535";
  for (int i = 0; i < 100'000; ++i) {
    many += ",0-65535";
  }
  CHECK(!parseCores(many).ok());
}

TEST_CASE("quantities are printed for people") {
  CHECK(formatBytes(0) == "0 B");
  CHECK(formatBytes(1023) == "1023 B");
  CHECK(formatBytes(1536) == "1.50 KiB");
  CHECK(formatBytes(int64_t{48} << 30) == "48.00 GiB");
  CHECK(formatBytes((1 << 20) + 1) == "1.00 MiB");
  CHECK(formatNeededBytes((1 << 20) + 1) == "1.01 MiB");
  CHECK(formatNeededBytes(1536) == "1.50 KiB");
  CHECK(formatDuration(999) == "999 ns");
  CHECK(formatDuration(12340) == "12.34 us");
  CHECK(formatDuration(5'000'000) == "5.00 ms");
  CHECK(formatDuration(1'200'000'000) == "1.20 s");
  CHECK(formatCount(999) == "999");
  CHECK(formatCount(3'860'000'000) == "3.86 G");
}

TEST_CASE("globs cross slashes and the nearest name is found") {
  CHECK(matchesGlob("encoder/*", "encoder/layer0/add"));
  CHECK(!matchesGlob("encoder/*", "decoder/add"));
  CHECK(matchesGlob("conv[0-3]", "conv2"));
  for (const char* glob : {"conv1", "bn", "bn+relu", "conv1+bn+relu", "re*"}) {
    CHECK(matchesLabel(glob, "conv1+bn+relu"));
  }
  for (const char* glob : {"conv", "bn+", "n", "relu+bn", ""}) {
    CHECK(!matchesLabel(glob, "conv1+bn+relu"));
  }
  CHECK(matchesLabel("a", "a"));
  CHECK(!matchesLabel("b", "a"));
  CHECK(isGlob("a*"));
  CHECK(!isGlob("a/b"));
  CHECK(nearestName("adress", {"name", "address"}) == "address");
  CHECK(nearestName("zzz", {"name", "address"}).empty());
  CHECK(didYouMean("nme", {"name"}) == "; did you mean 'name'?");
}

}  // namespace
}  // namespace graphrun::runtime
