#!/usr/bin/env python3
"""Makes the goldens of this folder with ONNX Runtime; README.md describes their format and the generator.

usage: make_goldens.py MODELS_FOLDER [CASE...]       (needs onnx, onnxruntime, numpy; all cases by default)

Expected values come from a session without graph optimisations. The same case is run again with all of
them, and must agree within the tolerance that the tests use: a golden that only one way of computing
reaches would be no golden.
"""

import argparse
import hashlib
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SAMPLED = 256  # values kept of a larger output
LARGEST = 32  # of these, those of the largest magnitude

TYPES = {"f32": np.float32, "i32": np.int32, "i64": np.int64}


# --- the generator -----------------------------------------------------------------------------------------


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def bits(case, name, count):
    """64 random bits for each of a tensor's elements: splitmix64, counted from the seed of its name."""
    seed = np.uint64(fnv1a64(f"{case}:{name}"))
    z = seed + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_floats(case, name, dims, base, scale):
    upper = (bits(case, name, int(np.prod(dims))) >> np.uint64(40)).astype(np.float32)
    signs = upper * np.float32(2**-23) - np.float32(1)
    return (np.float32(base) + np.float32(scale) * signs).reshape(dims)


def random_integers(case, name, dims, dtype, low, count):
    offsets = (bits(case, name, int(np.prod(dims))) >> np.uint64(33)) % np.uint64(count)
    return (low + offsets.astype(np.int64)).astype(dtype).reshape(dims)


# --- inputs: each is (name, type, dims, how), with how as it is written into the golden ---------------------


def make_input(case, name, dtype, dims, how):
    kind, *arguments = how.split()
    if kind == "random":
        return random_floats(case, name, dims, float(arguments[0]), float(arguments[1]))
    if kind == "integers":
        return random_integers(case, name, dims, TYPES[dtype], int(arguments[0]), int(arguments[1]))
    if kind == "fill":
        return np.full(dims, float(arguments[0]), TYPES[dtype])
    if kind == "npy":
        stored = np.load(os.path.join(HERE, arguments[0]), allow_pickle=False).ravel()[: int(np.prod(dims))]
        if dtype != "f32":
            return stored.astype(TYPES[dtype]).reshape(dims)
        return (stored.astype(np.float32) / np.float32(arguments[1]) - np.float32(arguments[2])).reshape(dims)
    raise ValueError(how)


def light(case, data):
    return case, case + ".onnx", [(data, "f32", (1, 3, 224, 224), "random 0 1")]


def silero(case, batch, samples, rate):
    return case, "silero_vad.onnx", [("input", "f32", (batch, samples), "random 0 0.25"),
                                     ("state", "f32", (2, batch, 128), "random 0 0.5"),
                                     ("sr", "i64", (), f"fill {rate}")]


IMAGE = "127.5 1"  # 0..255 to -1..1
DET, REC, CLS = (f"ch_{name}_infer.onnx" for name in ("PP-OCRv4_det", "PP-OCRv4_rec", "ppocr_mobile_v2.0_cls"))
CAFFE2 = ("resnet50", "shufflenet", "zfnet512")
OTHERS = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "squeezenet", "vgg19")
CASES = [
    ("digits", "examples/digits/digits.onnx", [("image", "f32", (16, 1, 28, 28), "npy digits_16.npy 255 0")]),
    ("mnist_cntk_digit", "mnist_cntk.onnx", [("Input3", "f32", (1, 1, 28, 28), "npy digits_16.npy 1 0")]),
    ("mnist_cntk_random", "mnist_cntk.onnx", [("Input3", "f32", (1, 1, 28, 28), "random 0 1")]),
    silero("silero_16k", 3, 576, 16000),
    silero("silero_8k", 2, 288, 8000),
    ("magika_random", "magika_standard_v3_3.onnx", [("bytes", "i32", (2, 2048), "integers 0 257")]),
    ("magika_text", "magika_standard_v3_3.onnx", [("bytes", "i32", (1, 2048), "npy source_text.npy")]),
    ("ocr_det_random", DET, [("x", "f32", (2, 3, 64, 96), "random 0 1")]),
    ("ocr_det_text", DET, [("x", "f32", (1, 3, 96, 320), f"npy text_page.npy {IMAGE}")]),
    ("ocr_rec_random", REC, [("x", "f32", (2, 3, 48, 160), "random 0 1")]),
    ("ocr_rec_text", REC, [("x", "f32", (1, 3, 48, 320), f"npy text_line.npy {IMAGE}")]),
    ("ocr_cls_random", CLS, [("x", "f32", (3, 3, 48, 192), "random 0 1")]),
    ("ocr_cls_text", CLS, [("x", "f32", (1, 3, 48, 320), f"npy text_line.npy {IMAGE}")]),
    *[light(f"light_{name}", "data_0") for name in OTHERS],
    *[light(f"light_{name}", "gpu_0/data_0") for name in CAFFE2],
]
# Outputs that are probabilities although no Softmax or Sigmoid of the main graph makes them.
PROBABILITIES = {("silero_vad.onnx", "output"), ("magika_standard_v3_3.onnx", "target_label")}


# --- weights of the light models ---------------------------------------------------------------------------


def role(graph, name):
    """Operator and input index of a weight's first reader, looking through Reshape and Unsqueeze."""
    for node in graph.node:
        for index, read in enumerate(node.input):
            if read == name:
                if node.op_type in ("Reshape", "Unsqueeze"):
                    return role(graph, node.output[0])
                return node.op_type, index
    return None


def base_and_scale(what, dims):
    """Uniform in base +- scale: He's variance 2 / fan-in for weights, and near identity for normalisations."""
    if what in (("Conv", 1), ("Gemm", 1)):
        fan_in = dims[-1] if what[0] == "Gemm" else int(np.prod(dims[1:]))
        return 0.0, float(np.float32(np.sqrt(6.0 / fan_in)))
    if what in (("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 1)):
        return 1.0, 0.25
    if what in (("Conv", 2), ("Gemm", 2), ("BatchNormalization", 2), ("BatchNormalization", 3), ("Add", 1)):
        return 0.0, 0.125
    raise ValueError(f"a weight read as {what}")


def weights_of(graph):
    """(name, dims, base, scale) of every float weight: outputs of ConstantOfShape, and initializers."""
    initializers = {tensor.name: tensor for tensor in graph.initializer}
    found = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            found.append((node.output[0], tuple(map(int, numpy_helper.to_array(initializers[node.input[0]])))))
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            found.append((tensor.name, tuple(tensor.dims)))
    found = [(name, dims, role(graph, name)) for name, dims in found]
    return [(name, dims, *base_and_scale(what, dims)) for name, dims, what in found if what]


def replace_weights(model, case, weights):
    graph = model.graph
    names = {weight[0] for weight in weights}
    keep = [node for node in graph.node if not (node.op_type == "ConstantOfShape" and node.output[0] in names)]
    del graph.node[:]
    graph.node.extend(keep)
    old = [tensor for tensor in graph.initializer if tensor.name not in names]
    del graph.initializer[:]
    graph.initializer.extend(old)
    for name, dims, base, scale in weights:
        graph.initializer.append(numpy_helper.from_array(random_floats(case, name, dims, base, scale), name))
    model.ir_version = max(model.ir_version, 4)  # from 4 on an initializer need not be an input as well


def calibrated(model, case, weights, feeds, scores):
    """The weights with those of the last layer scaled by a power of two that brings the scores' spread to 1..2."""
    last = next(node for node in reversed(model.graph.node) if node.op_type in ("Conv", "Gemm")).input[1]
    by_output = {node.output[0]: node for node in model.graph.node}
    while last in by_output and by_output[last].op_type == "Reshape":
        last = by_output[last].input[0]
    trial = onnx.ModelProto()
    trial.CopyFrom(model)
    replace_weights(trial, case, weights)
    spread = float(np.std(run(trial, [scores], feeds, False)[0]))
    factor = 2.0 ** -np.floor(np.log2(spread))
    return [(name, dims, base, scale * factor if name == last else scale) for name, dims, base, scale in weights]


# --- running and writing -----------------------------------------------------------------------------------


def run(model, outputs, feeds, optimised):
    declared = {value.name for value in model.graph.output}
    extended = onnx.ModelProto()
    extended.CopyFrom(model)
    for name in outputs:
        if name not in declared:
            extended.graph.output.append(helper.make_empty_tensor_value_info(name))
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(extended.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(outputs, feeds)


def outputs_of(model, model_name):
    """(name, kind) of the outputs, and of what goes into a Softmax or Sigmoid that makes one of them."""
    by_output = {node.output[0]: node for node in model.graph.node}
    found = []
    for value in model.graph.output:
        node = by_output.get(value.name)
        if node is not None and node.op_type in ("Softmax", "Sigmoid"):
            found += [(value.name, "probability"), (node.input[0], "intermediate")]
        elif (model_name, value.name) in PROBABILITIES:
            found.append((value.name, "probability"))
        else:
            found.append((value.name, "value"))
    return found


def middle(model):
    """The Relu halfway through a model: unlike pooled scores, what it makes depends strongly on the input."""
    made = [node.output[0] for node in model.graph.node if node.op_type == "Relu"]
    return made[len(made) // 2]


def positions(case, name, data):
    if data.size <= SAMPLED:
        return np.arange(data.size)
    largest = np.argsort(-np.abs(data), kind="stable")[:LARGEST]
    # more than needed, as some fall together
    random = (bits(case, name + "#positions", 2 * SAMPLED) % np.uint64(data.size)).astype(np.int64)
    unique = list(dict.fromkeys([*largest.tolist(), *random.tolist()]))
    return np.array(sorted(unique[:SAMPLED]))


def check_agreement(case, name, kind, expected, other):
    largest = float(np.abs(expected).max())
    if not np.isfinite(expected).all():
        sys.exit(f"{case}: {name} is not finite")
    difference = np.abs(expected.astype(np.float64) - other)
    bound = 1e-4 if kind == "probability" else 1e-3 * np.abs(expected) + 1e-5 * largest
    worst = float((difference / bound).max())
    print(f"  {name} {list(expected.shape)}: largest {largest:.4g}, spread {expected.std():.4g}, "
          f"optimised differs by {worst:.3f} of the tolerance", flush=True)
    if worst > 1:
        sys.exit(f"{case}: {name} depends on how it is computed")


def dims_text(dims):
    return "x".join(map(str, dims)) if len(dims) else "scalar"


def make_case(folder, case, model_name, inputs):
    local = os.path.join(ROOT, model_name)
    path = local if os.path.exists(local) else os.path.join(folder, model_name)
    print(f"{case}: {path}", flush=True)
    with open(path, "rb") as file:
        content = file.read()
    model = onnx.load_model_from_string(content)
    outputs = outputs_of(model, model_name)
    feeds = {name: make_input(case, name, dtype, dims, how) for name, dtype, dims, how in inputs}
    weights = []
    if case.startswith("light_"):
        weights = calibrated(model, case, weights_of(model.graph), feeds, outputs[-1][0])
        replace_weights(model, case, weights)
        outputs.append((middle(model), "intermediate"))
    names = [name for name, _ in outputs]
    expected = run(model, names, feeds, False)
    optimised = run(model, names, feeds, True)

    lines = [f"model {model_name}", f"sha256 {hashlib.sha256(content).hexdigest()}"]
    lines += [f"weight {name} {dims_text(dims)} {base:.9g} {scale:.9g}" for name, dims, base, scale in weights]
    lines += [f"input {name} {dtype} {dims_text(dims)} {how}" for name, dtype, dims, how in inputs]
    for (name, kind), data, other in zip(outputs, expected, optimised):
        check_agreement(case, name, kind, data, other)
        flat = data.ravel()
        wide = flat.astype(np.float64)
        chosen = positions(case, name, flat)
        lines.append(f"output {name} f32 {dims_text(data.shape)} {kind} {np.abs(flat).max():.9g} {wide.sum():.9g} "
                     f"{np.abs(wide).sum():.9g} {len(chosen)}")
        lines += [f"{position} {flat[position]:.9g}" for position in chosen]
    with open(os.path.join(HERE, case + ".golden"), "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS_FOLDER")
    parser.add_argument("cases", metavar="CASE", nargs="*")
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - {case[0] for case in CASES}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}")
    for case in CASES:
        if not arguments.cases or case[0] in arguments.cases:
            make_case(arguments.models, *case)


if __name__ == "__main__":
    main()
