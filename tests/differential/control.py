"""If, Loop and Scan: nested, without iterations, with captured values, axes and directions."""

import numpy as np
from onnx import TensorProto, helper

from graphs import Growing

_FLOAT = TensorProto.FLOAT


def _body(g, inputs, outputs, nodes, name):
    """A subgraph whose outputs have no declared shape; inputs are (name, type, shape or None)."""
    return helper.make_graph(
        nodes, g.builder.name(name),
        [helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in inputs],
        [helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in outputs])


class Program(Growing):
    """A growing graph with subgraphs. Values inside one are known only there."""

    def inside(self, make, depth):
        """Runs make() while nodes go into a list of their own; (its result, the nodes)."""
        nodes, shapes = self.builder.nodes, dict(self.shapes)
        self.builder.nodes = []
        result = make()
        if depth and self.coin(0.3):
            result = self.step(result, depth - 1)
        inner = self.builder.nodes
        self.builder.nodes, self.shapes = nodes, shapes
        return result, inner

    def few(self, value):
        """One to three element-wise operations; the shape stays."""
        shape = self.shapes[value]
        for _ in range(self.int(1, 3)):
            value = self.unary(value) if self.coin() else self.node(
                self.pick("Add", "Sub", "Mul"), [value, self.partner(shape)], shape)
        return self.tame(value)

    def condition(self, value):
        """A condition that is constant, fed, or computed from a value."""
        if self.coin(0.3):
            return self.builder.operand(np.array(self.coin()))
        total = self.builder.node("ReduceSum", [value], keepdims=0)
        return self.builder.node("Less", [total, self.builder.constant(np.float32(0))])

    def branch(self, value, depth):
        """An If; where both sides have one shape the value goes on."""
        shape = self.shapes[value]
        sides = {}
        for side in ("then_branch", "else_branch"):
            result, nodes = self.inside(lambda: self.few(value), depth)
            sides[side] = _body(self, [], [(result, _FLOAT, None)], nodes, side)
        return self.node("If", [self.condition(value)], shape, **sides)

    def loop(self, value, depth):
        """A Loop that carries the value, maybe collects it, and maybe stops early or never starts."""
        b, shape = self.builder, self.shapes[value]
        trips = self.pick(0, 0, 1, 2, 3, 5)
        index, going, carried, still = (b.name() for _ in range(4))

        def work():
            self.shapes[carried] = shape
            mixed = self.node("Mul", [carried, value], shape) if self.coin(0.4) else carried
            if self.coin(0.3):
                number = b.node("Cast", [index], to=_FLOAT)
                mixed = self.node("Add", [mixed, number], shape)
            return self.few(mixed)
        result, nodes = self.inside(work, depth)
        if self.coin(0.3):
            limit = b.constant(np.int64(self.int(0, 3)))
            nodes.append(helper.make_node("Less", [index, limit], [still]))
        else:
            nodes.append(helper.make_node("Identity", [going], [still]))
        outputs = [(still, TensorProto.BOOL, []), (result, _FLOAT, None)]
        collect = self.coin()
        if collect:
            copy = b.name()
            nodes.append(helper.make_node("Identity", [result], [copy]))
            outputs.append((copy, _FLOAT, None))
        body = _body(self, [(index, TensorProto.INT64, []), (going, TensorProto.BOOL, []),
                            (carried, _FLOAT, list(shape) if self.coin() else None)], outputs,
                     nodes, "loop")
        count = b.operand(np.int64(trips)) if self.coin(0.9) else ""
        start = b.operand(np.array(self.coin(0.85))) if self.coin(0.7) or not count else ""
        if not count:  # something must end it
            nodes_still = helper.make_node("Less", [index, b.constant(np.int64(3))], [still])
            kept = [n for n in body.node if still not in n.output] + [nodes_still]
            del body.node[:]
            body.node.extend(kept)
        names = b.node("Loop", [count, start, value], outputs=1 + collect, body=body)
        final = names[0] if collect else names
        self.shapes[final] = shape
        return final

    def scan(self, value, depth):
        """A Scan over some axis of one or two inputs, either way, with its output on any axis."""
        b, shape = self.builder, self.shapes[value]
        if not shape:
            return value
        axis = self.int(0, len(shape) - 1)
        rest = shape[:axis] + shape[axis + 1:]
        state, element = b.name(), b.name()
        initial = self.fresh(rest)

        def work():
            self.shapes[state] = self.shapes[element] = rest
            mixed = self.node(self.pick("Add", "Mul", "Max"), [state, element], rest)
            return self.few(mixed)
        result, nodes = self.inside(work, depth)
        copy = b.name()
        nodes.append(helper.make_node(self.pick("Identity", "Neg"), [result], [copy]))
        body = _body(self, [(state, _FLOAT, list(rest)), (element, _FLOAT, list(rest))],
                     [(result, _FLOAT, list(rest)), (copy, _FLOAT, list(rest))], nodes, "scan")
        back = self.int(0, len(shape) - 1)
        more = {"scan_input_axes": [axis - (len(shape) if self.coin(0.2) else 0)],
                "scan_output_axes": [back - (len(shape) if self.coin(0.2) else 0)],
                "scan_input_directions": [self.int(0, 1)],
                "scan_output_directions": [self.int(0, 1)]}
        names = b.node("Scan", [initial, value], outputs=2, body=body, num_scan_inputs=1,
                       **{key: v for key, v in more.items() if self.coin(0.8) or
                          key == "scan_input_axes"})
        self.shapes[names[0]] = rest
        out = 0 if not any(a.name == "scan_output_axes" for a in b.nodes[-1].attribute) else back
        self.shapes[names[1]] = rest[:out] + (shape[axis],) + rest[out:]
        return names[self.int(0, 1)]

    def step(self, value, depth):
        return self.pick(self.branch, self.loop, self.loop, self.scan, self.scan)(value, depth)


def program(random):
    """Control flow with element-wise operations between it."""
    g = Program(random)
    shape = tuple(int(d) for d in random.integers(0 if random.random() < 0.05 else 1, 6,
                                                  size=random.integers(1, 4)))
    value = g.fresh(shape, constant=False)
    for _ in range(g.int(1, 3)):
        value = g.step(value, depth=2)
        if g.coin(0.4):
            value = g.few(value)
    return g.finish("control", strategy="control")


STRATEGIES = {"control": program}
