// The cache on disk under what happens to it: other processes, killed writers, damage, a full disk.
#include "runtime/worker/disk_cache.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "tests/runtime/format/samples.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;
using format::TemporaryFolder;

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

/// Content that tells by itself whether it is whole: a seed, and numbers that follow from it.
std::vector<uint8_t> contentOf(uint32_t seed) {
  std::vector<uint8_t> bytes(8 + seed % 5'000);
  std::memcpy(bytes.data(), &seed, sizeof seed);
  std::mt19937 random(seed);
  std::generate(bytes.begin() + 8, bytes.end(), [&] { return static_cast<uint8_t>(random()); });
  return bytes;
}

bool isWhole(absl::Span<const uint8_t> bytes) {
  if (bytes.size() < 8) {
    return false;
  }
  uint32_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return bytes == absl::MakeConstSpan(contentOf(seed));
}

/// Runs `work` in a process of its own; its exit status as waitpid gives it.
pid_t start(const std::function<int()>& work) {
  pid_t child = fork();
  if (child == 0) {
    _exit(work());
  }
  return child;
}

int statusOf(pid_t child) {
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

std::vector<uint8_t> readAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Puts `bytes` at `path` at once, as a disk that lost a part would show them after a restart.
void replace(const fs::path& path, absl::Span<const uint8_t> bytes) {
  fs::path other = path.string() + ".vandal" + std::to_string(getpid());
  std::ofstream(other, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::error_code gone;
  fs::rename(other, path, gone);
}

/// Writes and reads entries that others write and read; the number of wrong ones.
int useEntries(const std::string& folder, uint32_t seed) {
  DiskCache cache(folder, 40'000);  // so little that entries go all the time
  std::mt19937 random(seed);
  int wrong = 0;
  for (int i = 0; i < 400; ++i) {
    std::string key = "key" + std::to_string(random() % 6);
    if (random() % 2 == 0) {
      wrong += !cache.store(key, contentOf(random())).ok();
    } else if (auto entry = cache.find(key)) {
      wrong += !isWhole(entry->bytes);
    }
  }
  return wrong;
}

/// Cuts entries short and turns bits in them.
int damageEntries(const std::string& folder, uint32_t seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 400; ++i) {
    fs::path path = folder + "/key" + std::to_string(random() % 6);
    std::vector<uint8_t> bytes = readAll(path);
    if (bytes.empty()) {
      continue;
    }
    if (random() % 2 == 0) {
      bytes.resize(random() % bytes.size());
    } else {
      bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1U << random() % 8);
    }
    replace(path, bytes);
  }
  return 0;
}

/// Runs `work` where `folder` is a disk of 64 KiB; nothing where the system does not allow that.
std::optional<int> onSmallDisk(const std::string& folder, const std::function<int()>& work) {
  constexpr int kNotAllowed = 77;
  int status = statusOf(start([&] {
    bool isOwn = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    bool mounted = isOwn && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   mount("small", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
    return mounted ? work() : kNotAllowed;
  }));
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == kNotAllowed ? std::nullopt : std::optional(WEXITSTATUS(status));
}

/// 0, or the number of the first check that failed.
int fillDisk(const std::string& folder) {
  DiskCache cache(folder, kNoLimit);
  const std::vector<uint8_t> small = contentOf(4'000);
  const std::vector<uint8_t> large(100'000, 7);
  if (!cache.store("small", small).ok()) {
    return 1;
  }
  for (int i = 0; i < 3; ++i) {
    if (!absl::IsResourceExhausted(cache.store("large", large))) {
      return 2;
    }
  }
  if (std::distance(fs::directory_iterator(folder), fs::directory_iterator()) != 1) {
    return 3;  // what did not get whole was left there
  }
  auto entry = cache.find("small");
  if (!entry.has_value() || !isWhole(entry->bytes) || cache.find("large").has_value()) {
    return 4;
  }
  return cache.store("other", small).ok() && cache.find("other").has_value() ? 0 : 5;
}

}  // namespace

TEST_CASE("processes that write, read and damage the same entries see whole ones") {
  TemporaryFolder folder;
  const std::string cache = folder.file("cache");
  REQUIRE(DiskCache(cache, kNoLimit).store("key0", contentOf(1)).ok());
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < 4; ++i) {
    children.push_back(start([&] { return useEntries(cache, i); }));
  }
  children.push_back(start([&] { return damageEntries(cache, 9); }));
  for (pid_t child : children) {
    CHECK(statusOf(child) == 0);
  }
  DiskCache after(cache, 40'000);
  for (int i = 0; i < 6; ++i) {
    std::string key = "key" + std::to_string(i);
    auto entry = after.find(key);
    CHECK((!entry.has_value() || isWhole(entry->bytes)));
    REQUIRE(after.store(key, contentOf(3)).ok());
    REQUIRE(after.find(key).has_value());
  }
}

TEST_CASE("what a killed writer leaves is no entry, and goes in time") {
  TemporaryFolder folder;
  const std::string path = folder.file("cache");
  int status = statusOf(start([&] {
    DiskCache cache(path, kNoLimit);
    auto writer = cache.begin("entry", 1'000, 0);
    static_cast<void>(writer->write(contentOf(492)));
    raise(SIGKILL);
    return 0;
  }));
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  REQUIRE(!fs::is_empty(path));
  DiskCache cache(path, 1'500);
  CHECK_FALSE(cache.has("entry"));
  CHECK_FALSE(cache.find("entry").has_value());
  REQUIRE(cache.store("entry", contentOf(492)).ok());
  CHECK(isWhole(cache.find("entry")->bytes));
  REQUIRE(cache.store("next", contentOf(5'500)).ok());  // and the limit is reached
  CHECK(cache.find("next").has_value());
  uint64_t total = 0;
  for (const auto& file : fs::directory_iterator(path)) {
    total += file.file_size();
  }
  CHECK(total <= 1'500);
}

TEST_CASE("an entry that is cut short or has a bit turned is none, or right") {
  TemporaryFolder folder;
  DiskCache cache(folder.file("cache"), kNoLimit);
  const std::vector<uint8_t> content = contentOf(100);
  REQUIRE(cache.store("entry", content).ok());
  const fs::path path = folder.file("cache") + "/entry";
  const std::vector<uint8_t> whole = readAll(path);
  size_t damaged = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    replace(path, absl::MakeConstSpan(whole).first(size));
    damaged += !cache.find("entry").has_value() && !fs::exists(path);
  }
  CHECK(damaged == whole.size());
  size_t wrong = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::vector<uint8_t> turned = whole;
    turned[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
    replace(path, turned);
    auto entry = cache.find("entry");
    wrong += entry.has_value() && entry->bytes != absl::MakeConstSpan(content);
  }
  CHECK(wrong == 0);
  REQUIRE(cache.store("entry", content).ok());
  CHECK(cache.find("entry").has_value());
}

TEST_CASE("a full disk keeps what is there and takes nothing by half") {
  TemporaryFolder folder;
  const std::string disk = folder.file("disk");
  fs::create_directories(disk);
  // A disk of its own may be written to by all, as temporary folders are; entries lie below that.
  std::optional<int> failed = onSmallDisk(disk, [&] { return fillDisk(disk + "/cache/entries"); });
  if (!failed.has_value()) {
    WARN("skipped: no disk of its own may be mounted here");
    return;
  }
  CHECK(*failed == 0);
}

}  // namespace graphrun::runtime
