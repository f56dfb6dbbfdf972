// What a launch reads as constant (ld.global.nc) and what it writes of global memory.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_GLOBAL_MEMORY_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_GLOBAL_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace graphrun::testing::ptx {

/// The bytes of each kind, as far as there are any. What is read as constant must be written by no
/// thread while the kernel runs (PTX ISA, "ld.global.nc"), in whatever order.
class GlobalUse {
 public:
  /// Notes an access to `bytes` bytes, at most 64, at a multiple of them. False where one of them
  /// is used in the other way, too.
  bool noteConstantRead(uint64_t address, size_t bytes) {
    return note(reads_, address, bytes, &Page::constant, &Page::written);
  }
  bool noteWrite(uint64_t address, size_t bytes) {
    return note(writes_, address, bytes, &Page::written, &Page::constant);
  }

 private:
  static constexpr uint64_t kPageBytes = 4096, kWordBits = 64;
  /// A bit a byte.
  using Bits = std::array<uint64_t, kPageBytes / kWordBits>;
  struct Page {
    Bits constant{}, written{};
  };
  /// The page that was used last.
  struct Recent {
    uint64_t number = ~uint64_t{0};
    Page* page = nullptr;
  };

  bool note(Recent& recent, uint64_t address, size_t bytes, Bits Page::* noted,
            Bits Page::* other) {
    uint64_t number = address / kPageBytes;
    if (recent.number != number) {
      recent = {number, &pages_[number]};
    }
    size_t word = address % kPageBytes / kWordBits;
    uint64_t ones = bytes == kWordBits ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
    uint64_t mask = ones << address % kWordBits;
    (recent.page->*noted)[word] |= mask;
    return ((recent.page->*other)[word] & mask) == 0;
  }

  std::unordered_map<uint64_t, Page> pages_;
  Recent reads_, writes_;
};

}  // namespace graphrun::testing::ptx

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_PTX_GLOBAL_MEMORY_H_
