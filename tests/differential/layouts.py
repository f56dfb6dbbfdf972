"""Chains of convolutions, pools, concatenations and resizing with odd channels: layouts and their
changes, post-operations behind convolutions, pieces of a concatenation written in place."""

import numpy as np

from graphs import Growing

_LEAST = 3  # spatial extent below which nothing shrinks it further


class Network(Growing):
    """A growing graph whose values are N x C x H x W, or with another number of spatial dims."""

    def conv(self, value):
        n, channels, *extent = self.shapes[value]
        filters = self.pick(1, 2, 3, 5, 8, 16, 17)
        group = 1
        if self.coin(0.2):
            group, filters = channels, channels * self.int(1, 2)
        elif channels % 2 == 0 and self.coin(0.2):
            group, filters = 2, 2 * self.int(1, 5)
        kernel = [self.pick(1, 1, 2, 3, 3, 5) for _ in extent]
        strides = [self.pick(1, 1, 1, 2) for _ in extent]
        pads = [self.int(0, k // 2) for k in kernel] * 2
        out = [(e + 2 * p - k) // s + 1 for e, p, k, s in zip(extent, pads, kernel, strides)]
        if min(out) < 1:
            return value
        inputs = [value, self.fresh([filters, channels // group] + kernel, low=-0.4, high=0.4,
                                    constant=self.random.random() < 0.85)]
        if self.coin():
            inputs.append(self.fresh((filters,), constant=self.random.random() < 0.85))
        return self.node("Conv", inputs, [n, filters] + out, group=group, pads=pads,
                         strides=strides)

    def deconv(self, value):
        n, channels, *extent = self.shapes[value]
        filters, kernel = self.pick(1, 3, 4, 8), [self.int(1, 4) for _ in extent]
        strides = [self.int(1, 3) for _ in extent]
        out = [(e - 1) * s + k for e, s, k in zip(extent, strides, kernel)]
        if np.prod(out) > 3000:
            return value
        weight = self.fresh([channels, filters] + kernel, low=-0.4, high=0.4, constant=True)
        return self.node("ConvTranspose", [value, weight], [n, filters] + out, strides=strides)

    def pool(self, value):
        n, channels, *extent = self.shapes[value]
        kernel = [min(e, self.int(1, 3)) for e in extent]
        strides = [self.int(1, 3) for _ in extent]
        out = [(e - k) // s + 1 for e, k, s in zip(extent, kernel, strides)]
        kind = self.pick("MaxPool", "AveragePool")
        if self.coin(0.2):
            return self.node("GlobalAveragePool", [value], [n, channels] + [1] * len(extent))
        return self.node(kind, [value], [n, channels] + out, kernel_shape=kernel, strides=strides)

    def normalise(self, value):
        channels = self.shapes[value][1]
        inputs = [value] + [self.fresh((channels,), True, low, high) for low, high in (
            (0.5, 1.5), (-1, 1), (-1, 1), (0.5, 2))]
        return self.node("BatchNormalization", inputs, self.shapes[value])

    def resize(self, value):
        shape = self.shapes[value]
        scales = [1, 1] + [self.pick(1, 2) for _ in shape[2:]]
        if np.prod(shape) * np.prod(scales) > 30_000:
            return value
        mode = self.pick("nearest", "linear")
        return self.node("Resize", [value, "", self.number(scales, np.float32)],
                         [int(d * s) for d, s in zip(shape, scales)], mode=mode,
                         coordinate_transformation_mode=self.pick("half_pixel", "asymmetric"))

    def concat(self, value):
        shape = self.shapes[value]
        fitting = [n for n, s in self.shapes.items()
                   if len(s) == len(shape) and s[0] == shape[0] and s[2:] == shape[2:]]
        chosen = [fitting[self.random.integers(len(fitting))] for _ in range(self.int(1, 3))]
        chosen.append(value)
        channels = sum(self.shapes[n][1] for n in chosen)
        if channels > 100:
            return value
        return self.node("Concat", chosen, (shape[0], channels) + shape[2:], axis=1)

    def channelSplit(self, value):
        return self._split(value, 1)

    def shuffle(self, value):
        n, channels, *extent = self.shapes[value]
        groups = self.pick(1, 2, 3)
        if channels % groups:
            return value
        wide = (n, groups, channels // groups, *extent)
        value = self.node("Reshape", [value, self.number(wide)], wide)
        order = [0, 2, 1] + list(range(3, len(wide)))
        value = self.node("Transpose", [value], [wide[i] for i in order], perm=order)
        return self.node("Reshape", [value, self.number((n, channels, *extent))],
                         (n, channels, *extent))


def network(random):
    """Image-like values through what chooses layouts and what must follow it."""
    kind = ("float", "float", "float", "float16", "bfloat16")[random.integers(5)]
    g = Network(random, kind)
    spatial = (1, 2, 2, 2, 2, 3)[random.integers(6)]
    first = [g.pick(1, 2, 3), g.pick(1, 3, 5, 8, 16)] + [g.int(_LEAST, 12) for _ in range(spatial)]
    if spatial == 2 and g.coin(0.15):
        first[3] = 1
    g.fresh(first, constant=False)
    work = [g.conv] * 5 + [g.pool, g.concat, g.concat, g.normalise, g.unary, g.unary, g.unary,
                           g.binary, g.binary, g.channelSplit, g.deconv, g.shuffle]
    work += [g.resize] if spatial == 2 and kind == "float" else []
    for _ in range(g.int(2, 14)):
        work[random.integers(len(work))](g.any(rank=spatial + 2))
        if len(g.builder.nodes) % 5 == 4:
            g.tame(g.any(rank=spatial + 2))
    return g.finish("network", strategy="network")


STRATEGIES = {"network": network}
