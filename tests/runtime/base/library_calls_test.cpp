#include "runtime/base/library_calls.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace graphrun::runtime {
namespace {

pid_t pretended() { return -7; }

/// Code of this program, whose calls are sent elsewhere.
pid_t askForParent() { return getppid(); }

bool redirect(const char* name, void* target) {
  const CallRedirect one{name, target};
  return redirectCalls(reinterpret_cast<const void*>(&askForParent), {&one, 1});
}

/// Ends what a test did to the calls.
struct Restored {
  ~Restored() { redirect("getppid", dlsym(RTLD_DEFAULT, "getppid")); }
};

TEST_CASE("a file's calls go where they are pointed, and back") {
  const pid_t parent = askForParent();
  {
    Restored restored;
    REQUIRE(redirect("getppid", reinterpret_cast<void*>(&pretended)));
    CHECK(askForParent() == -7);
    CHECK(redirect("getppid", reinterpret_cast<void*>(&pretended)));  // it is there already
  }
  CHECK(askForParent() == parent);
}

TEST_CASE("what a file does not call, and what is no file's code, is told") {
  const pid_t parent = askForParent();
  CHECK_FALSE(redirect("no_function_of_this_name", reinterpret_cast<void*>(&pretended)));
  const CallRedirect one{"getppid", reinterpret_cast<void*>(&pretended)};
  int onTheStack = 0;
  CHECK_FALSE(redirectCalls(&onTheStack, {&one, 1}));
  CHECK(askForParent() == parent);
}

TEST_CASE("threads may point calls elsewhere at once, while they are made") {
  const pid_t parent = askForParent();
  Restored restored;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&wrong, t, parent] {
      for (int i = 0; i < 200; ++i) {
        wrong[t] += redirect("getppid", reinterpret_cast<void*>(&pretended)) ? 0 : 1;
        const pid_t told = askForParent();
        wrong[t] += told == -7 || told == parent ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(std::count(wrong.begin(), wrong.end(), 0) == 4);
}

}  // namespace
}  // namespace graphrun::runtime
