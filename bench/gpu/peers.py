"""PyTorch and ONNX Runtime as peers, in a process that takes commands: a JSON object a line.

A step begins and ends in (page-locked) memory of the host, as a step of GraphRun does.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
import traceback

import numpy as np

from program import Model

TYPES = {"f32": "float32", "tf32": "float32", "bf16": "bfloat16"}


class Torch:
    """A network in PyTorch, on the GPU if it sees one; `compiled`: with CUDA graphs."""

    def __init__(self, model, precision, compiled):
        import torch
        from networks import NETWORKS

        self.torch = torch
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        self.gpu = torch.cuda.is_available()
        self.device = "cuda" if self.gpu else "cpu"
        self.type = getattr(torch, TYPES[precision])
        network = NETWORKS[model.spec["network"]](model).eval().to(self.device, self.type)
        if model.spec["network"] == "graph":
            network = network.to(memory_format=torch.channels_last)
        self.network = torch.compile(network, mode="reduce-overhead") if compiled else network
        self.inputs = [self.locked(torch.from_numpy(np.load(path))) for path in model.inputs.values()]
        self.results = [self.locked(x) for x in self.computed()]

    def locked(self, x):
        x = x.float() if x.is_floating_point() else x
        return x.cpu().pin_memory() if self.gpu else x

    def computed(self):
        """The outputs, where the network left them."""
        inputs = [x.to(self.device, non_blocking=True) for x in self.inputs]
        with self.torch.no_grad():
            found = self.network(*(x.to(self.type) if x.is_floating_point() else x for x in inputs))
        return found if isinstance(found, tuple) else (found,)

    def step(self):
        for result, found in zip(self.results, self.computed()):
            result.copy_(found, non_blocking=True)
        if self.gpu:
            self.torch.cuda.synchronize()

    def arrays(self):
        self.step()
        return [np.asarray(x) for x in self.results]


class OnnxRuntime:
    """A session on CUDA; it has no bf16 of a model in f32."""

    def __init__(self, model, precision):
        import onnxruntime

        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            raise RuntimeError("this ONNX Runtime has no CUDA provider")
        if precision == "bf16":
            raise RuntimeError("ONNX Runtime computes in the model's type, f32")
        options = {"use_tf32": "1" if precision == "tf32" else "0"}
        self.session = onnxruntime.InferenceSession(
            model.path, providers=[("CUDAExecutionProvider", options), "CPUExecutionProvider"])
        if "CUDAExecutionProvider" not in self.session.get_providers():
            raise RuntimeError("ONNX Runtime's CUDA provider could not be loaded")
        self.feeds = {name: np.load(path) for name, path in model.inputs.items()}

    def step(self):
        self.session.run(None, self.feeds)

    def arrays(self):
        return self.session.run(None, self.feeds)


def timed(step, seconds, least=5):
    """Milliseconds of single steps, after some that warm up."""
    for _ in range(3):
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < least:
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def copyBandwidths(elements):
    """Bytes a second of copies of f32: within the GPU (read and written), to it and from it."""
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    here, there = (torch.ones(elements, device="cuda") for _ in range(2))
    host = torch.ones(elements).pin_memory()

    def rate(target, source, count):
        def step():
            target.copy_(source, non_blocking=True)
            torch.cuda.synchronize()
        return count * 4 * elements / (1e-3 * float(np.median(timed(step, 0.3))))
    return {"within": rate(there, here, 2), "to": rate(here, host, 1), "from": rate(host, here, 1)}


def attentions(shape, count):
    """{way: milliseconds} of an attention of bf16 within the GPU, the mean of many one behind the other."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    query, key, value = (torch.rand(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))

    def step():
        x = query
        for _ in range(count):
            x = scaled_dot_product_attention(x, key, value)
        torch.cuda.synchronize()
    found = {}
    for way in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION"):
        with contextlib.suppress(RuntimeError), sdpa_kernel(getattr(SDPBackend, way)):  # not on every GPU
            found[way.lower()] = float(np.median(timed(step, 0.3))) / count
    if not found:
        raise RuntimeError("PyTorch has no attention of its own for this GPU")
    return found


def reduceAll(rank, folder, elements, count):
    """A process of the two that combine tensors; the first one writes the milliseconds of one time."""
    import torch

    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    x = torch.zeros(elements, device="cuda")

    def step():
        for _ in range(count):
            torch.distributed.all_reduce(x)
        torch.cuda.synchronize()
    times = []
    for _ in range(10):  # as many in both
        begin = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - begin) / count)
    if rank == 0:
        np.save(os.path.join(folder, "times.npy"), times[3:])
    torch.distributed.destroy_process_group()


class Peers:
    """What the commands do; each is a method, its members the arguments."""

    def __init__(self):
        self.model, self.ways = None, {}

    def load(self, name, batch, precision):
        """Forgets what was there; ways are made when they are first asked for."""
        self.ways.clear()
        with contextlib.suppress(ImportError, AttributeError):  # of PyTorch before 2.1
            import torch
            torch.compiler.reset()
            torch.cuda.empty_cache()
        self.model, self.precision = Model(name, batch), precision

    def way(self, name):
        if name not in self.ways:
            self.ways[name] = OnnxRuntime(self.model, self.precision) if name == "onnxruntime" \
                else Torch(self.model, self.precision, name == "compile")
        return self.ways[name]

    def outputs(self, way, path):
        np.savez(path, *self.way(way).arrays())

    def turn(self, way, seconds):
        peer = self.way(way)
        if isinstance(peer, Torch) and not peer.gpu:
            raise RuntimeError("PyTorch sees no GPU")
        return float(np.median(timed(peer.step, seconds)))

    def bandwidths(self, elements):
        return copyBandwidths(elements)

    def attention(self, shape, count):
        return attentions(shape, count)

    def allReduce(self, elements, count):
        from torch.multiprocessing import spawn

        with tempfile.TemporaryDirectory() as folder:
            spawn(reduceAll, (folder, elements, count), 2)
            return {"nccl": float(np.median(np.load(os.path.join(folder, "times.npy"))))}

    def versions(self):
        found = {}
        for name in ("torch", "onnxruntime"):
            with contextlib.suppress(ImportError):
                found[name] = __import__(name).__version__
        return found


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print where they like
    peers = Peers()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"value": getattr(peers, command.pop("do"))(**command)}
        except Exception as error:  # whatever a peer fails with is an entry of the results
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
