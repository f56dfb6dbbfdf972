"""GraphRun and its peers as processes, and models with their weights and inputs."""

import json
import os
import re
import select
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
CHAIN = 1000         # operations of the model "chain"
ELEMENTS = 64 << 20  # f32 of the large tensors: far more than caches hold
HEADS = (4, 16, 1024, 64)  # samples, heads, tokens and columns of the attentions
SIDE = 4096          # rows and columns of the matrices that are multiplied
LAYERS = (16, 64)    # attentions, products or all_reduces, one behind the other; the time of one is from the difference
REDUCED = 16 << 20   # f32 that all_reduce combines, as tests/placement/planner/collective_models.cpp has it
QUERY = "name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw"
LEAST = 10           # seconds that a process gets
COMPILING = 120      # seconds that torch.compile gets at most
COLD = 90            # seconds that a first process gets, whose libraries come from a cold disk
DRIVER = ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib")  # folders beside the system's own
GPU, CPU = "local/cuda:0", "local/cpu:0"


class Failed(Exception):
    """Something could not be run; the text says what and why."""


def cudaFolders():
    """Where PyTorch's wheels, the toolkit and the driver keep their libraries. A driver that was mounted
    into a virtual machine or a container lies in a folder of its own."""
    wheels = [os.path.join(path, "nvidia") for path in sys.path]
    found = [os.path.join(wheel, name, "lib") for wheel in wheels if os.path.isdir(wheel)
             for name in sorted(os.listdir(wheel))]
    return [path for path in [*found, "/usr/local/cuda/lib64", *DRIVER] if os.path.isdir(path)]


class Model:
    """A model of the package at one batch; its weights and inputs are written when first needed."""

    def __init__(self, name, batch=1):
        self.name, self.batch = name, batch
        self.folder = os.path.join(PACKAGE, "models", name)
        with open(os.path.join(self.folder, "model.json"), encoding="utf-8") as file:
            self.spec = json.load(file)
        self.path = os.path.join(self.folder, "model.onnx")
        self.outputs = self.spec["outputs"]
        self.weights()
        self.inputs = self.feeds()

    def weights(self):
        """Evenly distributed numbers of each weight's own mean and spread, the same on every run."""
        path = os.path.join(self.folder, "weights.bin")
        if os.path.exists(path):
            return
        with open(path, "wb") as file:
            for number, weight in enumerate(self.spec["weights"]):
                array = np.random.default_rng(number).random(weight["shape"], np.float32)
                array = (array - np.float32(0.5)) * np.float32(12 ** 0.5 * weight["spread"])
                file.seek(weight["offset"])
                (array + np.float32(weight["mean"])).tofile(file)

    def feeds(self):
        """{input: path of its values}."""
        random, found = np.random.default_rng(7), {}
        dims = {**self.spec["dims"], "batch": self.batch}
        for number, each in enumerate(self.spec["inputs"]):
            shape = [dims.get(dim, dim) for dim in each["dims"]]
            path = os.path.join(self.folder, f"input_{self.batch}_{number}.npy")
            if not os.path.exists(path):
                np.save(path, random.uniform(-1, 1, shape).astype(np.float32) if each["float"]
                        else random.integers(each["low"], each["high"], shape))
            found[each["name"]] = path
        return found


class GraphRun:
    """Starts the package's programs; what they print goes to a log."""

    def __init__(self, results):
        self.log = os.path.join(results, "log.txt")
        self.scratch = os.path.join(PACKAGE, "scratch")
        os.makedirs(self.scratch, exist_ok=True)
        def paths(variable):
            return ":".join(filter(None, [os.environ.get(variable), *cudaFolders()]))
        # cuDNN opens the compiler of its engines by name.
        self.environment = {**os.environ, "GRAPHRUN_CACHE_DIR": os.path.join(self.scratch, "cache"),
                            **{name: paths(name) for name in ("GRAPHRUN_CUDA_LIBRARIES", "LD_LIBRARY_PATH")}}

    def process(self, command, seconds, codes=(0,)):
        """Its stdout. It gets some seconds even where none is left."""
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  timeout=max(seconds, LEAST), env=self.environment, check=False)
            status, out, problem = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, out, problem = "none", "", f"no result within {seconds:.0f} s"
        except OSError as error:
            status, out, problem = "none", "", str(error)
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n{out}{problem}\nexit code {status}, "
                       f"{time.monotonic() - begin:.1f} s\n\n")
        if status not in codes:
            text = f"exit code {status}: {' '.join(command)}: {problem or out}"
            raise Failed(text if len(text) < 1000 else f"{text[:300]} … {text[-700:]}")
        return out

    def start(self, *words, seconds=60, codes=(0,)):
        return self.process([os.path.join(PACKAGE, "bin", "graphrun"), *words], seconds, codes)

    def outputs(self, model, placement, seconds, *more):
        """A model's outputs with `placement`."""
        paths = [os.path.join(self.scratch, f"output_{i}.npy") for i in range(len(model.outputs))]
        words = [word for name, path in zip(model.outputs, paths)
                 for word in ("--output", f"{name}=@{path}")]
        self.start(model.path, "--placement", placement, *given(model), *words, *more, seconds=seconds)
        return [np.load(path) for path in paths]

    def bench(self, model, seconds, *more, placement=f"on:{GPU}"):
        """The figures of `graphrun bench --json`."""
        return json.loads(self.start("bench", model.path, "--placement", placement, "--json",
                                     "--duration", "0.5", *given(model), *more, seconds=seconds))

    def calibrate(self, model, seconds):
        """Measures what placement is to know of the model's operations on this machine."""
        self.start("doctor", "--calibrate", model.path, *given(model), seconds=seconds)

    def placed(self, model, seconds, *more):
        """[[node, device]] of what the GPU can run, which must be something, and of the rest."""
        path = os.path.join(self.scratch, "placement.json")
        self.start("explain", model.path, "--placement", f"on:{GPU}", *given(model), "--write-placement",
                   path, *more, seconds=seconds)
        with open(path, encoding="utf-8") as file:
            nodes = [[each["node"], each["device"]] for each in json.load(file)["nodes"]]
        if all(device != GPU for _, device in nodes):
            raise Failed(f"the GPU can run none of the {len(nodes)} nodes of {model.name}")
        return nodes

    def place(self, nodes):
        """The path of a placement file for `nodes`, as above."""
        path = os.path.join(self.scratch, "edited.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"nodes": [{"node": node, "device": device} for node, device in nodes]}, file)
        return path


def clocks():
    """What nvidia-smi tells of the first GPU, or why it tells nothing."""
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return {"error": str(error)}
    return dict(zip(QUERY.split(","), re.split(r",\s*", done.stdout.splitlines()[0])))


def given(model):
    """The options for its inputs."""
    return [word for name, path in model.inputs.items() for word in ("--input", f"{name}=@{path}")]


class PeerProcess:
    """peers.py, started when first asked and again when it died."""

    def __init__(self, log):
        self.log, self.process, self.loaded, self.owed, self.read = log, None, None, 0, b""

    def post(self, /, **command):
        """Begins a command; its answer is read, and dropped, before the next one is asked for."""
        if self.process is None:
            with open(self.log, "a", encoding="utf-8") as log:
                self.process = subprocess.Popen(
                    [sys.executable, "-B", os.path.join(HERE, "peers.py")], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=log, text=True,
                    env={"TORCHINDUCTOR_COMPILE_THREADS": "2", **os.environ})  # many compile at once
            self.owed, self.read = 0, b""
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.close()
            raise Failed(f"the peers' process ended before {command}") from None
        self.owed += 1

    def settle(self, end):
        """Waits until all that was begun is done, or closes the process at that time."""
        while self.process is not None and self.owed > 0:
            if not self.answer(end - time.monotonic()):
                self.close()

    def answer(self, limit):
        """The next line that the process writes: "" where it ends, nothing where it takes longer. What
        follows the line stays here: a stream with a buffer of its own would hide it from select."""
        end, descriptor = time.monotonic() + max(limit, LEAST), self.process.stdout.fileno()
        self.owed -= 1
        while b"\n" not in self.read:
            ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            some = os.read(descriptor, 1 << 16)
            if not some:
                return ""
            self.read += some
        line, _, self.read = self.read.partition(b"\n")
        return line.decode()

    def ask(self, limit, /, **command):
        """The answer's value."""
        self.settle(time.monotonic() + limit)
        self.post(**command)
        answer = self.answer(limit)
        if not answer:
            self.close()
            what = "ended" if answer == "" else f"gave no answer within {limit:.0f} s"
            raise Failed(f"the peers' process {what}: {command}")
        reply = json.loads(answer)
        if "error" in reply:
            raise Failed(reply["error"])
        return reply["value"]

    def load(self, model, precision, seconds):
        """Makes `model` the one that is asked about."""
        wanted = (model.name, model.batch, precision)
        if self.process is None or self.loaded != wanted:
            self.ask(seconds, do="load", name=model.name, batch=model.batch, precision=precision)
            self.loaded = wanted

    def outputs(self, way, path, seconds):
        self.ask(seconds, do="outputs", way=way, path=path)
        with np.load(path) as found:
            return [found[name] for name in found.files]

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


class Peers:
    """One process for whatever is asked, and one for each model that was prepared, which compiles it
    meanwhile: compilers are slow, and have the other cores."""

    def __init__(self, log):
        self.log, self.common, self.prepared = log, PeerProcess(log), {}

    def ask(self, limit, /, **command):
        return self.common.ask(limit, **command)

    def prepare(self, model, precision, ways):
        """Begins what a model's `ways` do once."""
        process = self.prepared[model.name, model.batch, precision] = PeerProcess(self.log)
        process.post(do="load", name=model.name, batch=model.batch, precision=precision)
        process.loaded = (model.name, model.batch, precision)
        for way in ways:
            process.post(do="turn", way=way, seconds=0)

    def settle(self, seconds):
        """Waits for all that was begun: nothing else runs when something is measured."""
        end = time.monotonic() + seconds
        for process in self.prepared.values():
            process.settle(end)

    def of(self, model, precision, seconds):
        """The process that has the model."""
        process = self.prepared.get((model.name, model.batch, precision), self.common)
        process.load(model, precision, seconds)
        return process

    def close(self):
        for process in [self.common, *self.prepared.values()]:
            process.close()
