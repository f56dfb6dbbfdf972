// Where the members of a simulated communicator meet: a thread of the process that made the id.
// What all members have sent is combined in the order of their ranks.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/devices/cuda/simulator/nccl_reduce.h"
#include "tests/devices/cuda/simulator/nccl_wire.h"

namespace graphrun::testing {
namespace {

struct Member {
  int socket;
  MessageReader reader;
  std::deque<Message> sent;  ///< that the hub has not dealt with
  std::string out;           ///< that the member has not taken
  int rank = -1;             ///< as it said; -1: nothing yet
  uint64_t gpu = 0;
  bool isGone = false;
};

sockaddr_un addressOf(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(&address.sun_path[1], sizeof address.sun_path - 1);  // behind a zero: abstract
  return address;
}

const char* nameOf(Meet kind) {
  constexpr const char* kNames[] = {"hello",          "connect",  "all_reduce", "all_gather",
                                    "reduce_scatter", "finalize", "done",       "failed"};
  return kNames[static_cast<uint32_t>(kind)];
}

std::string describe(const Head& head) {
  return absl::StrFormat("%s of %d elements of type %d by %d", nameOf(head.kind), head.count,
                         head.type, head.operation);
}

class Hub {
 public:
  explicit Hub(int listener) : listener_(listener) {}

  void run() {
    while (!isOver()) {
      waitForSomething();
      accept();
      for (Member& member : members_) {
        read(member);
      }
      while (meet()) {
      }
      for (Member& member : members_) {
        write(member);
      }
    }
    for (Member& member : members_) {
      close(member.socket);
    }
    close(listener_);
  }

 private:
  bool isOver() const {
    return !members_.empty() && std::all_of(members_.begin(), members_.end(),
                                            [](const Member& member) { return member.isGone; });
  }

  void waitForSomething() {
    std::vector<pollfd> waits = {{listener_, POLLIN, 0}};
    for (const Member& member : members_) {
      if (!member.isGone) {
        const auto events = static_cast<short>(member.out.empty() ? POLLIN : POLLIN | POLLOUT);
        waits.push_back({member.socket, events, 0});
      }
    }
    poll(waits.data(), waits.size(), -1);
  }

  void accept() {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      members_.push_back({socket, {}, {}, {}});
    }
  }

  void read(Member& member) {
    if (member.isGone) {
      return;
    }
    member.isGone = !member.reader.take(member.socket);
    while (std::optional<Message> message = member.reader.next()) {
      if (message->head.kind == Meet::kHello) {
        greet(member, message->head);
      } else {
        member.sent.push_back(*std::move(message));
      }
    }
  }

  static void write(Member& member) {
    while (!member.isGone && !member.out.empty()) {
      const ssize_t sent =
          send(member.socket, member.out.data(), member.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      member.out.erase(0, static_cast<size_t>(sent));
    }
  }

  void greet(Member& member, const Head& head) {
    count_ = count_ == 0 ? head.members : count_;
    if (head.members != count_) {
      failAll(ncclInvalidUsage, absl::StrFormat("rank %d says that there are %d ranks, others %d",
                                                head.rank, head.members, count_));
    }
    for (const Member& other : members_) {
      if (other.rank == head.rank) {
        failAll(ncclInvalidUsage, absl::StrFormat("there are two of rank %d", head.rank));
      } else if (other.rank >= 0 && other.gpu == head.gpu) {
        failAll(ncclInvalidUsage,
                absl::StrFormat("Duplicate GPU detected: ranks %d and %d", other.rank, head.rank));
      }
    }
    member.rank = head.rank;
    member.gpu = head.gpu;
    ++greeted_;
    if (!failure_.empty()) {
      failAll(ncclInvalidUsage, failure_);  // whoever comes late, too
    } else if (greeted_ == count_) {
      tellAll();
    }
  }

  std::vector<Member*> byRank() {
    std::vector<Member*> ranks(static_cast<size_t>(count_), nullptr);
    for (Member& member : members_) {
      if (member.rank >= 0 && member.rank < count_) {
        ranks[static_cast<size_t>(member.rank)] = &member;
      }
    }
    return ranks;
  }

  /// What all members have sent, if they have. A member that is gone is missed for ever.
  bool meet() {
    std::vector<Member*> ranks = byRank();
    const bool areThere = greeted_ == count_ && count_ > 0 && failure_.empty() &&
                          std::all_of(ranks.begin(), ranks.end(), [](const Member* member) {
                            return member != nullptr && !member->sent.empty();
                          });
    if (!areThere) {
      return false;
    }
    const Head first = ranks[0]->sent.front().head;
    std::vector<std::string> operands;
    operands.reserve(ranks.size());
    for (Member* member : ranks) {
      const Head& head = member->sent.front().head;
      if (describe(head) != describe(first)) {
        failAll(ncclInvalidUsage, absl::StrFormat("rank 0 comes with %s, rank %d with %s",
                                                  describe(first), member->rank, describe(head)));
        return false;
      }
      operands.push_back(std::move(member->sent.front().bytes));
    }
    for (size_t i = 0; i < ranks.size(); ++i) {
      ranks[i]->sent.pop_front();
      tell(*ranks[i], ncclSuccess, resultOf(first, operands, i));
    }
    return true;
  }

  static std::string resultOf(const Head& head, const std::vector<std::string>& operands,
                              size_t rank) {
    switch (head.kind) {
      case Meet::kAllGather: {
        std::string all;
        for (const std::string& operand : operands) {
          all += operand;
        }
        return all;
      }
      case Meet::kAllReduce:
        return reduced(operands, head.type, head.operation);
      case Meet::kReduceScatter: {
        const size_t part = operands[0].size() / operands.size();
        return reduced(operands, head.type, head.operation).substr(rank * part, part);
      }
      default:
        return "";
    }
  }

  static void tell(Member& member, ncclResult_t result, std::string bytes) {
    Message message;
    message.head.kind = result == ncclSuccess ? Meet::kDone : Meet::kFailed;
    message.head.type = result;
    message.bytes = std::move(bytes);
    member.out += textOf(std::move(message));
  }
  void tellAll() {
    for (Member& member : members_) {
      tell(member, ncclSuccess, "");
    }
  }
  void failAll(ncclResult_t result, const std::string& why) {
    failure_ = why;
    for (Member& member : members_) {
      tell(member, result, why);
    }
  }

  const int listener_;
  std::list<Member> members_;
  int count_ = 0;  ///< as the first member says
  int greeted_ = 0;
  std::string failure_;  ///< "": none
};

}  // namespace

std::string openHub() {
  static std::atomic<int> made{0};
  std::string name =
      absl::StrFormat("graphrun-nccl-%d-%d-%x", getpid(), made++, std::random_device()());
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_un address = addressOf(name);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, SOMAXCONN) != 0) {
    close(listener);
    return "";
  }
  std::thread([listener] { Hub(listener).run(); }).detach();
  return name;
}

int connectToHub(const std::string& name) {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = addressOf(name);
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return made;
  }
  close(made);
  return -1;
}

}  // namespace graphrun::testing
