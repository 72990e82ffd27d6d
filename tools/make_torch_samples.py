#!/usr/bin/env python3
"""Makes the small PyTorch checkpoints under tests/data/torch that torch_test.c reads.

Needs torch; run from the repository root: python3 tools/make_torch_samples.py
Every file but the refused ones holds the same tensors (see `state`), so one check serves all.
"""
import collections
import os

import torch

FOLDER = "tests/data/torch"


def state():
    base = torch.arange(24, dtype=torch.float32)
    tensors = collections.OrderedDict()
    tensors["f32"] = base.reshape(4, 6) / 8
    tensors["tied"] = tensors["f32"]                        # the same storage twice
    tensors["view"] = base[6:18].reshape(3, 4)              # part of a storage
    tensors["f64"] = torch.tensor([0.5, -2.0], dtype=torch.float64)
    tensors["f16"] = torch.tensor([1.5, -0.25, 6.1e-5], dtype=torch.float16)
    tensors["bf16"] = torch.tensor([3.0, -1e20], dtype=torch.bfloat16)
    tensors["i64"] = torch.tensor([[-1], [1 << 40]])
    tensors["i32"] = torch.tensor([7], dtype=torch.int32)
    tensors["i16"] = torch.tensor([-300], dtype=torch.int16)
    tensors["i8"] = torch.tensor([-128, 127], dtype=torch.int8)
    tensors["u8"] = torch.tensor([255], dtype=torch.uint8)
    tensors["bool"] = torch.tensor([True, False])
    tensors["scalar"] = torch.tensor(42.0)
    tensors["empty"] = torch.zeros(0, 5)
    tensors["parameter"] = torch.nn.Parameter(torch.ones(2))
    tensors._metadata = collections.OrderedDict(version=1)  # as Module.state_dict() sets it
    return tensors


def save(name, value, **options):
    torch.save(value, os.path.join(FOLDER, name), **options)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    save("zip.bin", state())
    save("zip_protocol4.bin", dict(state()), pickle_protocol=4)
    save("old.bin", state(), _use_new_zipfile_serialization=False)
    save("transposed.bin", {"t": torch.zeros(2, 3).t()})
    save("module.bin", torch.nn.Linear(2, 2))
    save("nested.bin", {"model": {"w": torch.zeros(2)}})


if __name__ == "__main__":
    main()
