// Texts that the interpreter does not take.
#include <catch2/catch.hpp>
#include <random>

#include "tests/devices/cuda/simulator/ptx_fixture.h"

namespace graphrun::testing::ptx {
namespace {

using Catch::Contains;

std::string errorOf(const std::string& body) {
  Case run;
  run.text = kernelText(body);
  run.from.resize(128);
  run.to.resize(128);
  return run.run();
}

TEST_CASE("statements that are not known are refused with their line") {
  CHECK(errorOf("add.u32 %r3, %r0, 1;\n\n  foo.bar %r3, 2; // why") ==
        "line 22: the simulator does not know the instruction foo.bar");
  CHECK_THAT(errorOf("add.u32 %r3, %r0;"),
             Contains("line 20: add.u32: got 2 operands, expected 3"));
  CHECK_THAT(errorOf("add.u32 %d3, %r0, 1;"),
             Contains("operand 1: got a register of 8 bytes, expected u32"));
  CHECK_THAT(errorOf("add.u32 %r3, %r0, 4294967296;"),
             Contains("operand 3: 4294967296 does not fit u32"));
  CHECK_THAT(errorOf("add.u16 %h3, %h0, -32769;"), Contains("does not fit u16"));
  CHECK_THAT(errorOf("add.f32 %r3, %r0, 0d3ff0000000000000;"), Contains("a float of another size"));
  CHECK_THAT(errorOf("add.u32 5, %r0, 1;"), Contains("operand 1: expected a register"));
  CHECK_THAT(errorOf("add.u32 %r99, %r0, 1;"), Contains("register %r99 is not declared"));
  CHECK_THAT(errorOf("add.u32 %r3, %r0, from;"),
             Contains("operand 3: expected a register or a number"));
  CHECK_THAT(errorOf("setp.eq.u32 %r3, %r0, 1;"), Contains("expected pred"));
  CHECK_THAT(errorOf("bra nowhere;"), Contains("there is no label nowhere"));
  CHECK_THAT(errorOf("a: a: ret;"), Contains("label a stands twice"));
  CHECK_THAT(errorOf("@%r1 ret;"), Contains("%r1 is no predicate"));
  CHECK_THAT(errorOf("@%p1 bar.sync 0;"), Contains("got a predicate"));
  CHECK_THAT(errorOf("bar.sync 1;"), Contains("barrier 0 only"));
  CHECK_THAT(errorOf("ld.global.u32 %r3, %d0;"), Contains("expected [an address]"));
  CHECK_THAT(errorOf("ld.global.u32 %r3, [from];"), Contains("from is not in this space"));
  CHECK_THAT(errorOf("ld.global.v2.u32 {%r3}, [%d0];"), Contains("expected a list of 2"));
  CHECK_THAT(errorOf("ld.global.u32 %r3, [%d0+%r1];"), Contains("an offset that is no number"));
  CHECK_THAT(errorOf(".shared .b8 big[50000];"), Contains("expected at most 49152"));
  CHECK_THAT(errorOf(".shared .b8 big[49000];"),
             Contains("more than 49152 bytes of static shared"));
  CHECK_THAT(errorOf("call foo, (%r1);"), Contains("line 20"));
}

TEST_CASE("what is no kernel is refused") {
  auto errorOfText = [](const std::string& text) {
    return std::string(parse(text).status().message());
  };
  CHECK(errorOfText("") == "line 1: no .version");
  CHECK_THAT(errorOfText(".version 7.0\n.target nvidia"), Contains("line 2: got target nvidia"));
  CHECK_THAT(errorOfText(".version 7.0 .target sm_90 .address_size 32"),
             Contains("expected \"64\""));
  std::string head = ".version 7.0\n.target sm_90\n.address_size 64\n";
  CHECK(parse(head)->kernels.empty());
  CHECK(parse(head)->architecture == 90);
  CHECK_THAT(errorOfText(head + ".func f() {}"), Contains("line 4: got .func, expected .entry"));
  CHECK_THAT(errorOfText(head + ".global .b8 x[4];"), Contains("the simulator knows kernels only"));
  CHECK_THAT(errorOfText(head + "/* no end"), Contains("a comment does not end"));
  CHECK_THAT(errorOfText(head + ".entry f() { .pragma \"no end"),
             Contains("a string does not end"));
  CHECK_THAT(errorOfText(head + ".entry f() { ret;"), Contains("got the end"));
  CHECK_THAT(errorOfText(head + ".entry f(.param .b8 x[5000]) { ret; }"),
             Contains("more than 4352 bytes of parameters"));
  CHECK_THAT(errorOfText(head + ".entry f() " + std::string(100, '{')),
             Contains("scopes are too deep"));
}

TEST_CASE("damaged texts are refused or run, and nothing else happens") {
  std::string whole = kernelText(R"(mul.wide.u32 %d4, %r0, 4; add.s64 %d2, %d0, %d4;
  ld.global.v2.f32 {%r3, %r4}, [%d0+8]; { .reg .b32 t; mov.b64 {t, %r5}, %d4; }
  setp.lt.f32 %p1, %r3, 0f3F800000; @!%p1 bra end;
  shfl.sync.bfly.b32 %r6|%p2, %r3, 16, 31, -1; bar.sync 0;
  st.shared.v2.b32 [buffer+8], {%r3, %r4}; cvt.rn.f16.f32 %h1, %r3;
end: ret;)");
  std::mt19937 random(1);
  auto below = [&](size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(random);
  };
  const std::string letters = ".%,;[]{}()<>@!|+-:_ \n09afxr\"/*";
  for (int i = 0; i < 3000; ++i) {
    Case damaged;
    damaged.text = whole;
    damaged.threads = 64;
    damaged.mostInstructions = 1000;
    damaged.from.resize(64);
    damaged.to.resize(64);
    for (size_t times = 1 + below(3); times > 0; --times) {
      size_t at = below(damaged.text.size());
      switch (below(4)) {
        case 0:
          damaged.text[at] = letters[below(letters.size())];
          break;
        case 1:
          damaged.text.erase(at, 1 + below(8));
          break;
        case 2:
          damaged.text.insert(at, damaged.text.substr(below(damaged.text.size()), 1 + below(12)));
          break;
        default:
          damaged.text.resize(std::max<size_t>(at, 1));
      }
    }
    if (parse(damaged.text).ok() && !parse(damaged.text)->kernels.empty()) {
      damaged.run();
    }
  }
}

}  // namespace
}  // namespace graphrun::testing::ptx
