#!/usr/bin/env python3
"""Writes frontends/onnx/SUPPORT.md, the table of what is supported, from the code; --check compares.

For every operation of the installed onnx package: the opsets come from the importer's table, the
types and the gradient from planning small models. Such a model is a case of ONNX's own suite with one
node, in which the tensors of one type variable get another element type that the schema allows.
"""

import argparse
import collections
import glob
import json
import os
import re
import struct
import subprocess
import sys

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

DEVICES = ["cpu"]
TEMPLATES = 4  # cases of one operation that are tried for a type
TENSOR = re.compile(r"tensor\((\w+)\)")
# Attributes that name the element type of an output no input has.
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype", "stash_type")
# Attributes that are tensors of a type variable.
TENSOR_ATTRIBUTES = {("ConstantOfShape", "value"): "T2", ("Constant", "value"): "T",
                     ("LabelEncoder", "keys_tensor"): "T1", ("LabelEncoder", "values_tensor"): "T2",
                     ("LabelEncoder", "default_tensor"): "T2"}
HEAD = """\
# What of ONNX is supported

Written by `tests/onnx/support_table.py`, which asks the importer's table and plans a small model for each
entry; the test `onnx_support_table` fails while it is not current.

- **Opsets**: versions of the operation's domain, inclusive; `7+` goes on to the newest one.
- **Types**: for each type variable of the newest version in ONNX's specification, which of the tensor
  types that it allows a device takes. Nothing stands where an operation takes lists or subgraphs only:
  they hold tensors of any type.
- **Gradient**: whether GraphRun makes the gradients of the real outputs with respect to the real
  inputs, by doing it. "no": which of the operations of the `gr` dialect that the ONNX operation becomes
  has none, and why. The rules of those operations are held against central differences
  (`tests/ir/gradients`).
"""


def elementNumber(name):
    """The number of an element type of a schema; null for one that TensorProto lacks."""
    return getattr(onnx.TensorProto, name.upper(), None)


def key(domain, name):
    return name if domain in ("", "ai.onnx") else f"{domain}.{name}"


def schemas():
    """{name in the importer's table: (newest schema, first version)}"""
    newest, first = {}, {}
    for schema in defs.get_all_schemas_with_history():
        name = key(schema.domain, schema.name)
        first[name] = min(first.get(name, schema.since_version), schema.since_version)
        if name not in newest or newest[name].since_version < schema.since_version:
            newest[name] = schema
    return {name: (newest[name], first[name]) for name in sorted(newest)
            if not newest[name].deprecated}


def templates(folder):
    """{name: paths of models with that node alone}, the shortest names of cases first."""
    found = collections.defaultdict(list)
    paths = glob.glob(os.path.join(folder, "*", "**", "model.onnx"), recursive=True)
    for path in sorted(paths, key=lambda path: (len(path), path)):
        if os.path.getsize(path) < 1 << 16:
            model = onnx.load(path)
            if len(model.graph.node) == 1:
                found[key(model.graph.node[0].domain, model.graph.node[0].op_type)].append(path)
    return found


def handmade():
    """{name: a model} of operations that no case has alone."""
    def one(name, inputs, **attributes):
        ports = [helper.make_tensor_value_info(f"x{i}", onnx.TensorProto.FLOAT, shape)
                 for i, shape in enumerate(inputs)]
        node = helper.make_node(name, [port.name for port in ports], ["y"], **attributes)
        return name, helper.make_model(helper.make_graph([node], "g", ports,
                                                         [onnx.ValueInfoProto(name="y")]))

    return dict([one("GlobalLpPool", [[1, 2, 3, 3]]),
                 one("MaxRoiPool", [[1, 2, 4, 4], [1, 5]], pooled_shape=[2, 2]),
                 one("Multinomial", [[2, 3]]), one("RandomNormal", [], shape=[2]),
                 one("RandomUniform", [], shape=[2]), one("RandomNormalLike", [[2]], dtype=1),
                 one("RandomUniformLike", [[2]], dtype=1)])


class Template:
    """A model of one node, and which of its tensors belong to which type variable."""

    def __init__(self, source, schema):
        """`source`: the path of a case, or a model."""
        isCase = isinstance(source, str)
        self.model = onnx.load(source) if isCase else source
        self.node = self.model.graph.node[0]
        self.schema = schema
        self.data = self.inputsOf(os.path.dirname(source)) if isCase else {}

    def inputsOf(self, case):
        folder = os.path.join(case, "test_data_set_0")
        data = {}
        fixed = {tensor.name for tensor in self.model.graph.initializer}
        fed = [port for port in self.model.graph.input if port.name not in fixed]
        for i, port in enumerate(fed):
            if port.type.WhichOneof("value") == "tensor_type":
                with open(os.path.join(folder, f"input_{i}.pb"), "rb") as file:
                    data[port.name] = onnx.TensorProto.FromString(file.read())
        return data

    def current(self):
        """Whether it is of the newest version, whose types are asked for."""
        return any(key(opset.domain, "") == key(self.schema.domain, "")
                   and opset.version >= self.schema.since_version
                   for opset in self.model.opset_import)

    def elements(self):
        return {port.type.tensor_type.elem_type for port in self.model.graph.input}

    def variables(self):
        """{name of a tensor: its type variable}"""
        found = {}
        for names, ports in ((self.node.input, self.schema.inputs),
                             (self.node.output, self.schema.outputs)):
            for i, name in enumerate(names):
                if name and ports:
                    found[name] = ports[min(i, len(ports) - 1)].type_str
        return found

    def make(self, variable, number, constant):
        """The model with `variable` of element type `number`; null when it has no such tensor.

        Integers and booleans of other variables become constants, for shapes may depend on them;
        everything else too if `constant`.
        """
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        graph, node = model.graph, model.graph.node[0]
        variables = self.variables()
        changed = self.setAttributes(node, variable, number, variables)
        for port in graph.output:
            port.ClearField("type")
        for port in graph.input:
            if port.type.WhichOneof("value") != "tensor_type":
                return None
            if variables.get(port.name) == variable or node.op_type == "BitCast":
                port.type.tensor_type.elem_type = number
                changed = True
        for tensor in graph.initializer:
            if variables.get(tensor.name) == variable:
                tensor.CopyFrom(cast(tensor, number))
                changed = True
        for port in list(graph.input):
            tensor = self.data.get(port.name)
            if tensor is None:
                continue
            mine = variables.get(port.name) == variable
            decides = tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32,
                                           onnx.TensorProto.BOOL)
            if not constant and (mine or not decides):
                continue
            graph.initializer.append(cast(tensor, number) if mine else tensor)
            graph.initializer[-1].name = port.name
            graph.input.remove(port)
        newest = {"": defs.onnx_opset_version()}
        newest[self.schema.domain] = self.schema.since_version
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid(d, v) for d, v in newest.items())
        model.ir_version = onnx.IR_VERSION
        return model.SerializeToString() if changed else None

    def setAttributes(self, node, variable, number, variables):
        """Sets the attributes that go with `variable`."""
        changed = False
        for attribute in node.attribute:
            if TENSOR_ATTRIBUTES.get((node.op_type, attribute.name)) == variable:
                attribute.t.CopyFrom(cast(attribute.t, number))
                changed = True
        if changed:
            return True
        if node.op_type == "BitCast":  # both types are of one width
            variable = "T2"
        elif variable in [variables.get(name) for name in node.input]:
            return False
        if variable not in [variables.get(name) for name in node.output]:
            return False
        for attribute in node.attribute:
            if attribute.name in TYPE_ATTRIBUTES:
                attribute.i = number
                return True
        for name in TYPE_ATTRIBUTES:
            if name in self.schema.attributes and (name != "stash_type" or variable == "U"):
                node.attribute.append(helper.make_attribute(name, number))
                return True
        return False


def cast(tensor, number):
    """`tensor` with its elements as those of another type."""
    if number == onnx.TensorProto.STRING:
        count = int(np.prod(tensor.dims, dtype=np.int64))
        return helper.make_tensor(tensor.name, number, tensor.dims, [b"1"] * count)
    if tensor.data_type == onnx.TensorProto.STRING:
        values = np.ones(tuple(tensor.dims), np.float32)
    else:
        values = numpy_helper.to_array(tensor).astype(np.float64)
    dtype = helper.tensor_dtype_to_np_dtype(number)
    if np.issubdtype(dtype, np.unsignedinteger) or dtype.name.startswith("uint"):
        values = abs(values)
    return numpy_helper.from_array(values.astype(dtype), tensor.name)


class Prober:
    def __init__(self, program):
        self.program = program

    def table(self):
        """{name: [(first opset, last opset)]}"""
        rows = collections.defaultdict(list)
        out = subprocess.run([self.program, "table"], check=True, capture_output=True).stdout
        for line in out.splitlines():
            row = json.loads(line)
            rows[row["name"]].append((row["first"], row["last"]))
        return rows

    def answers(self, device, models):
        """For each model why it is not supported ("" when it is), and what bars its gradient."""
        stream = b"".join(struct.pack("<Q", len(model)) + model for model in models)
        out = subprocess.run([self.program, "probe", device], input=stream, check=True,
                             capture_output=True).stdout
        answers = [json.loads(line) for line in out.splitlines()]
        if len(answers) != len(models):
            raise RuntimeError(f"{len(models)} models, {len(answers)} answers")
        return answers


def questions(operations, found):
    """[(operation, variable, type)] with the models that could show it, the likeliest first."""
    asked = {}
    made = {name: [model] for name, model in handmade().items()}
    for name, (schema, _) in operations.items():
        ready = [Template(source, schema) for source in found[name] or made.get(name, [])]
        ready = [template for template in ready if template.current()] or ready
        for constraint in schema.type_constraints:
            for text in constraint.allowed_type_strs:
                tensor = TENSOR.fullmatch(text)
                number = elementNumber(tensor[1]) if tensor else None
                if number is None:
                    continue
                best = spread([t for t in ready if number in t.elements()]) + spread(ready)
                models = [template.make(constraint.type_param_str, number, constant)
                          for constant in (False, True) for template in best]
                models = list(dict.fromkeys(model for model in models if model))
                if models:
                    asked[name, constraint.type_param_str, tensor[1]] = models
    return asked


def spread(ready):
    """At most TEMPLATES of a list, from all over it."""
    step = max(1, len(ready) // TEMPLATES)
    return ready[::step][:TEMPLATES]


def ask(prober, device, asked):
    """{(operation, variable, type): (why not, barriers)}: the first model that works counts."""
    known = {}
    left = dict(asked)
    for turn in range(4 * TEMPLATES):
        now = [question for question, models in left.items() if len(models) > turn]
        answers = prober.answers(device, [left[question][turn] for question in now])
        for question, answer in zip(now, answers):
            if question not in known or not answer["why"]:
                known[question] = (answer["why"], answer["barriers"])
            if not answer["why"]:
                del left[question]
    return known


def opsetText(ranges, first, newest):
    """[(1, 12), (13, 28)] as "1+"; from the first version that there is."""
    merged = []
    for start, end in sorted(ranges):
        if merged and merged[-1][1] + 1 >= start:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    parts = [f"{max(start, first)}+" if end >= newest else f"{max(start, first)} to {end}"
             for start, end in merged]
    return ", ".join(parts)


def typesText(name, schema, known):
    parts = []
    for constraint in schema.type_constraints:
        variable = constraint.type_param_str
        mine = {t: why for (n, v, t), (why, _) in known.items() if (n, v) == (name, variable)}
        if not mine:
            continue
        yes = [t for t in mine if not mine[t]]
        no = [t for t in mine if mine[t]]
        if not no:
            text = "all"
        elif len(no) < len(yes):
            text = "all but " + ", ".join(sorted(no))
        else:
            text = ", ".join(sorted(yes)) or "none"
        parts.append(f"{variable}: {text}")
    return "; ".join(parts)


def gradientText(name, known):
    """Of the probe with real inputs that has the fewest barriers."""
    worked = [(len(barriers), t not in ("float", "double"), i, barriers)
              for i, ((n, _, t), (why, barriers)) in enumerate(known.items()) if n == name and not why]
    if not worked:
        return ""
    reasons = {f"{op} ({why})" if why else op for op, why in min(worked)[3].items()}
    return "no: " + ", ".join(sorted(reasons)) if reasons else "yes"


def write(prober, operations, found, explain):
    table = prober.table()
    newest = {"": defs.onnx_opset_version()}
    lines = [HEAD, "| Operation | Opsets | " + " | ".join(f"Types on {d}" for d in DEVICES)
             + " | Gradient |", "|" + "---|" * (3 + len(DEVICES))]
    asked = questions(operations, found)
    known = {device: ask(prober, device, asked) for device in DEVICES}
    for device in DEVICES if explain else ():
        for question, (why, _) in known[device].items():
            if why:
                print(*question, why.replace("\n", " | ")[:400], file=sys.stderr)
    for name, (schema, first) in operations.items():
        last = newest.get(schema.domain, schema.since_version)
        opsets = opsetText(table[name], first, last) if name in table else "not supported"
        cells = [typesText(name, schema, known[device]) for device in DEVICES]
        gradient = gradientText(name, known[DEVICES[0]])
        if any(parameter.name == "body" or "branch" in parameter.name
               for parameter in schema.attributes.values()) and name in table:
            gradient = "those of the operations in its subgraphs"
            cells = [gradient] * len(DEVICES)
        lines.append("| " + " | ".join([name, opsets, *cells, gradient]) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", required=True, help="the program support_probe")
    parser.add_argument("--cases", required=True, help="the folder of exported cases")
    parser.add_argument("--table", required=True, help="SUPPORT.md")
    parser.add_argument("--check", action="store_true", help="fail when the table is not current")
    parser.add_argument("--explain", action="store_true", help="say why a type is not supported")
    options = parser.parse_args()
    found = templates(options.cases)
    text = write(Prober(options.probe), schemas(), found, options.explain)
    if not options.check:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(options.table, encoding="utf-8") as file:
        old = file.read()
    if old == text:
        return 0
    import difflib

    print("".join(difflib.unified_diff(old.splitlines(True), text.splitlines(True), options.table,
                                       "from the code")))
    print(f"{options.table} is not current; run\n  {' '.join(a for a in sys.argv if a != '--check')}\n"
          "and read the difference")
    return 1


if __name__ == "__main__":
    sys.exit(main())
