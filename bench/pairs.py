#!/usr/bin/env python3
"""Two tokens a step beside one: Tables 2, 3 and 4 and Figure 3 of Imamura and Sumita (2020), with models of
recipes/compare-at.yml and recipes/compare-pairs.yml.

    pairs.py quality      SYSTEM ...       Table 2: BLEU with significance, tokens a second and ratio to the first
    pairs.py ends         SYSTEM ...       Table 3: 1- and 4-gram precision of 5, 10, 15 tokens from head and tail
    pairs.py big                           Table 2, big models: speed of base and big size; random weights
    pairs.py vocabularies TEXT ...         Table 4: speed with vocabularies of 4k to 64k, learned from TEXT; random weights
    pairs.py widths       ONE TWO          Figure 3: speed ratio of TWO (two tokens a step) to ONE by beam width

A SYSTEM is NAME=MODEL=SPEC: 'single L2R=at-6-6-raw=beam:size=10,length_penalty=1'. ONE and TWO are models.
Test sets are NAME.en and NAME.de (--sets); quality and ends join them, as the paper does. Speed is that of the first
--lines, in turns in one run of `pronk bench --interleave`, so that all see the same machine. Every
measurement is a line of JSON in --output; tables are Markdown. Needs Python 3 alone.
"""
import argparse
import json
import os
import subprocess
import sys

import systems
from random_models import by_length, forced, random_model

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = [4000, 8000, 16000, 32000, 64000]
WIDTHS = [1, 2, 3, 4, 5, 8, 10, 12, 16, 20]
SHAPES = {"base": {}, "big": {"model.dim": 1024, "model.ffn": 4096, "model.heads": 16}}
LONG = 30  # Table 3 is about sentences of more tokens


def pronk(o, *arguments):
    """Runs the program; its standard output."""
    done = subprocess.run([o.pronk, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"pronk {' '.join(map(str, arguments))}\n{done.stderr.strip()}")
    return done.stdout


def record(o, **line):
    with open(o.output, "a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def work(o, name):
    return os.path.join(o.work, name)


def write(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
    return path


def lines_of(path):
    with open(path, encoding="utf-8") as text:
        return text.read().split("\n")[:-1]


def read_sets(o):
    return [sum((lines_of(f"{name}.{side}") for name in o.sets), []) for side in ("en", "de")]


def machine(o):
    more = ["--type", o.type] if o.type else []
    return ["--device", o.device, "--batch", o.batch, *(["--threads", o.threads] if o.threads else []), *more]


def speeds(o, cases, source):
    """Tokens a second of each (model, spec), all in turns in one run."""
    how = argparse.Namespace(input=source, repeat=o.repeats, device=o.device, type=o.type, limit=o.lines, threads=o.threads)
    rows = systems.bench(how, [{"model": model, "decode": spec} for model, spec in cases], o.batch)
    for (model, spec), said in zip(cases, rows):
        record(o, what="speed", model=os.path.basename(model), decode=spec, batch=o.batch, bench={key: said[key] for key in systems.KEPT if key in said})
    return [said["target_tokens_per_second"] for said in rows]


def parse(operands):
    return [operand.split("=", 2) for operand in operands]


def translate(o, cases, source):
    """A file of translations for each case, in the order of the source."""
    files = []
    for i, (_, model, spec) in enumerate(cases):
        files.append(work(o, f"output{i}.de"))
        pronk(o, "translate", "-m", model, "-d", spec, "--no-split", "-i", source, "-o", files[-1], *machine(o))
    return files


def evaluate(o, reference, files, *more):
    return [json.loads(line) for line in pronk(o, "eval", "--json", "-r", reference, *more, *files).splitlines()]


def quality(o):
    cases = parse(o.operand)
    source, target = read_sets(o)
    source = write(work(o, "source.en"), source)
    files = translate(o, cases, source)
    scores = evaluate(o, write(work(o, "reference.de"), target), files, "--bootstrap", 1000)
    fast = speeds(o, [(model, spec) for _, model, spec in cases], source)
    print("| method | BLEU | p against the first | tokens/s | ratio |\n|---|--:|--:|--:|--:|")
    for (name, model, spec), score, speed in zip(cases, scores, fast):
        p = score["p_value"]["bleu"] if score["p_value"] else None
        record(o, what="quality", name=name, model=os.path.basename(model), decode=spec, sets=[os.path.basename(each) for each in o.sets], eval=score, tokens_per_second=speed)
        print(f"| {name} | {score['bleu']:.2f} | {'' if p is None else f'{p:.4f}'} | {speed:,.0f} | {speed / fast[0]:.0%} |")


def ends(o):
    cases = parse(o.operand)
    kept = [pair for pair in zip(*read_sets(o)) if len(pair[1].split()) > LONG]
    if not kept:
        sys.exit(f"no reference has more than {LONG} words")
    source = write(work(o, "long.en"), [pair[0] for pair in kept])
    reference = write(work(o, "long.de"), [pair[1] for pair in kept])
    files = translate(o, cases, source)
    names = [name for name, _, _ in cases]
    print(f"{len(kept)} sentences whose reference has more than {LONG} words\n")
    print(f"| left | right | {' | '.join(f'{n}-gram, {name}' for n in (1, 4) for name in names)} |")
    print("|--:|--:|" + "--:|" * (2 * len(names)))
    cuts = [(n, evaluate(o, reference, files, "--head", n, "--tail", n)) for n in (5, 10, 15)]
    rows = [("all", "all", [s["bleu_precisions"] for s in cuts[0][1]])]
    rows += [(n, 0, [s["head"]["precisions"] for s in scores]) for n, scores in cuts]
    rows += [(0, n, [s["tail"]["precisions"] for s in scores]) for n, scores in cuts]
    for left, right, found in rows:
        record(o, what="ends", left=left, right=right, names=names, precisions=found)
        print(f"| {left} | {right} | {' | '.join(f'{p[n]:.1f} %' for n in (0, 3) for p in found)} |")


def timed(o, cases, groups):
    """Tokens a second of each (model, two), whose outputs are all as long as their group says."""
    seconds, tokens = [0.0] * len(cases), 0
    for n, lines in sorted(groups.items()):
        source = write(work(o, "group.en"), lines)
        for i, speed in enumerate(speeds(o, [(model, forced(spec_of(two, o.beam), n)) for model, two in cases], source)):
            seconds[i] += n * len(lines) / speed
        tokens += n * len(lines)
    return [tokens / each for each in seconds]


def random_weights(o, name, source, target, **settings):
    """Tokens a second of one token a step and of two, networks of these settings; and the mean length of an output."""
    files = write(work(o, "source.en"), source), write(work(o, "reference.de"), target)
    at, two = work(o, f"at-{name}"), work(o, f"pairs-{name}")
    for recipe, folder in (("compare-at.yml", at), ("compare-pairs.yml", two)):
        pieces = random_model(o.pronk, recipe, folder, *files, device=o.device, **settings)
    return *timed(o, [(at, False), (two, True)], by_length(source, target, pieces, o.bucket)), pieces / len(source)


def vocabularies(o):
    source, target = [side[:o.lines] for side in read_sets(o)]
    print("| vocabulary | pieces a sentence | one token a step | two | ratio |\n|--:|--:|--:|--:|--:|")
    for size in o.sizes:
        vocab = work(o, f"{size}.spm")
        if not os.path.exists(vocab):
            pronk(o, "vocab", "-q", "-i", *o.operand, "--size", size, "-o", vocab)
        one, two, mean = random_weights(o, str(size), source, target, vocab=vocab)
        record(o, what="vocabulary", size=size, beam=o.beam, mean_length=mean, one=one, two=two)
        print(f"| {size:,} | {mean:.1f} | {one:,.0f} | {two:,.0f} | {two / one:.0%} |", flush=True)


def big(o):
    source, target = [side[:o.lines] for side in read_sets(o)]
    print("| size | one token a step | two | ratio |\n|---|--:|--:|--:|")
    for name, settings in SHAPES.items():
        one, two, _ = random_weights(o, name, source, target, **settings)
        record(o, what="shape", name=name, beam=o.beam, one=one, two=two)
        print(f"| {name} | {one:,.0f} | {two:,.0f} | {two / one:.0%} |", flush=True)


def spec_of(two, width):
    """Greedy search where the width is 1."""
    name = "pairs" if two else "greedy" if width == 1 else "beam"
    return name + (f":size={width},length_penalty=1" if width > 1 else "")


def widths(o):
    one, two_model = o.operand
    source = write(work(o, "source.en"), read_sets(o)[0])
    found = speeds(o, [(model, spec_of(two, width)) for width in o.widths for model, two in ((one, False), (two_model, True))], source)
    print("| beam width | one token a step | two | ratio |\n|--:|--:|--:|--:|")
    for width, a, b in zip(o.widths, found[::2], found[1::2]):
        record(o, what="width", width=width, one=a, two=b)
        print(f"| {width} | {a:,.0f} | {b:,.0f} | {b / a:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["quality", "ends", "big", "vocabularies", "widths"])
    parser.add_argument("operand", nargs="*")
    testsets = os.path.join(os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared")), "testsets", "en-de")
    parser.add_argument("--sets", nargs="+", help="default: newstest2014, 2019 and 2020",
                        default=[os.path.join(testsets, f"newstest{year}") for year in (2014, 2019, 2020)])
    parser.add_argument("--pronk", default=systems.PRONK)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--type", help="numbers to compute with: f16, i8 ..")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--beam", type=int, default=10, help="of networks with random weights")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of Table 4")
    parser.add_argument("--bucket", type=int, default=10, help="lengths of such networks' outputs are multiples of it")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, help="of Figure 3")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--lines", type=int, default=1000, help="whose speed is measured")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench", "pairs.jsonl"))
    o = parser.parse_args()
    o.work = os.path.join(ROOT, "build", "bench", "pairs")
    os.makedirs(o.work, exist_ok=True)
    systems.PRONK = o.pronk
    {"quality": quality, "ends": ends, "big": big, "vocabularies": vocabularies, "widths": widths}[o.table](o)


if __name__ == "__main__":
    main()
