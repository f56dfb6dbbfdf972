"""bench/gpu.sh pack: programs with all libraries that they need, down to the loader, models without
weights, ONNX's test cases and the scripts that run them, as one file."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

import portable
import subjects
from program import LAYERS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT = 60  # MiB
PROGRAMS = ("graphrun", "device_conformance_test")
OPENED = ("libgraphrun-compiler.so", "libgraphrun-control.so")  # by the programs, as they run
# Likewise, from the system's folders: by the programs, and by NVIDIA's libraries, which must find no part of
# the machine's C library beside ours.
SYSTEM = ("libucp.so.0", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1")
SCRIPTS = ("run.py", "parts.py", "program.py", "peers.py", "networks.py", "timing.py")
CASES = os.path.join("tests", "onnx", "cases", "suite", "node")
LOADER = "ld-linux-x86-64.so.2"
# The machine's libraries come last, so that the driver is found; no file of its C library is mixed in.
START = f"""#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
export GRAPHRUN_WORKER_PROGRAM="$here/bin/graphrun"
exec "$here/lib/{LOADER}" --library-path "$here/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" \\
  "$here/programs/$(basename "$0")" "$@"
"""


def systemLibrary(name):
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^\s*{re.escape(name)} \(.*x86-64.*=> (.*)$", listed, re.MULTILINE)
    if not found:
        sys.exit(f"package: no {name} on this system; install libucx0 for libucp, libc6 for others")
    return found.group(1)


def needed(path):
    """{name: path} of all libraries that a program or library is linked with, the loader too."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    missing = re.findall(r"(\S+) => not found", text)
    if missing:
        sys.exit(f"package: {path} needs {', '.join(missing)}, which is not found")
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.MULTILINE))
    loader = re.search(rf"^\s*(/\S*{re.escape(LOADER)})", text, re.MULTILINE)
    return {**found, LOADER: loader.group(1)} if loader else found


def copyPrograms(build, folder):
    for name in ("programs", "lib", "bin"):
        os.makedirs(os.path.join(folder, name))
    libraries = {name: os.path.join(build, "lib", name) for name in OPENED}
    libraries |= {name: systemLibrary(name) for name in SYSTEM}
    programs = {name: os.path.join(build, "bin", name) for name in PROGRAMS}
    for path in [*programs.values(), *list(libraries.values())]:
        if not os.path.exists(path):
            sys.exit(f"package: {path} is not built")
        libraries |= {name: found for name, found in needed(path).items() if name not in libraries}
    for place, files in (("programs", programs), ("lib", libraries)):
        for name, path in files.items():
            copy = shutil.copy(path, os.path.join(folder, place, name))
            os.chmod(copy, 0o755)
            if os.path.realpath(path).startswith(os.path.realpath(build) + os.sep):
                subprocess.run(["strip", "--strip-unneeded", copy], check=True)
    for name in PROGRAMS:
        path = os.path.join(folder, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(START)
        os.chmod(path, 0o755)


def copyScripts(cases, folder):
    os.makedirs(os.path.join(folder, "bench"))
    for name in SCRIPTS:
        shutil.copy(os.path.join(HERE, name), os.path.join(folder, "bench"))
    if not os.path.isdir(cases):
        sys.exit(f"package: {cases} is missing; ctest -R onnx_suite_cases writes it")
    shutil.copytree(cases, os.path.join(folder, "cases"))
    shutil.copy(os.path.join(ROOT, "tests", "onnx", "expected.txt"), folder)


def writeModels(names, cache, folder):
    known = subjects.models(cache)
    unknown = set(names or []) - set(known)
    if unknown:
        sys.exit(f"package: no model {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in names or known:
        make, network, dims = known[name]
        portable.write(make(), os.path.join(folder, "models", name), network, dims)


def writeCollectives(build, folder):
    """Models with all_reduces, which ONNX has not."""
    program = os.path.join(build, "bin", "collective_models")
    if not os.path.exists(program):
        sys.exit(f"package: {program} is not built")
    place = os.path.join(folder, "collectives")
    os.makedirs(place)
    with tempfile.TemporaryDirectory() as written:
        subprocess.run([program, written, "0"], check=True)
        for count in LAYERS:
            shutil.copy(os.path.join(written, f"all_reduce_{count}.fb"), place)


def compress(folder, package):
    """Level 9 unless XZ_OPT says otherwise."""
    environment = {"XZ_OPT": "-9 -T0", **os.environ}
    with open(package, "wb") as file:
        tar = subprocess.Popen(["tar", "--owner=0", "--group=0", "--sort=name", "-C", folder, "-cf", "-",
                                "."], stdout=subprocess.PIPE)
        subprocess.run(["xz", "-c"], stdin=tar.stdout, stdout=file, env=environment, check=True)
        if tar.wait() != 0:
            sys.exit("package: tar failed")


def main():
    parser = argparse.ArgumentParser(prog="gpu.sh pack", description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("package")
    parser.add_argument("--models", type=lambda names: names.split(","), metavar="NAME,…",
                        help="default: all")
    parser.add_argument("--cases", help="ONNX's test cases; default: those of the build's tests")
    parser.add_argument("--cache", default=os.path.join(ROOT, "build", "bench", "models"),
                        help="where models of bench/models are, or are written once")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copyPrograms(args.build, folder)
        copyScripts(args.cases or os.path.join(args.build, CASES), folder)
        writeModels(args.models, args.cache, folder)
        writeCollectives(args.build, folder)
        compress(folder, args.package)
    size = os.path.getsize(args.package) / (1 << 20)
    print(f"{args.package}: {size:.1f} MiB, at most {LIMIT}")
    return 0 if size <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
