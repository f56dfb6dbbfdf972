#include "runtime/base/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

bool isTrusted(uid_t owner) { return owner == geteuid() || owner == 0; }

absl::Status foreign(const std::string& folder, uid_t owner) {
  return absl::PermissionDeniedError(absl::StrCat("'", folder, "' belongs to user ", owner,
                                                  ", not to user ", geteuid(),
                                                  ": what is in it may be anybody's; use another "
                                                  "folder, or remove this one"));
}

absl::Status check(const std::string& folder, bool mayBeSticky) {
  struct stat link = {};
  struct stat info = {};
  if (lstat(folder.c_str(), &link) != 0 || stat(folder.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : fileError("look at", folder, errno);
  }
  for (const struct stat& one : {link, info}) {
    if (!isTrusted(one.st_uid)) {
      return foreign(folder, one.st_uid);
    }
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::PermissionDeniedError(absl::StrCat("'", folder, "' is no folder"));
  }
  bool isSticky = mayBeSticky && (info.st_mode & S_ISVTX) != 0;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !isSticky) {
    return absl::PermissionDeniedError(absl::StrFormat(
        "others than its owner may write to '%s' (mode %04o): what is in it may be anybody's; "
        "remove it or, if nobody did, chmod go-w '%s'",
        folder, info.st_mode & 07777U, folder));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status checkPrivate(const std::string& folder) { return check(folder, false); }

absl::Status checkKeeps(const std::string& folder) { return check(folder, true); }

absl::Status makePrivate(const std::string& folder) {
  std::filesystem::path whole;
  for (const std::filesystem::path& part : std::filesystem::path(folder)) {
    whole /= part;
    std::error_code error;
    if (!std::filesystem::is_directory(whole, error) && mkdir(whole.c_str(), 0700) != 0 &&
        errno != EEXIST) {
      return fileError("make the folder", whole.string(), errno);
    }
  }
  return checkPrivate(folder);
}

}  // namespace graphrun::runtime
