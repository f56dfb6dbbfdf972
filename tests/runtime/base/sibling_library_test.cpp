#include "runtime/base/sibling_library.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

namespace graphrun::runtime {
namespace {

/// KiB in memory of the code of the library with this in its name.
int residentCode(const std::string& library) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool ours = false;
  int resident = 0;
  while (std::getline(maps, line)) {
    if (line.find('-') < line.find(' ')) {  // "7f00-7f10 r-xp … /usr/lib/…"
      ours = line.find(" r-xp ") != std::string::npos && line.find(library) != std::string::npos;
    } else if (ours && line.rfind("Rss:", 0) == 0) {
      resident += std::stoi(line.substr(4));
    }
  }
  return resident;
}

TEST_CASE("the memory of a library's code is given back, and the library runs on") {
  void* library = dlopen("libm.so.6", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* cosine = reinterpret_cast<double (*)(double)>(dlsym(library, "cos"));
  REQUIRE(cosine != nullptr);
  CHECK(cosine(0) == 1);
  CHECK(residentCode("libm.so") > 0);
  releaseCode(reinterpret_cast<void*>(cosine));
  CHECK(residentCode("libm.so") == 0);
  CHECK(cosine(0) == 1);
  CHECK(residentCode("libm.so") > 0);
  dlclose(library);
}

TEST_CASE("an address of no library is none to give back") {
  int onStack = 0;
  releaseCode(&onStack);
  releaseCode(nullptr);
}

}  // namespace
}  // namespace graphrun::runtime
