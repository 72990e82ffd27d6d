"""Checks the program against the reference outputs of a model, and what 8-bit numbers cost.

usage: check_reference.py [--pronk build/pronk] [--lines N] [--skip-beam]
needs: sacrebleu

Translates newstest2014 with `pronk translate` as a user would, greedily and with beams of 4 and 5 under
the rules of transformers, and compares the text with the .txt files beside the model. Then translates
in f32 and i8 and prints BLEU of both with `pronk eval` and with sacreBLEU: they must agree to the last
digit, and i8 must be within 0.2 of f32. Exit status 1 when something does not hold.
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEAST = {"greedy": 0.999, "beam4": 0.995, "beam5": 0.995}


def lines_of(path, limit=None):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines[:limit]


def translate(options, source, decode, kind):
    command = [options.pronk, "translate", "-m", options.model, "--no-split", "--type", kind, "--decode", decode, "-q"]
    done = subprocess.run(command, input=("\n".join(source) + "\n").encode(), stdout=subprocess.PIPE, check=True)
    found = done.stdout.decode().split("\n")[:-1]
    if len(found) != len(source):
        sys.exit("%d lines in, %d lines out" % (len(source), len(found)))
    return found


def check_outputs(options, source):
    wrong = 0
    for name, least in LEAST.items():
        if options.skip_beam and name != "greedy":
            continue
        want = lines_of(os.path.join(options.model, "newstest2014.%s.txt" % name), options.lines)[:len(source)]
        decode = "greedy" if name == "greedy" else "beam:size=%s,rules=hf" % name[4:]
        got = translate(options, source[:len(want)], decode, "f32")
        same = sum(a.strip() == b.strip() for a, b in zip(want, got))
        allowed = -(-len(want) * (1 - least) // 1)              # rounded up: a short text may hold one tie
        good = len(want) - same <= allowed
        wrong += not good
        print("%-7s %d of %d lines as the reference%s" % (name, same, len(want), "" if good else ": TOO FEW"))
    return wrong


def bleu_of(options, found, references):
    import sacrebleu
    theirs = sacrebleu.corpus_bleu(found, [references]).score
    path = os.path.join(options.work, "check_reference.de")
    for name, lines in (("ref", references), ("hyp", found)):
        with open(path + "." + name, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    done = subprocess.run([options.pronk, "eval", "-r", path + ".ref", path + ".hyp", "--json"],
                          stdout=subprocess.PIPE, check=True)
    ours = json.loads(done.stdout)
    ours = (ours[0] if isinstance(ours, list) else ours)["bleu"]
    return theirs, ours


def check_types(options, source, references):
    scores, wrong = {}, 0
    for kind in ("f32", "i8"):
        theirs, ours = bleu_of(options, translate(options, source, "greedy", kind), references)
        scores[kind] = theirs
        wrong += "%.1f" % theirs != "%.1f" % ours
        print("%-7s BLEU %.3f (sacreBLEU), %.3f (pronk eval)" % (kind, theirs, ours))
    lost = scores["f32"] - scores["i8"]
    print("8-bit numbers cost %.3f BLEU%s" % (lost, "" if lost <= 0.2 else ": TOO MUCH"))
    return wrong + (lost > 0.2)


def main():
    shared = os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--model", default=os.path.join(shared, "models", "en-de-base-hf"))
    parser.add_argument("--testset", default=os.path.join(shared, "testsets", "en-de", "newstest2014"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build"), help="folder for temporary files")
    parser.add_argument("--lines", type=int, help="only the first N lines")
    parser.add_argument("--skip-beam", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    source = lines_of(options.testset + ".en", options.lines)
    references = lines_of(options.testset + ".de", options.lines)
    wrong = check_outputs(options, source) + check_types(options, source, references)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
