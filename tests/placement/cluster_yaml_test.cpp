#include <fstream>

#include "placement/cluster/cluster.h"
#include "placement/simulator/core_table.h"
#include "runtime/base/scratch_folder.h"
#include "runtime/cluster/cluster_description.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::messageOf;

std::string errorOf(const std::string& yaml) {
  return messageOf(parseCluster(yaml, "c.yaml", testing::kinds()).status());
}

TEST_CASE("the cluster of the design is read") {
  auto cluster = parseCluster(R"(
workers:
  - name: node0
    address: 10.0.0.1:7070
    devices: [{cpu: {cores: 0-15, memory: 48GiB}}, {cuda: {index: 0, memory: 70GiB}}]
  - {name: node1, address: 10.0.0.2:7070}
  - name: here
    address: local
    devices: [{cpu: {cores: "0-7,9"}}, {cpu: {cores: [10, 12-13]}}]
links: [{between: [node0, node1], bandwidth: 12GB/s, latency: 3us, queues: false}]
security: {ca: ca.pem, cert: coordinator.pem, key: coordinator.key}
pins: [{nodes: "encoder/*", device: node1/cuda:0}, {annotation: gpu0, device: node1/cuda:0}]
forbids: [{nodes: "embed*", device: "node1/*"}]
)",
                              "c.yaml", testing::kinds());
  INFO(messageOf(cluster.status()));
  REQUIRE(cluster.ok());
  REQUIRE(cluster->workers.size() == 3);
  CHECK(cluster->deviceNames() ==
        std::vector<std::string>{"node0/cpu:0", "node0/cuda:0", "here/cpu:0", "here/cpu:1"});
  CHECK(cluster->devices[0].cores.size() == 16);
  CHECK(cluster->devices[0].memoryBytes == int64_t{48} << 30);
  CHECK(cluster->devices[1].kind.name == "cuda");
  CHECK(cluster->devices[2].cores.back() == 9);
  CHECK(cluster->devices[3].cores == std::vector<int>{10, 12, 13});
  CHECK(cluster->devices[3].memoryBytes == 0);
  CHECK(cluster->workers[0].address == "10.0.0.1:7070");
  CHECK(!cluster->workers[1].devicesGiven);
  CHECK(cluster->workers[2].local);
  CHECK(!cluster->workers[2].inClient);
  REQUIRE(cluster->links.size() == 1);
  CHECK(cluster->links[0].latencyNs == 3000);
  CHECK(cluster->links[0].bytesPerSecond == 12e9);
  CHECK(cluster->links[0].queues == false);
  REQUIRE(cluster->pins.size() == 2);
  REQUIRE(cluster->forbids.size() == 1);
  CHECK(cluster->forbids[0].nodes == "embed*");
  CHECK(cluster->forbids[0].device == "node1/*");
  CHECK(cluster->forbids[0].source == "c.yaml:13");
  CHECK_FALSE(cluster->pins[0].annotation);
  CHECK(cluster->pins[1].nodes == "gpu0");
  CHECK(cluster->pins[1].annotation);
  CHECK(cluster->pins[0].nodes == "encoder/*");
  CHECK(cluster->pins[0].source == "c.yaml:12");
}

TEST_CASE("all problems of a file are in one report, by line") {
  CHECK(errorOf(R"(workers:
  - name: node0
    adress: 10.0.0.1:7070
    devices: [{cpu: {cores: 3-1, memory: 48G}}]
link: []
)") == R"(c.yaml:2: worker 'node0': 'address' is missing
c.yaml:3: worker 'node0': unknown key 'adress'; did you mean 'address'? (known: name, address, devices)
c.yaml:4: worker 'node0': cpu: cores: the range '3-1' runs backwards; expected CPU numbers as in 0-15 or "0-7,9"
c.yaml:4: worker 'node0': cpu: memory: '48G' is not a number followed by one of B, KB, KiB, MB, MiB, GB, GiB, TB, TiB
c.yaml:5: cluster: unknown key 'link'; did you mean 'links'? (known: workers, links, security, pins, forbids))");
}

TEST_CASE("each diagnostic of the file") {
  struct Case {
    const char* yaml;
    const char* error;
  };
  const Case cases[] = {
      {"{}", "1: cluster: 'workers' is missing"},
      {"", "1: cluster: expected a mapping with the keys workers, links, security, pins, forbids"},
      {"[1]", "expected a mapping"},
      {"workers: [", "c.yaml:1: not YAML: "},
      {"workers: []", "1: workers: expected a list with at least one entry"},
      {"workers: 3", "1: workers: expected a list with at least one entry"},
      {"workers: [3]", "1: workers[0]: expected a mapping with the keys name, address, devices"},
      {"workers: [{address: local}]", "1: workers[0]: 'name' is missing"},
      {"workers: [{name: [], address: local}]", "1: workers[0]: 'name' must be a text"},
      {"workers: [{name: '', address: local}]", "1: workers[0]: 'name' must be a text"},
      {"workers: [{name: client, address: local}]", "a name must not be 'client' nor hold"},
      {"workers: [{name: a/b, address: local}]", "a name must not be 'client' nor hold"},
      {"workers:\n- {name: a, address: local}\n- {name: a, address: local}",
       "3: worker 'a': the name is given twice"},
      {"workers: [{name: a, name: b, address: local}]", "the key 'name' is given twice"},
      {"workers: [{name: a, address: host}]",
       "worker 'a': address 'host' is none of HOST:PORT, unix:PATH, local and client"},
      {"workers: [{name: a, address: 'h:0'}]", "is none of HOST:PORT"},
      {"workers: [{name: a, address: 'h:65536'}]", "is none of HOST:PORT"},
      {"workers: [{name: a, address: 'unix:'}]", "is none of HOST:PORT"},
      {"workers: [{name: a, address: 'h:1'}, {name: b, address: 'h:1'}]",
       "worker 'b': address 'h:1' is worker 'a's already"},
      {"workers: [{name: a, address: client}]",
       "1: worker 'a': in the client: 'devices' is missing"},
      {"workers: [{name: a, address: client, devices: [{cpu: {}}]}, {name: b, address: client, "
       "devices: [{cpu: {}}]}]",
       "worker 'b': address 'client' is worker 'a's already"},
      {"workers: [{name: a, address: local, devices: []}]", "worker 'a': devices: expected a list"},
      {"workers: [{name: a, address: local, devices: [cpu]}]",
       "worker 'a': devices: expected a mapping with the keys cpu, cuda"},
      {"workers: [{name: a, address: local, devices: [{tpu: {}}]}]", "devices: unknown key 'tpu'"},
      {"workers: [{name: a, address: local, devices: [{cpu: {}, cuda: {index: 0}}]}]",
       "one entry describes one device, got 2 keys"},
      {"workers: [{name: a, address: local, devices: [{cpu: 3}]}]",
       "worker 'a': cpu: expected a mapping with the keys cores, shared, memory"},
      {"workers: [{name: a, address: local, devices: [{cpu: {core: 1}}]}]",
       "unknown key 'core'; did you mean 'cores'?"},
      {"workers: [{name: a, address: local, devices: [{cpu: {cores: 0-7,9}}]}]",
       "unknown key '9'; a list with a comma needs quotes, as in cores: \"0-7,9\""},
      {"workers: [{name: a, address: local, devices: [{cpu: {cores: {}}}]}]", "cpu: cores: "},
      {"workers: [{name: a, address: local, devices: [{cpu: {cores: 0-1}}, {cpu: {cores: 1-2}}]}]",
       "worker 'a': CPU 1 belongs to two devices; if they are to take turns, say shared: "
       "true"},
      {"workers: [{name: a, address: local, devices: [{cpu: {cores: 0, shared: true}}, {cpu: "
       "{cores: 0}}]}]",
       "worker 'a': CPU 0 belongs to two devices"},
      {"workers: [{name: a, address: local, devices: [{cpu: {cores: 0}}, {cpu: {cores: 0, shared: "
       "true}}]}]",
       "worker 'a': CPU 0 belongs to two devices"},
      {"workers: [{name: a, address: local, devices: [{cpu: {cores: 0, shared: 2}}]}]",
       "worker 'a': cpu: shared: '2' is not true or false"},
      {"workers: [{name: a, address: client, devices: [{cpu: {detached: no}}]}]",
       "worker 'a': cpu: detached: 'no' is not true or false"},
      {"workers: [{name: a, address: local, devices: [{cpu: {shared: true}}]}]",
       "worker 'a': cpu: shared needs cores"},
      {"workers: [{name: a, address: local, devices: [{cuda: {index: 0, shared: true}}]}]",
       "worker 'a': cuda: unknown key 'shared'"},
      {"workers: [{name: a, address: local, devices: [{cpu: {}}, {cpu: {cores: 1-2}}]}]",
       "with several cpu devices each needs its cores"},
      {"workers: [{name: a, address: local, devices: [{cuda: {}}]}]", "cuda: 'index' is missing"},
      {"workers: [{name: a, address: local, devices: [{cuda: {index: -1}}]}]",
       "cuda: index '-1' is not a number from 0 on"},
      {"workers: [{name: a, address: local, devices: [{cuda: {index: 1}}, {cuda: {index: 1}}]}]",
       "cuda: index 1 is given twice"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.yaml);
    CHECK_THAT(errorOf(c.yaml), Catch::Contains(c.error));
  }
}

TEST_CASE("devices that say so share cores, and none is slower for it") {
  auto cluster = parseCluster(R"(
workers:
  - name: here
    address: local
    devices:
      - {cpu: {cores: 0, shared: true}}
      - {cpu: {cores: 0, shared: true}}
      - {cpu: {cores: 0-1, shared: true}}
      - {cpu: {cores: 2, shared: false}}
  - {name: there, address: local, devices: [{cpu: {cores: 0}}]}
)",
                              "c.yaml", testing::kinds());
  INFO(messageOf(cluster.status()));
  REQUIRE(cluster.ok());
  REQUIRE(cluster->devices.size() == 5);
  auto bandwidth = [&](size_t device) {
    return cluster->devices[device].model.memoryBytesPerSecond;
  };
  double core = defaultDeviceModel(devices::cpu::cpuKind(), 1).memoryBytesPerSecond;
  CHECK(bandwidth(0) == core);
  CHECK(bandwidth(2) == 2 * core);
  CoreTable cores(*cluster);
  CHECK(cores.count() == 2);
  CHECK(cores.of(2) == std::vector<int>{0});
  CHECK(cores.devices(0) == std::vector<int>{0, 1, 2, 4});  // workers of this machine, too
  CHECK_FALSE(cores.isShared(3));
}

TEST_CASE("each diagnostic of links, pins and security") {
  const std::string workers =
      "workers: [{name: node0, address: 'h:1', devices: [{cpu: {}}]}, {name: node1, address: "
      "'h:2'}]\n";
  const std::pair<const char*, const char*> cases[] = {
      {"links: {}", "2: links: expected a list with at least one entry"},
      {"links: [{between: [node0], latency: 1us}]", "2: links: 'between' must name two workers"},
      {"links: [{between: [node0, node1], queues: 1}]", "links: queues: '1' is not true or false"},
      {"links: [{latency: 1us}]", "links: 'between' must name two workers"},
      {"links: [{between: [node0, nod1], latency: 1us}]",
       "links: no worker 'nod1'; did you mean 'node1'?"},
      {"links: [{between: [node0, node1]}]", "an entry needs bandwidth, latency or queues"},
      {"links: [{between: [node0, node1], bandwidth: 12GB}]", "bandwidth: '12GB' is not a number"},
      {"links: [{between: [node0, node1], latency: 12}]", "latency: '12' is not a number"},
      {"links: [{between: [node0, node0], latency: 1us}]", "'between' names one worker twice"},
      {"links: [{between: [node0, node1], latency: 1us}, {between: [node1, node0], latency: 1us}]",
       "this pair of workers is given twice"},
      {"security: 1", "security: expected a mapping with the keys ca, cert, key"},
      {"security: {ca: a, cert: b}", "security: 'key' is missing"},
      {"pins: [{nodes: a}]", "pins: 'device' is missing"},
      {"forbids: [{nodes: a}]", "forbids: 'device' is missing"},
      {"forbids: [{nodes: a, devices: b}]", "forbids: unknown key 'devices'"},
      {"pins: [{device: node0/cpu:0}]", "pins: 'nodes' is missing"},
      {"pins: [{nodes: a, annotation: gpu0, device: node0/cpu:0}]",
       "an entry is for nodes or for an annotation of the model, not for both"},
      {"pins: [{nodes: a, device: node0}]", "pins: device 'node0' is not WORKER/KIND:INDEX"},
      {"pins: [{nodes: a, device: node2/cpu:0}]", "device 'node2/cpu:0': no worker 'node2'"},
      {"pins: [{nodes: a, device: node0/cpu:1}]",
       "worker 'node0' has no device 'node0/cpu:1'; did you mean 'node0/cpu:0'?"},
  };
  for (const auto& [yaml, error] : cases) {
    CAPTURE(yaml);
    CHECK_THAT(errorOf(workers + yaml), Catch::Contains(error));
  }
  // The devices of node1 are not known yet; links to the client are.
  CHECK(errorOf(workers + "pins: [{nodes: a, device: node1/cuda:5}]\n"
                          "links: [{between: [client, node0], latency: 0us}]")
            .empty());
}

TEST_CASE("security paths are relative to the file, a missing file is named") {
  auto folder = runtime::ScratchFolder::create();
  REQUIRE(folder.ok());
  std::string path = folder->path() / "c.yaml";
  CHECK_THAT(messageOf(runtime::readClusterFile(path, testing::kinds()).status()),
             Catch::Contains("c.yaml"));
  std::ofstream(path) << "workers: [{name: a, address: local}]\n"
                         "security: {ca: ca.pem, cert: /x/c.pem, key: ./k/c.key}\n";
  auto cluster = runtime::readClusterFile(path, testing::kinds());
  REQUIRE(cluster.ok());
  REQUIRE(cluster->description.security);
  CHECK(cluster->description.security->ca == (folder->path() / "ca.pem").string());
  CHECK(cluster->description.security->cert == "/x/c.pem");
  CHECK(cluster->description.security->key == (folder->path() / "k/c.key").string());
}

}  // namespace
}  // namespace graphrun::placement
