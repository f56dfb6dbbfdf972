# lit set-up of tests/**/*.mlir (needs graphrun-opt) and tests/cli/*.test (needs graphrun).
# Values of this build come from lit.site.cfg.py; `--param suite=mlir|cli` picks one of the two.
import os

import lit.formats

suites = {"mlir": ("graphrun-opt", ".mlir"), "cli": ("graphrun", ".test")}
wanted = lit_config.params.get("suite")

config.name = "GraphRun" + (f"-{wanted}" if wanted else "")
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_root, "tests", "lit")
config.excludes = ["CMakeLists.txt", "README.md", "lit.cfg.py"]
config.suffixes = []
for suite, (program, suffix) in suites.items():
    if wanted not in (None, suite):
        continue
    if os.access(os.path.join(config.bin_dir, program), os.X_OK):
        config.suffixes.append(suffix)
    else:
        # ctest reads this line as "skipped" (tests/CMakeLists.txt).
        print(f"lit: skipped {suffix} tests: {program} is not built in {config.bin_dir}")


def addTool(name, command):
    """Replaces the word `name` in RUN lines, not where it is a part of a path or a longer name."""
    config.substitutions.append((rf"(?<![\w./%-]){name}(?![\w./:-])", command))


# A run that hangs ends after two minutes with exit code 124; what it started gets 5 s to end.
bounded = "timeout -k 5 120 "
for program in ("graphrun", "graphrun-opt", "graphrun-worker"):
    addTool(program, bounded + os.path.join(config.bin_dir, program))
for tool in ("FileCheck", "not", "count"):
    addTool(tool, os.path.join(config.llvm_tools_dir, tool))
expect_exit = os.path.join(config.test_source_root, "cli", "scripts", "expect_exit.py")
config.substitutions += [
    ("%exits", f"{config.python} {expect_exit}"),  # %exits 3 graphrun compile bad.onnx …
    ("%python", config.python),
    ("%bin", config.bin_dir),
    ("%source", config.source_root),
    ("%cases", config.onnx_cases),
]
if os.path.isdir(config.onnx_cases):
    config.available_features.add("onnx-cases")  # REQUIRES: onnx-cases
models = os.path.join(config.bin_dir, "collective_models")  # tests/placement/planner
if os.access(models, os.X_OK):
    config.available_features.add("collective-models")  # REQUIRES: collective-models
    addTool("collective_models", models)
simulated_gpu = os.path.join(config.build_root, "tests/devices/cuda/libcuda_simulator.so")
if os.path.exists(simulated_gpu):
    config.available_features.add("cuda")  # REQUIRES: cuda
    config.substitutions.append(("%simulated_gpu", simulated_gpu))
toys = os.path.join(config.build_root, "tests/devices/toy")
if os.path.exists(os.path.join(toys, "libtoy_compiler.so")):
    config.available_features.add("toy-kind")  # REQUIRES: toy-kind
    config.substitutions.append(
        ("%toy", f"env LD_PRELOAD={toys}/libtoy_kind.so "
                 f"GRAPHRUN_COMPILER_LIBRARY={toys}/libtoy_compiler.so"))
if lit_config.params.get("slow"):
    config.available_features.add("slow")  # REQUIRES: slow
with open("/proc/cpuinfo", encoding="utf-8") as cpu:
    flags = cpu.read().split()
    if "avx512_bf16" in flags:
        config.available_features.add("bf16")  # REQUIRES: bf16
    if "avx2" in flags:
        config.available_features.add("x86")  # REQUIRES: x86
# What the user's own runs measured is none of the tests' business.
config.environment["GRAPHRUN_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for variable in ("HOME", "XDG_CACHE_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
