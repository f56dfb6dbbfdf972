"""A page in one step: the detector of text and a recogniser for each line, side by side in one graph.

The networks and the picture are those of ocr_reference. Each has its own weights, inputs and outputs,
as a service has that reads the lines of one page while it looks for those of the next.
"""

import onnx
from onnx import compose

import ocr_reference

PARTS = ("det", *(f"rec{number}" for number in range(len(ocr_reference.LINES))))


def network(part):
    """The kind of network that a part is, and which of its inputs it gets."""
    return (part, 1) if part == "det" else (part[:3], int(part[3:]))


def inputs():
    """{name: array} of the model's inputs."""
    found = {}
    for part in PARTS:
        kind, number = network(part)
        name = onnx.load(ocr_reference.modelPath(kind)).graph.input[0].name
        found[f"{part}_{name}"] = ocr_reference.inputsOf(kind)[number]
    return found


def outputs():
    """{part: name of its output}."""
    return {part: f"{part}_{ocr_reference.outputNames(network(part)[0])[0]}" for part in PARTS}


def prefixed(part):
    """A part's network, whose nodes, values, weights and open dimensions begin with the part's name."""
    found = compose.add_prefix(onnx.load(ocr_reference.modelPath(network(part)[0])), f"{part}_")
    for value in (*found.graph.input, *found.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = f"{part}_{dim.dim_param}"
    return found


def model():
    """All parts as one model."""
    models = [prefixed(part) for part in PARTS]
    whole = models[0]
    for other in models[1:]:
        if [o.version for o in other.opset_import] != [o.version for o in whole.opset_import]:
            raise ValueError("the networks are of different versions of ONNX")
        for field in ("node", "initializer", "input", "output"):
            getattr(whole.graph, field).extend(getattr(other.graph, field))
    del whole.graph.value_info[:]
    del whole.metadata_props[:]
    onnx.checker.check_model(whole)
    return whole
