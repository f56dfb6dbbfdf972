#include "placement/cluster/what_if.h"

#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::messageOf;
using testing::simpleCluster;

TEST_CASE("a hypothetical device comes with its worker") {
  Cluster cluster = simpleCluster(2);
  cluster.workers[0].specs[0].cores = {0, 1, 2};
  REQUIRE(addHypotheticalDevice(cluster, "n2:cuda", testing::kinds()).ok());
  REQUIRE(addHypotheticalDevice(cluster, "n2:cuda=40GiB", testing::kinds()).ok());
  REQUIRE(addHypotheticalDevice(cluster, "n1:cpu", testing::kinds()).ok());
  CHECK(cluster.deviceNames() ==
        std::vector<std::string>{"n0/cpu:0", "n1/cpu:0", "n1/cpu:1", "n2/cuda:0", "n2/cuda:1"});
  CHECK(cluster.devices[2].model.peakOpsPerSecond == cluster.devices[0].model.peakOpsPerSecond);
  CHECK(cluster.devices[3].memoryBytes == 0);
  CHECK(cluster.devices[4].memoryBytes == int64_t{40} << 30);
  CHECK(cluster.link(0, 3).kind == LinkKind::kTcp);
}

TEST_CASE("links are changed for all workers, or between two") {
  Cluster cluster = simpleCluster(3);
  REQUIRE(supposeLinks(cluster, "80Gbps").ok());
  REQUIRE(supposeLinks(cluster, "n0,n2=1GB/s,5us").ok());
  REQUIRE(supposeLinks(cluster, "client,n1=2GB/s").ok());
  CHECK(cluster.link(0, 1).bytesPerSecond == 1e10);
  CHECK(cluster.link(0, 1).latencyNs == 10);  // not said: as it was
  CHECK(cluster.link(2, 0).bytesPerSecond == 1e9);
  CHECK(cluster.link(2, 0).latencyNs == 5'000);
  CHECK(cluster.link(kClient, 1).bytesPerSecond == 2e9);
  CHECK(cluster.link(kClient, 0).bytesPerSecond == 1e10);
}

TEST_CASE("what cannot be added is told") {
  Cluster cluster = simpleCluster(2);
  CHECK_THAT(messageOf(addHypotheticalDevice(cluster, "n2", testing::kinds())),
             Catch::Contains("expected WORKER:KIND"));
  CHECK_THAT(messageOf(addHypotheticalDevice(cluster, ":cpu", testing::kinds())),
             Catch::Contains("expected WORKER:KIND"));
  CHECK_THAT(messageOf(addHypotheticalDevice(cluster, "n2:gpu", testing::kinds())),
             Catch::Contains("known: cpu, cuda"));
  CHECK_THAT(messageOf(addHypotheticalDevice(cluster, "n2:cpu=much", testing::kinds())),
             Catch::Contains("'much'"));
  CHECK_THAT(messageOf(supposeLinks(cluster, "fast")), Catch::Contains("Gbps"));
  CHECK_THAT(messageOf(supposeLinks(cluster, "n0,n9=1GB/s")), Catch::Contains("no worker 'n9'"));
  CHECK_THAT(messageOf(supposeLinks(cluster, "n0=1GB/s")), Catch::Contains("no worker ''"));
  CHECK(cluster.devices.size() == 2);
  CHECK(cluster.workers.size() == 2);
}

}  // namespace
}  // namespace graphrun::placement
