#!/usr/bin/env python3
"""checker_test.py GRAPHRUN: the checker of placements catches a wrong answer of each kind, and the
schema knows what the reader knows.

Each case takes a right answer of `graphrun place` for a small file, makes it wrong in one way, and
looks for what the checker says.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import placement_checker

HERE = pathlib.Path(__file__).parent
SCHEMA = HERE.parent.parent / "placement" / "formats" / "costs.schema.json"
EXAMPLES = sorted((HERE / "costs").glob("*.json"))


def place(path, *options):
    done = subprocess.run([GRAPHRUN, "place", path, "--json", *options], capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


class Wrong(unittest.TestCase):
    def expect(self, name, said, change, *options):
        """`change` spoils the answer, whose nodes it gets by name; `said` is what must be told."""
        problem = placement_checker.readProblem(HERE / "costs" / name)
        answer = place(HERE / "costs" / name, *options)
        self.assertEqual(placement_checker.check(problem, answer), [])
        wrong = copy.deepcopy(answer)
        change(wrong, {row["node"]: row for row in wrong["nodes"]})
        self.assertIn(said, "\n".join(placement_checker.check(problem, wrong)))

    def testAnswer(self):
        def put(key, value):
            return lambda answer, nodes: answer.update({key: value})
        self.expect("cluster.json", "objective is", put("objective", 1))
        self.expect("cluster.json", "goal is", put("goal", "throughput"))
        self.expect("cluster.json", "unit is", put("unit", "ms"))
        self.expect("cluster.json", "lower bound", put("lower_bound", 10**9))
        self.expect("cluster.json", "proved is", put("proved", True))
        self.expect("pipeline.json", "objective is", put("objective", 7))

    def testNodes(self):
        def move(node, device):
            return lambda answer, nodes: nodes[node].update(device=device)

        def shift(node, by):
            def change(answer, nodes):
                nodes[node]["start"] += by
                nodes[node]["finish"] += by
            return change
        self.expect("cluster.json", "not those of the file", lambda a, n: a["nodes"].pop())
        self.expect("cluster.json", "is placed twice", lambda a, n: a["nodes"].append(n["left"]))
        self.expect("cluster.json", "takes", lambda a, n: n["left"].update(finish=1))
        self.expect("cluster.json", "before what it reads", shift("join", -900))
        self.expect("cluster.json", "before 0", shift("split", -9000))
        self.expect("cluster.json", "pinned to a:0", move("split", "a:1"))
        self.expect("pipeline.json", "cannot run on", move("read", "fast:0"))
        self.expect("pipeline.json", "are not on one device", self.apart)
        self.expect("shared.json", "takes", self.twice)
        self.expect("calls.json", "before its inputs are there", self.early, "--strategy", "greedy")

    @staticmethod
    def twice(answer, nodes):
        second = max(("sum/0", "sum/1"), key=lambda name: nodes[name]["finish"])
        nodes[second]["finish"] += 200

    @staticmethod
    def apart(answer, nodes):
        other = {"fast:0": "fast:1", "fast:1": "fast:0"}
        nodes["norm"]["device"] = other.get(nodes["conv"]["device"], "fast:0")
        if nodes["conv"]["device"] == "slow":
            nodes["norm"]["finish"] = nodes["norm"]["start"] + 100

    @staticmethod
    def early(answer, nodes):
        device = nodes["d"]["device"]
        for row in nodes.values():
            if row["device"] == device:
                row["start"] -= 1
                row["finish"] -= 1

    def testTogether(self):
        def all_on(device, times):
            def change(answer, nodes):
                for name, row in nodes.items():
                    row.update(device=device, finish=row["start"] + times[name])
            return change
        equal = {"split": 110, "left": 1230, "middle": 1310, "right": 1470, "join": 170}
        self.expect("cluster.json", "nodes run on a:0 at a time", all_on("a:0", equal))

        def meet(answer, nodes):
            begin = nodes["split"]["finish"] + 50
            nodes["left"].update(device="half:0", start=begin, finish=begin + 100)
            nodes["right"].update(device="all", start=begin, finish=begin + 80)
        self.expect("cores.json", "nodes run on core 0 at a time", meet)
        fast = {"read": 300, "conv": 500, "norm": 100, "head": 400, "loss": 50}

        def crowd(answer, nodes):
            for name in ("conv", "norm", "head", "loss"):
                row = nodes[name]
                row.update(device="fast:0", finish=row["start"] + fast[name])
        self.expect("pipeline.json", "its limit is 4000", crowd)

        def leave(answer, nodes):
            for name, device in (("conv", "slow"), ("norm", "slow"), ("head", "fast:0")):
                time = {"conv": 4000, "norm": 300, "head": 400}[name]
                nodes[name].update(device=device, finish=nodes[name]["start"] + time)
        problem = placement_checker.readProblem(HERE / "costs" / "pipeline.json")
        problem.backward, problem.groups = set(), []
        answer = place(HERE / "costs" / "pipeline.json")
        nodes = {row["node"]: row for row in answer["nodes"]}
        leave(answer, nodes)
        nodes["loss"].update(device="slow", finish=nodes["loss"]["start"] + 60)
        self.assertIn("not contiguous", "\n".join(placement_checker.check(problem, answer)))


class Examples(unittest.TestCase):
    def testEveryStrategyIsRight(self):
        for path in EXAMPLES:
            problem = placement_checker.readProblem(path)
            for strategy in ("auto", "greedy", "heft", "single"):
                done = subprocess.run([GRAPHRUN, "place", path, "--json", "--strategy", strategy],
                                      capture_output=True, text=True, check=False)
                self.assertIn(done.returncode, (0, 4), done.stderr)
                if done.returncode == 0:
                    self.assertEqual(placement_checker.check(problem, json.loads(done.stdout)), [],
                                     f"{path.name} {strategy}")
            place(path)  # auto finds one

    def testSchema(self):
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        for path in EXAMPLES:
            jsonschema.validate(json.loads(path.read_text()), schema)

    def testSchemaAndReaderRefuseTheSame(self):
        good = json.loads((HERE / "costs" / "cluster.json").read_text())
        changes = [lambda j: j.update(extra=1), lambda j: j.pop("devices"),
                   lambda j: j.update(version=2), lambda j: j["nodes"][0].update(time_ns=-1),
                   lambda j: j["nodes"][0].update(time_ns=1.5), lambda j: j["nodes"][0].pop("name"),
                   lambda j: j["devices"][0].update(memory_bytes=0),
                   lambda j: j["links"][0].update(between=["a"]),
                   lambda j: j["tensors"][0].update(bytes="8"), lambda j: j["pins"][0].pop("node"),
                   lambda j: j["devices"][0].update(calls="twice"),
                   lambda j: j["devices"][0].update(cores=["0", "0"]),
                   lambda j: j["devices"][0].update(cores=[0])]
        validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
        for i, change in enumerate(changes):
            wrong = copy.deepcopy(good)
            change(wrong)
            self.assertFalse(validator.is_valid(wrong), f"change {i}")
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(json.dumps(wrong))
                file.flush()
                done = subprocess.run([GRAPHRUN, "place", file.name], capture_output=True,
                                      text=True, check=False)
            self.assertEqual(done.returncode, 3, f"change {i}: {done.stderr}")


if __name__ == "__main__":
    GRAPHRUN = sys.argv.pop(1)
    unittest.main()
