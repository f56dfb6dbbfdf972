#!/usr/bin/env python3
"""Measures one model with ONNX Runtime or OpenVINO, in a process of its own, as `graphrun bench --json` does.

Both get static shapes, one stream, and inputs that are bound once. Resident memory counts
from before the runtime is imported, so that Python and NumPy are nobody's burden.
"""

import argparse
import json
import re
import time

import numpy as np


def memory(key):
    """VmRSS or VmHWM of this process in bytes; ru_maxrss would start at the parent's."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return 1024 * int(re.search(rf"{key}:\s+(\d+)", file.read()).group(1))


class OnnxRuntime:
    """A session with bound inputs and outputs."""

    def __init__(self, args, feeds):
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        self.version = onnxruntime.__version__
        self.begin = time.perf_counter()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        options.inter_op_num_threads = 1
        for symbol, size in args.symbol:
            options.add_free_dimension_override_by_name(symbol, int(size))
        self.session = onnxruntime.InferenceSession(args.model, options,
                                                    providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, array in feeds.items():
            self.binding.bind_cpu_input(name, array)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    """A compiled model with one request."""

    def __init__(self, args, feeds):
        import openvino

        self.version = openvino.__version__.split("-")[0]
        self.begin = time.perf_counter()
        core = openvino.Core()
        model = core.read_model(args.model)
        model.reshape({name: list(array.shape) for name, array in feeds.items()})
        settings = {"INFERENCE_PRECISION_HINT": args.precision, "PERFORMANCE_HINT": "LATENCY",
                    "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(args.threads)}
        compiled = core.compile_model(model, "CPU", settings)
        self.request = compiled.create_infer_request()
        for name, array in feeds.items():
            self.request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
        self.count = len(compiled.outputs)

    def run(self):
        self.request.infer()

    def outputs(self):
        return [self.request.get_output_tensor(i).data for i in range(self.count)]


def measured(runtime, seconds):
    """Milliseconds of the runs that count, after two to warm up."""
    for _ in range(2):
        runtime.run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or not times:
        start = time.perf_counter()
        runtime.run()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runtime", choices=["onnxruntime", "openvino"])
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32",
                        help="of OpenVINO; ONNX Runtime computes in the model's types")
    parser.add_argument("--duration", type=float, default=1)
    parser.add_argument("--input", nargs=2, action="append", default=[], metavar=("NAME", "NPY"))
    parser.add_argument("--symbol", nargs=2, action="append", default=[], metavar=("NAME", "SIZE"))
    parser.add_argument("--output", action="append", default=[], metavar="NPY",
                        help="where the outputs go; then nothing is timed")
    args = parser.parse_args()
    feeds = {name: np.load(path) for name, path in args.input}
    before = memory("VmRSS")
    runtime = (OnnxRuntime if args.runtime == "onnxruntime" else OpenVino)(args, feeds)
    loaded = time.perf_counter()
    runtime.run()
    first = time.perf_counter()
    if args.output:
        for path, array in zip(args.output, runtime.outputs(), strict=True):
            np.save(path, array)
        return
    times = measured(runtime, args.duration)
    print(json.dumps({
        "latency_ms": {"p50": float(np.percentile(times, 50)), "p95": float(np.percentile(times, 95)),
                       "min": min(times), "mean": float(np.mean(times))},
        "runs": len(times), "load_ms": 1e3 * (loaded - runtime.begin),
        "first_run_ms": 1e3 * (first - loaded), "peak_memory_bytes": memory("VmHWM") - before,
        "version": runtime.version}))


if __name__ == "__main__":
    main()
