#!/usr/bin/env python3
"""Gradients of random graphs beside JAX's. Exits with 1 when one differs, and keeps its model.

    gradients.py --server build/bin/session_server --seconds 30            # today's seed
    gradients.py --server … --count 500 --seed 7
    gradients.py --server … --seed 20260101 --case 12                       # one case of a seed again

Each graph goes through ONNX's Gradient operator: in f64, where all but rounding is wrong, and in f32 by the
fast kernels.
"""

import argparse
import datetime
import os
import sys
import tempfile
import time

# A graph runs once, so XLA is to compile fast rather than well; it reads this when it is loaded.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
                                   "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_use_fusion_emitters=false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from onnx import helper  # noqa: E402

from case import Builder  # noqa: E402
from gradient_ops import GENERATORS, Draw  # noqa: E402
from server import Server  # noqa: E402

jax.config.update("jax_enable_x64", True)
OPSET = 20
TRAINING = "ai.onnx.preview.training"
BOUNDS = {np.float64: 1e-9, np.float32: 1e-3}  # of a gradient's largest element
LARGEST = 20  # a value beyond it is squeezed, so that f32 still says something


class Graph:
    """A random graph: inputs, nodes, and weights that make a loss of the values that nothing reads."""

    def __init__(self, random):
        shape = [int(n) for n in random.integers(1, 5, random.integers(1, 5))]
        self.inputs = [np.float32(random.normal(0, 1, shape)).astype(np.float64)]
        if random.random() < 0.6:
            shape = shape if random.random() < 0.5 else [int(n) for n in random.integers(1, 5, 2)]
            self.inputs.append(np.float32(random.uniform(0.5, 2, shape)).astype(np.float64))
        self.nodes = []
        values = list(self.inputs)
        for _ in range(int(random.integers(2, 10))):
            node = GENERATORS[random.integers(len(GENERATORS))](Draw(random, values))
            if node is None or None in [x for x in node.inputs if not isinstance(x, np.ndarray | np.floating)]:
                continue
            result = np.asarray(self._apply(node, values))
            if 0 < result.size <= 2000 and np.isfinite(result).all() and np.abs(result).max() <= LARGEST:
                self.nodes.append(node)
                values.append(result)
        read = {x for node in self.nodes for x in node.inputs if isinstance(x, int)}
        self.ends = [i for i in range(len(values)) if i not in read]
        self.weights = [random.uniform(0.5, 1.5, values[i].shape).astype(np.float32).astype(np.float64)
                        for i in self.ends]

    @staticmethod
    def _apply(node, values):
        return node.compute(*[values[x] if isinstance(x, int) else jnp.asarray(x) for x in node.inputs])

    def loss(self, *inputs):
        values = list(inputs)
        for node in self.nodes:
            values.append(self._apply(node, values))
        return sum(jnp.sum(values[i] * w) for i, w in zip(self.ends, self.weights))

    def expected(self):
        """The derivatives by each input."""
        slopes = jax.jit(jax.grad(self.loss, argnums=tuple(range(len(self.inputs)))))
        return slopes(*map(jnp.asarray, self.inputs))

    def case(self, dtype):
        """The graph as ONNX's model, whose outputs are the derivatives."""
        def typed(array):
            return array.astype(dtype) if array.dtype == np.float64 else array

        builder = Builder(np.random.default_rng(0), OPSET)
        names = [builder.input(typed(x)) for x in self.inputs]
        wrt = list(names)
        for node in self.nodes:
            operands = [names[x] if isinstance(x, int) else builder.constant(typed(np.asarray(x)))
                        for x in node.inputs]
            outputs = builder.node(node.kind, operands, 2 if node.kind == "TopK" else 1, **node.attributes)
            names.append(outputs[0] if node.kind == "TopK" else outputs)
        sums = [builder.node("ReduceSum", [builder.node("Mul", [names[i], builder.constant(typed(w))])], keepdims=0)
                for i, w in zip(self.ends, self.weights)]
        loss = builder.node("Sum", sums)
        slopes = [builder.name("slope") for _ in wrt]
        builder.add("Gradient", wrt, slopes, domain=TRAINING, xs=wrt, y=loss)
        case = builder.case("gradients", slopes)
        case.model.opset_import.append(helper.make_opsetid(TRAINING, 1))
        for value, x in zip(case.model.graph.output, self.inputs):
            value.CopyFrom(helper.make_tensor_value_info(
                value.name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), x.shape))
        return case

    def __str__(self):
        return ", ".join(node.kind for node in self.nodes)


def difference(got, want, bound):
    """What is wrong with derivatives; "" if nothing."""
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        b = np.asarray(b)
        if a.shape != b.shape:
            return f"input {i}: got shape {a.shape}, expected {b.shape}"
        error = np.abs(a.astype(np.float64) - b).max(initial=0)
        if not error <= bound * max(1.0, np.abs(b).max(initial=0)):
            return f"input {i}: {error:.3g} from the expected derivative, whose largest element is {np.abs(b).max():.3g}"
    return ""


def check(graph, server, folder):
    """What is wrong with a graph; "" if nothing."""
    want = graph.expected()
    for dtype, bound in BOUNDS.items():
        case = graph.case(dtype)
        case.write(folder)
        result = server.run(os.path.join(folder, "model.onnx"), case.dataSets(folder), ["--threads", "1"])
        problem = difference(result.outputs[0], want, bound) if result.ok else result.message
        if problem:
            return f"{np.dtype(dtype)}: {problem}"
    return ""


def main():
    today = int(datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="the program session_server")
    parser.add_argument("--seconds", type=float, help="how long; default: until --count graphs are done")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=today, help="default: made of the date, UTC")
    parser.add_argument("--case", type=int, help="only the case with this number")
    parser.add_argument("--out", default="findings", help="folder for models whose gradients differ")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds if options.seconds else None
    found, done, operations = 0, 0, set()
    with tempfile.TemporaryDirectory() as scratch:
        server = Server(options.server, scratch)
        for number in range(options.count) if options.case is None else [options.case]:
            if end and time.monotonic() > end:
                break
            graph = Graph(np.random.default_rng([options.seed, number]))
            problem = check(graph, server, os.path.join(scratch, "case"))
            done += 1
            operations.update(node.kind for node in graph.nodes)
            if problem:
                found += 1
                folder = os.path.join(options.out, f"gradients_{options.seed}_{number}")
                graph.case(np.float64).write(folder)
                print(f"--seed {options.seed} --case {number}: {problem}\n  {graph}\n  {folder}", flush=True)
        server.close()
    print(f"{done} graphs of {len(operations)} operations, seed {options.seed}: {found} differ from JAX's gradients")
    sys.exit(1 if found or not done else 0)


if __name__ == "__main__":
    main()
