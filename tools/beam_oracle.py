#!/usr/bin/env python3
"""Writes tests/data/decode/*.txt: what greedy and beam search must give on a table model.

The model is the one of tests/decode/oracle.h: logits are a hash of the tokens so far. For greedy and
hf the real transformers library searches it (any model is a function from tokens to logits); the other
three are restated here in Python from the peers' documented behaviour, step by step, on whole
score matrices, so that they share nothing with the C code but the model.

A file holds cases: a line `C <spec> | max_length forced_eos renormalise n_best seed vocab eos_bias
eos_slope n_free prefix...`, then one line `H <score> tokens...` for each hypothesis, best first.
Usage: tools/beam_oracle.py [folder]      needs numpy, torch and transformers
"""
import math
import random
import sys
import warnings

import numpy as np

M = 0xFFFFFFFF
EOS, UNK = 0, 1


def mix(x):
    x = (x ^ (x >> 16)) & M
    x = (x * 0x7FEB352D) & M
    x ^= x >> 15
    x = (x * 0x846CA68B) & M
    return x ^ (x >> 16)


class Table:
    """The model; pad, its last token, is the start symbol and never comes out."""

    def __init__(self, seed, vocab, eos_bias, eos_slope):
        self.seed, self.vocab, self.bias, self.slope, self.pad = seed, vocab, eos_bias, eos_slope, vocab - 1
        self.known = {}

    def logits(self, tokens):
        key = tuple(tokens)
        if key not in self.known:
            h = mix(self.seed)
            for t in key:
                h = mix(h ^ (((t + 1) * 0x9E3779B1) & M))
            row = np.empty(self.vocab, np.float32)
            for t in range(self.vocab):
                u = (mix((h + t * 0x85EBCA6B) & M) >> 8) / 8388608.0 - 1
                row[t] = 6 * u * u * u + (self.bias + self.slope * len(key) if t == EOS else 0)
            self.known[key] = row
        return self.known[key]

    def logp(self, tokens):
        z = self.logits(tokens).astype(np.float64)
        return (z - np.log(np.exp(z).sum())).astype(np.float32)


def banned_by_ngrams(history, n):
    """tokens that would complete an n-gram already there"""
    if n <= 0 or len(history) < n:
        return set()
    suffix = history[len(history) - n + 1:]
    return {history[i + n - 1] for i in range(len(history) - n + 1) if history[i:i + n - 1] == suffix}


def log_prob(case, model, tokens):
    """of an output; its language token is certain"""
    rows = [model.logp(tokens[:i]) for i in range(len(tokens))]
    if case["renormalise"]:
        rows = [r - np.log1p(-np.exp(r[model.pad])) for r in rows]
    return sum(float(rows[i][tokens[i]]) for i in range(case["n_free"], len(tokens)))


def hf(case, model):
    import torch
    from transformers import GenerationConfig, GenerationMixin, PretrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutput

    class Config(PretrainedConfig):
        model_type = "table"

    class Dummy(PreTrainedModel, GenerationMixin):
        config_class = Config
        main_input_name = "input_ids"
        _supports_cache_class = False

        def __init__(self, config):
            super().__init__(config)
            self.unused = torch.nn.Linear(1, 1)

        def forward(self, input_ids, **_):
            rows = [model.logits(r[1:]) for r in input_ids.tolist()]
            return CausalLMOutput(logits=torch.tensor(np.stack(rows))[:, None, :])

        def prepare_inputs_for_generation(self, input_ids, **_):
            return {"input_ids": input_ids}

    o, user = case["options"], case["prefix"][case["n_free"]:]
    early = {"no": False, "yes": True, "never": "never"}[o.get("early_stopping", "no")]
    start = [model.pad] + (case["prefix"] if user else [])
    config = GenerationConfig(
        num_beams=o["size"], num_return_sequences=case["n_best"], max_length=case["max_length"] + 1,
        length_penalty=o.get("length_penalty", 1.0), early_stopping=early, do_sample=False,
        no_repeat_ngram_size=o.get("no_repeat_ngram", 0), repetition_penalty=o.get("repetition_penalty", 1.0),
        min_length=o.get("min_length", 0), eos_token_id=EOS, pad_token_id=model.pad, use_cache=False,
        bad_words_ids=[[model.pad]] + ([[UNK]] if o.get("unk") == "ban" else []),
        forced_eos_token_id=EOS if case["forced_eos"] else None,
        forced_bos_token_id=case["prefix"][0] if case["prefix"] and not user else None,
        renormalize_logits=bool(case["renormalise"]), return_dict_in_generate=True, output_scores=True)
    with torch.no_grad():
        got = Dummy(Config(vocab_size=model.vocab)).generate(torch.tensor([start]), generation_config=config)
    out = []
    scores = [0] if o["size"] == 1 else got.sequences_scores.tolist()
    for row, score in zip(got.sequences.tolist(), scores):
        if score < -1e8:
            continue  # an entry of the beam that was never filled: transformers' mask is visible there
        row = row[1:]
        n = len(case["prefix"]) if user else 0
        while n < len(row) and row[n] != EOS and row[n] != model.pad:
            n += 1
        out.append((score, row[:n + (n < len(row) and row[n] == EOS)]))
    return out


def greedy(case, model):
    case["options"]["size"] = 1
    tokens = hf(case, model)[0][1]
    return [(log_prob(case, model, tokens), tokens)]


def constrained(case, model, tokens, with_start, before_softmax):
    """log-probabilities of the next token under the options; banned ones are -inf"""
    o = case["options"]
    x = model.logits(tokens).astype(np.float64) if before_softmax else model.logp(tokens).astype(np.float64)
    history = ([model.pad] if with_start else []) + list(tokens)
    p = o.get("repetition_penalty", 1.0)
    if p != 1:
        for t in set(history):
            x[t] = x[t] * p if x[t] < 0 else x[t] / p
    for t in banned_by_ngrams(history, o.get("no_repeat_ngram", 0)):
        x[t] = -np.inf
    if len(tokens) + 1 < o.get("min_length", case["min_length"]):
        x[EOS] = -np.inf
    if o.get("unk", case["unk"]) == "ban":
        x[UNK] = -np.inf
    x[model.pad] = -np.inf
    if before_softmax:
        x = x - np.log(np.exp(x).sum())
    return x.astype(np.float32)


def prefix_score(case, model):
    p = case["prefix"]
    return np.float32(sum(model.logp(p[:i])[p[i]] for i in range(case["n_free"], len(p))))


def ranked(done, n):
    return sorted(done, key=lambda d: -d[0])[:n]


def marian(case, model):
    case.update(min_length=0, unk="ban")
    alpha, done = case["options"].get("length_penalty", 0.0), []
    beam = [(prefix_score(case, model), list(case["prefix"]))]
    width = case["options"]["size"]
    while beam:
        flat = []
        for j, (score, tokens) in enumerate(beam):
            x = constrained(case, model, tokens, True, False)
            flat += [(-(score + x[t]), j, t) for t in range(model.vocab) if x[t] > -np.inf]
        flat.sort()
        history_size = len(beam[0][1]) + 1
        grown = [(np.float32(-s), beam[j][1] + [t]) for s, j, t in flat[:width]]
        last = history_size >= case["max_length"]
        for score, tokens in grown:
            if tokens[-1] == EOS or last:
                done.append((float(score) / history_size ** alpha, tokens))
        beam = [] if last else [g for g in grown if g[1][-1] != EOS]
        width = len(beam)
    return ranked(done, case["n_best"])


def ct2(case, model):
    case.update(min_length=2, unk="allow")
    o, prefix = case["options"], case["prefix"]
    size, lp = o["size"], o.get("length_penalty", 1.0)
    max_candidates = math.floor(size * o.get("patience", 1.0) + 0.5)
    results, top_beam_finished = [], False
    beams = [(np.float32(0), list(prefix))]
    for step in range(len(prefix), case["max_length"]):
        flat = []
        for j, (score, tokens) in enumerate(beams):
            x = constrained(case, model, tokens, False, True)
            flat += [(-(score + x[t]), j, t) for t in range(model.vocab) if x[t] > -np.inf]
        flat.sort()
        top = [[np.float32(-s), beams[j][1] + [t]] for s, j, t in flat[:2 * size]]
        if prefix and step == len(prefix):
            for k in range(1, len(top)):
                if top[k][1][-1] == EOS:
                    top[k] = [np.float32(-1e10), top[k][1][:-1] + [2]]
        last, offset, active = step + 1 == case["max_length"], size, []
        for k in range(size):
            score, tokens = top[k]
            chosen = k
            if tokens[-1] == EOS or last:
                if k == 0:
                    top_beam_finished = True
                if score > -1e9:
                    results.append((float(score) / len(tokens) ** lp, tokens))
                for j in range(offset, 2 * size):
                    if top[j][1][-1] != EOS:
                        chosen, offset = j, j + 1
                        break
            active.append(top[chosen])
        if last or (top_beam_finished and len(results) >= case["n_best"] if lp == 0
                    else len(results) >= max_candidates):
            break
        beams = [tuple(a) for a in active]
    return ranked(results, case["n_best"])


def fairseq(case, model):
    case.update(min_length=2, unk="allow")
    size, lp = case["options"]["size"], case["options"].get("length_penalty", 1.0)
    max_len, finalized = case["max_length"] - 1, []
    beams = [(prefix_score(case, model), list(case["prefix"]))]
    for step in range(len(case["prefix"]), max_len + 1):
        flat = []
        for j, (score, tokens) in enumerate(beams):
            x = constrained(case, model, tokens, True, False)
            if step >= max_len:
                x = np.where(np.arange(model.vocab) == EOS, model.logp(tokens), -np.inf).astype(np.float32)
            flat += [(-(score + x[t]), j, t) for t in range(model.vocab) if x[t] > -np.inf]
        flat.sort()
        cand = [(np.float32(-s), beams[j][1] + [t]) for s, j, t in flat[:2 * size]]
        for score, tokens in cand[:size]:
            if tokens[-1] == EOS and len(finalized) < size:
                finalized.append((float(score) / (step + 1) ** lp, tokens))
        if len(finalized) == size or step == max_len:
            break
        beams = [c for c in cand if c[1][-1] != EOS][:size]
    return ranked(finalized, case["n_best"])


def random_case(rules, rng):
    size = rng.choice([1, 2, 3, 4, 5, 8])
    if rules == "hf" and size == 1:
        size = 2  # generate() turns to greedy search there
    o = {"size": size, "rules": rules} if rules != "greedy" else {}
    if rng.random() < 0.6 and rules != "greedy":
        o["length_penalty"] = rng.choice([0.0, 0.6, 1.0, 1.0, 2.0, -0.5])
    if rng.random() < 0.3:
        o["no_repeat_ngram"] = rng.choice([1, 2, 3])
    if rng.random() < 0.3 and rules != "marian":
        o["repetition_penalty"] = rng.choice([1.2, 1.5, 0.8])
    if rng.random() < 0.3:
        o["min_length"] = rng.choice([0, 3, 6]) if rules not in ("ct2", "fairseq") else rng.choice([2, 4, 6])
    if rng.random() < 0.2:
        o["unk"] = rng.choice(["allow", "ban"])
    if rules == "hf" and rng.random() < 0.6:
        o["early_stopping"] = rng.choice(["no", "yes", "never"])
    if rules == "ct2" and rng.random() < 0.4:
        o["patience"] = rng.choice([0.5, 1.5, 2.0])
    vocab = rng.choice([24, 40, 64])
    n_prefix = rng.choice([0, 0, 0, 1, 3])
    prefix = [rng.randrange(2, vocab - 1) for _ in range(n_prefix)]
    free = rng.choice([0, 1]) if n_prefix else 0
    return {"options": o, "max_length": n_prefix + rng.choice([1, 2, 5, 9, 16]), "forced_eos": rng.choice([0, 1]),
            "renormalise": rng.choice([0, 0, 1]) if rules in ("hf", "greedy") else 0,
            "n_best": rng.randrange(1, size + 1) if o.get("size") else 1, "seed": rng.randrange(1 << 31), "vocab": vocab,
            "eos_bias": rng.choice([-3.0, 0.0, 2.0]), "eos_slope": rng.choice([0.0, 0.25]),
            "n_free": free, "prefix": prefix}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/data/decode"
    warnings.simplefilter("ignore")
    for search in (greedy, hf, marian, ct2, fairseq):
        rng = random.Random(7)
        with open(f"{folder}/{search.__name__}.txt", "w") as f:
            for _ in range(300):
                c = random_case(search.__name__, rng)
                model = Table(c["seed"], c["vocab"], c["eos_bias"], c["eos_slope"])
                spec = ",".join(f"{k}={v}" for k, v in c["options"].items())
                spec = ("beam:" if search is not greedy else "greedy:") + spec
                print("C", spec, "|", c["max_length"], c["forced_eos"], c["renormalise"], c["n_best"], c["seed"],
                      c["vocab"], c["eos_bias"], c["eos_slope"], c["n_free"], *c["prefix"], file=f)
                for score, tokens in search(c, model):
                    print("H", f"{score:.7g}", *tokens, file=f)


if __name__ == "__main__":
    main()
