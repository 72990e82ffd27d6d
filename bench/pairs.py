#!/usr/bin/env python3
"""Two tokens a step beside one: Tables 2, 3 and 4 and Figure 3 of Imamura and Sumita (2020), with models of
recipes/compare-at.yml and recipes/compare-pairs.yml.

    pairs.py quality      SYSTEM ...       Table 2: BLEU with significance, tokens a second and ratio to the first
    pairs.py ends         SYSTEM ...       Table 3: 1- and 4-gram precision of 5, 10, 15 tokens from head and tail
    pairs.py vocabularies TEXT ...         Table 4: speed with vocabularies of 4k to 64k, learned from TEXT; random weights
    pairs.py widths       ONE TWO          Figure 3: speed ratio of TWO (two tokens a step) to ONE by beam width, as SVG

A SYSTEM is NAME=MODEL=SPEC: 'single L2R=at-6-6-raw=beam:size=10,length_penalty=1'. ONE and TWO are models.
Test sets are NAME.en and NAME.de (--sets); quality and ends join them, as the paper does. Speed is the median of
--repeats processes of `pronk bench`, which take turns (A B B A ..), so that all see the same machine. Every
measurement is a line of JSON in --output; tables are Markdown. Needs Python 3 alone.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

from random_models import by_length, forced, random_model

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = [4000, 8000, 16000, 32000, 64000]
WIDTHS = [1, 2, 3, 4, 5, 8, 10, 12, 16, 20]
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


def speeds(o, systems, source):
    """Tokens a second of each (model, spec), the median of processes that take turns."""
    found = [[] for _ in systems]
    for turn in range(o.repeats):
        order = range(len(systems))
        for i in order if turn % 2 == 0 else reversed(order):
            model, spec = systems[i]
            said = json.loads(pronk(o, "bench", "-m", model, "-d", spec, "-i", source, "--json", *machine(o)))
            found[i].append(said["target_tokens_per_second"])
            record(o, what="speed", model=model, decode=spec, turn=turn, bench=said)
    return [statistics.median(each) for each in found]


def parse(systems):
    return [system.split("=", 2) for system in systems]


def translate(o, systems, source):
    """A file of translations for each system, in the order of the source."""
    files = []
    for i, (_, model, spec) in enumerate(systems):
        files.append(work(o, f"output{i}.de"))
        pronk(o, "translate", "-m", model, "-d", spec, "--no-split", "-i", source, "-o", files[-1], *machine(o))
    return files


def evaluate(o, reference, files, *more):
    return [json.loads(line) for line in pronk(o, "eval", "--json", "-r", reference, *more, *files).splitlines()]


def quality(o):
    systems = parse(o.operand)
    source, target = read_sets(o)
    source = write(work(o, "source.en"), source)
    files = translate(o, systems, source)
    scores = evaluate(o, write(work(o, "reference.de"), target), files, "--bootstrap", 1000)
    fast = speeds(o, [(model, spec) for _, model, spec in systems], source)
    print("| method | BLEU | p against the first | tokens/s | ratio |\n|---|--:|--:|--:|--:|")
    for (name, model, spec), score, speed in zip(systems, scores, fast):
        p = score["p_value"]["bleu"] if score["p_value"] else None
        record(o, what="quality", name=name, model=model, decode=spec, sets=o.sets, eval=score, tokens_per_second=speed)
        print(f"| {name} | {score['bleu']:.2f} | {'' if p is None else f'{p:.4f}'} | {speed:,.0f} | {speed / fast[0]:.0%} |")


def ends(o):
    systems = parse(o.operand)
    kept = [pair for pair in zip(*read_sets(o)) if len(pair[1].split()) > LONG]
    source = write(work(o, "long.en"), [pair[0] for pair in kept])
    reference = write(work(o, "long.de"), [pair[1] for pair in kept])
    files = translate(o, systems, source)
    names = [name for name, _, _ in systems]
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


def timed(o, systems, groups):
    """Tokens a second of each (model, two), whose outputs are all as long as their group says."""
    seconds, tokens = [0.0] * len(systems), 0
    for n, lines in sorted(groups.items()):
        source = write(work(o, "group.en"), lines)
        specs = [(model, forced(spec_of(two, o.beam), n)) for model, two in systems]
        tokens += n * len(lines)
        for i, speed in enumerate(speeds(o, specs, source)):
            seconds[i] += n * len(lines) / speed
    return [tokens / each for each in seconds]


def vocabularies(o):
    source, target = read_sets(o)
    write(work(o, "source.en"), source)
    write(work(o, "reference.de"), target)
    print("| vocabulary | pieces a sentence | one token a step | two | ratio |\n|--:|--:|--:|--:|--:|")
    for size in o.sizes:
        vocab = work(o, f"{size}.spm")
        if not os.path.exists(vocab):
            pronk(o, "vocab", "-q", "-i", *o.operand, "--size", size, "-o", vocab)
        at, pairs = work(o, f"at-{size}"), work(o, f"pairs-{size}")
        for recipe, folder in (("compare-at.yml", at), ("compare-pairs.yml", pairs)):
            pieces = random_model(o.pronk, recipe, folder, work(o, "source.en"), work(o, "reference.de"), vocab=vocab, device=o.device)
        mean = pieces / len(source)
        one, two = timed(o, [(at, False), (pairs, True)], by_length(source, target, pieces, o.bucket))
        record(o, what="vocabulary", size=size, mean_length=mean, one=one, two=two)
        print(f"| {size:,} | {mean:.1f} | {one:,.0f} | {two:,.0f} | {two / one:.0%} |", flush=True)


def svg(points, width=480, height=300):
    """A line of (beam width, ratio)."""
    left, bottom, most = 50, height - 40, max([ratio for _, ratio in points] + [1]) * 1.1
    x = lambda w: left + (width - left - 20) * w / points[-1][0]
    y = lambda r: bottom - (bottom - 20) * r / most
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for step in range(int(most / 0.5) + 1):
        r = step / 2
        out.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(r):.1f}" y2="{y(r):.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{y(r) + 4:.1f}" text-anchor="end">{r:.1f}</text>')
    out.append('<polyline fill="none" stroke="#06c" stroke-width="2" points="'
               + " ".join(f"{x(w):.1f},{y(r):.1f}" for w, r in points) + '"/>')
    for w, r in points:
        out.append(f'<circle cx="{x(w):.1f}" cy="{y(r):.1f}" r="3" fill="#06c"/>'
                   f'<text x="{x(w):.1f}" y="{bottom + 16}" text-anchor="middle">{w}</text>')
    out.append(f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">beam width</text>'
               f'<text x="{left}" y="14">speed of two tokens a step, one token a step = 1</text></svg>')
    return "\n".join(out) + "\n"


def spec_of(two, width):
    """Greedy search where the width is 1."""
    name = "pairs" if two else "greedy" if width == 1 else "beam"
    return name + (f":size={width},length_penalty=1" if width > 1 else "")


def widths(o):
    one, two = o.operand
    source = write(work(o, "source.en"), read_sets(o)[0])
    points = []
    print("| beam width | one token a step | two | ratio |\n|--:|--:|--:|--:|")
    for width in o.widths:
        a, b = speeds(o, [(one, spec_of(False, width)), (two, spec_of(True, width))], source)
        points.append((width, b / a))
        record(o, what="width", width=width, one=a, two=b)
        print(f"| {width} | {a:,.0f} | {b:,.0f} | {b / a:.2f} |", flush=True)
    with open(o.svg, "w", encoding="utf-8") as out:
        out.write(svg(points))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["quality", "ends", "vocabularies", "widths"])
    parser.add_argument("operand", nargs="+")
    testsets = os.path.join(os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared")), "testsets", "en-de")
    parser.add_argument("--sets", nargs="+", help="default: newstest2014, 2019 and 2020",
                        default=[os.path.join(testsets, f"newstest{year}") for year in (2014, 2019, 2020)])
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--type", help="numbers to compute with: f16, i8 ..")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--beam", type=int, default=10, help="of Table 4")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of Table 4")
    parser.add_argument("--bucket", type=int, default=10, help="Table 4: lengths are multiples of it")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, help="of Figure 3")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench", "pairs.jsonl"))
    parser.add_argument("--svg", default=os.path.join(ROOT, "build", "bench", "pairs-widths.svg"))
    o = parser.parse_args()
    o.work = os.path.join(ROOT, "build", "bench", "pairs")
    os.makedirs(o.work, exist_ok=True)
    {"quality": quality, "ends": ends, "vocabularies": vocabularies, "widths": widths}[o.table](o)


if __name__ == "__main__":
    main()
