#include "runtime/base/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace graphrun::runtime {
namespace {

std::atomic<int> cutFileExitCode{0};

/// A line of /proc/self/maps, read as far as it fits. All of this may be called by the handler of a
/// signal: no memory is taken, nothing is locked.
class MapLines {
 public:
  MapLines() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapLines() { close(fd_); }
  MapLines(const MapLines&) = delete;
  MapLines& operator=(const MapLines&) = delete;

  /// The next line, without its end; null after the last one.
  const char* next() {
    size_t length = 0;
    int byte = 0;
    while ((byte = get()) > '\n') {
      if (length + 1 < sizeof line_) {
        line_[length++] = static_cast<char>(byte);
      }
    }
    line_[length] = '\0';
    return byte == '\n' ? line_ : nullptr;
  }

 private:
  int get() {
    if (at_ == end_) {
      const ssize_t got = read(fd_, buffer_, sizeof buffer_);
      at_ = 0;
      end_ = got > 0 ? static_cast<size_t>(got) : 0;
    }
    return at_ < end_ ? static_cast<unsigned char>(buffer_[at_++]) : -1;
  }

  int fd_;
  char buffer_[1024];
  size_t at_ = 0;
  size_t end_ = 0;
  char line_[4352];  // a path, and what is before it
};

/// Reads a hexadecimal number and the character behind it.
uintptr_t readHex(const char*& text) {
  uintptr_t value = 0;
  for (; *text != '\0' && *text != '-' && *text != ' '; ++text) {
    value = 16 * value + static_cast<uintptr_t>(*text <= '9' ? *text - '0' : *text - 'a' + 10);
  }
  text += *text == '\0' ? 0 : 1;
  return value;
}

void print(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);  // there is nobody else to tell
}

/// Ends the process if `address` is in a mapped file.
void endIfMapped(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  MapLines lines;
  while (const char* line = lines.next()) {
    const uintptr_t begin = readHex(line);
    const uintptr_t end = readHex(line);
    const char* path = std::strchr(line, '/');
    if (wanted < begin || wanted >= end || path == nullptr) {
      continue;
    }
    print("graphrun: cannot use '");
    print(path);
    print(
        "', which is mapped: the file was cut short, or its disk is full or failing; put it back "
        "and start again\n");
    _exit(cutFileExitCode.load());
  }
}

rlim_t addressSpaceLimit() {
  rlimit limit = {};
  return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// As the kernel counts it for the limit.
uint64_t usedAddressSpace() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Returns the bytes of stack of a thread that starts.
uint64_t stackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  return bytes;
}

std::string mebibytes(uint64_t bytes) {
  return absl::StrCat((bytes + (1 << 20) - 1) >> 20, " MiB");
}

void onBusError(int signal, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) {
    endIfMapped(info->si_addr);
  }
  ::signal(signal, SIG_DFL);  // what was touched is touched again
}

}  // namespace

void raiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

absl::Status checkFileLimit(uint64_t needed, absl::string_view what) {
  rlimit limit = {};
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::OkStatus();
  }
  // Where even that folder cannot be opened none is left.
  const auto open =
      error ? limit.rlim_cur : static_cast<uint64_t>(std::distance(begin(files), end(files)));
  if (open + needed <= limit.rlim_cur) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " needs ", needed, " open files beyond the ", open,
                   " of this process, but the limit is ", limit.rlim_cur, "; allow ", open + needed,
                   " (`ulimit -n ", open + needed, "`)"));
}

void spareAddressSpace() {
  if (addressSpaceLimit() != RLIM_INFINITY) {
    mallopt(M_ARENA_MAX, 1);
  }
}

absl::Status checkAddressSpace(uint64_t threads, uint64_t bytes, absl::string_view what) {
  const rlim_t limit = addressSpaceLimit();
  if (limit == RLIM_INFINITY) {
    return absl::OkStatus();
  }
  const uint64_t used = usedAddressSpace();
  const uint64_t needed = bytes + threads * stackBytes();
  if (used + needed <= limit) {
    return absl::OkStatus();
  }
  const uint64_t kibibytes = (used + needed + 1023) / 1024;
  return absl::ResourceExhaustedError(absl::StrCat(
      what, " needs ", mebibytes(needed), " of address space beyond the ", mebibytes(used),
      " of this process, but the limit is ", mebibytes(limit), "; allow ", mebibytes(used + needed),
      " (`ulimit -v ", kibibytes, "`) or `ulimit -v unlimited`"));
}

absl::Status outOfMemory(absl::string_view what) {
  const rlim_t limit = addressSpaceLimit();
  return absl::UnavailableError(absl::StrCat(
      what, ": the system gives no more memory",
      limit == RLIM_INFINITY
          ? "; free some, or raise the limit of the container"
          : absl::StrCat("; the address space of this process is limited to ", mebibytes(limit),
                         ", of which it has used ", mebibytes(usedAddressSpace()),
                         ": allow more (`ulimit -v`)")));
}

void endByCutFiles(int exitCode) {
  cutFileExitCode.store(exitCode);
  struct sigaction action = {};
  action.sa_sigaction = onBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace graphrun::runtime
