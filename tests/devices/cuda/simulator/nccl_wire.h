// How members of a simulated communicator talk to the hub where they meet.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_NCCL_WIRE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_NCCL_WIRE_H_

#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace graphrun::testing {

enum class Meet : uint32_t {
  kHello,      ///< to the hub: rank, members, gpu
  kConnect,    ///< to the hub: before the first collective
  kAllReduce,  ///< to the hub, these three: type, operation, count, the operand
  kAllGather,
  kReduceScatter,
  kFinalize,  ///< to the hub
  kDone,      ///< from the hub: all members came; the result of a collective
  kFailed     ///< from the hub: why, with a result of NCCL's as type
};

struct Head {
  Meet kind = Meet::kHello;
  int32_t rank = 0;
  int32_t members = 0;
  int32_t type = 0;
  int32_t operation = 0;
  uint64_t gpu = 0;  ///< of all processes
  uint64_t count = 0;
  uint64_t bytes = 0;  ///< that follow
};

struct Message {
  Head head;
  std::string bytes;
};

/// Puts bytes of a socket together to messages.
class MessageReader {
 public:
  /// Takes what has come without waiting. False when the other end is gone.
  bool take(int socket) {
    char piece[1 << 16];
    while (true) {
      const ssize_t got = recv(socket, piece, sizeof piece, MSG_DONTWAIT);
      if (got <= 0) {
        return got < 0;
      }
      bytes_.append(piece, static_cast<size_t>(got));
    }
  }
  std::optional<Message> next() {
    Message message;
    if (bytes_.size() < sizeof message.head) {
      return std::nullopt;
    }
    std::memcpy(&message.head, bytes_.data(), sizeof message.head);
    const size_t whole = sizeof message.head + message.head.bytes;
    if (bytes_.size() < whole) {
      return std::nullopt;
    }
    message.bytes = bytes_.substr(sizeof message.head, message.head.bytes);
    bytes_.erase(0, whole);
    return message;
  }

 private:
  std::string bytes_;
};

/// As it goes through a socket.
inline std::string textOf(Message message) {
  message.head.bytes = message.bytes.size();
  std::string text(sizeof message.head, '\0');
  std::memcpy(text.data(), &message.head, sizeof message.head);
  return text + message.bytes;
}

/// Listens under a name that nobody else has, on a thread that ends with its last member, and
/// returns the name: an abstract socket's, of which no file is left.
std::string openHub();
/// A socket to the hub of that name; -1 when there is none.
int connectToHub(const std::string& name);

}  // namespace graphrun::testing

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_NCCL_WIRE_H_
