// A program with OpenMP regions and oneDNN kernels of its own, which links libgraphrun: its regions
// stay libgomp's, and oneDNN's run on GraphRun's threads.
#include <dlfcn.h>
#include <omp.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "devices/cpu/threading/kernel_team.h"

namespace graphrun::devices::cpu {
namespace {

int64_t threadsOfProcess() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/task"), Entries());
}

/// The file of the function that code of this program calls by that name.
std::string fileOf(const char* function) {
  Dl_info info{};
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, function), &info) != 0);
  return info.dli_fname;
}

/// A product by oneDNN, large enough for several threads.
std::vector<float> product(int64_t size) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  dnnl::memory::desc desc({size, size}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  std::vector<float> x(static_cast<size_t>(size * size), 2.0F);
  std::vector<float> y(x.size(), 3.0F);
  std::vector<float> z(x.size());
  dnnl::matmul::primitive_desc plan({desc, desc, desc}, engine);
  dnnl::matmul(plan).execute(stream, {{DNNL_ARG_SRC, {desc, engine, x.data()}},
                                      {DNNL_ARG_WEIGHTS, {desc, engine, y.data()}},
                                      {DNNL_ARG_DST, {desc, engine, z.data()}}});
  stream.wait();
  return z;
}

TEST_CASE("a program's own regions are libgomp's") {
  for (const char* function : {"GOMP_parallel", "GOMP_barrier", "omp_get_thread_num",
                               "omp_get_num_threads", "omp_in_parallel"}) {
    INFO(function);
    CHECK_THAT(fileOf(function), Catch::Contains("libgomp"));
  }
  REQUIRE(KernelTeam::takesRegions());
  int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
  wrong += KernelTeam::position().team == nullptr && omp_get_num_threads() == 3 ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("oneDNN's regions run on the team") {
  REQUIRE(KernelTeam::takesRegions());
  omp_set_num_threads(3);
  const int64_t before = threadsOfProcess();
  const int64_t size = 512;
  const std::vector<float> z = product(size);
  CHECK(std::all_of(z.begin(), z.end(), [](float value) { return value == 6.0F * size; }));
  CHECK(threadsOfProcess() > before);
  KernelTeam::end();  // libgomp's threads would stay
  CHECK(threadsOfProcess() == before);
}

}  // namespace
}  // namespace graphrun::devices::cpu
