#include "placement/cluster/cluster.h"

#include "placement/cluster/interfaces.h"
#include "placement/cluster/link_table.h"
#include "placement/cluster/unsure_link.h"
#include "placement/cluster/what_if.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::messageOf;

Worker workerAt(const std::string& name, const std::string& address,
                std::vector<DeviceSpec> specs) {
  Worker worker;
  worker.name = name;
  worker.address = address;
  worker.local = address.empty();
  worker.devicesGiven = true;
  worker.specs = std::move(specs);
  return worker;
}

DeviceSpec cuda(int index) {
  DeviceSpec spec;
  spec.kind = devices::cuda::cudaKind();
  spec.index = index;
  return spec;
}

TEST_CASE("workers of a host are behind an interface as fast as its fastest link to another") {
  Cluster cluster;
  cluster.workers = {
      workerAt("a", "10.0.0.1:1", {DeviceSpec{}}), workerAt("b", "10.0.0.1:2", {DeviceSpec{}}),
      workerAt("c", "10.0.0.2:1", {DeviceSpec{}}), workerAt("d", "", {DeviceSpec{}})};
  cluster.rebuildDevices();
  cluster.links.push_back({1, 2, 10, 5e9});
  cluster.links.push_back({0, 1, 10, 90e9});  // within a host
  std::vector<Interface> interfaces = interfacesOf(cluster);
  REQUIRE(interfaces.size() == 3);
  CHECK(interfaces[0].workers == std::vector<int>{0, 1});
  CHECK(interfaces[0].bytesPerSecond == 5e9);
  CHECK(interfaces[1].workers == std::vector<int>{2});
  CHECK(interfaces[1].bytesPerSecond == 5e9);
  CHECK(interfaces[2].workers == std::vector<int>{kClient, 3});
  CHECK(interfaces[2].bytesPerSecond == defaultLink(LinkKind::kTcp).bytesPerSecond);
  cluster.workers.pop_back();
  cluster.workers.pop_back();
  cluster.rebuildDevices();
  cluster.workers[0].local = cluster.workers[1].local = true;
  CHECK(interfacesOf(cluster).empty());  // nothing leaves the host
}

TEST_CASE("a link of which little was measured is a few times as slow as usual at most") {
  const LinkModel usual = defaultLink(LinkKind::kSharedMemory);
  LinkModel busy = usual;
  busy.latencyNs = 40 * usual.latencyNs;
  busy.bytesPerSecond = usual.bytesPerSecond / 20;
  busy.large = LargeTransfers{1 << 20, {1'000'000, 1e6}};
  const LinkModel taken = atMostSoSlow(busy, usual);
  for (int64_t bytes : {0, 1 << 10, 1 << 20, 1 << 24}) {
    CHECK(taken.transferNs(bytes) <= 3 * usual.transferNs(bytes) + 1);
    CHECK(taken.transferNs(bytes) >= 2 * usual.transferNs(bytes));
  }
  LinkModel fast = usual;
  fast.latencyNs = 1;
  fast.bytesPerSecond = 100 * usual.bytesPerSecond;
  CHECK(atMostSoSlow(fast, usual) == fast);
}

TEST_CASE("links follow from where the devices are") {
  Cluster cluster;
  cluster.workers = {workerAt("a", "10.0.0.1:1", {DeviceSpec{}, DeviceSpec{}, cuda(3)}),
                     workerAt("b", "10.0.0.1:2", {DeviceSpec{}}),
                     workerAt("c", "10.0.0.2:1", {DeviceSpec{}}),
                     workerAt("d", "", {DeviceSpec{}})};
  cluster.rebuildDevices();
  CHECK(cluster.deviceNames() == std::vector<std::string>{"a/cpu:0", "a/cpu:1", "a/cuda:3",
                                                          "b/cpu:0", "c/cpu:0", "d/cpu:0"});
  CHECK(cluster.link(0, 1).kind == LinkKind::kInProcess);
  CHECK(cluster.link(0, 2).kind == LinkKind::kPcie);
  CHECK(cluster.link(0, 3).kind == LinkKind::kSharedMemory);
  CHECK(cluster.link(0, 4).kind == LinkKind::kTcp);
  CHECK(cluster.link(kClient, 5).kind == LinkKind::kSharedMemory);
  CHECK(cluster.link(kClient, 0).kind == LinkKind::kTcp);

  cluster.links.push_back({0, 2, std::nullopt, 5e9});
  CHECK(cluster.link(4, 2).kind == LinkKind::kGiven);
  CHECK(cluster.link(4, 2).bytesPerSecond == 5e9);
  CHECK(cluster.link(4, 2).latencyNs == defaultLink(LinkKind::kTcp).latencyNs);

  LinkOverride back{2, 0, 7};
  back.oneWay = true;
  cluster.links.push_back(back);
  CHECK(cluster.link(4, 2).latencyNs == 7);
  CHECK(cluster.link(4, 2).bytesPerSecond == 5e9);
  CHECK(cluster.link(2, 4).latencyNs == defaultLink(LinkKind::kTcp).latencyNs);

  LinkOverride both{0, 1, 10, 1e9};
  both.measured = true;
  both.large = {10'000, {1000, 1e10}};
  cluster.links.push_back(both);
  CHECK(cluster.link(0, 3).kind == LinkKind::kSharedMemory);
  CHECK(cluster.link(0, 3).transferNs(100) == 110);
  CHECK(cluster.link(0, 3).transferNs(9'999) == 10'009);
  CHECK(cluster.link(0, 3).transferNs(100'000) == 11'000);
}

TEST_CASE("devices of a worker share its link to another, devices of one process do not") {
  Cluster cluster;
  cluster.workers = {workerAt("a", "10.0.0.1:1", {DeviceSpec{}, DeviceSpec{}}),
                     workerAt("b", "10.0.0.2:1", {DeviceSpec{}})};
  cluster.rebuildDevices();
  LinkTable table(cluster);
  CHECK(table.id(0, 2) == table.id(1, 2));
  CHECK(table.id(0, 2) != table.id(2, 0));
  CHECK(table.id(0, 1) != table.id(1, 0));
  CHECK(table.link(table.id(0, 2)).name == "a -> b");
  CHECK(table.link(table.id(0, 1)).name == "a/cpu:0 -> a/cpu:1");
  CHECK(table.link(table.id(kClient, 1)).name == "client -> a");
}

TEST_CASE("devices of other kinds have a link of their own where it takes other times") {
  Cluster cluster;
  cluster.workers = {workerAt("a", "10.0.0.1:1", {DeviceSpec{}, cuda(0)}),
                     workerAt("b", "10.0.0.2:1", {DeviceSpec{}, cuda(0)})};
  cluster.rebuildDevices();
  CHECK(LinkTable(cluster).id(0, 2) == LinkTable(cluster).id(1, 3));
  LinkOverride measured{0, 1, 7};
  measured.kinds = {"cuda", "cuda"};
  cluster.links.push_back(measured);
  LinkTable table(cluster);
  CHECK(table.id(0, 2) == table.id(0, 3));
  CHECK(table.id(0, 2) == table.id(1, 2));
  CHECK(table.link(table.id(0, 2)).model == defaultLink(LinkKind::kTcp));
  CHECK(table.link(table.id(1, 3)).name == "a -> b (cuda to cuda)");
  CHECK(table.link(table.id(1, 3)).model.latencyNs == 7);
  CHECK(table.link(table.id(3, 1)).model.latencyNs == 7);
}

TEST_CASE("a transfer takes latency and bytes over bandwidth") {
  CHECK(LinkModel{LinkKind::kGiven, 100, 2e9}.transferNs(1001) == 601);
  CHECK(LinkModel{LinkKind::kGiven, 100, 2e9}.transferNs(0) == 100);
}

TEST_CASE("this machine alone is one worker inside the client") {
  Cluster cluster = localCluster(1, devices::cpu::cpuKind());
  REQUIRE(cluster.devices.size() == 1);
  CHECK(cluster.devices[0].name == "local/cpu:0");
  CHECK(cluster.devices[0].cores.empty());
  CHECK(cluster.devices[0].memoryBytes > 0);
  CHECK(cluster.link(kClient, 0).kind == LinkKind::kInProcess);
  CHECK(localCluster(0, devices::cpu::cpuKind()).devices[0].cores.empty());
}

TEST_CASE("a kind that nothing but its record tells of is placed on by it") {
  DeviceKind toy;
  toy.name = "toy";
  toy.onHostCores = false;
  toy.memory = "toy";
  toy.rates.opsPerSecond.fill(7e9);
  std::vector<DeviceKind> kinds = testing::kinds();
  kinds.push_back(toy);
  auto cluster = parseCluster(
      "workers: [{name: a, address: local, devices: [{toy: {index: 3}}, {cpu: {cores: 0}}]}]",
      "c.yaml", kinds);
  INFO(messageOf(cluster.status()));
  REQUIRE(cluster.ok());
  CHECK(cluster->deviceNames() == std::vector<std::string>{"a/toy:3", "a/cpu:0"});
  CHECK(cluster->devices[0].model.peakOpsPerSecond[2] == 7e9);
  CHECK(cluster->link(0, 1).kind == LinkKind::kPcie);
  REQUIRE(addHypotheticalDevice(*cluster, "a:toy", kinds).ok());
  CHECK(cluster->devices.back().name == "a/toy:1");
  CHECK_THAT(messageOf(parseCluster("workers: [{name: a, address: local, devices: [{toy: {}}]}]",
                                    "c.yaml", testing::kinds())
                           .status()),
             Catch::Contains("unknown key 'toy'"));
}

TEST_CASE("more threads make a faster device model") {
  double one = defaultDeviceModel(devices::cpu::cpuKind(), 1).peakOpsPerSecond[2];
  double four = defaultDeviceModel(devices::cpu::cpuKind(), 4).peakOpsPerSecond[2];
  CHECK(four > 3 * one);
  CHECK(four < 4 * one);
}

TEST_CASE("discovery and limits from the command line change devices") {
  Cluster cluster;
  cluster.workers = {workerAt("a", "10.0.0.1:1", {})};
  cluster.workers[0].devicesGiven = false;
  cluster.setDevices(0, {DeviceSpec{}, cuda(0)});
  CHECK(cluster.workers[0].devicesGiven);
  REQUIRE(cluster.devices.size() == 2);
  REQUIRE(cluster.setMemoryLimit("a/cuda:0", 4096).ok());
  CHECK(cluster.devices[1].memoryBytes == 4096);
  CHECK(messageOf(cluster.setMemoryLimit("a/cuda:1", 1)) ==
        "no device 'a/cuda:1' in the cluster; did you mean 'a/cuda:0'?");
}

TEST_CASE("pins from the command line") {
  PinRule rule = makePinRule("a=b/*", "node1/cuda:0", "--pin");
  CHECK(rule.nodes == "a=b/*");
  CHECK(rule.device == "node1/cuda:0");
  CHECK_FALSE(rule.annotation);
  rule = makePinRule("@gpu0", "node1/cuda:0", "--pin");
  CHECK(rule.nodes == "gpu0");
  CHECK(rule.annotation);
}

}  // namespace
}  // namespace graphrun::placement
