#include "runtime/base/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/base/scratch_folder.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

std::string messageOf(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("what is made is the user's alone") {
  auto scratch = ScratchFolder::create();
  REQUIRE(scratch.ok());
  const std::string folder = scratch->path() / "a" / "b";
  CHECK(checkPrivate(folder).ok());  // nothing is there
  REQUIRE(makePrivate(folder).ok());
  for (const fs::path& made : {scratch->path() / "a", fs::path(folder)}) {
    struct stat info = {};
    REQUIRE(stat(made.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
  }
  CHECK(makePrivate(folder).ok());
}

TEST_CASE("a folder that others may write to is refused with the remedy") {
  auto scratch = ScratchFolder::create();
  REQUIRE(scratch.ok());
  const std::string folder = scratch->path() / "open";
  REQUIRE(makePrivate(folder).ok());
  for (mode_t mode : {0777U, 0770U, 0702U}) {
    REQUIRE(chmod(folder.c_str(), mode) == 0);
    CHECK(absl::IsPermissionDenied(checkPrivate(folder)));
    CHECK_THAT(messageOf(checkKeeps(folder)),
               Contains("others") && Contains("chmod go-w '" + folder));
  }
  REQUIRE(chmod(folder.c_str(), 01777) == 0);
  CHECK(checkKeeps(folder).ok());  // as /tmp is
  CHECK_FALSE(checkPrivate(folder).ok());
  REQUIRE(chmod(folder.c_str(), 0755) == 0);
  CHECK(checkPrivate(folder).ok());
}

TEST_CASE("folders of others, and links of theirs, are refused") {
  auto scratch = ScratchFolder::create();
  REQUIRE(scratch.ok());
  const std::string folder = scratch->path() / "theirs";
  const std::string link = scratch->path() / "link";
  REQUIRE(makePrivate(folder).ok());
  REQUIRE(symlink(folder.c_str(), link.c_str()) == 0);
  CHECK(checkPrivate(link).ok());
  if (geteuid() != 0) {
    return;  // only root can give folders away
  }
  REQUIRE(lchown(link.c_str(), 12345, 12345) == 0);
  CHECK_THAT(messageOf(checkPrivate(link)), Contains("belongs to user 12345, not to user 0"));
  REQUIRE(chown(folder.c_str(), 12345, 12345) == 0);
  CHECK_THAT(messageOf(checkPrivate(folder)), Contains("belongs to user 12345"));
  CHECK_THAT(messageOf(makePrivate(folder)), Contains("belongs to user 12345"));
}

}  // namespace
}  // namespace graphrun::runtime
