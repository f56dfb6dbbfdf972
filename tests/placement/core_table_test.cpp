#include "placement/simulator/core_table.h"

#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::coreCluster;

std::vector<std::vector<int>> coresOf(const Cluster& cluster) {
  CoreTable table(cluster);
  std::vector<std::vector<int>> cores;
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    cores.emplace_back(table.of(d).begin(), table.of(d).end());
  }
  return cores;
}

using Cores = std::vector<std::vector<int>>;

TEST_CASE("devices that share nothing have a core each, with their ids") {
  CHECK(coresOf(testing::simpleCluster(3)) == Cores{{0}, {1}, {2}});
  Cluster cluster = coreCluster({{{4, 5}, {0}}, {{1, 2, 3}}});
  CHECK(coresOf(cluster) == Cores{{0}, {1}, {2}});
  CHECK_FALSE(CoreTable(cluster).isShared());
  CHECK_FALSE(CoreTable(cluster).isShared(1));
}

TEST_CASE("a device on all cores shares one with each of its halves") {
  Cluster cluster = coreCluster({{{0, 1, 2, 3}, {0, 1}, {2, 3}}});
  CHECK(coresOf(cluster) == Cores{{0, 1}, {0}, {1}});  // cores of the same devices are one
  CoreTable table(cluster);
  CHECK(table.count() == 2);
  CHECK(table.isShared());
  CHECK(table.isShared(2));
  CHECK(table.devices(1) == std::vector<int>{0, 2});
  CHECK(table.devicesApart() == Cores{{0}, {1, 2}});
  CoreTable both(coreCluster({{{0, 1}, {0}, {1}, {7}}, {{2, 3}, {2}, {3}}}));
  CHECK(both.devicesApart() == Cores{{0, 3, 4}, {1, 2, 3, 5, 6}});
}

TEST_CASE("cores whose devices meet at another one say nothing more") {
  CHECK(coresOf(coreCluster({{{0, 1, 2}, {0}, {0, 1}}})) == Cores{{0}, {0}, {0}});
  // Each two of three devices meet at another core.
  CHECK(coresOf(coreCluster({{{0, 1}, {1, 2}, {2, 0}}})) == Cores{{0, 1}, {0, 2}, {1, 2}});
}

TEST_CASE("workers of one host share the cores that they are given, others do not") {
  Cluster cluster = coreCluster({{{0}}, {{0}}, {{4}}, {{0}}});
  CHECK(coresOf(cluster) == Cores{{0}, {0}, {1}, {0}});
  cluster.workers[1].address = "10.0.0.2:7070";
  CHECK(coresOf(cluster) == Cores{{0}, {1}, {2}, {0}});
  cluster.workers[3].local = true;
  CHECK(coresOf(cluster) == Cores{{0}, {1}, {2}, {3}});
}

TEST_CASE("workers of one host that may use all of its cores share them") {
  CHECK(coresOf(coreCluster({{{}}, {{}}})) == Cores{{0}, {0}});
  CHECK(coresOf(coreCluster({{{0, 1}}, {{2}}, {{}}})) == Cores{{0}, {1}, {0, 1}});
  Cluster cluster = coreCluster({{{0, 1}}, {{0, 1}}, {{2}}});
  cluster.workers[0].specs[0].coresFound = true;
  cluster.workers[1].specs[0].coresFound = true;
  cluster.rebuildDevices();
  CHECK(coresOf(cluster) == Cores{{0}, {0}, {1}});
  cluster = coreCluster({{{}}, {{}}, {{1}}});
  cluster.workers[1].address = "10.0.0.2:7070";
  CHECK(coresOf(cluster) == Cores{{0}, {1}, {0}});
  cluster = coreCluster({{{}}, {{}}});
  cluster.workers[1].specs[0].kind = devices::cuda::cudaKind();
  cluster.rebuildDevices();
  CHECK(coresOf(cluster) == Cores{{0}, {1}});
}

}  // namespace
}  // namespace graphrun::placement
