"""Writes BERT encoders as ONNX files, with nothing but numpy.

An ONNX file is one protobuf message. The few messages and fields that a graph needs are written by
hand here (numbers from `onnx.proto` of the ONNX project), so that no further package is needed.
"""

import numpy as np

FLOAT, INT8, INT64 = 1, 3, 7
TYPES = {"float32": FLOAT, "int8": INT8, "int64": INT64}


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One field: an int as a varint, text and bytes with their length before them."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, array):
    array = np.ascontiguousarray(array)
    dims = b"".join(field(1, dim) for dim in array.shape)
    return dims + field(2, TYPES[str(array.dtype)]) + field(8, name) + field(9, array.tobytes())


def attribute(name, value):
    if isinstance(value, float):
        number = varint(2 << 3 | 5) + np.float32(value).tobytes()
        return field(1, name) + number + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, item) for item in value) + field(20, 7)


def value_info(name, kind, shape):
    dims = b"".join(
        field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in shape
    )
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


class Graph:
    """Nodes and weights, in the order in which they are added."""

    def __init__(self):
        self.nodes, self.weights, self.n = [], [], 0

    def weight(self, array, name=None):
        if name is None:
            name = self.name("w")
        self.weights.append(tensor(name, array))
        return name

    def integers(self, *values):
        return self.weight(np.array(values, np.int64))

    def number(self, value):
        return self.weight(np.array(value, np.float32))

    def name(self, stem):
        self.n += 1
        return f"{stem}{self.n}"

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or self.name(kind)
        body = b"".join(field(1, name) for name in inputs) + field(2, output)
        body += field(3, self.name("node")) + field(4, kind)
        body += b"".join(field(5, attribute(*item)) for item in attributes.items())
        self.nodes.append(body)
        return output

    def model(self, inputs, outputs):
        graph = b"".join(field(1, node) for node in self.nodes) + field(2, "bert")
        graph += b"".join(field(5, weight) for weight in self.weights)
        graph += b"".join(field(11, value) for value in inputs)
        graph += b"".join(field(12, value) for value in outputs)
        opset = field(1, "") + field(2, 17)
        return field(1, 8) + field(2, "recalld tests") + field(7, graph) + field(8, opset)


def words(graph, weights):
    """Vectors of the word pieces. A table in 4-bit blocks stays packed: only the rows of a text are
    unpacked, so that the file and the memory stay small and every value is exact."""
    whole = weights.get("embeddings.word_embeddings.weight")
    if whole is not None:
        return graph.node("Gather", graph.weight(whole), "input_ids")
    steps, scales = weights["word_steps"], weights["word_scales"]
    hidden = steps.shape[1] * steps.shape[2]
    steps = graph.node("Gather", graph.weight(steps), "input_ids")
    scales = graph.node("Gather", graph.weight(scales), "input_ids")
    blocks = graph.node("Mul", graph.node("Cast", steps, to=FLOAT), scales)
    return graph.node("Reshape", blocks, graph.integers(0, 0, hidden))


def bert(weights, n_layers, n_heads, epsilon):
    """The bytes of an ONNX model: BERT (Devlin et al. 2019) with exact GELU; inputs `input_ids`,
    `attention_mask` and `token_type_ids`, output `last_hidden_state`."""
    graph = Graph()
    positions = weights["embeddings.position_embeddings.weight"]
    hidden = positions.shape[1]
    width = hidden // n_heads

    def norm(x, prefix, output=None):
        scale = graph.weight(weights[f"{prefix}.weight"])
        bias = graph.weight(weights[f"{prefix}.bias"])
        return graph.node(
            "LayerNormalization", x, scale, bias, output=output, axis=-1, epsilon=float(epsilon)
        )

    def linear(x, prefix):
        product = graph.node("MatMul", x, graph.weight(weights[f"{prefix}.weight"].T))
        return graph.node("Add", product, graph.weight(weights[f"{prefix}.bias"]))

    types = graph.weight(weights["embeddings.token_type_embeddings.weight"])
    length = graph.node(
        "Slice", graph.node("Shape", "input_ids"), graph.integers(1), graph.integers(2)
    )
    used = graph.node(
        "Slice", graph.weight(positions), graph.integers(0), length, graph.integers(0)
    )
    x = graph.node("Add", words(graph, weights), graph.node("Gather", types, "token_type_ids"))
    x = norm(graph.node("Add", x, used), "embeddings.LayerNorm")

    one, half = graph.number(1.0), graph.number(0.5)
    mask = graph.node("Cast", "attention_mask", to=FLOAT)
    mask = graph.node("Sub", one, graph.node("Unsqueeze", mask, graph.integers(1, 2)))
    mask = graph.node("Mul", mask, graph.number(np.finfo(np.float32).min))
    split, joined = graph.integers(0, 0, n_heads, width), graph.integers(0, 0, hidden)
    root_width, root_two = graph.number(width**0.5), graph.number(2**0.5)

    for layer in range(n_layers):
        prefix = f"encoder.layer.{layer}"

        def head(name, order):
            y = linear(x, f"{prefix}.attention.self.{name}")
            return graph.node("Transpose", graph.node("Reshape", y, split), perm=order)

        query, key = head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1])
        scores = graph.node("Div", graph.node("MatMul", query, key), root_width)
        shares = graph.node("Softmax", graph.node("Add", scores, mask), axis=-1)
        mixed = graph.node("MatMul", shares, head("value", [0, 2, 1, 3]))
        mixed = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
        y = linear(graph.node("Reshape", mixed, joined), f"{prefix}.attention.output.dense")
        x = norm(graph.node("Add", y, x), f"{prefix}.attention.output.LayerNorm")
        y = linear(x, f"{prefix}.intermediate.dense")
        erf = graph.node("Erf", graph.node("Div", y, root_two))
        y = graph.node("Mul", graph.node("Mul", y, graph.node("Add", erf, one)), half)
        y = linear(y, f"{prefix}.output.dense")
        last = "last_hidden_state" if layer == n_layers - 1 else None
        x = norm(graph.node("Add", y, x), f"{prefix}.output.LayerNorm", last)

    names = ["input_ids", "attention_mask", "token_type_ids"]
    inputs = [value_info(name, INT64, ["batch", "sequence"]) for name in names]
    outputs = [value_info("last_hidden_state", FLOAT, ["batch", "sequence", hidden])]
    return graph.model(inputs, outputs)
