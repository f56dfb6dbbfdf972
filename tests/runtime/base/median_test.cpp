#include "runtime/base/median.h"

#include <catch2/catch.hpp>
#include <vector>

namespace graphrun::runtime {
namespace {

TEST_CASE("the median is the upper one of two in the middle, the lower median the other") {
  CHECK(median(std::vector<int>{7}) == 7);
  CHECK(lowerMedian(std::vector<int>{7}) == 7);
  CHECK(median(std::vector<int>{5, 1, 4, 2}) == 4);
  CHECK(lowerMedian(std::vector<int>{5, 1, 4, 2}) == 2);
  CHECK(median(std::vector<int>{9, 1, 3}) == 3);
  CHECK(lowerMedian(std::vector<int>{9, 1, 3}) == 3);
}

}  // namespace
}  // namespace graphrun::runtime
