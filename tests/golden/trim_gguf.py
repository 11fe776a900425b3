#!/usr/bin/env python3
"""Makes the golden GGUF files small enough to keep: trim_gguf.py FOLDER NAME...

FOLDER holds NAME.gguf, NAME.index.json and NAME.safetensors with every tensor dequantised to float32 beside
golden/*. Writes beside this script, under gguf/: the GGUF and its index as they are, NAME.safetensors with golden/*
alone, and NAME.sha256.json, which maps every other tensor to the SHA-256 of its bytes (float32, little-endian,
row-major). Needs Python's standard library only.
"""
import hashlib
import json
import pathlib
import shutil
import struct
import sys


def read(path):
    """The tensors of a safetensors file: name to (dtype, shape, bytes)."""
    raw = path.read_bytes()
    (length,) = struct.unpack_from("<Q", raw)
    head = json.loads(raw[8 : 8 + length])
    head.pop("__metadata__", None)
    data = raw[8 + length :]
    return {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in head.items()}


def write(path, tensors):
    head, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def trim(source, target, name):
    tensors = read(source / f"{name}.safetensors")
    kept = {key: tensor for key, tensor in tensors.items() if key.startswith("golden/")}
    hashes = {}
    for key in sorted(tensors.keys() - kept.keys()):
        dtype, _, data = tensors[key]
        if dtype != "F32":
            sys.exit(f"{name}: {key} is {dtype}, F32 was expected")
        hashes[key] = hashlib.sha256(data).hexdigest()
    for path in (target / f"{name}.gguf", target / f"{name}.index.json"):
        shutil.copyfile(source / path.name, path)
    write(target / f"{name}.safetensors", kept)
    (target / f"{name}.sha256.json").write_text(json.dumps(hashes, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    for name in sys.argv[2:]:
        trim(pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent / "gguf", name)
