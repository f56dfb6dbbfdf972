#!/usr/bin/env python3
"""Whether two builds plan and compute the same, bit for bit: an oracle for changes that should change nothing.

    equal_plans.py BIN -o plans.json            # BIN: a folder with graphrun and bench_graphs, as build/bin
    equal_plans.py --compare ONE.json OTHER.json    # prints each difference; exit code 1 if there is any

Cost graphs (DNN graphs and standard task graphs of --data, generated ones) and models (generated ones, and
those that are in --models) are placed by every strategy on several clusters, some of devices only described.
Small models run there, too; test cases of ONNX are compiled. Nothing that depends on a clock takes part: no
plan budget, no measured or learnt time (a plan with one ends the program), links as the cluster says, each
model with a cache of its own. What could not take part is told and kept in the file; a comparison of files
that left out other things fails.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEURISTICS = ("single", "most", "greedy", "heft", "cpop", "peft", "etf", "sct", "random:3")
STRATEGIES = ("auto", *HEURISTICS, "machines", "cores", "search", "segments", "balance", "calls")
# Of models, by objective; "cores" is for shared ones.
OF_MODELS = {"latency": ("auto", *HEURISTICS, "search"),
             "throughput": ("auto", *HEURISTICS, "segments", "balance")}
# Searches for throughput see so much work fit on these that they would take half of all the time.
LONG = ("resnet50", "densenet121", "inception_v2")
CLOCKED = ("seconds",)  # fields that differ from run to run

LINKS = """links:
  - {between: [a, b], bandwidth: 4GB/s, latency: 9us}
  - {between: [a, client], bandwidth: 6GB/s, latency: 4us}
  - {between: [b, client], bandwidth: 5GB/s, latency: 7us}
"""
CLUSTERS = {
    "one": "workers: [{name: a, address: local, devices: [{cpu: {cores: 0}}]}]\n"
           "links: [{between: [a, client], bandwidth: 6GB/s, latency: 4us}]\n",
    "two": "workers:\n  - {name: a, address: local, devices: [{cpu: {cores: 0}}]}\n"
           "  - {name: b, address: local, devices: [{cpu: {cores: 1}}]}\n" + LINKS,
    "four": "workers:\n  - {name: a, address: local, devices: [{cpu: {cores: 0}}, {cpu: {cores: 1}}]}\n"
            "  - {name: b, address: local, devices: [{cpu: {cores: 0, memory: 300MiB}},"
            " {cpu: {cores: 1, weight: 0.5}}]}\n" + LINKS,
    "shared": "workers: [{name: a, address: local, devices: [{cpu: {cores: 0-1, shared: true}},"
              " {cpu: {cores: 0, shared: true}}, {cpu: {cores: 1, shared: true}}]}]\n"
              "links: [{between: [a, client], bandwidth: 6GB/s, latency: 4us}]\n",
}
GPUS = ("--add", "g:cuda", "--add", "g:cuda=8GiB", "--add", "h:cuda", "--link", "40Gbps,3us")
WAYS = [("one", ()), ("two", ()), ("four", ()), ("shared", ()), ("two", GPUS)]

MODELS = {"squeezenet": {"data_0": "1x3x224x224"}, "shufflenet": {"gpu_0/data_0": "1x3x224x224"},
          "resnet50": {"gpu_0/data_0": "2x3x224x224"}, "densenet121": {"data_0": "1x3x224x224"},
          "inception_v1": {"data_0": "1x3x224x224"}, "inception_v2": {"data_0": "1x3x224x224"},
          "ocr_det": {"x": "1x3x320x320"}, "ocr_rec": {"x": "1x3x48x160"}, "ocr_cls": {"x": "1x3x48x96"}}
# Those that run, and where: it takes longer than to plan.
RUN = ("squeezenet", "ocr_rec", "ocr_cls", "wide60", "dag90", "training120")
RUN_AS = ("auto", "heft", "random:3", "random:4")
GENERATED = (("wide", 60), ("dag", 90), ("training", 120), ("kept", 60), ("dag", 400))
GENERATED_SHAPE = {"x": "4x16"}


@dataclasses.dataclass
class Case:
    """One command. `made` names the files that it leaves in {folder}, of which hashes are kept."""

    name: str
    command: list
    isJson: bool = True
    made: tuple = ()


class Graphrun:
    """The programs of a folder, with their own libraries."""

    def __init__(self, folder, scratch):
        self.folder, self.scratch = pathlib.Path(folder).resolve(), scratch
        self.lib = self.folder.parent / "lib"
        self.checkLibraries()

    def environment(self, cache):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHRUN_")}
        return {**kept, "LD_LIBRARY_PATH": str(self.lib), "GRAPHRUN_CACHE_DIR": str(cache)}

    def run(self, program, arguments, cache, **more):
        command = [str(self.folder / program), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                              env=self.environment(cache) | more)

    def checkLibraries(self):
        """A program that finds the libraries of another build would be compared with itself."""
        model = ROOT / "tests" / "placement" / "none.onnx"
        told = self.run("graphrun", ["compile", model], self.scratch, LD_DEBUG="libs").stderr
        found = re.findall(r"calling init: (\S*/libgraphrun[^\s/]*)", told)
        foreign = [path for path in found if pathlib.Path(path).resolve().parent != self.lib.resolve()]
        if not found or foreign:
            sys.exit(f"equal_plans: programs of {self.folder} load {foreign or 'no libraries'}, expected "
                     f"those of {self.lib}")


def digest(data):
    if not isinstance(data, bytes):
        data = json.dumps(data, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def without(value, fields):
    """The JSON value without some fields, at any depth."""
    if isinstance(value, dict):
        return {key: without(one, fields) for key, one in value.items() if key not in fields}
    return [without(one, fields) for one in value] if isinstance(value, list) else value


def memoryOf(answer):
    return {row["device"]: row["peak_bytes"] for row in answer.get("devices", ())
            if isinstance(row, dict) and "peak_bytes" in row}


def facts(answer):
    """What is kept of `place --json` or `explain --json`."""
    times = answer.get("times", {})
    if times.get("measured_ns") or times.get("interpolated_ns"):
        sys.exit("equal_plans: a plan has measured times; no comparison would hold")
    answer = without(answer, CLOCKED)
    objective = answer.get("objective_ns", answer.get("objective"))
    bound = answer.get("lower_bound_ns", answer.get("lower_bound"))
    nodes = [[row["node"], row["device"]] for row in answer["nodes"]]
    return {"strategy": answer["strategy"], "objective": objective, "bound": bound,
            "memory": memoryOf(answer), "devices": digest(nodes), "nodes": digest(answer["nodes"]),
            "all": digest(answer)}


class Oracle:
    def __init__(self, args, scratch):
        self.args, self.scratch = args, pathlib.Path(scratch)
        self.graphrun = Graphrun(args.bin, self.scratch)
        self.inputs, self.leftOut, self.slow = {}, [], []
        for name, text in CLUSTERS.items():
            (self.scratch / f"{name}.yaml").write_text(text)

    def leaveOut(self, what):
        print(f"equal_plans: left out: {what}", file=sys.stderr)
        self.leftOut.append(what)

    def isFor(self, name):
        isDrawn = int(digest(name.encode()), 16) % self.args.share == 0
        return isDrawn and re.search(self.args.only, name) is not None

    # Cost graphs

    def costGraphs(self):
        """(name, path, options) of each."""
        data = self.args.data
        if not (data / "dnn").is_dir() or not (data / "stg").is_dir():
            self.leaveOut(f"graphs of {data}, which is not there (--data)")
        for path in sorted(data.glob("dnn/throughput/*.json")):
            for options in ((), ("--contiguous",), ("--objective", "latency")):
                yield " ".join(["throughput", path.stem, *options]), path, options
        for path in sorted(data.glob("dnn/latency/*.json")):
            yield f"latency {path.stem}", path, ()
        for path, processors in itertools.product(sorted(data.glob("stg/50/*.stg"))[::12], (2, 4, 8)):
            yield f"stg {path.stem} {processors}", path, ("--devices", processors)
        for row in self.generatedGraphs():
            yield f"made {pathlib.Path(row['file']).stem}", pathlib.Path(row["file"]), ()

    def generatedGraphs(self):
        folder = self.scratch / "graphs"
        folder.mkdir()
        kinds = [("planted", "--nodes", nodes, "--devices", devices, "--ccr", ccr, "--count", 2, *queues)
                 for nodes, devices in ((16, 2), (32, 4), (64, 8)) for ccr in (0.1, 1, 10)
                 for queues in ((), ("--queues",))]
        kinds += [(kind, "--nodes", nodes, "--devices", devices) for kind in ("layered", "blocks")
                  for nodes, devices in ((200, 4), (1000, 8))]
        for kind, *options in kinds:
            done = self.graphrun.run("bench_graphs", [kind, folder, *options, "--seed", 5], self.scratch)
            if done.returncode != 0:
                sys.exit(f"equal_plans: exit code {done.returncode} from bench_graphs: {done.stderr}")
            yield from json.loads(done.stdout)

    def costCases(self):
        for name, path, options in self.costGraphs():
            self.inputs[name] = digest(path.read_bytes())
            for strategy in STRATEGIES:
                yield Case(f"place {name} {strategy}",
                           ["place", path, *options, "--strategy", strategy, "--seed", 7, "--json"])

    # Models

    def models(self):
        """(name, path, shapes) of each."""
        for name, shapes in MODELS.items():
            path = self.args.models / name / "model.onnx"
            if path.is_file():
                yield name, path, shapes
            else:
                self.leaveOut(f"model {name}: there is no {path}; `./dev bench models --only {name}` writes it")
        import large_graphs  # needs onnx
        import onnx
        for shape, count in GENERATED:
            path = self.scratch / f"{shape}{count}.onnx"
            onnx.save(large_graphs.model(shape, count), path)
            yield path.stem, path, GENERATED_SHAPE

    def modelCases(self):
        for name, path, shapes in self.models():
            self.inputs[f"model {name}"] = digest(path.read_bytes())
            compiled = self.compiled(name, path)
            common = [compiled, "--no-learn", "--deterministic",
                      *itertools.chain(*(("--input", f"{key}={shape}xf32=1") for key, shape in shapes.items()))]
            self.inputs[f"compiled {name}"] = digest(compiled.read_bytes())
            for cluster, more in WAYS:
                yield from self.wayCases(name, common, cluster, more)

    def compiled(self, name, path):
        """The file that the compiler writes: to read it takes no time."""
        result = self.scratch / f"{name}.fb"
        done = self.graphrun.run("graphrun", ["compile", path, "-o", result], self.scratch / "compiling")
        if done.returncode != 0:
            sys.exit(f"equal_plans: exit code {done.returncode} from graphrun compile {path}: {done.stderr}")
        return result

    def wayCases(self, name, common, cluster, more):
        way = f"{name} {cluster}{' gpus' if more else ''}"
        where = ["--cluster", self.scratch / f"{cluster}.yaml"]
        yield Case(f"costs {way}", ["explain", *common, *where, *more, "--costs", "{folder}/costs.json"],
                   False, ("costs.json",))
        for objective, strategies in OF_MODELS.items():
            isShort = objective == "throughput" and name in LONG
            strategies = (*strategies, *(("cores",) if cluster == "shared" else ()))
            for strategy in HEURISTICS if isShort else strategies:
                yield Case(f"explain {way} {objective} {strategy}",
                           ["explain", *common, *where, *more, "--objective", objective, "--placement",
                            strategy, "--json"])
        if name in RUN and not more:
            for strategy in RUN_AS:
                yield Case(f"run {way} {strategy}",
                           ["run", *[re.sub("f32=1$", "f32=0.25", str(one)) for one in common], *where,
                            "--placement", strategy, "--output", "{output}=@{folder}/y.npy"], False, ("y.npy",))

    def suiteCases(self):
        """Test cases of ONNX, as the compiler writes them."""
        paths = sorted(self.args.cases.glob("*/*/model.onnx"))
        if not paths:
            self.leaveOut(f"ONNX's test cases: none in {self.args.cases} (--cases); the tests write them")
        for path in paths[::7]:
            name = f"{path.parent.parent.name}/{path.parent.name}"
            self.inputs[name] = digest(path.read_bytes())
            yield Case(f"compile {name}", ["compile", path, "-o", "{folder}/m.fb"], False, ("m.fb",))

    # How cases are run

    def outputOf(self, path):
        told = self.graphrun.run("graphrun", ["inspect", path, "--json"], self.scratch / "inspect")
        return json.loads(told.stdout)["outputs"][0]["name"]

    def told(self, case):
        """What is kept of a case."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            command = [str(part).replace("{folder}", folder) for part in case.command]
            if any("{output}" in part for part in command):
                output = self.outputOf(command[1])
                command = [part.replace("{output}", output) for part in command]
            begin = time.monotonic()
            done = self.graphrun.run("graphrun", [*command, "--quiet"], pathlib.Path(folder) / "cache")
            self.slow.append((time.monotonic() - begin, case.name))
            if done.returncode != 0:
                error = re.sub(re.escape(str(self.scratch)) + r"/?[^/\s]*", "…", done.stderr)
                return {"exit": done.returncode, "error": error[:400]}
            result = facts(json.loads(done.stdout)) if case.isJson else {}
            return result | {name: digest((pathlib.Path(folder) / name).read_bytes()) for name in case.made}

    def run(self):
        cases = [case for case in itertools.chain(self.costCases(), self.modelCases(), self.suiteCases())
                 if self.isFor(case.name)]
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            return dict(zip([case.name for case in cases], pool.map(self.told, cases)))


def make(args):
    begin = time.monotonic()
    scratch = tempfile.mkdtemp(prefix="equal_plans")
    try:
        oracle = Oracle(args, scratch)
        cases = oracle.run()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    result = {"share": args.share, "only": args.only, "inputs": oracle.inputs, "left_out": oracle.leftOut,
              "cases": cases}
    with open(args.output, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=0)
    failed = sum("exit" in case for case in cases.values())
    print(f"{len(cases)} cases ({failed} that are refused) in {time.monotonic() - begin:.0f} s, digest "
          f"{digest(result)}")
    for seconds, name in sorted(oracle.slow, reverse=True)[:args.slowest]:
        print(f"  {seconds:6.2f} s {name}")
    return 0


def compare(one, other):
    """Prints what differs."""
    differences = 0
    first, second = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in (one, other))
    for part in ("inputs", "cases"):
        for name in [*first[part], *(set(second[part]) - set(first[part]))]:
            a, b = first[part].get(name, "missing"), second[part].get(name, "missing")
            if a != b:
                differences += 1
                print(f"{name}: {difference(a, b)}")
    for what in ("left_out", "share", "only"):
        if first[what] != second[what]:
            differences += 1
            print(f"{what}: {first[what]} and {second[what]}")
    print(f"{len(first['cases'])} cases, {differences} differences")
    return 1 if differences else 0


def difference(a, b):
    if not isinstance(a, dict) or not isinstance(b, dict):
        return f"{a} and {b}"
    keys = [key for key in {**a, **b} if a.get(key) != b.get(key)]
    return "; ".join(f"{key} {a.get(key, 'missing')} and {b.get(key, 'missing')}" for key in keys)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", nargs="?", type=pathlib.Path, help="the folder of the programs")
    parser.add_argument("-o", "--output", help="the file to write")
    parser.add_argument("--compare", nargs=2, metavar="FILE")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose names have a match")
    parser.add_argument("--share", type=int, default=4, metavar="N",
                        help="of so many cases one, drawn by their names (4); 1: all")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--slowest", type=int, default=0, help="so many of the slowest cases are told")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data" / "placement")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build" / "bench" / "models")
    parser.add_argument("--cases", type=pathlib.Path, default=ROOT / "build" / "tests" / "onnx" / "cases" / "suite")
    args = parser.parse_args()
    if args.compare:
        return compare(*args.compare)
    if not args.bin or not args.output:
        parser.error("BIN and -o FILE, or --compare ONE OTHER")
    return make(args)


if __name__ == "__main__":
    sys.exit(main())
