#include <catch2/catch.hpp>

#include "runtime/session/strings.h"

namespace graphrun::runtime {
namespace {

using Catch::Contains;

struct Fixture {
  Fixture() {
    format::PlanT plan;
    plan.strings = {"a", "b"};
    plan.string_values = {"x", "y"};
    builder.Finish(format::Plan::Pack(builder, &plan));
    strings = PlanStrings(*flatbuffers::GetRoot<format::Plan>(builder.GetBufferPointer()));
  }
  static HostTensor numbers(const std::vector<int64_t>& values) {
    HostTensor tensor(TensorSpec{ElementType::kI64, {static_cast<int64_t>(values.size())}});
    std::copy(values.begin(), values.end(), tensor.as<int64_t>().begin());
    return tensor;
  }

  flatbuffers::FlatBufferBuilder builder;
  PlanStrings strings;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "strings of a plan have its numbers, those of a run the next ones") {
  CHECK(strings.has("x"));
  CHECK_FALSE(strings.has("z"));
  RunStrings run(strings);
  HostTensor words({2, 2}, {"b", "new", "a", "new"});
  HostTensor got = run.numbersOf(words);
  CHECK(got.spec() == TensorSpec{ElementType::kI64, {2, 2}});
  CHECK(std::vector<int64_t>(got.as<int64_t>().begin(), got.as<int64_t>().end()) ==
        std::vector<int64_t>{1, 2, 0, 2});
  HostTensor back;
  REQUIRE(run.stringsOf("y", got, back).ok());
  CHECK(back.spec() == words.spec());
  CHECK(back.strings() == words.strings());
  RunStrings other(strings);  // the next run starts anew
  HostTensor word({1}, {"other"});
  CHECK(other.numbersOf(word).as<int64_t>()[0] == 2);
}

TEST_CASE_METHOD(Fixture, "a number that is no string's is an error") {
  RunStrings run(strings);
  HostTensor back;
  for (int64_t wrong : {int64_t{2}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    absl::Status status = run.stringsOf("y", numbers({0, wrong}), back);
    CHECK(absl::IsDataLoss(status));
    CHECK_THAT(std::string(status.message()), Contains("output 'y': element 1 is string"));
  }
}

}  // namespace graphrun::runtime
