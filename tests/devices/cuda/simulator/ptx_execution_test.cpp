// How threads run: branches, barriers, shuffles, spaces; and what is found to be wrong.
#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/simulator/ptx_fixture.h"

namespace graphrun::testing::ptx {
namespace {

using Catch::Contains;
using Kind = Fault::Kind;

/// A kernel with each thread's 4 bytes in `from` and `to` at %d2 and %d3.
Case perThread(const std::string& body, uint32_t threads = 32, uint32_t blocks = 1) {
  Case made;
  made.text = kernelText(
      "mul.wide.u32 %d4, %r0, 4; add.s64 %d2, %d0, %d4; add.s64 %d3, %d1, %d4;\n" + body);
  made.threads = threads;
  made.blocks = blocks;
  std::vector<uint32_t> values(size_t{threads} * blocks);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint32_t>(i * i);
  }
  made.from = bytesOf(values);
  made.to.resize(made.from.size());
  return made;
}

std::vector<uint32_t> resultsOf(Case& run) {
  std::string fault = run.run();
  INFO(run.text);
  REQUIRE(fault == "OK");
  return valuesOf<uint32_t>(run.to);
}

void checkFault(Case run, Kind kind, const std::string& part) {
  std::string fault = run.run();
  INFO(run.text);
  CHECK_THAT(fault, Contains(part));
  CHECK(run.kind == kind);
}

TEST_CASE("each thread of each block runs, also of a part of a warp") {
  Case copy = perThread("ld.global.u32 %r3, [%d2];\nst.global.u32 [%d3], %r3;\nret;", 40, 3);
  resultsOf(copy);
  CHECK(copy.to == copy.from);
}

TEST_CASE("threads that branch apart are together again where their ways meet") {
  // The sum of 0 … lane, by loops of different lengths; then a shuffle, which needs all lanes.
  Case loops = perThread(R"(mov.u32 %r3, 0; mov.u32 %r4, 0;
loop:
  add.u32 %r3, %r3, %r4;
  add.u32 %r4, %r4, 1;
  setp.le.u32 %p1, %r4, %r0;
  @%p1 bra loop;
  setp.lt.u32 %p2, %r0, 5;
  @!%p2 bra other;
  add.u32 %r3, %r3, 100;
  bra.uni end;
other:
  add.u32 %r3, %r3, 200;
end:
  shfl.sync.idx.b32 %r5, %r3, 31, 31, -1;
  add.u32 %r3, %r3, %r5;
  st.global.u32 [%d3], %r3;)");
  std::vector<uint32_t> got = resultsOf(loops);
  for (uint32_t i = 0; i < 32; ++i) {
    CHECK(got[i] == i * (i + 1) / 2 + (i < 5 ? 100 : 200) + 31 * 32 / 2 + 200);
  }
}

TEST_CASE("shuffles read other lanes") {
  auto shuffled = [](const std::string& mode, int by, const std::string& limits) {
    Case run = perThread(absl::StrCat("shfl.sync.", mode, ".b32 %r3|%p1, %r0, ", by, ", ", limits,
                                      ", -1;\nselp.b32 %r4, 1000, 0, %p1;\nadd.u32 %r3, %r3, "
                                      "%r4;\nst.global.u32 [%d3], %r3;"));
    return resultsOf(run);
  };
  auto bfly = shuffled("bfly", 5, "31"), up = shuffled("up", 3, "0"),
       down = shuffled("down", 3, "31");
  auto index = shuffled("idx", 7, "31");
  auto halves = shuffled("down", 4, "0x180f");  // segments of eight lanes
  for (uint32_t i = 0; i < 32; ++i) {
    CHECK(bfly[i] == 1000 + (i ^ 5));
    CHECK(up[i] == (i < 3 ? i : 1000 + i - 3));
    CHECK(down[i] == (i > 28 ? i : 1000 + i + 3));
    CHECK(index[i] == 1007);
    CHECK(halves[i] == (i % 8 > 3 ? i : 1000 + i + 4));
  }
}

TEST_CASE("a barrier lets a block's warps see what others stored") {
  Case reversed = perThread(R"(mov.u64 %d5, buffer; mul.wide.u32 %d6, %r0, 4; add.s64 %d6, %d5, %d6;
  ld.global.u32 %r3, [%d2];
  st.shared.u32 [%d6], %r3;
  bar.sync 0;
  sub.s32 %r4, 127, %r0; mul.wide.u32 %d7, %r4, 4; add.s64 %d7, %d5, %d7;
  ld.shared.u32 %r5, [%d7];
  st.global.u32 [%d3], %r5;)",
                            128);
  std::vector<uint32_t> got = resultsOf(reversed);
  for (uint32_t i = 0; i < 128; ++i) {
    CHECK(got[i] == (127 - i) * (127 - i));
  }
}

TEST_CASE("vectors, parts of registers and wider registers are loaded and stored") {
  Case run;
  run.text = kernelText(R"(
  ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%d0+8];
  st.global.v2.b16 [%d1], {%h4, %h1};
  ld.global.s8 %r3, [%d0+1];
  st.global.u32 [%d1+4], %r3;
  ld.global.u8 %h5, [%d0+1];
  cvt.u32.u16 %r4, %h5;
  st.global.u32 [%d1+8], %r4;
  st.global.u8 [%d1+12], %r4;
  ld.global.v2.u64 {%d2, %d3}, [%d0];
  st.global.u64 [%d1+16], %d3;
  mov.b64 {%r5, %r6}, %d2; mov.b64 %d4, {%r6, %r5}; { .reg .b32 top; mov.b64 {_, top}, %d4; mov.u32 %r5, top; }
  st.global.u32 [%d1+24], %r5;
  ret;)");
  run.threads = 1;
  run.from = {1, 0xfe, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  run.to.resize(32);
  REQUIRE(run.run() == "OK");
  CHECK(valuesOf<uint16_t>(run.to)[0] == 0x100f);
  CHECK(valuesOf<uint16_t>(run.to)[1] == 0x0a09);
  CHECK(valuesOf<uint32_t>(run.to)[1] == 0xfffffffe);
  CHECK(valuesOf<uint32_t>(run.to)[2] == 0xfe);
  CHECK(run.to[12] == 0xfe);
  CHECK(valuesOf<uint64_t>(run.to)[2] == 0x100f0e0d0c0b0a09);
  CHECK(valuesOf<uint32_t>(run.to)[6] == 0x0403fe01);
}

TEST_CASE("generic addresses are of shared or global memory; dynamic shared memory is apart") {
  Case run = perThread(R"(mov.u64 %d5, buffer; cvta.shared.u64 %d5, %d5;
  mul.wide.u32 %d6, %r0, 4; add.s64 %d6, %d5, %d6;
  ld.u32 %r3, [%d2];
  st.u32 [%d6], %r3;
  cvta.to.shared.u64 %d7, %d6;
  ld.shared.u32 %r4, [%d7];
  mul.wide.u32 %d8, %r0, 4; mov.u64 %d9, more; add.s64 %d9, %d9, %d8;
  st.shared.u32 [%d9], %r4;
  ld.shared.u32 %r5, [%d9];
  st.u32 [%d3], %r5;)");
  run.text.replace(run.text.find(".visible"), 0, ".extern .shared .align 16 .b8 more[]; ");
  run.sharedBytes = 128;
  resultsOf(run);
  CHECK(run.to == run.from);
  run.sharedBytes = 64;
  checkFault(run, Kind::kIllegalAddress,
             "st.shared.u32 of 4 bytes at 0xc040 is beyond the shared memory");
}

TEST_CASE("addresses beyond an allocation are found, with kernel, line, block and thread") {
  checkFault(perThread("ld.global.u32 %r3, [%d2+8];", 32, 2), Kind::kIllegalAddress,
             "kernel kernel, line 21: ld.global.u32 of 4 bytes at 0x10000100 is not in the nearest "
             "allocation, of 256 bytes at 0x10000000 (block (1, 0, 0), thread (30, 0, 0))");
  checkFault(perThread("st.global.u32 [%d3+-4], %r0;"), Kind::kIllegalAddress, "0x1ffffffc");
  checkFault(perThread("ld.shared.u32 %r3, [buffer+1024];"), Kind::kIllegalAddress, "0x400");
  checkFault(perThread("ld.param.u32 %r3, [to+8];"), Kind::kIllegalAddress,
             "beyond the parameters");
  checkFault(perThread("mov.u64 %d5, 5; ld.u32 %r3, [%d5+-1];"), Kind::kIllegalAddress, "");
}

TEST_CASE("misaligned addresses, traps and endless loops are found") {
  checkFault(perThread("ld.global.v2.u32 {%r3, %r4}, [%d2];"), Kind::kMisaligned,
             "of 8 bytes at 0x10000004 is misaligned (block (0, 0, 0), thread (1, 0, 0))");
  checkFault(perThread("setp.eq.u32 %p1, %r0, 7; @%p1 trap;"), Kind::kTrap,
             "line 21: trap is reached (block (0, 0, 0), thread (7, 0, 0))");
  checkFault(perThread("again: bra again;"), Kind::kTooLong,
             "still runs after 1048576 instructions");
}

TEST_CASE("what was never written is not read") {
  checkFault(perThread("add.u32 %r3, %r9, 1;"), Kind::kUnwritten,
             "line 21: add.u32 reads a register that nothing was written to");
  checkFault(perThread("setp.lt.u32 %p1, %r0, 9; @%p1 mov.u32 %r3, 1; st.global.u32 [%d3], %r3;"),
             Kind::kUnwritten, "thread (9, 0, 0)");
  checkFault(perThread("@%p3 bra end; end: ret;"), Kind::kUnwritten, "bra");
  checkFault(perThread("ld.shared.u32 %r3, [buffer];"), Kind::kUnwritten,
             "reads shared memory that nothing was written to");
}

TEST_CASE("races in shared memory are found, but for equal values") {
  std::string place = "mul.wide.u32 %d6, %r0, 4; mov.u64 %d5, buffer; add.s64 %d6, %d5, %d6;\n";
  std::string next = "xor.b32 %r4, %r0, 32; mul.wide.u32 %d7, %r4, 4; add.s64 %d7, %d5, %d7;\n";
  checkFault(perThread(place + next + "st.shared.u32 [%d6], %r0;\nld.shared.u32 %r5, [%d7];", 64),
             Kind::kUnwritten, "line 24");  // the other warp has not yet been there
  std::string stored = place + next + "st.shared.u32 [%d6], %r0;\nbar.sync 0;\n";
  std::string first = "setp.lt.u32 %p1, %r0, 32;\n";
  checkFault(perThread(stored + first +
                           "@%p1 st.shared.u32 [%d6], 7;\n"
                           "@!%p1 ld.shared.u32 %r5, [%d7];",
                       64),
             Kind::kRace, "line 27: ld.shared.u32");
  checkFault(perThread(stored + first +
                           "@%p1 ld.shared.u32 %r5, [%d7];\n"
                           "@!%p1 st.shared.u32 [%d6], 7;",
                       64),
             Kind::kRace, "line 27: st.shared.u32");
  checkFault(perThread("st.shared.u32 [buffer], %r0;"), Kind::kRace,
             "meets another thread's access with no barrier between");
  Case same = perThread("st.shared.u32 [buffer], 7; bar.sync 0; ld.shared.u32 %r3, [buffer];", 64);
  CHECK(same.run() == "OK");
}

TEST_CASE("barriers and shuffles that not all threads come to are found") {
  checkFault(perThread("setp.lt.u32 %p1, %r0, 9; @%p1 bra end;\nbar.sync 0;\nadd.u32 %r3, %r0, "
                       "1;\nbar.sync 0;\nret;\nend:\nbar.sync 0;"),
             Kind::kDiverged,
             "waits for threads of its warp that do not come; how many wait where: "
             "line 22: 23, line 27: 9");
  checkFault(
      perThread("setp.lt.u32 %p1, %r0, 9; @%p1 ret;\nshfl.sync.bfly.b32 %r3, %r0, 16, 31, -1;"),
      Kind::kDiverged, "lane");
  // Who has ended is not waited for.
  Case ended =
      perThread("setp.lt.u32 %p1, %r0, 9; @%p1 ret;\nbar.sync 0;\nst.global.u32 [%d3], 1;", 64);
  CHECK(ended.run() == "OK");
}

TEST_CASE("an atomic maximum takes all threads' numbers and gives what was there") {
  Case run;
  run.text = kernelText(
      "sub.u32 %r1, %r0, 40;\nand.b32 %r2, %r0, 1;\nmad.wide.u32 %d3, %r2, 4, %d1;\n"
      "atom.global.max.s32 %r4, [%d3+8], %r1;\n"
      "setp.eq.u32 %p1, %r0, 3; @%p1 st.global.u32 [%d1], %r4;");
  run.threads = 64;
  run.to = bytesOf<int32_t>({0, 0, -100, 20});
  REQUIRE(run.run() == "OK");
  CHECK(valuesOf<int32_t>(run.to) == std::vector<int32_t>{20, 0, 22, 23});
  checkFault(perThread("atom.global.max.s32 %r4, [%d1+2], %r0;"), Kind::kMisaligned,
             "of 4 bytes at 0x20000002 is misaligned");
  CHECK(perThread("atom.global.add.f32 %r4, [%d1], %r0;").run().find("does not know") !=
        std::string::npos);
}

TEST_CASE("an atomic exchange stores where it finds what it expects") {
  Case run;
  run.text = kernelText(
      "add.u32 %r1, %r0, 7;\natom.global.cas.b32 %r4, [%d1], 0, %r1;\n"
      "setp.eq.u32 %p1, %r0, 3; @%p1 st.global.u32 [%d1+4], %r4;");
  run.threads = 64;
  run.to = bytesOf<int32_t>({0, 0});
  REQUIRE(run.run() == "OK");
  CHECK(valuesOf<int32_t>(run.to) == std::vector<int32_t>{7, 7});  // the first came first
}

TEST_CASE("what a kernel writes it does not read as constant") {
  checkFault(perThread("st.global.u32 [%d3], %r0;\nld.global.nc.u32 %r3, [%d3];"),
             Kind::kNotConstant,
             "line 22: ld.global.nc.u32 of 4 bytes at 0x20000000 meets memory that this kernel "
             "reads by ld.global.nc and writes");
  // Also before it, by another block, and a byte of it alone.
  checkFault(perThread("ld.global.nc.u32 %r3, [%d2];\nst.global.u8 [%d2+3], %r3;"),
             Kind::kNotConstant, "line 22: st.global.u8");
  checkFault(perThread("xor.b32 %r4, %r0, 32; mul.wide.u32 %d5, %r4, 4; add.s64 %d5, %d0, %d5;\n"
                       "ld.global.nc.u32 %r3, [%d2];\nst.global.u32 [%d5], %r3;",
                       32, 2),
             Kind::kNotConstant, "(block (1, 0, 0), thread (0, 0, 0))");
  checkFault(perThread("ld.global.nc.u32 %r3, [%d2];\natom.global.cas.b32 %r4, [%d2], 0, 0;"),
             Kind::kNotConstant, "line 22: atom.global.cas.b32");
  Case apart = perThread("ld.global.nc.u32 %r3, [%d2];\nst.global.u32 [%d3], %r3;");
  resultsOf(apart);
}

TEST_CASE("comparisons of pairs of halves set a predicate for each") {
  Case run = perThread(
      "mov.u32 %r3, 0x3c007e00; mov.u32 %r4, 0x40003c00;\n"  // {NaN, 1} and {1, 2}
      "setp.nan.f16x2 %p1|%p2, %r3, %r4;\nsetp.lt.f16x2 %p3|%p4, %r3, %r4;\n"
      "setp.ltu.f16x2 %p5|%p6, %r3, %r4;\nselp.b32 %r5, 1, 0, %p1;\n"
      "@%p2 add.u32 %r5, %r5, 2; @%p3 add.u32 %r5, %r5, 4; @%p4 add.u32 %r5, %r5, 8;\n"
      "@%p5 add.u32 %r5, %r5, 16; @%p6 add.u32 %r5, %r5, 32;\nst.global.u32 [%d3], %r5;");
  CHECK(resultsOf(run)[0] == 1 + 8 + 16 + 32);
}

TEST_CASE("launches that do not fit the kernel are refused") {
  Case run = perThread("ret;");
  run.text.replace(run.text.find('{'), 0, ".reqntid 64, 1, 1\n");
  checkFault(run, Kind::kBadLaunch, "got a block of 32 threads, expected 64");
  run.threads = 64;
  CHECK(run.run() == "OK");
  run.threads = 2048;
  checkFault(run, Kind::kBadLaunch, "kernel kernel: ");
}

}  // namespace
}  // namespace graphrun::testing::ptx
