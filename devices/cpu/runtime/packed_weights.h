// Packed weights that programs of a device share. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_RUNTIME_PACKED_WEIGHTS_H_
#define GRAPHRUN_DEVICES_CPU_RUNTIME_PACKED_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "devices/cpu/onednn/onednn_primitive.h"
#include "devices/device.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

/// Packs each weight once for each layout that programs want it in. Memory goes with the last
/// program that uses it. Thread-safe.
class PackedWeights {
 public:
  struct Packed {
    std::shared_ptr<uint8_t> bytes;  // as packBuffer made them; read-only
    bool shared = false;             // another program has them too
  };

  /// The weight of this checksum in the layout of `buffer`, if a program uses it; else null.
  std::shared_ptr<uint8_t> find(const Buffer& buffer, uint64_t checksum);
  /// `given` in the layout of `buffer`. A weight without a checksum is packed for the caller alone.
  /// `taken`: see packBuffer.
  absl::StatusOr<Packed> get(
      const Buffer& buffer, const Weight& given, OneDnn& onednn,
      const std::function<void()>& taken = [] {});
  /// Forgets what no program uses any more.
  void dropUnused();
  /// Bytes that programs use now, each weight counted once.
  uint64_t bytes() const;

 private:
  struct Entry {
    std::weak_ptr<uint8_t> packed;
    uint64_t bytes = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by content and layouts
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RUNTIME_PACKED_WEIGHTS_H_
