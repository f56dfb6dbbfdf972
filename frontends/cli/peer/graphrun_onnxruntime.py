#!/usr/bin/env python3
"""Runs a model in ONNX Runtime, for `graphrun … --compare-to onnxruntime`, which starts it:

    graphrun-onnxruntime MODEL.onnx FOLDER THREADS

FOLDER/inputs.json tells the inputs, [{"name", "file"}], files of NumPy's in FOLDER. When the model
is ready, {"version", "provider"} is the first answer. Then commands come on standard input, one a
line: "run" runs the model once and answers {"ms"}; "write" writes the outputs of the last run into
FOLDER and answers {"outputs": [{"name", "file"}]}. An answer {"error", "kind"} is the last one; its
kind is "missing" (a package), "model" (ONNX Runtime refuses it), "usage" (what is not compared) or
"run".
"""

import json
import os
import sys
import time


class Failure(Exception):
    """What ends the conversation."""

    def __init__(self, kind, error):
        super().__init__(error)
        self.kind = kind


def load(folder, np):
    """The inputs by name."""
    with open(os.path.join(folder, "inputs.json"), encoding="utf-8") as file:
        entries = json.load(file)
    feeds = {}
    for entry in entries:
        value = np.load(os.path.join(folder, entry["file"]), allow_pickle=False)
        if value.dtype.kind == "V":
            raise Failure("usage", f"input '{entry['name']}' has a type that NumPy does not have "
                                   "(bf16, f8 …); ONNX Runtime takes inputs from NumPy")
        feeds[entry["name"]] = value.astype(object) if value.dtype.kind in "SU" else value
    return feeds


def write(session, results, folder, np):
    """Writes the outputs; where they are."""
    entries = []
    for i, (port, value) in enumerate(zip(session.get_outputs(), results)):
        if not isinstance(value, np.ndarray):
            raise Failure("usage", f"output '{port.name}' is no tensor; only tensors are compared")
        file = f"output{i}.npy"
        np.save(os.path.join(folder, file),
                value.astype(np.str_) if value.dtype.kind == "O" else value, allow_pickle=False)
        entries.append({"name": port.name, "file": file})
    return {"outputs": entries}


def openSession(model, threads, onnxruntime):
    """The model in ONNX Runtime, on the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Its threads would look for work while the other side is measured.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common base
        raise Failure("model", str(error)) from error


def serve(model, folder, threads, commands, answer):
    """Answers commands until there are no more."""
    try:
        import numpy as np
        import onnxruntime
    except ImportError as error:
        raise Failure("missing", f"{sys.executable}: {error}") from error
    session = openSession(model, threads, onnxruntime)
    feeds = load(folder, np)
    known = {port.name for port in session.get_inputs()}
    for name in feeds:
        if name not in known:
            raise Failure("usage", f"the file has no input '{name}' that is a tensor; only tensors "
                                   "are compared")
    results = []
    answer({"version": onnxruntime.__version__, "provider": session.get_providers()[0]})
    for command in commands:
        if command.strip() == "run":
            begin = time.perf_counter()
            try:
                results = session.run(None, feeds)
            except Exception as error:
                raise Failure("run", str(error)) from error
            answer({"ms": 1e3 * (time.perf_counter() - begin)})
        else:
            answer(write(session, results, folder, np))


def main():
    # What libraries print is for people; answers go where the commands come from.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(told):
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    try:
        serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.stdin, answer)
    except Failure as failure:
        answer({"error": str(failure), "kind": failure.kind})


if __name__ == "__main__":
    main()
