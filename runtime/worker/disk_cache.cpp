#include "runtime/worker/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/base/private_folder.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

namespace fs = std::filesystem;

/// Entries that may be added before the folder is looked through again.
constexpr size_t kMostUnseenEntries = 64;

/// First bytes of an entry; the content follows.
struct EntryHeader {
  char magic[8] = {'G', 'R', 'C', 'A', 'C', 'H', 'E', '1'};
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the content
  uint8_t zeros[40] = {};
};
static_assert(sizeof(EntryHeader) == 64);

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status writeAll(int fd, const void* data, size_t bytes, const std::string& path) {
  auto* from = static_cast<const char*>(data);
  while (bytes != 0) {
    ssize_t written = write(fd, from, bytes);
    if (written < 0 && errno != EINTR) {
      return fileError("write", path, errno);
    }
    if (written > 0) {
      from += written;
      bytes -= static_cast<size_t>(written);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string defaultCacheDirectory() {
  if (std::string given = environment("GRAPHRUN_CACHE_DIR"); !given.empty()) {
    return given;
  }
  if (std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return xdg + "/graphrun";
  }
  if (std::string home = environment("HOME"); !home.empty()) {
    return home + "/.cache/graphrun";
  }
  return absl::StrCat(fs::temp_directory_path().string(), "/graphrun-", geteuid());
}

CacheKey::CacheKey() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
CacheKey::~CacheKey() = default;
void CacheKey::FreeState::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

CacheKey& CacheKey::add(absl::Span<const uint8_t> bytes) {
  add(uint64_t{bytes.size()});
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  return *this;
}

CacheKey& CacheKey::add(absl::string_view text) {
  return add(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

CacheKey& CacheKey::add(uint64_t number) {
  XXH3_128bits_update(state_.get(), &number, sizeof number);
  return *this;
}

std::string CacheKey::hex() const {
  XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return absl::StrFormat("%016x%016x", hash.high64, hash.low64);
}

DiskCache::Writer::Writer(DiskCache* cache, std::string path, uint64_t bytes)
    : cache_(cache),
      path_(std::move(path)),
      temporary_(path_ + ".XXXXXX"),
      bytes_(bytes),
      left_(bytes) {
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
}

DiskCache::Writer::Writer(Writer&& other) noexcept
    : cache_(other.cache_),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, "")),
      bytes_(other.bytes_),
      left_(other.left_),
      fd_(std::exchange(other.fd_, -1)) {}

DiskCache::Writer::~Writer() {
  if (fd_ >= 0) {
    close(fd_);
    if (!temporary_.empty()) {
      unlink(temporary_.c_str());
    }
  }
}

absl::Status DiskCache::Writer::write(absl::Span<const uint8_t> bytes) {
  if (bytes.size() > left_) {
    return absl::DataLossError(absl::StrCat("cache entry ", path_, " gets more bytes than told"));
  }
  GR_RETURN_IF_ERROR(writeAll(fd_, bytes.data(), bytes.size(), temporary_));
  left_ -= bytes.size();
  return absl::OkStatus();
}

absl::Status DiskCache::Writer::commit() {
  if (left_ != 0) {
    return absl::DataLossError(absl::StrCat("cache entry ", path_, " lacks ", left_, " bytes"));
  }
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return fileError("rename", temporary_, errno);
  }
  temporary_.clear();
  cache_->trimAfter(bytes_, path_);
  return absl::OkStatus();
}

DiskCache::DiskCache(std::string folder, uint64_t limitBytes)
    : folder_(std::move(folder)), limitBytes_(limitBytes) {}

std::string DiskCache::fileOf(const std::string& key) const {
  return absl::StrCat(folder_, "/", key);
}

/// Once: a folder that is safe stays it, as nobody else may put another in its place.
absl::Status DiskCache::checkSafe() {
  std::call_once(checked_, [&] {
    safe_ = checkKeeps(fs::path(folder_).parent_path());
    safe_.Update(checkPrivate(folder_));
  });
  return safe_;
}

void DiskCache::warnNotKept(absl::string_view what, const absl::Status& why) const {
  const std::string root = fs::path(folder_).parent_path();
  logOnce(LogLevel::kWarning, absl::StrCat("not kept in ", root),
          absl::StrCat(what, " is not kept in the cache ", root, ": ", why.message(),
                       "; GRAPHRUN_CACHE_DIR names another folder"));
}

std::optional<DiskCache::Entry> DiskCache::find(const std::string& key) {
  std::optional<Entry> entry = open(key);
  if (entry.has_value() && !check(key, *entry)) {
    entry.reset();
  }
  return entry;
}

bool DiskCache::check(const std::string& key, const Entry& entry) {
  if (XXH3_64bits(entry.bytes.data(), entry.bytes.size()) == entry.checksum) {
    return true;
  }
  removeDamaged(key);
  return false;
}

void DiskCache::removeDamaged(const std::string& key) {
  log(LogLevel::kWarning,
      absl::StrCat("cache entry ", fileOf(key), " is damaged; it is made again"));
  remove(key);
}

std::optional<DiskCache::Entry> DiskCache::open(const std::string& key) {
  if (!checkSafe().ok()) {
    return std::nullopt;
  }
  absl::StatusOr<MappedFile> file = MappedFile::open(fileOf(key));
  if (!file.ok()) {
    return std::nullopt;
  }
  absl::Span<const uint8_t> all = file->bytes();
  EntryHeader header;
  EntryHeader expected;
  if (all.size() >= sizeof header) {
    std::memcpy(&header, all.data(), sizeof header);
    absl::Span<const uint8_t> content = all.subspan(sizeof header);
    if (std::memcmp(header.magic, expected.magic, sizeof header.magic) == 0 &&
        header.bytes == content.size()) {
      used(key);
      return Entry{*std::move(file), content, header.checksum};
    }
  }
  removeDamaged(key);
  return std::nullopt;
}

bool DiskCache::has(const std::string& key) {
  return checkSafe().ok() && access(fileOf(key).c_str(), R_OK) == 0;
}

absl::Status DiskCache::store(const std::string& key, absl::Span<const uint8_t> bytes) {
  GR_ASSIGN_OR_RETURN(Writer writer,
                      begin(key, bytes.size(), XXH3_64bits(bytes.data(), bytes.size())));
  GR_RETURN_IF_ERROR(writer.write(bytes));
  return writer.commit();
}

absl::StatusOr<DiskCache::Writer> DiskCache::begin(const std::string& key, uint64_t bytes,
                                                   uint64_t checksum) {
  GR_RETURN_IF_ERROR(makeFolder());
  Writer writer(this, fileOf(key), bytes);
  if (writer.fd_ < 0) {
    return fileError("create", writer.temporary_, errno);
  }
  EntryHeader header;
  header.bytes = bytes;
  header.checksum = checksum;
  GR_RETURN_IF_ERROR(writeAll(writer.fd_, &header, sizeof header, writer.temporary_));
  return writer;
}

void DiskCache::remove(const std::string& key) { unlink(fileOf(key).c_str()); }

absl::StatusOr<std::string> DiskCache::pathOf(const std::string& key) {
  GR_RETURN_IF_ERROR(makeFolder());
  return fileOf(key);
}

void DiskCache::used(const std::string& key) {
  std::string path = fileOf(key);
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the time of change tells the order of use
}

absl::Status DiskCache::makeFolder() {
  GR_RETURN_IF_ERROR(checkSafe());
  std::error_code error;
  return fs::is_directory(folder_, error) ? absl::OkStatus() : makePrivate(folder_);
}

void DiskCache::trimAfter(uint64_t bytes, const std::string& keep) {
  {
    std::lock_guard lock(mutex_);
    ++addedEntries_;
    if (addedBytes_.has_value() && addedEntries_ < kMostUnseenEntries &&
        *addedBytes_ + bytes <= limitBytes_ / 16) {
      *addedBytes_ += bytes;
      return;
    }
  }
  trim(keep);
}

void DiskCache::trim(const std::string& keep) {
  std::lock_guard lock(mutex_);
  addedBytes_ = 0;
  addedEntries_ = 0;
  struct File {
    fs::file_time_type time;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    File file{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (!gone) {
      total += file.bytes;
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.time < b.time; });
  for (const File& file : files) {
    if (total <= limitBytes_) {
      return;
    }
    if (file.path != keep && unlink(file.path.c_str()) == 0) {
      total -= file.bytes;
    }
  }
}

}  // namespace graphrun::runtime
