"""CTranslate2 folders opened as they are: the same tokens as CTranslate2's, the same BLEU in int8, and how fast.

usage: ct2_folders.py [--types f32,i8] [--kernels avx2:avx512,...] [--seconds N] [--lines N] [--skip N] [--chunk N]
                      [--threads N] [--output FILE] [--model DIR] [--input FILE] [--reference FILE]
       ct2_folders.py --table FILE       the tables again, from what was measured before
needs: ctranslate2 4.8.4, sentencepiece; transformers and torch to make the folders (once); make build/bench/tokens

The folders are made by CTranslate2's converter from a Hugging Face model, in float32 and int8. Every cell of {float32, int8} x
{greedy, beam 4} is decoded chunk by chunk: on each chunk Pronk and CTranslate2 take a turn, each in a fresh process, with batches
of 32; CTranslate2 has a worker of one thread for each thread. A line counts as the same when all its tokens are. When --seconds
are over, no new chunk is begun, so that all cells have the same lines. The same command goes on where it ended: what is in
--output (build/bench/ct2_folders.jsonl) is not measured again.

Int8 rounds activations, so that a difference in a float's last bit grows to one of int8's size. How much that alone changes
is seen by --kernels: int8 again with other kernels of both programs ($PRONK_ISA:$CT2_FORCE_CPU_ISA; not those that they choose
themselves), which add floats up in other orders.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SHARED = os.environ.get("PRONK_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))
CACHE = os.path.join(ROOT, "build", "bench")
TYPES = {"f32": "float32", "i8": "int8"}
LONGEST = 256           # output tokens
BEAMS = (1, 4)


def make_folder(model, kind):
    folder = os.path.join(CACHE, "ct2-" + kind)
    if not os.path.exists(os.path.join(folder, "model.bin")):
        from ctranslate2.converters import TransformersConverter
        TransformersConverter(model).convert(folder, quantization=TYPES[kind], force=True)
    for name in ("source.spm", "target.spm"):           # Pronk reads text, so it wants the pieces too
        shutil.copyfile(os.path.join(model, name), os.path.join(folder, name))


# ---- one side, one chunk ----

def peer_worker(job):
    """In a process of its own: prints seconds, writes tokens"""
    import ctranslate2
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(job["folder"], "source.spm"))
    with open(job["text"], encoding="utf-8") as file:
        lines = [pieces.encode(line.rstrip("\n"), out_type=str) + ["</s>"] for line in file]
    translator = ctranslate2.Translator(job["folder"], device="cpu", compute_type=job["compute"], inter_threads=job["threads"],
                                        intra_threads=1)
    begin = time.perf_counter()
    found = translator.translate_batch(lines, beam_size=job["beam"], max_decoding_length=LONGEST, length_penalty=1,
                                       max_batch_size=32, batch_type="examples")
    seconds = time.perf_counter() - begin
    with open(job["tokens"], "w", encoding="utf-8") as file:
        file.writelines(" ".join(one.hypotheses[0]) + "\n" for one in found)
    print(json.dumps(seconds))


def run_peer(kind, beam, kernels, text, options):
    job = {"folder": os.path.join(CACHE, "ct2-" + kind), "compute": TYPES[kind], "beam": beam, "threads": options.threads,
           "text": text, "tokens": text + ".peer"}
    chosen = {"CT2_FORCE_CPU_ISA": kernels.split(":")[1].upper()} if kernels else {}
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--worker", json.dumps(job)], stdout=subprocess.PIPE,
                          env=dict(os.environ, OMP_NUM_THREADS="1", **chosen), check=True)
    return float(done.stdout), read_tokens(job["tokens"])


def run_pronk(kind, beam, kernels, text, options):
    decode = "greedy:max_length=%d" % LONGEST if beam == 1 else \
        "beam:size=%d,rules=ct2,length_penalty=1,max_length=%d" % (beam, LONGEST)
    done = subprocess.run([os.path.join(CACHE, "tokens"), os.path.join(CACHE, "ct2-" + kind), decode, str(options.threads), text],
                          env=dict(os.environ, **({"PRONK_ISA": kernels.split(":")[0]} if kernels else {})),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return float(done.stderr), done.stdout.decode().split("\n")[:-1]


def read_tokens(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


# ---- all of it ----

def measure_chunk(at, chunk, records, options):
    """Every cell of a chunk that has not been measured yet; who begins alternates"""
    text = os.path.join(CACHE, "folders-chunk.%d.txt" % os.getpid())        # another run may be at work
    with open(text, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in chunk)
    for kind, beam, kernels in cells(options):
        cell = {"type": kind, "beam": beam, "kernels": kernels, "begin": at, "lines": len(chunk), "threads": options.threads}
        if any(all(one.get(key, "") == value for key, value in cell.items()) for one in records):
            continue
        sides = [("pronk", run_pronk), ("peer", run_peer)]
        found = {name: run(kind, beam, kernels, text, options) for name, run in (sides if len(records) % 2 else reversed(sides))}
        records.append(dict(cell, **{name + "_seconds": one[0] for name, one in found.items()},
                            **{name + "_tokens": one[1] for name, one in found.items()}))
        with open(options.output, "a", encoding="utf-8") as file:
            file.write(json.dumps(records[-1], ensure_ascii=False) + "\n")


def measure(lines, options):
    records, begin = read_records(options.output), time.monotonic()
    for at in range(options.skip, len(lines), options.chunk):
        if time.monotonic() - begin > options.seconds:
            break
        measure_chunk(at, lines[at:at + options.chunk], records, options)
    return records


def cells(options):
    more = options.kernels.split(",") if options.kernels else []
    return [(kind, beam, kernels) for kind in options.types.split(",") for beam in BEAMS
            for kernels in [""] + (more if kind == "i8" else [])]


def read_records(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_text(name, tokens, options):
    """Pieces joined by the target's SentencePiece model"""
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(options.model, "target.spm"))
    return write_lines(name, [pieces.decode_pieces(line.split(" ")) for line in tokens])


def write_lines(name, lines):
    path = os.path.join(CACHE, "folders.%d.%s" % (os.getpid(), name))
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def evaluate(outputs, numbers, options, *more):
    """sacreBLEU's figures, by `pronk eval`, of several outputs for these lines"""
    with open(options.reference, encoding="utf-8") as file:
        references = file.read().split("\n")
    reference = write_lines("reference", [references[i] for i in numbers])
    paths = [write_text("hypothesis-%d" % i, tokens, options) for i, tokens in enumerate(outputs)]
    done = subprocess.run([options.pronk, "eval", "-r", reference, "--json", *more, *paths], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def outputs_of(records, cell):
    """What each wrote, by the number of the line; chunks that overlap count once"""
    sides = {"Pronk": {}, "CTranslate2": {}}
    for one in records:
        if (one["type"], one["beam"], one.get("kernels", "")) == cell:
            sides["Pronk"].update(enumerate(one["pronk_tokens"], one["begin"]))
            sides["CTranslate2"].update(enumerate(one["peer_tokens"], one["begin"]))
    return sides


def share(a, b):
    return 100 * sum(x == y for x, y in zip(a, b)) / len(a)


def print_table(records, options):
    print("| type | decode | kernels | lines | the same tokens | BLEU Pronk / CTranslate2 | "
          "seconds Pronk / CTranslate2 | ratio |\n|---|---|---|--:|--:|--:|--:|--:|")
    for cell in cells(options):
        kind, beam, kernels = cell
        sides = outputs_of(records, cell)
        numbers = sorted(sides["Pronk"])
        ours, theirs = [[sides[name][i] for i in numbers] for name in ("Pronk", "CTranslate2")]
        if not numbers:
            continue
        mine = [one for one in records if (one["type"], one["beam"], one.get("kernels", "")) == cell]
        seconds = [sum(one[name] for one in mine) for name in ("pronk_seconds", "peer_seconds")]
        scores = [one["bleu"] for one in evaluate((ours, theirs), numbers, options)]
        print("| %s | %s | %s | %d | %d (%.2f %%) | %.2f / %.2f | %.1f / %.1f | %.2f |" % (
            TYPES[kind], decode_name(beam), kernels or "own choice", len(ours), sum(a == b for a, b in zip(ours, theirs)),
            share(ours, theirs), *scores, *seconds, seconds[1] / seconds[0]))


def decode_name(beam):
    return "greedy" if beam == 1 else "beam %d" % beam


def outputs_by_name(records, beam, options):
    """(program, type, kernels) -> its lines, by their numbers"""
    found = {}
    for cell in cells(options):
        sides, kernels = outputs_of(records, cell), (cell[2] or ":").split(":")
        if cell[1] == beam and sides["Pronk"]:
            found["CTranslate2", cell[0], kernels[1]] = sides["CTranslate2"]
            found["Pronk", cell[0], kernels[0]] = sides["Pronk"]
    return found


def print_spread(records, beam, options):
    """CTranslate2's int8 as it is, then all others, on the lines that all of them have"""
    found, first = outputs_by_name(records, beam, options), ("CTranslate2", "i8", "")
    names = [first] + [name for name in found if name != first]
    numbers = sorted(set.intersection(*(set(lines) for lines in found.values())))
    outputs = [[found[name][i] for i in numbers] for name in names]
    scores = evaluate(outputs, numbers, options, "--bootstrap", "1000")
    print("\n%s, %d lines; columns: the share of lines with equal tokens\n" % (decode_name(beam), len(numbers)))
    print("| output | BLEU | p | " + " | ".join(str(i + 1) for i in range(len(names))) + " |")
    print("|---|--:|--:|" + "--:|" * len(names))
    for i, (name, score) in enumerate(zip(names, scores)):
        shares = " | ".join("%.1f" % share(outputs[i], other) for other in outputs)
        print("| %d: %s %s %s | %.2f | %s | %s |" % (i + 1, name[0], TYPES[name[1]], name[2], score["bleu"],
                                                      "%.3f" % score["p_value"]["bleu"] if i else "-", shares))


def print_tables(records, options):
    print_table(records, options)
    for beam in BEAMS:
        if "i8" in options.types:
            print_spread(records, beam, options)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--model", default=os.path.join(SHARED, "models", "en-de-base-hf"))
    parser.add_argument("--input", default=os.path.join(SHARED, "testsets", "en-de", "newstest2014.en"))
    parser.add_argument("--reference", default=os.path.join(SHARED, "testsets", "en-de", "newstest2014.de"))
    parser.add_argument("--output", default=os.path.join(CACHE, "ct2_folders.jsonl"))
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--kernels", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--lines", type=int, default=10 ** 9)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--chunk", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--table")
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        return peer_worker(json.loads(options.worker))
    if options.table:
        return print_tables(read_records(options.table), options)
    for kind in options.types.split(","):
        make_folder(options.model, kind)
    with open(options.input, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1][:options.lines]
    print_tables(measure(lines, options), options)


if __name__ == "__main__":
    main()
