"""The networks of networks.h in PyTorch, with the same parameters in the same order."""

import dataclasses
import typing

import torch
from torch import nn
from torch.nn import functional

TOKENS = 11


@dataclasses.dataclass
class Widths:
    """What sizes the networks."""

    picture: int
    dense: int
    channels: int
    model: int
    inner: int
    heads: int
    length: int
    features: int
    hidden: int


SIZES = {
    "full": Widths(picture=784, dense=1024, channels=64, model=512, inner=2048, heads=8, length=64, features=128,
                   hidden=256),
    "small": Widths(picture=20, dense=16, channels=4, model=8, inner=12, heads=2, length=5, features=3,
                    hidden=6),
}


@dataclasses.dataclass
class Feed:
    """Dims of a sample, and the number of classes; 0: numbers."""

    sample: list
    classes: int = 0


@dataclasses.dataclass
class Network:
    x: Feed
    target: Feed
    module: nn.Module
    # (module, x, target) to pairs of a loss and the parameters that it trains
    objectives: typing.Callable


def trained(module):
    """The parameters that are trained, in order."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def classified(module, x, target):
    logits = module(x)
    return [(functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1)), trained(module))]


class Block(nn.Module):
    def __init__(self, inner, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.down = None
        if stride != 1:
            self.down = nn.Sequential(nn.Conv2d(inner, channels, 1, stride, bias=False),
                                      nn.BatchNorm2d(channels))

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return functional.relu(y + (x if self.down is None else self.down(x)))


class Bottleneck(nn.Module):
    def __init__(self, inner, channels, stride, first):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, channels, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(4 * channels)
        self.down = None
        if first:
            self.down = nn.Sequential(nn.Conv2d(inner, 4 * channels, 1, stride, bias=False),
                                      nn.BatchNorm2d(4 * channels))

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        y = functional.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return functional.relu(y + (x if self.down is None else self.down(x)))


class SelfAttention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in (self.q, self.k, self.v))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(seen.transpose(1, 2).reshape(batch, length, width))


class EncoderLayer(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.seen = SelfAttention(widths.model, widths.heads, causal=False)
        self.norm1 = nn.LayerNorm(widths.model)
        self.first = nn.Linear(widths.model, widths.inner)
        self.back = nn.Linear(widths.inner, widths.model)
        self.norm2 = nn.LayerNorm(widths.model)

    def forward(self, x):
        y = self.norm1(x + self.seen(x))
        return self.norm2(y + self.back(functional.relu(self.first(y))))


class DecoderLayer(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.norm1 = nn.LayerNorm(widths.model)
        self.seen = SelfAttention(widths.model, widths.heads, causal=True)
        self.norm2 = nn.LayerNorm(widths.model)
        self.first = nn.Linear(widths.model, widths.inner)
        self.back = nn.Linear(widths.inner, widths.model)

    def forward(self, x):
        x = x + self.seen(self.norm1(x))
        return x + self.back(functional.gelu(self.first(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, widths.model)
        self.positions = nn.Embedding(widths.length, widths.model)
        self.layers = nn.Sequential(DecoderLayer(widths), DecoderLayer(widths))
        self.norm = nn.LayerNorm(widths.model)
        self.head = nn.Linear(widths.model, TOKENS, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.tokens(x) + self.positions.weight)))


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


class Lstm(nn.Module):
    """An LSTM's last hidden values. It has one bias, as ours has: PyTorch's second one stays 0."""

    def __init__(self, features, hidden):
        super().__init__()
        self.layer = nn.LSTM(features, hidden, batch_first=True)
        self.layer.bias_hh_l0.requires_grad_(False).zero_()

    def forward(self, x):
        return self.layer(x)[0][:, -1]


class Gru(nn.Module):
    """A GRU's last hidden values. It resets them before their product, as ONNX's does by default; nn.GRU does behind."""

    def __init__(self, features, hidden):
        super().__init__()
        self.input = nn.Parameter(torch.zeros(3 * hidden, features))
        self.recurrent = nn.Parameter(torch.zeros(3 * hidden, hidden))
        self.bias = nn.Parameter(torch.zeros(3 * hidden))

    def forward(self, x):
        updates, resets, news = self.recurrent.chunk(3)
        hidden = x.new_zeros(len(x), updates.shape[1])
        for step in x.unbind(1):
            update, reset, new = functional.linear(step, self.input, self.bias).chunk(3, dim=1)
            update = torch.sigmoid(update + hidden @ updates.t())
            reset = torch.sigmoid(reset + hidden @ resets.t())
            new = torch.tanh(new + (reset * hidden) @ news.t())
            hidden = (1 - update) * new + update * hidden
        return hidden


class UNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down0 = nn.Conv2d(1, channels, 3, padding=1)
        self.down1 = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.down2 = nn.Conv2d(2 * channels, 4 * channels, 3, padding=1)
        self.up1 = nn.ConvTranspose2d(4 * channels, 2 * channels, 2, stride=2)
        self.join1 = nn.Conv2d(4 * channels, 2 * channels, 3, padding=1)
        self.up0 = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.join0 = nn.Conv2d(2 * channels, channels, 3, padding=1)
        self.head = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        top = functional.relu(self.down0(x))
        middle = functional.relu(self.down1(functional.max_pool2d(top, 2)))
        y = functional.relu(self.down2(functional.max_pool2d(middle, 2)))
        y = functional.relu(self.join1(torch.cat([self.up1(y), middle], dim=1)))
        y = functional.relu(self.join0(torch.cat([self.up0(y), top], dim=1)))
        return self.head(y)


class Gan(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.generator = nn.Sequential(
            nn.Linear(6, 8 * channels), nn.ReLU(), nn.Unflatten(1, (2 * channels, 2, 2)),
            nn.ConvTranspose2d(2 * channels, channels, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(channels, 1, 4, 2, 1), nn.Tanh())
        self.discriminator = nn.Sequential(
            nn.Conv2d(1, channels, 3, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(channels, 2 * channels, 3, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(8 * channels, 1))


def adversaries(module, x, z):
    def crossentropy(logits, wanted):
        return functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, wanted))

    real, made = module.discriminator(x), module.discriminator(module.generator(z))
    return [(crossentropy(real, 1) + crossentropy(made, 0), trained(module.discriminator)),
            (crossentropy(made, 1), trained(module.generator))]


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def mlp(widths):
    sizes = [widths.picture] + 3 * [widths.dense]
    layers = []
    for inner, outer in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 10))


def cnn20():
    layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
              nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    inner = 1568
    for _ in range(20):
        layers += [nn.Linear(inner, 966), nn.ReLU()]
        inner = 966
    return nn.Sequential(*layers, nn.Linear(966, 10))


def resnet18(channels):
    layers = [nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    inner = channels
    for stage in range(4):
        for block in range(2):
            layers.append(Block(inner, channels << stage, 2 if stage > 0 and block == 0 else 1))
            inner = channels << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 10))


def resnet50():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Bottleneck(inner, 64 << stage, stride, first=block == 0))
            inner = 4 * (64 << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 10))


def autoencoder(widths):
    size, width = widths.picture, widths.dense
    return nn.Sequential(nn.Linear(size, width), nn.GELU(), nn.Linear(width, width // 2), nn.Tanh(),
                         nn.Linear(width // 2, width // 4), nn.Linear(width // 4, width // 2), nn.Tanh(),
                         nn.Linear(width // 2, width), nn.GELU(), nn.Linear(width, size), nn.Sigmoid())


def classifier(sample, module):
    return Network(Feed(sample), Feed([], 10), module, classified)


def compared(loss):
    """Objectives of a module whose output is compared with the target."""
    return lambda module, x, target: [(loss(module(x), target), trained(module))]


# name to a function of Widths
MAKERS = {
    "lenet": lambda w: classifier([1, 28, 28], lenet()),
    "mlp": lambda w: classifier([w.picture], mlp(w)),
    "cnn20": lambda w: classifier([1, 28, 28], cnn20()),
    "resnet18": lambda w: classifier([3, 32, 32], resnet18(w.channels)),
    "resnet50": lambda w: classifier([3, 224, 224], resnet50()),
    "transformer": lambda w: classifier(
        [w.length, w.model],
        nn.Sequential(EncoderLayer(w), EncoderLayer(w), Mean(), nn.Linear(w.model, 10))),
    "lstm": lambda w: classifier([w.length, w.features],
                                 nn.Sequential(Lstm(w.features, w.hidden), nn.Linear(w.hidden, 10))),
    "gru": lambda w: classifier([w.length, w.features],
                                nn.Sequential(Gru(w.features, w.hidden), nn.Linear(w.hidden, 10))),
    "decoder": lambda w: Network(Feed([w.length], TOKENS), Feed([w.length], TOKENS), Decoder(w), classified),
    "unet": lambda w: Network(Feed([1, 16, 16]), Feed([1, 16, 16]), UNet(w.channels),
                              compared(functional.binary_cross_entropy_with_logits)),
    "autoencoder": lambda w: Network(Feed([w.picture]), Feed([w.picture]), autoencoder(w),
                                     compared(functional.mse_loss)),
    "gan": lambda w: Network(Feed([1, 8, 8]), Feed([6]), Gan(w.channels), adversaries),
}

FULL_ONLY = ("cnn20", "resnet50")  # there is no small one of these


def make(name, size):
    """A network with PyTorch's first values, at one of SIZES."""
    return MAKERS[name](SIZES[size])


def stored(module):
    """Pairs of a parameter and whether GraphRun has it transposed, in order: a dense layer's matrix is in x out."""
    owners = {id(part.weight) for part in module.modules() if isinstance(part, nn.Linear)}
    return [(parameter, id(parameter) in owners) for parameter in trained(module)]
