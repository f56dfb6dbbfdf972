// A kind of device as data: its name, what it can do, and how fast. Each devices/<name> has the
// record of its kind; whoever plans for a kind gets the records in a table, and knows none by name.
#ifndef GRAPHRUN_RUNTIME_BASE_DEVICE_KIND_H_
#define GRAPHRUN_RUNTIME_BASE_DEVICE_KIND_H_

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/element_type.h"

namespace graphrun::runtime {

/// Families of operations that reach a similar share of a device's peak.
enum class OpClass : uint8_t {
  kMatmul,
  kConvolution,
  kNormalization,
  kReduction,
  kElementwise,
  kDataMovement,
  kOther,
};
inline constexpr size_t kOpClassCount = 7;

/// The kind of what the machine itself computes with: the memory of the user's own process, where
/// inputs and outputs of models are, is of this kind.
inline constexpr char kHostKind[] = "cpu";

/// KindRates are the rates of a kind's devices per second where nothing was measured. All rates are
/// positive.
struct KindRates {
  /// Fixed cost of starting one operation, and of each further step of a sequence, ns.
  double opOverheadNs = 0;
  double stepOverheadNs = 0;
  /// The rates below are those of one thread: a device of several has more.
  bool byThread = false;
  /// Several threads: what it takes for an operation to begin and end on all of them, ns; and the
  /// share of their rates together that they reach.
  double joinNs = 0;
  double threadScaling = 1;
  /// Memory bandwidth, bytes per second; and the most that threads reach together.
  double memoryBytesPerSecond = 1;
  double mostMemoryBytesPerSecond = std::numeric_limits<double>::infinity();
  /// Peak operations per second by element type; the slot of kInvalid serves untyped work.
  std::array<double, kElementTypeCount> opsPerSecond;
  /// Share of the peak that each class of operation reaches, (0, 1].
  std::array<double, kOpClassCount> efficiency;

  KindRates() {
    opsPerSecond.fill(1);
    efficiency.fill(1);
  }

  double& opsOf(ElementType type) { return opsPerSecond[static_cast<size_t>(type)]; }
  double& efficiencyOf(OpClass opClass) { return efficiency[static_cast<size_t>(opClass)]; }
};

/// The record of a kind. Without more said: computes on the machine's cores, in its memory.
struct DeviceKind {
  std::string name =
      kHostKind;  ///< in cluster.yaml and in names of devices: "cpu" of "node0/cpu:1"
  /// False: there is no compiler for it, so that no cluster has such devices.
  bool computes = true;
  /// Its devices are parts of a machine's cores: a worker may have several, each with cores of its
  /// own, numbered as they come; placement may split them. Else each is a piece of hardware with an
  /// index.
  bool onHostCores = true;
  /// The memory that its kernels work in, where the host cannot use that: as networks name it
  /// (EdgeSpec::memory); empty: the host's.
  std::string memory = {};
  /// Devices of one process may hand values to each other without the host's memory.
  bool peerCopy = false;
  /// Devices may carry out collectives together.
  bool collectives = false;
  KindRates rates = {};

  bool hasOwnMemory() const { return !memory.empty(); }
};

/// The kind of a name; null where the table has none.
const DeviceKind* findKind(absl::Span<const DeviceKind> kinds, absl::string_view name);

/// "cpu, null", for messages.
std::string kindNames(absl::Span<const DeviceKind> kinds);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_DEVICE_KIND_H_
