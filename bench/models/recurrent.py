"""A classifier of sequences: an LSTM in both directions, one forward, and scores for each step."""

import math

from models.graph import Graph, linear, size


def layer(graph, x, width, hidden, direction):
    """One LSTM from a state of zeros; [length, batch, width of both directions]."""
    count = 2 if direction == "bidirectional" else 1
    spread = 1 / math.sqrt(hidden)
    weights = (graph.weight(count, 4 * hidden, width, spread=spread),
               graph.weight(count, 4 * hidden, hidden, spread=spread),
               graph.weight(count, 8 * hidden, spread=0.1))
    shape = graph.op("Concat", graph.ints(count), size(graph, x, 1), graph.ints(hidden), axis=0)
    state = graph.op("ConstantOfShape", shape)
    y = graph.op("LSTM", x, *weights, "", state, state, outputs=3, direction=direction,
                 hidden_size=hidden)[0]
    y = graph.op("Transpose", y, perm=[0, 2, 1, 3])
    return graph.op("Reshape", y, graph.ints(0, 0, count * hidden))


def lstm(width=128, hidden=256, classes=64, length=100):
    graph = Graph("lstm")
    x = graph.input("input", [length, "batch", width])
    x = layer(graph, x, width, hidden, "bidirectional")
    x = layer(graph, x, 2 * hidden, hidden, "forward")
    graph.output(linear(graph, x, hidden, classes), [length, "batch", classes])
    return graph.model()
