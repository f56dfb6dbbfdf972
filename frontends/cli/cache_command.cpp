// graphrun cache: what need not be made twice, on disk.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/cli/command_line.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/option_values.h"
#include "frontends/cli/run_report.h"
#include "runtime/base/private_folder.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::cli {
namespace {

namespace fs = std::filesystem;

struct Part {
  const char* folder;
  const char* what;
};
constexpr Part kParts[] = {{"models", "imported ONNX files"},
                           {"plans", "placements of models"},
                           {"executables", "compiled parts of models"},
                           {"code", "machine code of kernels"},
                           {"timings", "which kernels are fastest"},
                           {"costs", "what runs took, for placement"},
                           {"weights", "weights that coordinators sent"}};

/// Content counts the files in a folder of the cache.
struct Content {
  size_t entries = 0;
  uint64_t bytes = 0;
  fs::file_time_type newest = fs::file_time_type::min();
};

Content contentOf(const fs::path& folder) {
  Content content;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const uint64_t bytes = it->file_size(gone);
    const fs::file_time_type time = it->last_write_time(gone);
    if (!gone) {
      ++content.entries;
      content.bytes += bytes;
      content.newest = std::max(content.newest, time);
    }
  }
  return content;
}

/// "2026-11-25 18:40", when the newest entry was used.
std::string timeOf(fs::file_time_type time) {
  const auto seconds =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::file_clock::to_sys(time));
  const std::time_t t = std::chrono::system_clock::to_time_t(seconds);
  std::tm local = {};
  localtime_r(&t, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local)};
}

absl::Status checkCache(const std::string& cache) {
  GR_RETURN_IF_ERROR(fileError(runtime::checkKeeps(cache)));
  for (const Part& part : kParts) {
    GR_RETURN_IF_ERROR(fileError(runtime::checkPrivate(absl::StrCat(cache, "/", part.folder))));
  }
  return absl::OkStatus();
}

void list(const std::string& cache, bool asJson) {
  Json all = {{"cache", cache}, {"parts", Json::array()}};
  if (!asJson) {
    std::printf("%s\n", cache.c_str());
  }
  for (const Part& part : kParts) {
    const Content content = contentOf(fs::path(cache) / part.folder);
    all["parts"].push_back({{"part", part.folder},
                            {"what", part.what},
                            {"entries", content.entries},
                            {"bytes", content.bytes}});
    if (!asJson) {
      std::printf("  %-12s %5zu entries, %10s%s  %s\n", part.folder, content.entries,
                  runtime::formatBytes(static_cast<int64_t>(content.bytes)).c_str(),
                  content.entries == 0 ? "" : (", used " + timeOf(content.newest)).c_str(),
                  part.what);
    }
  }
  if (asJson) {
    std::fputs(dump(all).c_str(), stdout);
  }
}

/// Removes the entries of a part. Files alone: what else somebody has put there stays.
absl::Status clear(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (fs::is_regular_file(it->symlink_status(gone))) {
      files.push_back(it->path());
    }
  }
  for (const fs::path& file : files) {
    std::error_code failed;
    fs::remove(file, failed);
    if (failed) {
      return fileError(absl::PermissionDeniedError(
          absl::StrCat("cannot remove '", file.string(), "': ", failed.message())));
    }
  }
  return absl::OkStatus();
}

absl::Status clearParts(const std::string& cache, const std::vector<std::string>& wanted) {
  uint64_t bytes = 0;
  for (const Part& part : kParts) {
    bool isWanted =
        wanted.empty() || std::find(wanted.begin(), wanted.end(), part.folder) != wanted.end();
    if (isWanted) {
      const fs::path folder = fs::path(cache) / part.folder;
      bytes += contentOf(folder).bytes;
      GR_RETURN_IF_ERROR(clear(folder));
    }
  }
  std::printf("removed %s from %s\n", runtime::formatBytes(static_cast<int64_t>(bytes)).c_str(),
              cache.c_str());
  return absl::OkStatus();
}

}  // namespace

int cacheCommand(int argc, char** argv) {
  CLI::App app("Shows or clears the cache on disk. Clearing costs only time.", "graphrun cache");
  std::string action;
  std::vector<std::string> parts;
  bool json = false;
  std::vector<std::string> names;
  for (const Part& part : kParts) {
    names.emplace_back(part.folder);
  }
  addChoice(app, "ACTION", action, "list shows the entries, clear removes them", {"list", "clear"})
      ->required();
  addChoices(app, "PART", parts,
             absl::StrCat("Kind of entries to clear; default: all of ", absl::StrJoin(names, ", ")),
             names);
  app.add_flag("--json", json, "Prints JSON (list)");
  return parseAndRun(app, argc, argv, [&]() -> int {
    const std::string cache = runtime::defaultCacheDirectory();
    absl::Status status = checkCache(cache);
    if (status.ok() && action == "clear") {
      status = clearParts(cache, parts);
    } else if (status.ok()) {
      list(cache, json);
    }
    return status.ok() ? static_cast<int>(kOk) : report(status);
  });
}

}  // namespace graphrun::cli
