"""Writes what PyTorch says the gradients of the small models under tests/data/models are.

usage: make_gradients.py [--models tests/data/models] [NAME ...]
needs: torch, transformers (made with 5.22), safetensors

The loss is that of three sentences of golden.json with the targets given there as the right answers: the sum over
tokens of the cross-entropy with smoothed labels (0.1 over all tokens but the padding, which is left out). The
gradients are stored as a checkpoint stores weights, under the same names, so that what reads the one reads the
other: gradients.safetensors, and the losses in its metadata.
"""
import argparse
import json
import os

import torch
from safetensors.torch import save_file
from transformers import AutoModelForSeq2SeqLM
from transformers.utils import logging

logging.set_verbosity_error()
NAMES = ["marian-relu", "marian-gelu-separate", "marian-swish-untied", "mbart-gelu-f16"]
SENTENCES = [1, 7, 10]
SMOOTHING = 0.1


def loss_of(model, source, target):
    config = model.config
    inputs = torch.tensor([[config.decoder_start_token_id] + target[:-1]])
    logits = model(input_ids=torch.tensor([source]), decoder_input_ids=inputs).logits[0]
    keep = [i for i in range(logits.shape[1]) if i != config.pad_token_id]
    logs = torch.log_softmax(logits[:, keep], dim=1)
    right = logs[torch.arange(len(target)), torch.tensor([keep.index(t) for t in target])]
    plain = -right.sum()
    return (1 - SMOOTHING) * plain - SMOOTHING / len(keep) * logs.sum(), plain


def gradients(folder):
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    with open(folder + "/golden.json", encoding="utf-8") as file:
        golden = json.load(file)
    smoothed = plain = 0
    for i in SENTENCES:
        a, b = loss_of(model, golden["source_ids"][i], golden["targets"][i])
        smoothed, plain = smoothed + a, plain + b
    smoothed.backward()
    found = {name: (torch.zeros_like(p) if p.grad is None else p.grad).contiguous()
             for name, p in model.named_parameters()}
    found.update({name: torch.zeros_like(b) for name, b in model.named_buffers() if name == "final_logits_bias"})
    return found, {"format": "pt", "loss": repr(float(smoothed)), "nll": repr(float(plain))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default="tests/data/models")
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    for name in options.names:
        folder = os.path.join(options.models, name)
        found, about = gradients(folder)
        save_file(found, folder + "/gradients.safetensors", metadata=about)
        print(name, about["loss"], about["nll"], len(found))


if __name__ == "__main__":
    main()
