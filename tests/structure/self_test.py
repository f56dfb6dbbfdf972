"""Plants violations in a scratch tree: the checks of this folder must find each, and only those."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import dependencies
import device_kinds
import exported_symbols
import figures
import header_names
import hygiene
import include_directions
import tidy
import vocabulary
import what_ran

# (file, include line, what the report must contain, or None where the include is fine)
PLANTED = [
    ("runtime/base/a.cpp", "#include <vector>", None),
    ("runtime/base/a.cpp", "#include <sys/mman.h>", None),
    ("runtime/base/a.cpp", '#include "absl/status/status.h"', None),
    ("runtime/base/a.cpp", "#include <spdlog/spdlog.h>", "standard library and Abseil only"),
    ("runtime/base/a.cpp", '#include "runtime/format/model.h"', "may not include runtime/format"),
    ("runtime/format/a.cpp", '#include "runtime/base/tensor.h"', None),
    ("runtime/format/a.cpp", '#include "runtime/memory/arena.h"', "may not include runtime/memory"),
    ("runtime/transport/a.h", '#include "runtime/control/c.h"', "may not include runtime/control"),
    ("runtime/transport/inproc.cpp", "#include <ucp/api/ucp.h>", "header of UCX"),
    ("runtime/transport/ucx_endpoint.cpp", "#include <ucp/api/ucp.h>", None),
    ("runtime/control/c.cpp", "#include <grpcpp/grpcpp.h>", None),
    ("runtime/worker/w.cpp", "#include <grpcpp/grpcpp.h>", "header of gRPC"),
    ("runtime/worker/w.cpp", '#include "runtime/control/control.grpc.pb.h"', "header of gRPC"),
    ("runtime/worker/w.cpp", '#include "runtime/executor/executor.h"', None),
    ("runtime/executor/e.cpp", '#include "runtime/worker/worker.h"', "may not include"),
    ("runtime/executor/e.cpp", '#include "devices/device.h"', None),
    ("runtime/executor/e.cpp", '#include "devices/cpu/device.h"', "may not include devices/cpu"),
    ("runtime/session/s.cpp", '#include "ir/dialect.h"', "may not include ir"),
    ("runtime/session/s.cpp", '#include "mlir/IR/Value.h"', "header of MLIR"),
    ("runtime/session/s.cpp", '#include "devices/cpu/compiler/c.h"', "may not include devices/cpu/c"),
    ("devices/cpu/d.cpp", "#include <dnnl.hpp>", None),
    ("devices/cpu/d.cpp", '#include "oneapi/dnnl/dnnl.hpp"', None),
    ("devices/cpu/d.cpp", '#include "llvm/ADT/STLExtras.h"', "header of MLIR"),
    ("devices/cpu/d.cpp", '#include "devices/null/d.h"', "may not include devices/null"),
    ("devices/cpu/d.cpp", '#include "devices/cpu/compiler/c.h"', "may not include devices/cpu/c"),
    ("devices/null/d.cpp", "#include <dnnl.hpp>", "header of oneDNN"),
    ("devices/null/d.cpp", "#include <cudnn.h>", "header of CUDA"),
    ("devices/cuda/d.cpp", "#include <cuda_runtime.h>", None),
    ("devices/registry.cpp", "#include <cuda.h>", "header of CUDA"),
    ("devices/cpu/d.cpp", "#include <cublasLt.h>", "header of CUDA"),
    ("devices/device.h", "#include <cudnn_graph.h>", "header of CUDA"),
    ("runtime/session/s.cpp", "#include <nccl.h>", "header of CUDA"),
    ("frontends/cli/c.cpp", "#include <nvml.h>", "header of CUDA"),
    ("devices/cuda/compiler/c.cpp", '#include "devices/cuda/program/kernel_list.h"', None),
    ("runtime/worker/w.cpp", '#include "devices/cuda/program/cuda_device.h"', None),
    ("runtime/executor/e.cpp", '#include "devices/cuda/program/cuda_device.h"', "may not include devices/cuda"),
    ("devices/registry.cpp", '#include "devices/cpu/device.h"', None),
    ("devices/device.h", '#include "devices/cpu/device.h"', "may not include devices/cpu"),
    ("devices/cpu/compiler/c.cpp", '#include "devices/cpu/d.h"', None),
    ("devices/cpu/compiler/c.cpp", '#include "passes/p.h"', None),
    ("devices/cpu/compiler/c.cpp", '#include "mlir/IR/Value.h"', None),
    ("devices/cpu/compiler/c.cpp", '#include "placement/p.h"', "may not include placement"),
    ("devices/cpu/compiler/c.cpp", '#include "devices/codegen/g.h"', None),
    ("devices/codegen/g.cpp", '#include "passes/p.h"', None),
    ("devices/codegen/g.cpp", '#include "mlir/IR/Value.h"', None),
    ("devices/codegen/g.cpp", '#include "devices/cpu/d.h"', "may not include devices/cpu"),
    ("devices/cpu/d.cpp", '#include "devices/codegen/g.h"', "may not include devices/codegen"),
    ("runtime/worker/w.cpp", '#include "devices/codegen/g.h"', "may not include devices/codegen"),
    ("ir/d.cpp", '#include "passes/p.h"', "may not include passes"),
    ("ir/ops.td", 'include "mlir/IR/OpBase.td"', None),
    ("ir/ops.td", 'include "passes/p.td"', "may not include passes"),
    ("passes/p.cpp", '#include "runtime/format/model_generated.h"', None),
    ("passes/p.cpp", '#include "runtime/executor/e.h"', "may not include runtime/executor"),
    ("placement/p.cpp", '#include "devices/device.h"', "may not include devices"),
    ("placement/p.cpp", '#include "runtime/memory/arena.h"', None),
    ("placement/explain/e.cpp", '#include "placement/cost_file_searches/cost_file_searches.h"', "only placement/strategies"),
    ("placement/strategies/s.cpp", '#include "placement/cost_file_searches/call_times.h"', "only placement/strategies"),
    ("placement/strategies/s.cpp", '#include "placement/cost_file_searches/cost_file_searches.h"', None),
    ("frontends/onnx/i.cpp", '#include "frontends/onnx/onnx.pb.h"', None),
    ("frontends/builder/b.cpp", '#include "frontends/onnx/onnx-ml.pb.h"', "header of the ONNX"),
    ("frontends/builder/b.h", '#include "placement/p.h"', "may not include placement"),
    ("placement/planner/d.cpp", '#include "devices/cpu/compiler/c.h"', None),
    ("placement/planner/d.cpp", '#include "runtime/session/s.h"', "may not include"),
    ("frontends/cli/graphrun.cpp", '#include "runtime/session/session.h"', None),
    ("frontends/cli/graphrun.cpp", '#include "mlir/IR/Value.h"', "header of MLIR"),
    ("frontends/cli/graphrun_opt.cpp", '#include "mlir/IR/Value.h"', None),
    ("tests/ir/t.cpp", '#include "mlir/IR/Value.h"', None),
    ("newfolder/x.cpp", "#include <vector>", None),
    ("placement/search/s.cpp", '#include "placement/text/t.h"', None),
    ("placement/text/t.cpp", '#include "placement/search/s.h"', "within placement, text stands below search"),
    ("frontends/onnx/i.cpp", '#include "frontends/onnx/operators/o.h"', "stands below operators"),
    ("devices/executable/e.cpp", '#include "devices/device.h"', "may not include devices"),
    ("runtime/newfolder/x.cpp", "#include <vector>", "is no folder of the design"),
]


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
        file.write(text)


class IncludeDirections(unittest.TestCase):
    def testPlanted(self):
        for path, line, expected in PLANTED:
            with self.subTest(path=path, line=line), tempfile.TemporaryDirectory() as root:
                write(root, path, f"// a comment\n{line}\n")
                found = include_directions.violations(root, [path])
                if expected is None:
                    self.assertEqual(found, [])
                else:
                    self.assertEqual(len(found), 1)
                    self.assertIn(expected, found[0])

    def testHeaderBesideTheFile(self):
        with tempfile.TemporaryDirectory() as root:
            write(root, "ir/d.h", "")
            write(root, "runtime/session/s.cpp", '#include "../../ir/d.h"\n')
            found = include_directions.violations(root, ["runtime/session/s.cpp"])
            self.assertEqual(len(found), 1)

    def testEveryRuleNamesKnownFolders(self):
        for rule, targets in include_directions.LAYERS.items():
            for target in targets:
                self.assertTrue(target in include_directions.LAYERS or "*" in target
                                or target in ("{parent}", "runtime"), (rule, target))


class Hygiene(unittest.TestCase):
    def find(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            write(root, path, text)
            return hygiene.problems(root, [path])

    def testPlanted(self):
        guard = "#ifndef GRAPHRUN_TESTS_A_B_H_\n#define GRAPHRUN_TESTS_A_B_H_\n#endif\n"
        for path, text, expected in [
            ("tests/a.cpp", "int x;\n", None),
            ("tests/a.cpp", "int x;  // " + hygiene.MARK + "\n", "left in"),
            ("tests/a.cpp", "\tint x;\n", "tab"),
            ("tests/a.cpp", "int x; \n", "trailing"),
            ("tests/a.cpp", "int x;", "no newline"),
            ("tests/a.cpp", "// " + "TODO: later\n", "names its issue"),
            ("tests/a.cpp", "// " + "TODO(#12): later\n", None),
            ("tests/a/b.h", guard, None),
            ("tests/a/b.h", "#pragma once\n", "include guard"),
            ("tests/README.md", "x\n" * 60, None),
            ("tests/README.md", "x\n" * 61, "at most 60"),
            ("ir/a.cpp", "int x;\n", "has no README.md"),
        ]:
            with self.subTest(path=path, text=text):
                found = self.find(path, text)
                if expected is None:
                    self.assertEqual(found, [])
                else:
                    self.assertEqual(len(found), 1)
                    self.assertIn(expected, found[0])


def classWith(name, virtuals):
    lines = [f"  virtual int f{i}() const = 0;" for i in range(virtuals)]
    return f"class {name} {{\n  virtual ~{name}() = default;\n" + "\n".join(lines) + "\n};\n"


class DeviceKinds(unittest.TestCase):
    def find(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            kind = "devices/npu/npu_kind.h"
            write(root, kind, 'kind.name = "npu";\n')
            write(root, path, text)
            return device_kinds.violations(root, [kind, path])

    def testNamesPlanted(self):
        for path, text, isFound in [
            ("runtime/worker/w.cpp", 'if (kind == "npu") {\n', True),
            ("placement/p.h", "enum class DeviceKind { kCpu, kNpu };\n", True),
            ("runtime/format/compiler_api.fbs", "npu_index: int;\n", True),
            ("runtime/worker/w.cpp", 'text = "// no comment: npu";\n', True),
            ("runtime/worker/w.cpp", "/* of an\nnpu */ int x;\n", False),
            ("runtime/worker/w.cpp", "int x;  // as \"node0/npu:1\"\n", False),
            ("devices/npu/npu_device.cpp", 'return "npu";\n', False),
            ("devices/npu/compiler/npu_compiler.cpp", 'return "npu";\n', False),
            ("devices/cpu/runtime/cpu_device.cpp", 'return "npu";\n', True),
            ("devices/registry.cpp", "{npu::npuKind, npu::createNpuDevice},\n", False),
            ("tests/a.cpp", 'return "npu";\n', False),
        ]:
            with self.subTest(path=path, text=text):
                found = self.find(path, text)
                self.assertEqual(len(found), 1 if isFound else 0, found)

    def testLineOfAName(self):
        found = self.find("runtime/a.cpp", "/* one\ntwo */\nint npu;\n")
        self.assertIn("runtime/a.cpp:3: names the kind 'npu'", found[0])

    def testVirtualsPlanted(self):
        for device, program, expected in [(12, 12, []), (13, 0, ["Device has 13"]),
                                          (0, 14, ["Program has 14"])]:
            with self.subTest(device=device, program=program):
                found = self.find("devices/device.h", classWith("Device", device)
                                  + "class Program : public A {\n" + classWith("Program", program)
                                  .split("\n", 1)[1])
                self.assertEqual(len(found), len(expected), found)
                for line, part in zip(found, expected):
                    self.assertIn(part, line)
        self.assertIn("no class Program", self.find("devices/device.h", classWith("Device", 1))[0])


class Tidy(unittest.TestCase):
    """In a repository of two commits on main: a.cpp, then b.cpp and c.md."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        self.git("init", "-q", "-b", "main")
        self.commit("a.cpp")
        self.commit("b.cpp", "c.md")

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                       check=True, capture_output=True)

    def commit(self, *paths):
        for path in paths:
            write(self.root, path, "int x;\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a commit")

    def testOnMainTheFilesOfTheLastCommits(self):
        self.assertEqual(tidy.changedFiles(self.root, {"a.cpp", "b.cpp"}), ["b.cpp", "a.cpp"])

    def testOnABranchWhatDiffersFromMain(self):
        self.git("switch", "-q", "-c", "branch")
        self.commit("d.cpp")
        write(self.root, "e.cpp", "int x;\n")
        self.assertEqual(tidy.changedFiles(self.root, {"a.cpp", "d.cpp", "e.cpp"}),
                         ["d.cpp", "e.cpp"])

    def testHistoryIsSearchedUntilACompiledFileIsFound(self):
        for number in range(2 * tidy.COMMITS):
            self.commit(f"{number}.md")
        self.assertEqual(tidy.changedFiles(self.root, {"a.cpp"}), ["a.cpp"])

    def testThatNoFileWasCheckedIsAFailure(self):
        write(self.root, "build/compile_commands.json", json.dumps([{"file": "/elsewhere/x.cpp", "command": "c++"}]))
        done = subprocess.run(
            [sys.executable, tidy.__file__, "--root", self.root, "--build", f"{self.root}/build"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not one file was checked", done.stdout)

    def testFilesAreReadWithoutPrecompiledHeaders(self):
        command = ("c++ -O2 -fpch-preprocess -std=c++20 -Winvalid-pch -include /b/x.dir/cmake_pch.hxx"
                   " -o a.o -c /a.cpp")
        write(self.root, "build/compile_commands.json",
              json.dumps([{"file": "/a.cpp", "command": command}]))
        self.assertEqual(tidy.readCommands(f"{self.root}/build")[0]["command"],
                         "c++ -O2 -std=c++20 -o a.o -c /a.cpp")

    def testFilesThatAreCompiledTogetherAreReadEachByItself(self):
        unit = f"{self.root}/build/Unity/unity_0_cxx.cxx"
        write(self.root, unit, '/* made */\n\n#include "/s/a.cpp"\n\n#include "/s/b.cpp"\n')
        write(self.root, "build/compile_commands.json",
              json.dumps([{"file": unit, "command": f"c++ -o u.o -c {unit}"}]))
        self.assertEqual([(entry["file"], entry["command"])
                          for entry in tidy.readCommands(f"{self.root}/build")],
                         [("/s/a.cpp", "c++ -o u.o -c /s/a.cpp"),
                          ("/s/b.cpp", "c++ -o u.o -c /s/b.cpp")])


class WhatRan(unittest.TestCase):
    RUN = """<testsuite>
      <testcase name="a_test" status="run"><system-out>  warning:
        skipped: no ptxas was found</system-out></testcase>
      <testcase name="b_test" status="notrun"/>
      <testcase name="lit_cli" status="run"><system-out>Unsupported Tests (1):
  GraphRun-cli :: cli/precision.test</system-out></testcase>
      <testcase name="c_test" status="run"><system-out>testX (a.B) ... skipped 'no GPU'</system-out></testcase>
    </testsuite>"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        write(folder.name, "run.xml", self.RUN)
        self.run_ = what_ran.readRun(os.path.join(folder.name, "run.xml"))
        self.list = os.path.join(folder.name, "list.txt")

    def demand(self, text):
        with open(self.list, "w", encoding="utf-8") as file:
            file.write(text)
        return what_ran.readList(self.list)

    def testWhatMustRun(self):
        must, _ = self.demand("# a comment\nmust a_*  # why\nmust b_test\nmust gone_test\n")
        self.assertEqual(what_ran.unmet(must, self.run_),
                         ["b_test: did not run (notrun)", "gone_test: no such test was configured"])

    def testWhatMayBeSkipped(self):
        _, may = self.demand("may cli/precision.test\n")
        allowed, wrong = what_ran.skips(may, self.run_)
        self.assertEqual(allowed, ["lit_cli: skipped GraphRun-cli :: cli/precision.test"])
        self.assertEqual(wrong, ["a_test: skipped no ptxas was found", "c_test: skipped 'no GPU'"])

    def testALineThatIsNeither(self):
        with self.assertRaises(SystemExit):
            self.demand("perhaps a_test\n")


LISTING = """\
0000000000000000 A GRAPHRUN_1
0000000000001000 T grCompilerApi
0000000000001010 T graphrun::builder::relu(graphrun::builder::Tensor const&)
0000000000001020 V typeinfo name for graphrun::builder::Graph
0000000000001030 W std::vector<graphrun::builder::Dim>::push_back(graphrun::builder::Dim const&)
0000000000001040 T GOMP_parallel
0000000000001050 T graphrun::ir::createOp(int)
"""


class ExportedSymbols(unittest.TestCase):

    def testNamesOfOthersAreFound(self):
        names = list(exported_symbols.namesIn(LISTING))
        self.assertEqual(len(names), 6)
        allowed = ["grCompilerApi", "graphrun::builder::"]
        self.assertEqual([name.split("(")[0] for name in exported_symbols.foreign(names, allowed)],
                         ["std::vector<graphrun::builder::Dim>::push_back", "GOMP_parallel",
                          "graphrun::ir::createOp"])
        self.assertEqual(len(exported_symbols.foreign(names, ["grCompilerApi"])), 5)


class Dependencies(unittest.TestCase):

    def testListAndTableAreCompared(self):
        dev = "packages=(\n  a-dev b\n  c\n)\n"
        table = "| package | why |\n|---|---|\n| a-dev, d | x |\n| c | y |\n\n|---|\n| e |\n"
        self.assertEqual(dependencies.problems(dev, table),
                         ["DEPENDENCIES.md: does not tell what b is for",
                          "DEPENDENCIES.md: ./dev does not install d"])


class Vocabulary(unittest.TestCase):

    def testOldWordsAreFoundWhereTheyAreNotUsed(self):
        found = list(vocabulary.uses("placement/p.h", "struct Piece {};\nint pieceOf();\nCostBook book;\n"))
        self.assertEqual([(number, word) for number, word, _ in found], [(1, "Piece"), (3, "CostBook")])
        self.assertEqual(list(vocabulary.uses("runtime/w.h", "struct Piece {};\n")), [])

    def testCommentsThatAreNoSentences(self):
        text = ("// What a plan is.\n#include <a>\n/// Of a plan.\nint a();\n/// Returns\n/// What it has.\nint b();\n"
                "// Of an inside.\nint x;\n  /// Whether it is.\nbool c();\n/// Whatever.\n")
        self.assertEqual(list(vocabulary.fragments("ir/p.h", text)), [(1, "What"), (3, "Of"), (10, "Whether")])
        self.assertEqual(list(vocabulary.fragments("bench/p.cpp", text)), [])

    def testMessagesThatAreNoSentences(self):
        text = ('return absl::InternalError("what is read is gone");\nreturn declined(step, "of bytes");\n'
                'return invalidStep(\n    step, absl::StrCat("not ", x));\nreturn declined("if it is");\n'
                'return absl::InternalError("nothing is left");\ncount("of them");\n')
        self.assertEqual(list(vocabulary.brokenMessages("devices/cpu/p.cpp", text)),
                         [(1, "what"), (2, "of"), (4, "not")])
        self.assertEqual(list(vocabulary.brokenMessages("placement/p.cpp", text)), [])


class HeaderNames(unittest.TestCase):

    def testAHeaderIsCalledAsItsSource(self):
        texts = {"ir/a.h": "int f(int x);\nint g();\n", "ir/b.cpp": '#include "ir/a.h"\nint f(int x) {\n}\nint g() {\n}\n'}
        self.assertEqual(header_names.misnamed(texts), [("ir/a.h", "ir/b.cpp")])
        some = dict(texts, **{"ir/a.h": "int f(int x);\nint h();\n"})
        self.assertEqual(header_names.misnamed(some), [])
        family = {"ir/a.h": texts["ir/a.h"], "ir/a_two.cpp": texts["ir/b.cpp"]}
        self.assertEqual(header_names.misnamed(family), [])


class Figures(unittest.TestCase):

    def testFoldersAreCountedWithoutTestData(self):
        files = ["ir/a.h", "ir/b.h", "tests/fuzz/corpus/x/1"]
        self.assertEqual(figures.folderSizes(files), {"ir": 2})

    def testMembersCountForTheirOwnClass(self):
        text = "class A {\n  struct B {\n    int x_ = 0;\n  };\n  int f(int a_);\n  int one_;\n  std::vector<int> two_;\n};\n"
        self.assertEqual(sorted(figures.privateMembers(text)), [("A", 2), ("B", 1)])


if __name__ == "__main__":
    unittest.main()
