// The second process of ucx_process_test: sends back what it gets on each edge, until the edges of
// the last step are done. Arguments: bytes of an edge …, then "steps" and their number.

#include "peer_process.h"
#include "runtime/transport/edge.h"
#include "runtime/transport/ucx.h"

namespace graphrun::runtime::testing {
namespace {

constexpr int64_t kPatience = 30'000'000'000;

void must(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "peer: %s\n", status.ToString().c_str());
    std::_Exit(71);
  }
}

template <typename T>
T must(absl::StatusOr<T> result) {
  must(result.status());
  return std::move(*result);
}

struct Echo {
  std::vector<std::byte> memory;
  RecvEdge* in;
  SendEdge* out;
};

Echo openEcho(Transport& transport, uint32_t id, size_t bytes) {
  Echo echo{std::vector<std::byte>(2 * bytes + 1), nullptr, nullptr};
  void* buffers[] = {echo.memory.data(), echo.memory.data() + bytes};
  echo.in =
      must(transport.openRecv({.plan = 1, .edge = 2 * id, .peer = 0, .maxBytes = bytes}, buffers));
  echo.out =
      must(transport.openSend({.plan = 1, .edge = 2 * id + 1, .peer = 0, .maxBytes = bytes}));
  return echo;
}

int run(const std::vector<size_t>& sizes, uint64_t steps) {
  auto transport = must(makeUcxTransport({.rank = 1}));
  std::string peer = exchangeBlobs(kParentFd, transport->localAddress());
  must(transport->connect(0, peer, {5, 6}));
  std::vector<Echo> echoes;
  for (uint32_t id = 0; id < sizes.size(); ++id) {
    echoes.push_back(openEcho(*transport, id, sizes[id]));
  }
  for (uint64_t step = 0; step < steps; ++step) {
    for (Echo& echo : echoes) {
      Received got = must(echo.in->wait(step, WaitOptions::within(kPatience)));
      must(echo.out->send(step, got.data, got.bytes, WaitOptions::within(kPatience)));
      must(echo.out->waitSent(step, WaitOptions::within(kPatience)));
      echo.in->release(step);
    }
  }
  return 0;
}

}  // namespace
}  // namespace graphrun::runtime::testing

int main(int argc, char** argv) {
  std::vector<size_t> sizes;
  for (int i = 1; i < argc - 2; ++i) {
    sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  }
  return graphrun::runtime::testing::run(sizes, std::strtoull(argv[argc - 1], nullptr, 10));
}
