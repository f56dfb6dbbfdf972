"""How fast GraphRun is on the GPU, beside PyTorch and ONNX Runtime in turns."""

import json
import math
import os
import re
import statistics

from parts import TOLERANCE, chosenModels, compared, peerOutputs
from program import (CHAIN, CPU, ELEMENTS, GPU, HEADS, LAYERS, PACKAGE, REDUCED, SIDE, Failed, Model, clocks)

BYTES = 4 * ELEMENTS  # of a large tensor
TURNS = 3
FLOAT8 = 89  # the first GPUs that multiply 8-bit floats
WAYS = ("eager", "compile", "onnxruntime")
MEAN = 1.2  # the target at batch 1
NOISE = 0.97  # what the same takes again, at least
ENOUGH = 20  # seconds under which no other model is begun


def whole(run, name, *more):
    """A model that measures one thing, if that thing runs on the GPU."""
    model = Model(name)
    elsewhere = [node for node, device in run.graphrun.placed(model, run.left(), *more) if device != GPU]
    if elsewhere:
        raise Failed(f"the GPU cannot run {', '.join(elsewhere)} of {name}")
    return model


def alone(run, name, *more):
    """The figures of such a model."""
    return run.graphrun.bench(whole(run, name, *more), run.left(), *more)


def launches(run):
    """What an operation costs: scalar additions without fusion."""
    figures = alone(run, "chain", "--no-fusion")
    for name, key, target in (("with the graph", figures["latency_ms"]["p50"], 1.2),
                              ("without, the first run", figures["first_run_ms"], 2.5)):
        each = 1e3 * key / CHAIN
        run.row(f"an operation of {CHAIN}, {name}", each, f"<= {target}", each <= target, unit="us")


def bandwidth(run, name, ours, peer, **more):
    run.row(name, ours / 1e9, ">= 0.9 of the copy", ours >= 0.9 * peer, peer=peer / 1e9, ratio=ours / peer,
            unit="GB/s", **more)


def edges(run):
    """Tensors of 256 MiB between host and GPU beside copies from and to page-locked memory."""
    rates = run.peers.ask(run.left(), do="bandwidths", elements=ELEMENTS)
    for name, key in (("to_gpu", "to"), ("from_gpu", "from")):
        figures = alone(run, name)
        bandwidth(run, name.replace("_", " the ").replace("gpu", "GPU"),
                  BYTES / (1e-3 * figures["latency_ms"]["p50"]), rates[key])


def elementwise(run):
    """A chain over 256 MiB: what a product of its result takes longer than one of the matrix."""
    rates = run.peers.ask(run.left(), do="bandwidths", elements=ELEMENTS)
    times = {name: [] for name in ("product", "scaled_product")}
    for _ in range(TURNS):
        for name, found in times.items():
            found.append(alone(run, name)["latency_ms"]["p50"])
    chain = statistics.median(times["scaled_product"]) - statistics.median(times["product"])
    if chain <= 0:
        raise Failed(f"the chain takes no time: {times}")
    bandwidth(run, "multiply, add, relu", 2 * BYTES / (1e-3 * chain), rates["within"], ms=times)


def eachOf(time):
    """Milliseconds of one of many that a model has one behind the other, and the figures that they are from:
    `time` is a function of their number."""
    times = {count: [] for count in LAYERS}
    for _ in range(TURNS):
        for count, found in times.items():
            found.append(time(count))
    few, many = (statistics.median(found) for found in times.values())
    if many <= few:
        raise Failed(f"more take no more time: {times}")
    return (many - few) / (LAYERS[1] - LAYERS[0]), times


def besidePeers(run, name, mine, least, ask, agrees=True, **more):
    """A row of milliseconds beside the best of the peer's ways, {way: its milliseconds}, that `ask` gives."""
    try:
        ways = ask()
    except Failed as error:
        run.row(name, mine, f">= {least}", error=str(error), unit="ms", **more)
        return
    peer = min(ways.values())
    run.row(name, mine, f">= {least}", agrees and peer >= least * mine, peer=peer, ratio=peer / mine, unit="ms",
            peers=ways, **more)


def attention(run):
    """An attention of bf16 within the GPU beside PyTorch's fastest."""
    models = {count: whole(run, f"attentions_{count}") for count in LAYERS}
    few = models[LAYERS[0]]
    ours = run.graphrun.outputs(few, f"on:{GPU}", run.left())
    agrees = compared(run, f"{few.name}: outputs", ours,
                      lambda: run.graphrun.outputs(few, f"on:{CPU}", run.left()), "bf16")
    mine, times = eachOf(lambda count: run.graphrun.bench(models[count], run.left())["latency_ms"]["p50"])
    besidePeers(run, "attention of {} samples, {} heads, {} tokens, {} columns".format(*HEADS), mine, 1.0,
                lambda: run.peers.ask(run.left(), do="attention", shape=HEADS, count=LAYERS[1]), agrees, ms=times)


def float8(run):
    """A product of 8-bit floats, and what makes them of bf16, beside a product of bf16."""
    capability = re.search(r"^  cuda:0 .*sm_(\d+)", "\n".join(run.found["machine"]["doctor"]), re.MULTILINE)
    if capability and int(capability.group(1)) < FLOAT8:
        return f"it takes a GPU of sm_{FLOAT8}, this one is of sm_{capability.group(1)}"

    def each(kind):
        models = {count: whole(run, f"{kind}_products_{count}") for count in LAYERS}
        outputs = run.graphrun.outputs(models[LAYERS[0]], f"on:{GPU}", run.left())
        return outputs, *eachOf(lambda count: run.graphrun.bench(models[count], run.left())["latency_ms"]["p50"])
    ours, mine, times = each("float8")
    theirs, bf16, _ = each("bf16")
    agrees = compared(run, "products of 8-bit floats beside bf16", ours, lambda: theirs, "bf16")
    besidePeers(run, f"product of 8-bit floats, {SIDE} x {SIDE}, and their quantisation", mine, 1.0,
                lambda: {"bf16": bf16}, agrees, ms=times)
    return None


def collectives(run):
    """An all_reduce between two GPUs beside NCCL's by PyTorch."""
    count = len(set(re.findall(r"^  cuda:\d+", "\n".join(run.found["machine"]["doctor"]), re.MULTILINE)))
    if count < 2:
        return f"it takes two GPUs, this machine has {count}"
    words = [word for i in range(2) for word in ("--input", f"x{i}=random", "--pin", f"*/{i}=cuda:{i}")]

    def time(layers):
        path = os.path.join(PACKAGE, "collectives", f"all_reduce_{layers}.fb")
        return json.loads(run.graphrun.start("bench", path, *words, "--json", "--duration", "0.5",
                                             seconds=run.left()))["latency_ms"]["p50"]
    mine, times = eachOf(time)
    besidePeers(run, f"all_reduce of {4 * REDUCED >> 20} MiB by two GPUs", mine, 0.9,
                lambda: run.peers.ask(run.left(), do="allReduce", elements=REDUCED, count=LAYERS[1]), ms=times)
    return None


def automatic(run):
    """What `auto` takes beside the GPU alone and the CPU alone, once costs are measured; and models whose
    weights are too many for the GPU."""
    for name in ["chain", *chosenModels(run)[:4]]:
        if run.left() < ENOUGH:
            return f"no time for {name} and what comes after it"
        model, ways = Model(name), {"auto": [], f"on:{GPU}": [], f"on:{CPU}": []}
        try:
            run.graphrun.calibrate(model, run.left())
            for _ in range(TURNS):
                for way, found in ways.items():
                    found.append(run.graphrun.bench(model, run.left(), placement=way)["latency_ms"]["p50"])
        except Failed as error:
            run.row(name, None, f">= {NOISE}", False, error=str(error))
            continue
        mine, *others = map(statistics.median, ways.values())
        run.row(name, mine, f">= {NOISE}", min(others) >= NOISE * mine, peer=min(others),
                ratio=min(others) / mine, unit="ms", turns=ways)
        if name != "chain":
            limited(run, model)
    return None


def limited(run, model):
    """The outputs of a model of which the GPU may hold half of the weights."""
    limit = sum(4 * math.prod(weight["shape"]) for weight in model.spec["weights"]) // 2
    try:
        ours = run.graphrun.outputs(model, "auto", run.left(), "--memory-limit", f"{GPU}={limit}")
    except Failed as error:
        run.row(f"{model.name} in {limit} bytes", None, TOLERANCE["f32"], False, error=str(error))
        return
    compared(run, f"{model.name} in {limit} bytes beside CPU", ours,
             lambda: run.graphrun.outputs(model, f"on:{CPU}", run.left()), "f32")


def configurations(run):
    """(model, precision, batch), the ones that matter most first."""
    names, options = chosenModels(run), run.options
    every = [(name, precision, batch) for batch in options.batches for precision in options.precisions
             for name in names]
    return sorted(every, key=lambda each: (names.index(each[0]) >= 4, each[2] != options.batches[0]))


def prepare(run):
    """Has the peers compile the first configurations, while other parts run."""
    for name, precision, batch in configurations(run)[:max(1, run.found["machine"]["processors"] - 2)]:
        run.peers.prepare(Model(name, batch), precision, WAYS)


def turns(run, model, precision):
    """{way: medians of its turns}, and {way: why it has none}; who begins changes from turn to turn."""
    def own():
        return run.graphrun.bench(model, run.left(), "--precision", precision)["latency_ms"]["p50"]

    def peer(way):
        return run.peers.of(model, precision, run.left()).ask(run.left(), do="turn", way=way, seconds=0.5)
    times, errors = {way: [] for way in ("graphrun", *WAYS)}, {}
    for number in range(TURNS):
        order = list(times)
        first = number % len(order)
        for way in order[first:] + order[:first]:
            try:
                times[way].append(own() if way == "graphrun" else peer(way))
            except Failed as error:
                errors[way] = str(error)
        times = {way: each for way, each in times.items() if way not in errors}
        if "graphrun" not in times:
            break
    return times, errors


def measure(run, name, precision, batch):
    """One row: our median beside that of the best peer. The ratio, if both gave results that agree."""
    model = Model(name, batch)
    what = f"{name} b{batch} {precision}"
    try:
        nodes = run.graphrun.placed(model, run.left(), "--precision", precision)
        ours = run.graphrun.outputs(model, f"on:{GPU}", run.left(), "--precision", precision)
    except Failed as error:
        run.row(what, None, ">= 1.0", False, error=str(error))
        return None
    agrees = compared(run, f"{what}: outputs", ours, lambda: peerOutputs(run, model, precision), precision)
    times, errors = turns(run, model, precision)
    medians = {way: statistics.median(each) for way, each in times.items()}
    mine = medians.pop("graphrun", None)
    peer = min(medians.values(), default=None)
    ratio = peer / mine if peer and mine else None
    run.row(what, mine, ">= 1.0", agrees and ratio >= 1 if ratio else None, peer=peer, ratio=ratio, unit="ms",
            elsewhere=sum(device != GPU for _, device in nodes), turns=times, errors=errors, clocks=clocks())
    return ratio if agrees else None


def models(run):
    """Models from host memory to host memory, by importance, as many as the time allows."""
    ratios, rest = [], configurations(run)
    while rest and run.left() > ENOUGH:
        name, precision, batch = rest.pop(0)
        ratio = measure(run, name, precision, batch)
        if ratio and batch == 1:
            ratios.append(ratio)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        run.row(f"geometric mean of {len(ratios)} at batch 1", mean, f">= {MEAN}", mean >= MEAN)
    return f"no time for {len(rest)} of the configurations" if rest else None
