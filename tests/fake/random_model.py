#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""random_model.py FILE: a model in the GGUF format, 300 KB of random weights: one layer of the llama
architecture, a token for each byte and one that ends. What it says is noise; that it is a real model of a
real server is what a test wants of it. The same file every time."""
import random
import struct
import sys

WIDTH, HEADS, FEED, CONTEXT = 64, 4, 128, 2048
NUMBERS = {int: (4, "<I"), float: (6, "<f")}


def byte_names():
    """How GPT-2's tokenizer writes each byte: as itself where that can be seen."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(b) for b in seen] + [chr(256 + i) for i in range(256 - len(seen))]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, list) and value and isinstance(value[0], int):
        return text(key) + struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    code, form = NUMBERS[type(value)]
    return text(key) + struct.pack("<I", code) + struct.pack(form, value)


def described(tokens):
    end = len(tokens) - 1
    return {
        "general.architecture": "llama", "general.name": "random", "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH, "llama.block_count": 1, "llama.feed_forward_length": FEED,
        "llama.attention.head_count": HEADS, "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS, "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "default", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * end + [3], "tokenizer.ggml.merges": [],
        "tokenizer.ggml.bos_token_id": end, "tokenizer.ggml.eos_token_id": end,
    }


def shapes(words):
    yield from {"token_embd": (WIDTH, words), "output_norm": (WIDTH,), "output": (WIDTH, words)}.items()
    yield from {"blk.0.attn_norm": (WIDTH,), "blk.0.ffn_norm": (WIDTH,)}.items()
    yield from ((f"blk.0.attn_{name}", (WIDTH, WIDTH)) for name in ("q", "k", "v", "output"))
    yield from {"blk.0.ffn_gate": (WIDTH, FEED), "blk.0.ffn_up": (WIDTH, FEED), "blk.0.ffn_down": (FEED, WIDTH)}.items()


def main(path):
    dice = random.Random(7)
    tokens = byte_names() + ["<|end|>"]
    meta, names, data = described(tokens), [], b""
    for name, shape in shapes(len(tokens)):
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        names.append(text(name + ".weight") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data)))
        weights = [dice.gauss(0, 0.3) if len(shape) > 1 else 1.0 for _ in range(size)]
        data += struct.pack(f"<{size}f", *weights)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(names), len(meta))
    head += b"".join(pair(*row) for row in meta.items()) + b"".join(names)
    with open(path, "wb") as out:
        out.write(head + bytes(-len(head) % 32) + data)


main(sys.argv[1])
