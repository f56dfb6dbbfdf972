"""What a model should give: ONNX Runtime without optimisations, else onnx.reference, in a process.

ONNX Runtime may crash or hang on a model; then that process alone is lost.
"""

import dataclasses
import multiprocessing
import os

import numpy as np

from values import HALVES, dtypeOf, isHalf
from widen import floatTypes, rounded, widened

SECONDS = 20
# Of ONNX Runtime's messages: the model may be right, but it has no kernel for it.
_LACKS = ("NOT_IMPLEMENTED", "nsupported", "not supported", "under development", "OrtValue",
          "not been implemented", "No Op registered", "does not support", "no kernel", "only support",
          "not implemented")


@dataclasses.dataclass
class Answer:
    """`how`: "ok"; "refused": the model is wrong; "lacks": the peer cannot run it; "died"."""

    how: str
    outputs: list = None  # one list of arrays a data set
    peer: str = ""
    why: str = ""
    refused: bool = False  # by ONNX Runtime, where another peer answers

    @property
    def ok(self):
        return self.how == "ok"


def _outputTypes(model):
    return [value.type.tensor_type.elem_type for value in model.graph.output]


def _onnxRuntime(model, feeds):
    import onnxruntime as ort
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options,
                                       providers=["CPUExecutionProvider"])
        outputs = []
        for feed in feeds:
            values = {name: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
                np.ascontiguousarray(array), _number(array)) if array.dtype.kind == "V" else array
                      for name, array in feed.items()}
            got = session.run_with_ort_values(None, {
                name: value if isinstance(value, ort.OrtValue)
                else ort.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()})
            outputs.append([_array(value) for value in got])
        return Answer("ok", outputs, "ONNX Runtime")
    except state.NotImplemented as error:
        return Answer("lacks", None, "ONNX Runtime", str(error))
    except Exception as error:  # pylint: disable=broad-except  # it has many kinds
        text = str(error)
        lacks = any(words in text for words in _LACKS)
        return Answer("lacks" if lacks else "refused", None, "ONNX Runtime", text)


def _number(array):
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(array.dtype)


def _array(value):
    if not value.is_tensor():
        raise RuntimeError("not supported: an output that is no tensor")
    if value.data_type() == "tensor(string)":
        return value.numpy().astype(object)
    name = value.data_type()[len("tensor("):-1]
    if name in ("float", "double", "float16", "bool") or "int" in name and name[-1] != "4":
        return value.numpy()
    raise RuntimeError(f"OrtValue of type {name}")


def _reference(model, feeds):
    from onnx.reference import ReferenceEvaluator

    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(model)
            outputs = [[np.asarray(value) for value in evaluator.run(None, feed)] for feed in feeds]
        return Answer("ok", outputs, "onnx.reference")
    except Exception as error:  # pylint: disable=broad-except  # whatever NumPy raises
        return Answer("lacks", None, "onnx.reference", f"{type(error).__name__}: {error}")


def _narrowed(answer, model):
    """Results of a widened model as the types that the model declares."""
    if not answer.ok:
        return answer
    types = {dtypeOf(name): name for name in HALVES}
    numbers = {_number(np.zeros(0, dtype)): dtype for dtype in types}
    with np.errstate(over="ignore"):
        answer.outputs = [[np.asarray(array).astype(numbers[number]) if number in numbers else array
                           for array, number in zip(outputs, _outputTypes(model))]
                          for outputs in answer.outputs]
    return answer


def _expected(model, feeds):
    """ONNX Runtime's results; 16-bit types that it lacks in f32; onnx.reference for the rest."""
    answer = _onnxRuntime(model, feeds)
    if not answer.ok and any(isHalf(dtype) for dtype in floatTypes(model, feeds)):
        wide = _onnxRuntime(*widened(model, feeds, np.float32))
        if wide.ok:
            return _narrowed(wide, model)
    if not answer.ok:
        other = _reference(model, feeds)
        other.refused = answer.how == "refused"
        return other if other.ok else answer
    return answer


def _exact(model, feeds):
    """The results in f64: onnx.reference's, and ONNX Runtime's where it has the kernels."""
    wide = widened(model, feeds, np.float64)
    answer = _onnxRuntime(*wide)
    return answer if answer.ok else _reference(*wide)


def _roundedResults(model, feeds):
    """Of a 16-bit model in f32, rounded behind each operation."""
    return _narrowed(_onnxRuntime(*rounded(model, feeds)), model)


_QUESTIONS = {"expected": _expected, "exact": _exact, "rounded": _roundedResults,
              "reference": _reference, "runtime": _onnxRuntime}


def _serve(connection):
    import onnx

    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    while True:
        try:
            question, data, feeds = connection.recv()
        except EOFError:
            return
        connection.send(_QUESTIONS[question](onnx.load_from_string(data), feeds))


class Oracle:
    """Asks a process of its own, which is replaced when it dies or takes too long."""

    def __init__(self):
        self.context = multiprocessing.get_context("spawn")
        self.process = None

    def _start(self):
        self.connection, other = self.context.Pipe()
        self.process = self.context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def close(self):
        if self.process is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
            self.process = None

    def ask(self, question, model, feeds):
        """"expected", "exact", "rounded" or "reference" of a model; an Answer."""
        if self.process is None:
            self._start()
        try:
            self.connection.send((question, model.SerializeToString(), feeds))
            if self.connection.poll(SECONDS):
                return self.connection.recv()
            why = f"took over {SECONDS} s"
        except (EOFError, OSError):
            why = "its process ended"
        self.close()
        return Answer("died", None, "", why)
