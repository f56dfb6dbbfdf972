#include "runtime/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/base/scratch_folder.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::Status writeFile(const std::string& path, const std::string& text) {
  auto file = AtomicFile::create(path);
  if (!file.ok()) {
    return file.status();
  }
  absl::Status written = file->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return written.ok() ? file->commit() : written;
}

mode_t modeOf(const fs::path& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
}

TEST_CASE("a file that exists keeps its mode, and its links stay") {
  auto folder = ScratchFolder::create();
  REQUIRE(folder.ok());
  const fs::path file = folder->path() / "file";
  const fs::path link = folder->path() / "link";
  const fs::path chain = folder->path() / "chain";
  REQUIRE(writeFile(file, "old").ok());
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  fs::create_symlink("file", link);
  fs::create_symlink(link, chain);
  REQUIRE(writeFile(chain, "new").ok());
  CHECK(contentOf(file) == "new");
  CHECK(modeOf(file) == 0640);
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_symlink(chain));

  const fs::path dangling = folder->path() / "dangling";
  fs::create_symlink("made", dangling);
  REQUIRE(writeFile(dangling, "x").ok());
  CHECK(contentOf(folder->path() / "made") == "x");

  fs::create_symlink("circle", folder->path() / "circle");
  CHECK_FALSE(writeFile(folder->path() / "circle", "x").ok());
}

TEST_CASE("without a commit the old file stays, whatever was written") {
  auto folder = ScratchFolder::create();
  REQUIRE(folder.ok());
  const fs::path file = folder->path() / "file";
  REQUIRE(writeFile(file, "old").ok());
  {
    auto half = AtomicFile::create(file);
    REQUIRE(half.ok());
    REQUIRE(half->writeZeros(100).ok());
  }
  CHECK(contentOf(file) == "old");
  CHECK(std::distance(fs::directory_iterator(folder->path()), {}) == 1);
}

TEST_CASE("pipes, devices and open files are written as they are") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(writeFile("/dev/fd/" + std::to_string(ends[1]), "through").ok());
  char got[8] = {};
  CHECK(read(ends[0], got, sizeof got) == 7);
  CHECK(std::string(got) == "through");
  close(ends[0]);
  close(ends[1]);
  CHECK(writeFile("/dev/null", "x").ok());
  CHECK(absl::IsResourceExhausted(writeFile("/dev/full", "x")));
  CHECK_FALSE(writeFile("/dev/fd/987", "x").ok());

  auto folder = ScratchFolder::create();
  REQUIRE(folder.ok());
  const fs::path file = folder->path() / "file";
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(write(fd, "a", 1) == 1);
  REQUIRE(writeFile("/proc/self/fd/" + std::to_string(fd), "b").ok());
  REQUIRE(write(fd, "c", 1) == 1);  // behind it, as where standard output goes to a file
  close(fd);
  CHECK(contentOf(file) == "abc");
}

}  // namespace
}  // namespace graphrun::runtime
