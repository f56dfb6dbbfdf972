#!/usr/bin/env python3
"""Writes seeded models of ai.onnx.ml, and of TfIdfVectorizer, with ONNX Runtime's results as cases.

OUT/test_<case>: what ONNX's own suite has too few of. `graphrun test OUT` runs them.
"""

import argparse
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import cases

REVISION = "1\n"
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
         np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32,
         np.dtype(object): TensorProto.STRING}
random = np.random.default_rng(7)


def one(op, x, outputs=1, domain="ai.onnx.ml", version=3, more=(), **attributes):
    """A model of one node on `x` and what ONNX Runtime gives."""
    inputs = [x, *more]
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info(n, TYPES[v.dtype], v.shape) for n, v in zip(names, inputs)],
        [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)])
    opsets = [helper.make_opsetid("", 18)]
    if domain:
        opsets.append(helper.make_opsetid(domain, version))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    for port, known in zip(graph.output, inferred.graph.output):
        if known.type.WhichOneof("value"):
            model.graph.output[list(graph.output).index(port)].CopyFrom(known)
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    feeds = dict(zip(names, inputs))
    values = session.run(None, feeds)
    return model, feeds, {f"y{i}": np.asarray(v) for i, v in enumerate(values)}


def reals(*shape):
    return random.standard_normal(shape).astype(np.float32)


def floats(*shape):
    return [float(v) for v in reals(*shape).ravel()]


def words(*values):
    return np.array(values, dtype=object)


def encoders():
    x = words("b", "nothing", "a", "c", "a")
    yield "label_string_int", one("LabelEncoder", x, version=2, keys_strings=["a", "b", "c"],
                                  values_int64s=[5, 6, 7], default_int64=9)
    yield "label_string_string", one("LabelEncoder", x, version=2, keys_strings=["a", "b", "c"],
                                     values_strings=["x", "y", "z"], default_string="none")
    yield "label_int_string", one("LabelEncoder", np.array([[1, 4], [2, 3]]), version=2,
                                  keys_int64s=[1, 2, 3], values_strings=["x", "y", "z"])
    yield "label_float_float", one("LabelEncoder", np.array([1, 2.5, 3], np.float32), version=2,
                                   keys_floats=[1.0, 2.5], values_floats=[7.0, 8.0], default_float=-3.0)
    yield "label_v1", one("LabelEncoder", x, version=1, classes_strings=["a", "b", "c"])
    yield "label_v1_back", one("LabelEncoder", np.array([2, 0, 7]), version=1,
                               classes_strings=["a", "b", "c"], default_string="?")
    yield "category_to_int", one("CategoryMapper", x, cats_strings=["a", "b", "c"],
                                 cats_int64s=[3, 1, 2], default_int64=-7)
    yield "category_to_string", one("CategoryMapper", np.array([1, 3, 9]), cats_strings=["a", "b", "c"],
                                    cats_int64s=[3, 1, 2], default_string="none")
    yield "one_hot_string", one("OneHotEncoder", x, cats_strings=["a", "b", "c"], zeros=1)
    yield "one_hot_int", one("OneHotEncoder", np.array([[1, 2], [3, 1]]), cats_int64s=[1, 2, 3])
    yield "one_hot_float", one("OneHotEncoder", np.array([1, 2.7, 3], np.float32), cats_int64s=[1, 2, 3])


def plain():
    x = reals(4, 3)
    yield "scaler", one("Scaler", x, offset=[1.0, 2, 3], scale=[0.5, 2, 3])
    yield "scaler_one", one("Scaler", x.astype(np.int64), offset=[1.0], scale=[0.5])
    for norm in ("MAX", "L1", "L2"):
        yield f"normalizer_{norm.lower()}", one("Normalizer", np.vstack([x, np.zeros((1, 3), np.float32)]),
                                                norm=norm)
    gaps = x.copy()
    gaps[1, 2] = gaps[0, 0] = np.nan
    yield "imputer_nan", one("Imputer", gaps, imputed_value_floats=[1.0, 2, 3],
                             replaced_value_float=float("nan"))
    yield "imputer_int", one("Imputer", np.array([[1, 0], [0, 4]]), imputed_value_int64s=[9],
                             replaced_value_int64=0)
    yield "features", one("FeatureVectorizer", reals(2, 3), more=[reals(2, 2)], inputdimensions=[3, 2])
    yield "extractor", one("ArrayFeatureExtractor", x, more=[np.array([2, 0])])
    yield "extractor_vector", one("ArrayFeatureExtractor", x[0], more=[np.array([2, 0, 1])])
    yield "extractor_string", one("ArrayFeatureExtractor", words("a", "b", "c").reshape(1, 3),
                                  more=[np.array([2, 0])])
    yield "binarizer", one("Binarizer", x, threshold=0.25)


def linears():
    x = reals(6, 4)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        name = transform.lower()
        yield f"regressor_{name}", one("LinearRegressor", x, coefficients=floats(8), intercepts=[0.5, -1.0],
                                       targets=2, post_transform=transform)
        yield f"linear_{name}", one("LinearClassifier", x, 2, coefficients=floats(12), intercepts=floats(3),
                                    classlabels_strings=["a", "b", "c"], post_transform=transform)
        yield f"linear_two_{name}", one("LinearClassifier", x, 2, coefficients=floats(8), intercepts=floats(2),
                                        classlabels_ints=[3, 7], post_transform=transform)
        yield f"linear_binary_{name}", one("LinearClassifier", x, 2, coefficients=floats(4), intercepts=[0.1],
                                           classlabels_ints=[3, 7], post_transform=transform)


def svms():
    x = reals(6, 3)
    parameters = [0.5, 0.25, 3.0]
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        name = kernel.lower()
        yield f"svr_{name}", one("SVMRegressor", x, kernel_type=kernel, kernel_params=parameters,
                                 coefficients=floats(5), support_vectors=floats(15), n_supports=5, rho=[0.3])
        yield f"svc_{name}", one("SVMClassifier", x, 2, kernel_type=kernel, kernel_params=parameters,
                                 coefficients=floats(12), support_vectors=floats(18), rho=floats(3),
                                 vectors_per_class=[2, 3, 1], classlabels_strings=["a", "b", "c"])
    yield "svr_liblinear", one("SVMRegressor", x, kernel_type="LINEAR", kernel_params=parameters,
                                   coefficients=floats(3), rho=[0.3])
    yield "svr_one_class", one("SVMRegressor", x, kernel_type="RBF", kernel_params=parameters, one_class=1,
                               coefficients=floats(5), support_vectors=floats(15), n_supports=5, rho=[-0.3])
    yield "svc_probabilities", one("SVMClassifier", x, 2, kernel_type="RBF", kernel_params=parameters,
                                   coefficients=floats(12), support_vectors=floats(18), rho=floats(3),
                                   prob_a=[-1.0, -0.5, -2.0], prob_b=[0.1, 0.2, 0.3],
                                   vectors_per_class=[2, 3, 1], classlabels_ints=[4, 5, 6])
    yield "svc_two", one("SVMClassifier", x, 2, kernel_type="RBF", kernel_params=parameters,
                         coefficients=floats(5), support_vectors=floats(15), rho=[0.1],
                         vectors_per_class=[2, 3], classlabels_ints=[0, 1])
    yield "svc_two_probabilities", one("SVMClassifier", x, 2, kernel_type="RBF", kernel_params=parameters,
                                       coefficients=floats(5), support_vectors=floats(15), rho=[0.1],
                                       prob_a=[-1.0], prob_b=[0.1], vectors_per_class=[2, 3],
                                       classlabels_ints=[0, 1])
    yield "svc_liblinear", one("SVMClassifier", x, 2, kernel_type="LINEAR", kernel_params=parameters,
                                    coefficients=floats(9), rho=[0.2, 0, 0],
                               classlabels_ints=[4, 5, 6])


def trees(features, count, depth, modes=("BRANCH_LEQ",)):
    """The nodes_… attributes of full trees, and the (tree, node) of each leaf."""
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                 "falsenodeids", "missing_value_tracks_true", "hitrates")}
    leaves = []
    for tree in range(count):
        for n in range(2 ** (depth + 1) - 1):
            leaf = n >= 2 ** depth - 1
            row = {"treeids": tree, "nodeids": n, "featureids": 0 if leaf else int(random.integers(features)),
                   "values": 0.0 if leaf else float(np.float32(random.standard_normal())),
                   "modes": "LEAF" if leaf else modes[int(random.integers(len(modes)))],
                   "truenodeids": 0 if leaf else 2 * n + 1, "falsenodeids": 0 if leaf else 2 * n + 2,
                   "missing_value_tracks_true": int(random.integers(2)), "hitrates": 1.0}
            for key, value in row.items():
                nodes[key].append(value)
            if leaf:
                leaves.append((tree, n))
    return {f"nodes_{key}": values for key, values in nodes.items()}, leaves


def weighted(prefix, leaves, ids, positive=False):
    """Weights of each leaf for each of `ids`."""
    rows = [(tree, node, i) for tree, node in leaves for i in ids]
    weights = [abs(v) / 4 if positive else v for v in floats(len(rows))]
    return {f"{prefix}_treeids": [r[0] for r in rows], f"{prefix}_nodeids": [r[1] for r in rows],
            f"{prefix}_ids": [r[2] for r in rows], f"{prefix}_weights": weights}


def forests():
    x = reals(7, 4)
    x[2, 1] = np.nan
    every = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_NEQ", "BRANCH_EQ")
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        nodes, leaves = trees(4, 3, 2, every)
        yield f"forest_{aggregate.lower()}", one(
            "TreeEnsembleRegressor", x, version=1, aggregate_function=aggregate, n_targets=2,
            base_values=[0.5, -0.25], **nodes, **weighted("target", leaves, (0, 1)))
    nodes, leaves = trees(4, 3, 2)
    yield "forest_one", one("TreeEnsembleRegressor", x.astype(np.float64), version=1, n_targets=1, **nodes,
                            **weighted("target", leaves, (0,)))
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        name = transform.lower()
        nodes, leaves = trees(4, 3, 2)
        yield f"trees_{name}", one(
            "TreeEnsembleClassifier", x, 2, version=1, post_transform=transform, base_values=floats(3),
            classlabels_strings=["a", "b", "c"], **nodes, **weighted("class", leaves, (0, 1, 2)))
        for positive in (False, True):
            sign = "positive" if positive else "any"
            nodes, leaves = trees(4, 2, 2)
            for column in (0, 1):
                yield f"trees_binary{column}_{sign}_{name}", one(
                    "TreeEnsembleClassifier", x, 2, version=1, post_transform=transform,
                    classlabels_int64s=[3, 7], **nodes, **weighted("class", leaves, (column,), positive))


def ngrams():
    pool = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]
    counts = {"ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6]}
    x = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], dtype=np.int64)
    for mode in ("TF", "IDF", "TFIDF"):
        yield f"tfidf_{mode.lower()}", one("TfIdfVectorizer", x, domain="", mode=mode, max_gram_length=2,
                                           min_gram_length=1, max_skip_count=2, pool_int64s=pool,
                                           weights=[0.5, 1, 2, 3, 4, 5, 6], **counts)
    yield "tfidf_words", one("TfIdfVectorizer", words("1", "5", "6", "x", "7", "8"), domain="", mode="TF",
                             max_gram_length=2, min_gram_length=1, max_skip_count=1,
                             pool_strings=[str(v) for v in pool], **counts)


def export(out):
    for family in (encoders, plain, linears, svms, forests, ngrams):
        for name, (model, inputs, outputs) in family():
            case = os.path.join(out, f"test_ml_{name}")
            os.makedirs(case)
            onnx.save(model, os.path.join(case, "model.onnx"))
            cases.writeDataSet(case, 0, inputs, outputs)
            cases.writeTolerance(case, 1e-3, 1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    out = os.path.abspath(parser.parse_args().out)
    made = cases.fresh(out, REVISION + cases.packageVersions("onnx", "onnxruntime"), export)
    print(f"{'wrote' if made else 'found'} {len(os.listdir(out)) - 1} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
