"""Pronk beside CTranslate2: same weights, same sentences, same threads, same run.

usage: compare_ct2.py [--quick] [--all] [--model DIR] [--input FILE] [--pronk build/pronk]
needs: ctranslate2, transformers, torch, sentencepiece (to convert and feed the peer); a C compiler

Every cell of {batch 1, batch 32} x {greedy, beam 4} x {f32, i8} x {1, 2 threads} is measured several
times, Pronk and CTranslate2 in turn, each time in a fresh process; the best run of each counts, since
noise only ever slows. At two threads CTranslate2 gets the better of its two settings (one worker with
two threads, two workers with one; at batch 1 the two workers get all lines in one call, and translate
them one by one). Target tokens are output tokens without the end symbol, for both.
Prints a Markdown table and writes one JSON line for each run and cell (--output).

How far Pronk is from the machine's bound: at batch 1 the weights that its passes read, over the
bandwidth of a plain sweep; at batch 32 its multiply-adds, over the peak of registers alone (lab/peak.c).
Weights that stay in the caches can bring the first above 100 %.
"""
import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEER_TYPES = {"f32": "float32", "i8": "int8"}
LONGEST = 256           # output tokens
WARM_UP = 10            # lines


# ---- the peer, in a process of its own ----

def peak_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def peer_translate(translator, lines, batch, beam, one_call):
    keys = dict(beam_size=beam, max_decoding_length=LONGEST, length_penalty=1, max_batch_size=batch,
                batch_type="examples")
    if batch > 1 or one_call:
        return translator.translate_batch(lines, **keys)
    found = []
    for line in lines:                                  # one sentence at a time, as a user would wait for it
        found += translator.translate_batch([line], **keys)
    return found


def peer_worker(job):
    """Runs one measurement and prints it. The tokens are made by the parent, so that this process holds
    CTranslate2 and nothing else that would count as its memory."""
    import ctranslate2
    with open(job["tokens"], encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(" ") for line in file]
    base = peak_memory()                                # Python and the sentences: not the peer's doing
    begin = time.perf_counter()
    translator = ctranslate2.Translator(job["model"], device="cpu", compute_type=PEER_TYPES[job["type"]],
                                        inter_threads=job["inter"], intra_threads=job["intra"])
    load = time.perf_counter() - begin
    peer_translate(translator, lines[:WARM_UP], job["batch"], job["beam"], job["one_call"])
    begin = time.perf_counter()
    found = peer_translate(translator, lines, job["batch"], job["beam"], job["one_call"])
    seconds = time.perf_counter() - begin
    out = {"seconds": seconds, "tokens": sum(len(one.hypotheses[0]) for one in found), "load_seconds": load,
           "peak_memory_bytes": peak_memory(), "python_bytes": base}
    if job.get("keep"):
        with open(job["keep"], "w", encoding="utf-8") as file:
            for one in found:
                file.write(" ".join(one.hypotheses[0]) + "\n")
    print(json.dumps(out))


def run_peer(cell, cache, tokens, inter, intra, one_call=False, keep=None):
    job = {"model": os.path.join(cache, "ct2-" + cell["type"]), "tokens": tokens, "type": cell["type"],
           "inter": inter, "intra": intra, "batch": cell["batch"], "beam": cell["beam"], "one_call": one_call,
           "keep": keep}
    env = dict(os.environ, OMP_NUM_THREADS=str(intra))
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--worker", json.dumps(job)], env=env,
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


# ---- Pronk ----

def run_pronk(cell, options, cache):
    decode = "greedy:max_length=%d" % LONGEST if cell["beam"] == 1 else \
        "beam:size=%d,rules=ct2,length_penalty=1,max_length=%d" % (cell["beam"], LONGEST)
    model = os.path.join(cache, "pronk-%s.pronk" % cell["type"])
    command = [options.pronk, "bench", "-m", model, "-i", options.input, "--decode", decode, "--limit",
               str(options.lines), "--threads", str(cell["threads"]), "--batch", str(cell["batch"]), "--warm-up",
               str(WARM_UP), "--json"]
    if cell["batch"] > 1 and cell["threads"] > 1 and options.workers:
        command += ["--workers", str(options.workers)]
    out = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()[0])
    # Pronk counts end symbols too, one a line
    tokens = out["target_tokens"] - out["lines"]
    return {"seconds": out["seconds"], "tokens": tokens, "load_seconds": out["load_seconds"],
            "peak_memory_bytes": out["peak_memory_bytes"], "passes_per_sentence": out["passes_per_sentence"],
            "bandwidth_fraction": out["bandwidth_fraction"], "end_symbols": out["lines"],
            "latency": out["latency_seconds"]}


# ---- preparing: both sides' models, the peer's tokens ----

def prepare(options, cache):
    os.makedirs(cache, exist_ok=True)
    tokens = os.path.join(cache, "tokens-%d.txt" % options.lines)
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(options.model, "source.spm"))
    with open(options.input, encoding="utf-8") as file:
        lines = file.read().split("\n")[:options.lines]
    if lines and not lines[-1]:
        lines.pop()
    encoded = [pieces.encode(line, out_type=str) + ["</s>"] for line in lines]
    with open(tokens, "w", encoding="utf-8") as out:
        out.writelines(" ".join(line) + "\n" for line in encoded)
    for kind, peer in PEER_TYPES.items():
        folder = os.path.join(cache, "ct2-" + kind)
        if not os.path.exists(os.path.join(folder, "model.bin")):
            from ctranslate2.converters import TransformersConverter
            TransformersConverter(options.model).convert(folder, quantization=peer, force=True)
        # always anew: the program may have changed what it writes
        file = os.path.join(cache, "pronk-%s.pronk" % kind)
        if os.path.exists(options.pronk):
            subprocess.run([options.pronk, "convert", options.model, file, "--type", kind, "--quiet"], check=True)
    return tokens, sum(len(line) for line in encoded), len(lines)


def reference_share(options, kept, kind):
    """Part of the peer's lines with the ids of the reference outputs beside the model, or None."""
    path = os.path.join(options.model, os.path.splitext(os.path.basename(options.input))[0] + ".%s.jsonl" % kind)
    if not os.path.exists(path):
        return None
    with open(os.path.join(options.model, "vocab.json"), encoding="utf-8") as file:
        ids = json.load(file)
    with open(path) as wanted, open(kept, encoding="utf-8") as got:
        pairs = [(json.loads(a)["ids"], [ids.get(piece) for piece in b.split()]) for a, b in zip(wanted, got)]
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else None


# ---- the machine's bounds ----

def measure_peaks(cache):
    program = os.path.join(cache, "peak")
    compiler = os.environ.get("CC", "cc")
    source = os.path.join(ROOT, "lab", "peak.c")
    subprocess.run([compiler, "-std=gnu11", "-O3", "-march=native", "-pthread", source, "-o", program], check=True)
    return {n: json.loads(subprocess.run([program, str(n)], stdout=subprocess.PIPE, check=True).stdout)
            for n in (1, 2)}


def multiply_adds(options, source_tokens, positions, beam):
    """In matrix products: every source token through the encoder and into each decoder layer's keys and
    values, every decoded position (of every hypothesis) through the decoder and the output layer."""
    with open(os.path.join(options.model, "config.json")) as file:
        c = json.load(file)
    d = c["d_model"]
    encoder = c["encoder_layers"] * (4 * d * d + 2 * d * c["encoder_ffn_dim"])
    keys = c["decoder_layers"] * 2 * d * d
    decoder = c["decoder_layers"] * (6 * d * d + 2 * d * c["decoder_ffn_dim"])
    output = d * (c.get("decoder_vocab_size") or c["vocab_size"])
    return source_tokens * (encoder + keys) + positions * beam * (decoder + output)


def bound_of(cell, run, options, source_tokens, peaks):
    """Part of what the machine could do at most: of its bandwidth at batch 1, of its arithmetic at 32."""
    peak = peaks[cell["threads"]]
    if cell["batch"] == 1:
        return run["bandwidth_fraction"], "bandwidth"
    work = multiply_adds(options, source_tokens, run["tokens"] + run["end_symbols"], cell["beam"])
    most = peak["int8_macs"] if cell["type"] == "i8" and peak["int8_macs"] else peak["float_macs"]
    return work / run["seconds"] / most, "arithmetic"


# ---- one cell, the table ----

def settings_of(cell):
    """(workers, threads of each, all lines in one call) that the peer may choose from. At batch 1 several workers
    only help when the lines come in one call: nobody waits for a sentence then, but it is the better figure."""
    if cell["threads"] == 1:
        return [(1, 1, False)]
    return [(1, cell["threads"], False), (cell["threads"], 1, True)]


def best_of(runs):
    return max(runs, key=lambda run: run["tokens"] / run["seconds"])


def measure(cell, options, cache, tokens, source_tokens, peaks, log):
    ours, theirs = [], []
    for turn in range(options.repeats):
        if os.path.exists(options.pronk):
            ours.append(dict(run_pronk(cell, options, cache), who="pronk", turn=turn, **cell))
        for inter, intra, one_call in settings_of(cell):
            kept = os.path.join(cache, "ct2-output.txt") if turn == 0 and inter == 1 else None
            run = run_peer(cell, cache, tokens, inter, intra, one_call, kept)
            theirs.append(dict(run, who="ctranslate2", turn=turn, inter=inter, intra=intra, **cell))
            if kept:
                cell["peer_as_reference"] = reference_share(options, kept, "greedy" if cell["beam"] == 1 else
                                                            "beam%d" % cell["beam"])
    for run in ours + theirs:
        log.write(json.dumps(run) + "\n")
    a, b = best_of(ours) if ours else None, best_of(theirs)
    row = dict(cell, peer_tokens_per_second=b["tokens"] / b["seconds"], peer_setting="%dx%d" % (b["inter"], b["intra"]),
               peer_peak=min(run["peak_memory_bytes"] for run in theirs if run["inter"] == b["inter"]),
               peer_load=min(run["load_seconds"] for run in theirs), repeats=options.repeats, lines=options.lines)
    if a:
        part, kind = bound_of(cell, a, options, source_tokens, peaks)
        row.update(tokens_per_second=a["tokens"] / a["seconds"], peak=min(run["peak_memory_bytes"] for run in ours),
                   load=min(run["load_seconds"] for run in ours), bound=part, bound_kind=kind,
                   ratio=(a["tokens"] / a["seconds"]) / (b["tokens"] / b["seconds"]), p50=a["latency"]["p50"])
    log.write(json.dumps(dict(row, who="cell")) + "\n")
    log.flush()
    return row


HEAD = ("| batch | decode | type | threads | Pronk tok/s | CT2 tok/s (workers x threads) | ratio | of the bound | "
        "peak MB Pronk / CT2 | load ms Pronk / CT2 |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|")


def table_line(row):
    decode = "greedy" if row["beam"] == 1 else "beam %d" % row["beam"]
    number = lambda key, form, scale=1: form % (row[key] * scale) if key in row else "-"
    bound = "%.0f %% of %s" % (100 * row["bound"], row["bound_kind"]) if "bound" in row else "-"
    return "| %d | %s | %s | %d | %s | %.0f (%s) | %s | %s | %s / %.0f | %s / %.0f |" % (
        row["batch"], decode, row["type"], row["threads"], number("tokens_per_second", "%.0f"),
        row["peer_tokens_per_second"], row["peer_setting"], number("ratio", "%.2f"), bound,
        number("peak", "%.0f", 1e-6), row["peer_peak"] / 1e6, number("load", "%.1f", 1e3), row["peer_load"] * 1e3)


def print_notes(rows, peaks, options):
    print("\n%d lines of %s; best of %d runs each, in turn, a fresh process each time." %
          (options.lines, os.path.basename(options.input), options.repeats))
    for n, peak in peaks.items():
        print("%d thread%s: %.1f GB/s from memory, %.0f G float and %.0f G 8-bit multiply-adds/s at most." % (
            n, "s" if n > 1 else "", peak["bytes_per_second"] / 1e9, peak["float_macs"] / 1e9, peak["int8_macs"] / 1e9))
    shares = [row for row in rows if row.get("peer_as_reference") is not None and row["type"] == "f32"]
    for row in shares:
        print("CTranslate2 f32, batch %d, beam %d, %d thread(s): %.1f %% of its lines have the reference's tokens." %
              (row["batch"], row["beam"], row["threads"], 100 * row["peer_as_reference"]))
    print("Peak memory of CTranslate2 counts its Python too (about 40 MB); Pronk's pages of a mapped model count.")


def read_options():
    shared = os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default=os.path.join(shared, "models", "en-de-base-hf"))
    parser.add_argument("--input", default=os.path.join(shared, "testsets", "en-de", "newstest2014.en"))
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"), help="converted models")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench", "compare_ct2.jsonl"))
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--all", action="store_true", help="every line of the input")
    parser.add_argument("--quick", action="store_true", help="40 lines, 2 repeats: a few minutes")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0, help="of Pronk at batch 32 on two threads; 0: its choice")
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--types", default="i8,f32")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peer-only", action="store_true", help="CTranslate2 alone")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.lines, options.repeats = 40, 2
    if options.all:
        options.lines = 10 ** 9
    if options.peer_only:
        options.pronk = "/nonexistent"
    elif not options.worker and not os.path.exists(options.pronk):
        parser.error("%s is not there: run make first, or give --peer-only" % options.pronk)
    return options


def main():
    options = read_options()
    if options.worker:
        return peer_worker(json.loads(options.worker))
    if not os.path.isdir(options.model):
        sys.exit("%s is not there: give --model and --input, or set PRONK_SHARED" % options.model)
    numbers = lambda text: [int(part) for part in text.split(",")]
    tokens, source_tokens, options.lines = prepare(options, options.cache)
    peaks = measure_peaks(options.cache)
    rows = []
    print(HEAD, flush=True)
    with open(options.output, "w") as log:
        log.write(json.dumps({"who": "machine", "peaks": peaks, "lines": options.lines}) + "\n")
        for batch in numbers(options.batches):
            for beam in numbers(options.beams):
                for kind in options.types.split(","):
                    for threads in numbers(options.threads):
                        cell = {"batch": batch, "beam": beam, "type": kind, "threads": threads}
                        rows.append(measure(cell, options, options.cache, tokens, source_tokens, peaks, log))
                        print(table_line(rows[-1]), flush=True)
    print_notes(rows, peaks, options)


if __name__ == "__main__":
    main()
