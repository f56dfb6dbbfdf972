// These headers travel between two transports, and each transport holds on to the per-slot state
// while they do. Internal to this folder. All integers little-endian, as on every machine
// supported.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_WIRE_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_WIRE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/transport/transport.h"

namespace graphrun::runtime {

static_assert(std::endian::native == std::endian::little);

/// Bump when a message below changes.
inline constexpr uint32_t kWireMagic = 0x47525405;  // "GRT", version 5

enum class ControlKind : uint32_t {
  kHello = 1,  ///< I am `rank`, here is our token.
  kWelcome,    ///< Your token is right: you may open edges with me.
  kAnnounce,   ///< I receive this edge: send to `handle`.
  kWithdraw,   ///< I no longer do.
  kBeat        ///< I live.
};

/// Buffers are in the host's memory, or in a device's own of whatever kind.
inline constexpr uint16_t kOnHost = 0;
inline constexpr uint16_t kOnDevice = 1;

/// A message of the loading time. Each carries the link's token; a wrong one is dropped.
struct ControlMessage {
  uint32_t magic = kWireMagic;
  ControlKind kind = ControlKind::kHello;
  uint32_t rank = 0;  ///< Of the sender.
  uint32_t edge = 0;
  LinkToken token;
  uint64_t plan = 0;
  uint64_t handle = 0;
  uint64_t maxBytes = 0;
  uint32_t slots = 0;
  uint16_t inPlace = 0;
  uint16_t memory = kOnHost;  ///< Where the receiver's buffers are: kOnHost, kOnDevice.
};
static_assert(sizeof(ControlMessage) == 64);

/// Goes before the payload of a step. The receive handle is a secret told only to the holder of the
/// token, so no further proof is needed on the path of a step.
struct DataHeader {
  uint64_t recvHandle = 0;
  uint64_t sendHandle = 0;
  uint64_t step = 0;
};

/// Gives the slot of a step back to the sender.
struct CreditHeader {
  uint64_t sendHandle = 0;
  uint64_t step = 0;
};

/// A small payload that goes with another one for the same peer.
struct RidingPayload {
  static constexpr size_t kMostBytes = 32;

  DataHeader data;
  uint64_t bytes = 0;
  uint8_t payload[kMostBytes];
};
static_assert(sizeof(RidingPayload) == 64);

/// Credits, and small payloads, that may go with one payload.
inline constexpr uint32_t kMostRidingCredits = 8;
inline constexpr uint32_t kMostRidingPayloads = 2;

/// A PayloadHeader goes before a payload: its header, then credits and small payloads for the peer
/// that gets it, as many as there are, without gaps.
struct PayloadHeader {
  DataHeader data;
  uint32_t credits = 0;
  uint32_t payloads = 0;
  uint8_t riding[kMostRidingCredits * sizeof(CreditHeader) +
                 kMostRidingPayloads * sizeof(RidingPayload)];

  /// The bytes up to the last that rides.
  size_t size() const { return sizeOf(credits, payloads); }
  static constexpr size_t sizeOf(size_t credits, size_t payloads) {
    return offsetof(PayloadHeader, riding) + credits * sizeof(CreditHeader) +
           payloads * sizeof(RidingPayload);
  }
};
static_assert(sizeof(PayloadHeader) ==
              PayloadHeader::sizeOf(kMostRidingCredits, kMostRidingPayloads));

enum class CommandKind : uint8_t { kData, kCredit, kControl };

/// Something to be sent; a node of the queue of whoever may talk to the network.
struct Command {
  explicit Command(CommandKind commandKind) : kind(commandKind) {}
  Command* next = nullptr;
  CommandKind kind;
};

/// One of a SendEdge's slots. `state` is the only member that two threads change.
struct SendSlot : Command {
  static constexpr uint32_t kBusy = 1;        ///< The network reads `data`.
  static constexpr uint32_t kUncredited = 2;  ///< The consumer holds the slot.

  SendSlot() : Command(CommandKind::kData) {}
  SendEdge* edge = nullptr;
  const void* data = nullptr;
  size_t bytes = 0;
  bool mayRide = false;  ///< It may wait for another payload to go with.
  PayloadHeader header;
  std::atomic<uint32_t> state{0};
  std::atomic<uint64_t> nextStep{0};  ///< 1 + the last step that used the slot.
};

/// One of a RecvEdge's slots. `tag` is 4 * step + phase.
struct RecvSlot : Command {
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kLanding = 1;
  static constexpr uint64_t kReady = 2;
  static constexpr uint64_t kReleased = 3;  ///< Its credit has not been sent yet.
  static constexpr uint64_t kPhaseMask = 3;
  static constexpr uint64_t tagOf(uint64_t step, uint64_t phase) { return step << 2 | phase; }

  RecvSlot() : Command(CommandKind::kCredit) {}
  RecvEdge* edge = nullptr;
  void* buffer = nullptr;
  const void* data = nullptr;
  size_t bytes = 0;
  CreditHeader credit;
  std::atomic<uint64_t> tag{kFree};
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_WIRE_H_
