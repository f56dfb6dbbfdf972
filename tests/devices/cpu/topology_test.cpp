// Cores and memory that a process may use: affinity mask and control groups of both versions.
#include "devices/cpu/runtime/cpu_topology.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runtime/base/cgroup.h"

namespace graphrun::devices::cpu {
namespace {

namespace fs = std::filesystem;

/// A folder that stands for /sys/fs/cgroup, and a file for /proc/self/cgroup.
class FakeGroups {
 public:
  FakeGroups() : root_(fs::temp_directory_path() / "graphrun_cgroup_test") {
    fs::remove_all(root_);
  }
  ~FakeGroups() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  runtime::CgroupLimits read() const {
    return runtime::readCgroup(root_.string(), (root_ / "membership").string());
  }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("a machine without control groups has no limits") {
  FakeGroups groups;
  CHECK_FALSE(groups.read().cores.has_value());
  CHECK_FALSE(groups.read().memory.has_value());
}

TEST_CASE("the root of version 2 limits, as in a container") {
  FakeGroups groups;
  groups.write("membership", "0::/");
  groups.write("cpu.max", "150000 100000");
  groups.write("memory.max", "1073741824");
  CHECK(groups.read().cores == 2);
  CHECK(groups.read().memory == uint64_t{1} << 30);
  groups.write("cpu.max", "max 100000");
  groups.write("memory.max", "max");
  CHECK_FALSE(groups.read().cores.has_value());
  CHECK_FALSE(groups.read().memory.has_value());
}

TEST_CASE("the least limit of a group and those around it counts") {
  FakeGroups groups;
  groups.write("membership", "0::/work.slice/job.scope");
  groups.write("work.slice/cpu.max", "100000 100000");
  groups.write("work.slice/job.scope/cpu.max", "400000 100000");
  groups.write("work.slice/job.scope/memory.max", "4096");
  groups.write("other.slice/memory.max", "1");
  CHECK(groups.read().cores == 1);
  CHECK(groups.read().memory == 4096);
}

TEST_CASE("the controllers of version 1 limit") {
  FakeGroups groups;
  groups.write("membership", "5:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/x");
  groups.write("cpu/cpu.cfs_quota_us", "-1");
  groups.write("cpu/cpu.cfs_period_us", "100000");
  groups.write("cpu/docker/a/cpu.cfs_quota_us", "250000");
  groups.write("cpu/docker/a/cpu.cfs_period_us", "100000");
  groups.write("memory/memory.limit_in_bytes", "9223372036854771712");
  groups.write("memory/docker/a/memory.limit_in_bytes", "8192");
  CHECK(groups.read().cores == 3);
  CHECK(groups.read().memory == 8192);
}

TEST_CASE("cores outside the affinity mask are not used") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  const std::vector<uint32_t> all = allowedCores();
  REQUIRE(pinThread({&all.back(), 1}).ok());
  CHECK(allowedCores() == std::vector<uint32_t>{all.back()});
  REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
  CHECK(allowedCores() == all);
}

}  // namespace graphrun::devices::cpu
