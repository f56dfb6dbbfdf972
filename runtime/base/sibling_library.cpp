#include "runtime/base/sibling_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace graphrun::runtime {
namespace {

std::filesystem::path ownFile() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&ownFile), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path() : path;
}

/// Drops a segment that nobody writes to, not even the dynamic linker: libraries are linked with
/// `-z text`.
void dropSegment(const dl_phdr_info& library, const ElfW(Phdr) & segment) {
  if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) {
    return;
  }
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  uintptr_t address = library.dlpi_addr + segment.p_vaddr;
  uintptr_t begin = (address + page - 1) / page * page;
  uintptr_t end = (address + segment.p_memsz) / page * page;
  if (begin < end) {
    // The dynamic linker tells addresses as numbers.
    auto* pages = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
    madvise(pages, end - begin, MADV_DONTNEED);
  }
}

bool holds(const dl_phdr_info& library, uintptr_t address) {
  return std::any_of(library.dlpi_phdr, library.dlpi_phdr + library.dlpi_phnum,
                     [&](const ElfW(Phdr) & segment) {
                       return segment.p_type == PT_LOAD &&
                              address - (library.dlpi_addr + segment.p_vaddr) < segment.p_memsz;
                     });
}

int dropCodeOf(dl_phdr_info* library, size_t /*size*/, void* function) {
  constexpr int kStop = 1;
  if (!holds(*library, reinterpret_cast<uintptr_t>(function))) {
    return 0;
  }
  std::for_each(library->dlpi_phdr, library->dlpi_phdr + library->dlpi_phnum,
                [&](const ElfW(Phdr) & segment) { dropSegment(*library, segment); });
  return kStop;
}

}  // namespace

std::string findSiblingLibrary(const char* library, const char* variable) {
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') {
    return given;
  }
  std::filesystem::path folder = ownFile().parent_path();
  for (const char* relative : {".", "../lib"}) {
    std::error_code error;
    auto candidate = folder / relative / library;
    if (std::filesystem::exists(candidate, error)) {
      return candidate.lexically_normal().string();
    }
  }
  return library;
}

void releaseCode(const void* function) { dl_iterate_phdr(dropCodeOf, const_cast<void*>(function)); }

}  // namespace graphrun::runtime
