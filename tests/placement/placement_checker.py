#!/usr/bin/env python3
"""placement_checker.py FILE ANSWER [--devices N] [--objective O] [--contiguous]: checks an answer of
`graphrun place --json` against the cost file that it is for.

Reads the three formats by their own definitions and recomputes all that the answer claims: who may
run what, order, overlaps, transfers, memory, contiguity, objective, bound. Prints `valid` or every
problem, and then ends with 1. Standard library only; shares nothing with the planner.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass, field

CLIENT = "client"


def linesOf(latency, rate, large):
    lines = [(0, latency, rate)]
    if large:
        lines.append((large["from_bytes"], large["latency_ns"], large["bytes_per_second"]))
    return lines


def timeBy(lines, size):
    _, latency, rate = [line for line in lines if line[0] <= size][-1]
    return latency + math.ceil(size / rate * 1e9)


@dataclass
class Problem:
    unit: str = "ns"
    objective: str = "latency"
    contiguous: bool = False
    rounding: float = 0.0  # by how much a time may differ inside the planner
    devices: dict = field(default_factory=dict)  # name: worker, memory, port, once, lanes, cores
    times: dict = field(default_factory=dict)  # node: {device: time}
    weights: dict = field(default_factory=dict)
    workspace: dict = field(default_factory=dict)
    backward: set = field(default_factory=set)
    tensors: list = field(default_factory=list)  # producer, consumers, bytes, port, output, home
    groups: list = field(default_factory=list)
    shared: list = field(default_factory=list)  # nodes that do one work, whether only apart
    sharedWeights: list = field(default_factory=list)  # nodes, bytes
    pins: list = field(default_factory=list)
    links: list = field(default_factory=list)  # pair of workers, and its entry in the file
    default_link: tuple = (0, math.inf, True)
    starts: list = field(default_factory=list)  # (workers, lines), ascending
    interfaces: list = field(default_factory=list)  # (workers, rate)
    crowds: list = field(default_factory=list)  # (workers, share)
    client: dict = field(default_factory=dict)  # workers on its machine, cores that it may use
    work: list = field(default_factory=list)  # of the client for a step: (workers, lines), ascending

    def addDevice(self, name, worker="machine", memory=math.inf, port=False, once=False, lanes=1,
                  cores=(), kind="cpu"):
        self.devices[name] = dict(worker=worker, memory=memory, port=port, once=once, lanes=lanes,
                                  cores=set(cores), kind=kind)

    def addTensor(self, producer, consumers, size=0, port=0, output=False, home=CLIENT):
        self.tensors.append(dict(producer=producer, consumers=consumers, bytes=size, port=port,
                                 output=output, home=home))

    def link(self, a, b):
        """Of what is sent from device (or client) a to b: its key, lines (from so many bytes, latency,
        rate) in ascending order, and whether it queues."""
        ends = [CLIENT if x == CLIENT else self.devices[x]["worker"] for x in (a, b)]
        latency, rate, queues = self.default_link
        shared, large = True, None
        for pair, given in self.links:
            if list(pair) == ends or (list(pair) == ends[::-1] and not given.get("one_way", False)):
                latency = given.get("latency_ns", latency)
                rate = given.get("bytes_per_second", rate)
                shared = given.get("shared", True)
                queues = given.get("queues", queues)
                large = given.get("large")
        key = tuple(ends) if shared and ends[0] != ends[1] else (a, b)
        return key, linesOf(latency, rate, large), queues

    def byteNs(self, which, a, b):
        """What a byte of what is sent from a to b costs its reader or its sender."""
        ends = [CLIENT if x == CLIENT else self.devices[x]["worker"] for x in (a, b)]
        found = [given.get(which, 0) for pair, given in self.links
                 if list(pair) == ends or
                 (list(pair) == ends[::-1] and not given.get("one_way", False))]
        return found[-1] if found else 0

    def sides(self, a, b):
        """(side, rate) of each interface that what is sent from a to b leaves and enters by."""
        def behind(x):
            worker = CLIENT if x == CLIENT else self.devices[x]["worker"]
            return next((i for i, (workers, _) in enumerate(self.interfaces) if worker in workers),
                        None)
        ends = [(behind(a), "leaves"), (behind(b), "enters")]
        return [] if ends[0][0] == ends[1][0] else [
            ((i, way), self.interfaces[i][1]) for i, way in ends if i is not None]


def byWorkers(given, workers, size):
    """What entries that are told by numbers of workers say of so many of them and so many bytes."""
    known = [(count, timeBy(lines, size)) for count, lines in given]
    below = [entry for entry in known if entry[0] <= workers]
    above = [entry for entry in known if entry[0] >= workers]
    if not known or workers == 0:
        return 0
    if not below or not above:
        return (below[-1:] or above[:1])[0][1]
    (low, least), (high, most) = below[-1], above[0]
    return least + (0 if high == low else (workers - low) / (high - low) * (most - least))


def readTasks(text, devices, objective):
    problem = Problem(unit="units", objective=objective or "latency")
    for d in range(devices):
        problem.addDevice(f"p{d}")
    rows = [line.split() for line in text.splitlines() if line.strip()]
    rows = rows[1:int(rows[0][0]) + 3]
    consumers = defaultdict(list)
    for task, time, _, *before in rows:
        problem.times[task] = dict.fromkeys(problem.devices, int(time))
        for other in before:
            consumers[other].append(task)
    for task, readers in consumers.items():
        problem.addTensor(task, readers)
    return problem


def readDnn(source, objective):
    """Times in ms; an accelerator pays for each tensor that comes and, once, for each that goes."""
    problem = Problem(unit="ms", objective=objective or "throughput", rounding=1e-6)
    latency = problem.objective == "latency"
    for i in range(source["maxFPGAs"]):
        problem.addDevice(f"acc:{i}", memory=source["maxSizePerFPGA"], port=True, once=latency)
    for i in range(min(source["maxCPUs"], 1) if latency else source["maxCPUs"]):
        problem.addDevice(f"cpu:{i}", lanes=math.inf if latency else 1)
    colors, edges = defaultdict(list), defaultdict(list)
    for node in source["nodes"]:
        name = str(node["id"])
        problem.times[name] = {
            device: node["fpgaLatency"] if device.startswith("acc") else node["cpuLatency"]
            for device in problem.devices
            if node["supportedOnFpga"] or not device.startswith("acc")}
        problem.weights[name] = node.get("size", 0)
        if node.get("isBackwardNode"):
            problem.backward.add(name)
        if "colorClass" in node:
            colors[node["colorClass"]].append(name)
    for edge in source["edges"]:
        edges[str(edge["sourceId"]), edge["cost"]].append(str(edge["destId"]))
    for (producer, cost), consumers in edges.items():
        problem.addTensor(producer, consumers, port=cost)
    problem.groups = list(colors.values())
    return problem


def readNative(source, objective):
    problem = Problem(objective=objective or source.get("objective", "latency"),
                      contiguous=source.get("contiguous", False))
    classes = {}
    for d in source["devices"]:
        problem.addDevice(d["name"], d.get("worker", d["name"]), d.get("memory_bytes", math.inf),
                          d.get("port", False), d.get("calls") == "once",
                          d.get("lanes", 1) or math.inf, d.get("cores", ()),
                          d.get("kind", "cpu"))
        classes[d["name"]] = d.get("class")
    link = source.get("default_link", {})
    problem.default_link = (link.get("latency_ns", 0), link.get("bytes_per_second", math.inf),
                            link.get("queues", True))
    problem.links = [(link["between"], link) for link in source.get("links", [])]
    problem.interfaces = [(entry["workers"], entry["bytes_per_second"])
                          for entry in source.get("interfaces", [])]
    problem.crowds = [(crowd["workers"], crowd.get("share", 0))
                      for crowd in source.get("crowds", [])]
    problem.starts = [(start["workers"],
                       linesOf(start.get("latency_ns", 0), start.get("bytes_per_second", math.inf),
                               start.get("large"))) for start in source.get("step_starts", [])]
    problem.client = source.get("client", {})
    problem.work = [(entry["workers"],
                     linesOf(entry.get("latency_ns", 0), entry.get("bytes_per_second", math.inf),
                             entry.get("large"))) for entry in source.get("client_work", [])]
    for n in source["nodes"]:
        given = n["time_ns"]
        if not isinstance(given, dict):
            given = dict.fromkeys(problem.devices, given)
        problem.times[n["name"]] = {d: given.get(d, given.get(classes[d])) for d in problem.devices
                                    if d in given or classes[d] in given}
        problem.weights[n["name"]] = n.get("weight_bytes", 0)
        problem.workspace[n["name"]] = n.get("workspace_bytes", 0)
        if n.get("backward"):
            problem.backward.add(n["name"])
    for t in source.get("tensors", []):
        problem.addTensor(t.get("producer"), sorted(set(t.get("consumers", []))), t.get("bytes", 0),
                          t.get("port_ns", 0), t.get("output", False), t.get("home", CLIENT))
    problem.groups = source.get("colocate", [])
    problem.shared = [(work["nodes"], work.get("only_apart", False))
                      for work in source.get("shared_work", [])]
    problem.sharedWeights = [(weights["nodes"], weights["bytes"])
                             for weights in source.get("shared_weights", [])]
    problem.pins = [(pin["node"], pin["device"]) for pin in source.get("pins", [])]
    return problem


def readProblem(path, devices=0, objective=None, contiguous=False):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.lstrip()[0] != "{":
        problem = readTasks(text, devices, objective)
    else:
        source = json.loads(text)
        problem = (readNative if "format" in source else readDnn)(source, objective)
    problem.contiguous |= contiguous
    return problem


class Check:
    def __init__(self, problem, answer):
        self.problem, self.answer, self.problems = problem, answer, []
        self.terms = len(problem.times) + 2 * len(problem.tensors) + 1
        self.tolerance = problem.rounding * self.terms
        self.device, self.start, self.finish = {}, {}, {}
        self.workers = {}  # of nodes whose work another did: that one
        self.end, self.arrival = {}, {}  # of calls, by device; of tensors, by (index, target)
        self.ports = dict.fromkeys(problem.devices, 0)
        self.linkBusy = defaultdict(float)

    def run(self):
        for what in ("unit", "contiguous"):
            if self.answer[what] != getattr(self.problem, what):
                self.fail(f"{what} is {self.answer[what]}")
        if self.answer["goal"] != self.problem.objective:
            self.fail(f"goal is {self.answer['goal']}, expected {self.problem.objective}")
        if self.readNodes():
            self.checkConstraints()
            self.findTransfers()
            self.checkTimes()
            self.checkLanes()
            self.checkMemory()
            if self.problem.contiguous:
                self.checkContiguity()
            self.checkObjective()
        return self.problems

    def fail(self, text):
        self.problems.append(text)

    def near(self, a, b):
        return abs(a - b) <= self.tolerance + 1e-9 * max(abs(a), abs(b))

    def readNodes(self):
        for row in self.answer["nodes"]:
            name = row["node"]
            if name in self.device:
                self.fail(f"node {name} is placed twice")
            self.device[name] = row["device"]
            self.start[name], self.finish[name] = row["start"], row["finish"]
        if set(self.device) != set(self.problem.times):
            self.fail("the nodes of the answer are not those of the file")
            return False
        free = self.findSharers()
        for name, device in self.device.items():
            time = self.problem.times.get(name, {}).get(device)
            if time is None:
                self.fail(f"node {name} cannot run on {device}")
                continue
            time = 0 if name in free else time + self.firstReads(name)
            if not self.near(self.finish[name] - self.start[name], time + self.sends(name)):
                self.fail(f"node {name} takes {self.finish[name] - self.start[name]}, not {time}")
            if self.start[name] < 0:
                self.fail(f"node {name} starts before 0")
        return not self.problems

    def firstReads(self, name):
        """What a node takes longer for what was sent to its device and nobody there has read yet."""
        device, sum = self.device[name], 0
        for tensor in self.problem.tensors:
            fellows = [node for node in tensor["consumers"] if self.device.get(node) == device]
            first = min(fellows, default=None,
                        key=lambda node: (self.start[node], self.finish[node], node))
            if first == name and self.homeOf(tensor) != device:
                sum += round(self.problem.byteNs("read_ns_per_byte", self.homeOf(tensor), device) * tensor["bytes"])
        return sum

    def sends(self, name):
        """What a node takes longer for what it sends."""
        return sum(round(self.problem.byteNs("send_ns_per_byte", self.device[name], target)
                         * tensor["bytes"])
                   for tensor in self.problem.tensors if tensor["producer"] == name
                   for target in self.targetsOf(tensor))

    def findSharers(self):
        """The nodes that take no time, as another of their device has done their work, or there is
        none where all are together."""
        free = set()
        for nodes, onlyApart in self.problem.shared:
            together = len({self.device.get(node) for node in nodes}) == 1
            for device in self.problem.devices:
                mine = sorted((self.finish[n], self.start[n], n) for n in nodes
                              if self.device.get(n) == device)
                if onlyApart and together:
                    free.update(n for _, _, n in mine)
                for _, _, n in mine[1:]:
                    free.add(n)
                    self.workers[n] = mine[0][2]
        return free

    def checkConstraints(self):
        for group in self.problem.groups:
            if len({self.device[node] for node in group}) > 1:
                self.fail(f"nodes {group} are not on one device")
        for node, device in self.problem.pins:
            if self.device[node] != device:
                self.fail(f"node {node} is on {self.device[node]}, pinned to {device}")

    def homeOf(self, tensor):
        return self.device[tensor["producer"]] if tensor["producer"] else tensor["home"]

    def targetsOf(self, tensor):
        targets = {self.device[node] for node in tensor["consumers"]}
        if tensor["output"]:
            targets.add(tensor["home"] if tensor["producer"] else CLIENT)
        return targets - {self.homeOf(tensor)}

    def findTransfers(self):
        """Ports and calls first; then each link carries what is ready first."""
        problem, incoming, outgoing = self.problem, defaultdict(float), defaultdict(float)
        for tensor in problem.tensors:
            targets = self.targetsOf(tensor)
            for target in targets:
                incoming[target] += tensor["port"]
            if targets:
                outgoing[self.homeOf(tensor)] += tensor["port"]
        for name, device in problem.devices.items():
            mine = [node for node in self.device if self.device[node] == name]
            if device["port"]:
                self.ports[name] = incoming[name] + outgoing[name]
            if device["once"] and mine:
                port = outgoing[name] if device["port"] else 0
                self.end[name] = max(self.finish[node] for node in mine) + port
        waiting = []
        for i, tensor in enumerate(problem.tensors):
            home, ready = self.homeOf(tensor), self.readyTime(tensor)
            self.arrival[i, home] = ready
            for target in self.targetsOf(tensor):
                key, lines, queues = problem.link(home, target)
                time = timeBy(lines, tensor["bytes"])
                sides = [(side, math.ceil(tensor["bytes"] / rate * 1e9))
                         for side, rate in problem.sides(home, target)]
                time = max([time, *(needed for _, needed in sides)])
                order = list(problem.devices).index(target) if target != CLIENT else -1
                waiting.append((ready, i, order, target, key if queues else None, time, sides))
        free = defaultdict(float)
        for ready, i, _, target, key, time, sides in sorted(waiting, key=lambda entry: entry[:3]):
            begin = ready if key is None else max(free[key], ready)
            for side, needed in sides:
                begin = max(begin, free[side])
                free[side] = begin + needed
                self.linkBusy[side] += needed
            self.arrival[i, target] = begin + time
            if key is not None:
                free[key] = begin + time
                self.linkBusy[key] += time
        self.incoming = incoming

    def readyTime(self, tensor):
        producer = tensor["producer"]
        return self.end.get(self.device[producer], self.finish[producer]) if producer else 0

    def checkTimes(self):
        begin = defaultdict(float)
        for i, tensor in enumerate(self.problem.tensors):
            for node in tensor["consumers"]:
                device, producer = self.device[node], tensor["producer"]
                inside = producer and device in self.end and self.device[producer] == device
                there = self.finish[producer] if inside else self.arrival[i, device]
                if self.start[node] < there - self.tolerance:
                    self.fail(f"node {node} starts at {self.start[node]}, before what it reads of "
                              f"{producer or 'the inputs'} is there, at {there}")
                if not inside:
                    begin[device] = max(begin[device], there)
        for device in self.end:
            port = self.incoming[device] if self.problem.devices[device]["port"] else 0
            first = min(self.start[node] for node in self.device if self.device[node] == device)
            if first < begin[device] + port - self.tolerance:
                self.fail(f"the call of {device} starts at {first}, before its inputs are there")

    def checkLanes(self):
        for name, device in self.problem.devices.items():
            self.checkTogether(name, {name}, device["lanes"])
        for core in self.cores():
            self.checkTogether(f"core {core}", self.having(core), 1)

    def cores(self):
        return sorted(set().union(*(d["cores"] for d in self.problem.devices.values())))

    def having(self, core):
        return {name for name, device in self.problem.devices.items() if core in device["cores"]}

    def checkTogether(self, name, devices, lanes):
        events = []
        for node, where in self.device.items():
            if where in devices and self.finish[node] - self.start[node] > 2 * self.tolerance:
                events += [(self.start[node] + self.tolerance, 1),
                           (self.finish[node] - self.tolerance, -1)]
        running = 0
        for _, change in sorted(events):
            running += change
            if running > lanes:
                self.fail(f"more than {lanes} nodes run on {name} at a time")
                break

    def checkMemory(self):
        for name, device in self.problem.devices.items():
            peak = self.peakOf(name)
            if peak > device["memory"]:
                self.fail(f"{name} holds {peak} bytes, its limit is {device['memory']}")

    def peakOf(self, name):
        mine = [node for node in self.device if self.device[node] == name]
        fixed = sum(self.problem.weights.get(node, 0) for node in mine)
        fixed -= sum(size * max(0, len(set(nodes) & set(mine)) - 1)
                     for nodes, size in self.problem.sharedWeights)
        spans = [(self.start[node], self.finish[node], self.problem.workspace.get(node, 0))
                 for node in mine]
        values = {}
        for i, tensor in enumerate(self.problem.tensors):
            home, size = self.homeOf(tensor), tensor["bytes"]
            if name in self.targetsOf(tensor):
                fixed += size * (1 if home == CLIENT else 2)
            elif home == name and not tensor["producer"]:
                fixed += size
            elif home == name:
                last = [self.finish[node] for node in tensor["consumers"] if node in mine]
                last += [self.arrival[i, target] for target in self.targetsOf(tensor)]
                stays = tensor["output"] and tensor["home"] == name
                end = math.inf if stays else max(last, default=self.finish[tensor["producer"]])
                values.setdefault(self.valueOf(tensor), []).append(
                    (self.start[tensor["producer"]], end, size))
        for same in values.values():
            spans.append((min(s[0] for s in same), max(s[1] for s in same), same[0][2]))
        live = [sum(size for begin, end, size in spans if begin <= self.start[node] < end)
                for node in mine if any(size for _, _, size in spans)]
        return fixed + max(live, default=0)

    def valueOf(self, tensor):
        """Who makes a tensor, and its number among that node's."""
        made = [t for t in self.problem.tensors if t["producer"] == tensor["producer"]]
        return self.workers.get(tensor["producer"], tensor["producer"]), made.index(tensor)

    def checkContiguity(self):
        after = defaultdict(set)
        forward = [node for node in self.device if node not in self.problem.backward]
        for tensor in self.problem.tensors:
            if tensor["producer"] in forward:
                after[tensor["producer"]] |= set(tensor["consumers"]) - self.problem.backward
        for name in self.problem.devices:
            outside = {node for one in forward if self.device[one] == name for node in after[one]
                       if self.device[node] != name}
            seen = set()
            while outside:
                node = outside.pop()
                seen.add(node)
                if self.device[node] == name:
                    self.fail(f"{name} is not contiguous: a path comes back to it at {node}")
                    break
                outside |= after[node] - seen

    def busyOf(self):
        busy = defaultdict(float)
        for node, device in self.device.items():
            busy[device] += self.finish[node] - self.start[node]
        return busy

    def crowdOf(self, name):
        """The crowd that a device belongs to: its other devices and the share; none: ()."""
        device = self.problem.devices[name]
        if device["kind"] == "cpu" and device["lanes"] == 1 and not device["once"]:
            for workers, share in self.problem.crowds:
                if device["worker"] in workers:
                    return tuple(workers), share
        return ()

    def crowded(self, loads):
        """What loads by device are on each crowd, and the share."""
        sums = defaultdict(float)
        for name, load in loads.items():
            if self.crowdOf(name):
                sums[self.crowdOf(name)] += load
        return sums

    def withClient(self, busy):
        """The period of the busiest core of the client's machine, with what that works for a step.
        Devices there have one lane, and cores of their own."""
        here = [name for name, ns in busy.items() if ns > 0 and
                self.problem.devices[name]["worker"] in self.problem.client.get("workers", [])]
        if not here or not self.problem.work:
            return 0
        crossing = sum(tensor["bytes"] for tensor in self.problem.tensors
                       for target in self.targetsOf(tensor)
                       if CLIENT in (self.homeOf(tensor), target))
        workers = {self.problem.devices[device]["worker"] for device in self.device.values()}
        work = byWorkers(self.problem.work, len(workers), crossing)
        sums = self.crowded({name: busy[name] + self.ports[name] for name in busy})
        most, used = 0, 0
        for name in here:
            load = busy[name] + self.ports[name]
            crowd = self.crowdOf(name)
            most = max(most, load + (round(crowd[1] * (sums[crowd] - load)) if crowd else 0))
            used += max(len(self.problem.devices[name]["cores"]), 1)
        cores = max(used, self.problem.client.get("cores", 1))
        return most + round(max(0, work - (cores - used) * most) / cores)

    def checkObjective(self):
        if self.problem.objective == "latency":
            value = max([*self.finish.values(), *self.end.values(), *self.arrival.values()],
                        default=0)
            workers = {self.problem.devices[device]["worker"] for device in self.device.values()}
            handedOut = sum(tensor["bytes"] for tensor in self.problem.tensors
                            for target in self.targetsOf(tensor)
                            if self.homeOf(tensor) == CLIENT and target != CLIENT)
            more = max([share * max(0, busy - value) for (_, share), busy
                        in self.crowded(self.busyOf()).items()], default=0)
            value += round(byWorkers(self.problem.starts, len(workers), handedOut)) + round(more)
        else:
            busy = self.busyOf()
            loads = [math.ceil((busy[name] + self.ports[name]) / device["lanes"])
                     if 1 < device["lanes"] < math.inf else
                     0 if device["lanes"] == math.inf else busy[name] + self.ports[name]
                     for name, device in self.problem.devices.items()]
            onCores = [sum(busy[name] + self.ports[name] for name in self.having(core))
                       for core in self.cores()]
            sums = self.crowded({name: busy[name] + self.ports[name] for name in busy})
            for name in busy:
                if self.crowdOf(name):
                    cores = [core for core in self.cores() if name in self.having(core)]
                    for own in [[name], *(self.having(core) for core in cores)]:
                        load = sum(busy[other] + self.ports[other] for other in own)
                        share = self.crowdOf(name)[1]
                        onCores.append(load + round(share * (sums[self.crowdOf(name)] - load)))
            value = max([*loads, *onCores, *self.linkBusy.values()])
            value = max(value, self.withClient(busy))
        claimed, bound = self.answer["objective"], self.answer["lower_bound"]
        if not self.near(claimed, value):
            self.fail(f"objective is {value}, the answer says {claimed}")
        if bound > claimed + self.tolerance:
            self.fail(f"the lower bound {bound} is above the objective {claimed}")
        if self.answer["proved"] != (bound == claimed):
            self.fail(f"proved is {self.answer['proved']} for {claimed} and bound {bound}")


def check(problem, answer):
    return Check(problem, answer).run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("answer")
    parser.add_argument("--devices", type=int, default=0)
    parser.add_argument("--objective")
    parser.add_argument("--contiguous", action="store_true")
    given = parser.parse_args()
    problem = readProblem(given.file, given.devices, given.objective, given.contiguous)
    with open(given.answer, encoding="utf-8") as file:
        answer = json.load(file)
    problems = check(problem, answer)
    print("\n".join(problems) or f"valid: {answer['goal']} {answer['objective']} {answer['unit']}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
