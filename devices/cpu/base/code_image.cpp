#include "devices/cpu/base/code_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/status.h"

namespace graphrun::devices::cpu {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__powerpc64__)
constexpr int kMachine = EM_PPC64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
#error "tell the ELF machine of this architecture"
#endif

absl::Status checkHeader(absl::Span<const uint8_t> elf) {
  Elf64_Ehdr header;
  if (elf.size() < sizeof(header)) {
    return absl::InvalidArgumentError("code image: it is too short for an ELF header");
  }
  std::memcpy(&header, elf.data(), sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN ||
      header.e_machine != kMachine) {
    return absl::InvalidArgumentError("code image: it is no shared object of this machine");
  }
  return absl::OkStatus();
}

absl::Status writeAll(int file, absl::Span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("code image: write: ", std::strerror(errno)));
    }
    bytes.remove_prefix(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CodeImage>> CodeImage::load(absl::Span<const uint8_t> elf) {
  GR_RETURN_IF_ERROR(checkHeader(elf));
  int file = memfd_create("graphrun-kernels", MFD_CLOEXEC);
  if (file < 0) {
    return absl::InternalError(absl::StrCat("code image: memfd_create: ", std::strerror(errno)));
  }
  // The dynamic linker knows objects by their path, so the file stays open: while it does, no other
  // image can get the same one.
  auto image = std::unique_ptr<CodeImage>(new CodeImage(file));
  GR_RETURN_IF_ERROR(writeAll(file, elf));
  image->handle_ = dlopen(absl::StrCat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (image->handle_ == nullptr) {
    return absl::InternalError(absl::StrCat("code image: ", dlerror()));
  }
  return image;
}

CodeImage::~CodeImage() {
  if (handle_ != nullptr) {
    dlclose(handle_);
  }
  ::close(file_);
}

absl::StatusOr<GeneratedFunction> CodeImage::find(const std::string& symbol) const {
  void* address = dlsym(handle_, symbol.c_str());
  if (address == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("code image: it has no function ", symbol));
  }
  return reinterpret_cast<GeneratedFunction>(address);
}

}  // namespace graphrun::devices::cpu
