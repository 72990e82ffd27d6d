#!/usr/bin/env python3
"""Token ids for bench/guesses.c: source, reference and greedy output of each sentence, a line each.

usage: simulate_drafts.py MODEL_FOLDER TEST.source TEST.reference OUTPUTS.jsonl > ids

MODEL_FOLDER is a Hugging Face MarianMT folder (source.spm, target.spm, vocab.json); OUTPUTS.jsonl has
the ids of the model's greedy outputs without the end symbol. Needs the sentencepiece package.
"""
import json
import os
import sys

import sentencepiece


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder, source, reference, outputs = sys.argv[1:]
    with open(os.path.join(folder, "vocab.json"), encoding="utf-8") as file:
        number = json.load(file)
    unknown = number["<unk>"]

    def encode(pieces, path):
        model = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, pieces))
        with open(path, encoding="utf-8") as file:
            for text in file:
                yield [number.get(p, unknown) for p in model.encode(text.rstrip("\n"), out_type=str)]

    with open(outputs, encoding="utf-8") as file:
        ids = [json.loads(line)["ids"] for line in file]
    for lines in zip(encode("source.spm", source), encode("target.spm", reference), ids):
        for line in lines:
            print(*line)


if __name__ == "__main__":
    main()
