#include "runtime/base/library_calls.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace graphrun::runtime {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kCallSlot = R_X86_64_JUMP_SLOT;
constexpr uint32_t kAddressSlot = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t kCallSlot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t kAddressSlot = R_AARCH64_GLOB_DAT;
#elif defined(__powerpc64__)
constexpr uint32_t kCallSlot = R_PPC64_JMP_SLOT;
constexpr uint32_t kAddressSlot = R_PPC64_GLOB_DAT;
#else
#error "the relocations of this architecture are not known here"
#endif

/// A LoadedFile is the dynamic linker's entry for a loaded file.
struct LoadedFile {
  uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  absl::Span<const ElfW(Rela)> calls;
  absl::Span<const ElfW(Rela)> data;
  uintptr_t sealedBegin = 0, sealedEnd = 0;  ///< pages that are read-only once it is loaded

  bool isSealed(uintptr_t address) const { return address >= sealedBegin && address < sealedEnd; }
};

/// Makes a pointer of an address that the dynamic linker's tables have as a number.
template <typename T>
T* pointerAt(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// glibc leaves addresses in the table; other linkers leave what the file says.
template <typename T>
const T* pointerTo(uintptr_t base, uintptr_t value) {
  return pointerAt<const T>(value < base ? base + value : value);
}

void readDynamic(const ElfW(Dyn) * entries, LoadedFile& file) {
  const ElfW(Rela)* calls = nullptr;
  const ElfW(Rela)* data = nullptr;
  size_t callBytes = 0, dataBytes = 0;
  for (; entries->d_tag != DT_NULL; ++entries) {
    const uintptr_t value = entries->d_un.d_ptr;
    switch (entries->d_tag) {
      case DT_SYMTAB:
        file.symbols = pointerTo<ElfW(Sym)>(file.base, value);
        break;
      case DT_STRTAB:
        file.names = pointerTo<char>(file.base, value);
        break;
      case DT_JMPREL:
        calls = pointerTo<ElfW(Rela)>(file.base, value);
        break;
      case DT_PLTRELSZ:
        callBytes = entries->d_un.d_val;
        break;
      case DT_RELA:
        data = pointerTo<ElfW(Rela)>(file.base, value);
        break;
      case DT_RELASZ:
        dataBytes = entries->d_un.d_val;
        break;
      default:
        break;
    }
  }
  file.calls = {calls, calls == nullptr ? 0 : callBytes / sizeof(ElfW(Rela))};
  file.data = {data, data == nullptr ? 0 : dataBytes / sizeof(ElfW(Rela))};
}

uintptr_t pageOf(uintptr_t address) {
  const auto pageBytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return address / pageBytes * pageBytes;
}

/// Returns whether the file that `info` tells of holds `code`; if so, what is known of it.
bool readFile(const dl_phdr_info& info, uintptr_t code, LoadedFile& file) {
  const ElfW(Dyn)* dynamic = nullptr;
  bool holdsCode = false;
  file.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      holdsCode = holdsCode || (code >= begin && code < begin + part.p_memsz);
    } else if (part.p_type == PT_DYNAMIC) {
      dynamic = pointerAt<const ElfW(Dyn)>(begin);
    } else if (part.p_type == PT_GNU_RELRO) {
      // The dynamic linker seals whole pages; one that the part ends in holds ordinary data too.
      file.sealedBegin = pageOf(begin);
      file.sealedEnd = pageOf(begin + part.p_memsz);
    }
  }
  if (!holdsCode || dynamic == nullptr) {
    return false;
  }
  readDynamic(dynamic, file);
  return file.symbols != nullptr && file.names != nullptr;
}

/// Writes a slot, whose page is opened for that where it is sealed.
bool writeSlot(const LoadedFile& file, uintptr_t slot, void* target) {
  auto& address = *pointerAt<void*>(slot);
  std::atomic_ref<void*> shared(address);
  if (shared.load() == target) {
    return true;
  }
  const auto pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* page = pointerAt<void>(pageOf(slot));
  const bool sealed = file.isSealed(slot);
  if (sealed && mprotect(page, pageBytes, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  shared.store(target);
  return !sealed || mprotect(page, pageBytes, PROT_READ) == 0;
}

/// The slots of calls to `redirect.name`; `found` when there is one.
bool redirectOne(const LoadedFile& file, const CallRedirect& redirect, bool& found) {
  found = false;
  for (absl::Span<const ElfW(Rela)> entries : {file.calls, file.data}) {
    for (const ElfW(Rela) & entry : entries) {
      const uint32_t kind = ELF64_R_TYPE(entry.r_info);
      if (kind != kCallSlot && kind != kAddressSlot) {
        continue;
      }
      const char* name = file.names + file.symbols[ELF64_R_SYM(entry.r_info)].st_name;
      if (std::strcmp(name, redirect.name) != 0) {
        continue;
      }
      if (!writeSlot(file, file.base + entry.r_offset, redirect.target)) {
        return false;
      }
      found = true;
    }
  }
  return true;
}

struct Search {
  uintptr_t code;
  absl::Span<const CallRedirect> redirects;
  bool done = false;
};

int visitFile(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  LoadedFile file;
  if (!readFile(*info, search.code, file)) {
    return 0;
  }
  bool found = false;
  for (const CallRedirect& redirect : search.redirects) {
    if (!redirectOne(file, redirect, found)) {
      return 1;
    }
  }
  search.done = found;
  return 1;
}

}  // namespace

bool redirectCalls(const void* code, absl::Span<const CallRedirect> redirects) {
  // The dynamic linker's lock is held meanwhile: of two calls the second finds its work done.
  Search search{reinterpret_cast<uintptr_t>(code), redirects};
  dl_iterate_phdr(visitFile, &search);
  return search.done;
}

}  // namespace graphrun::runtime
