"""Pronk beside CTranslate2: same weights, same sentences, same threads, one after the other.

usage: compare_ct2.py [--quick | --lines N | --all] [--chunk N] [--lock FILE] [--output FILE] [--model DIR] ...
       compare_ct2.py --scaling ...          Pronk alone: two threads beside one, at batch 1
       compare_ct2.py --table FILE           the tables again, from what was measured before
needs: ctranslate2, transformers, torch, sentencepiece (to convert and feed the peer); a C compiler

Every cell of {batch 1, batch 32} x {greedy, beam 4} x {f32, i8} x {1, 2 threads} is measured chunk by chunk
of the lines: on each chunk Pronk and CTranslate2 take a turn, each in a fresh process, so that both see the
same machine; seconds and tokens are summed over the chunks. Where turns are repeated, the best measurement of each
side on each chunk counts. At two threads CTranslate2 gets the better of its two settings (one worker with two
threads, two workers with one; at batch 1 the two workers get all lines in one call, and translate them one by
one): the first chunk is translated with both, the others with the one that was faster there. Target tokens
are output tokens without the end symbol, for both.

Each turn is appended to --output as one JSON line when it is done. The same command continues a benchmark that was
ended early: turns that are in the file, with the same program, are not measured again.

How far Pronk is from the machine's bound: at batch 1 the weights that its passes read, over the
bandwidth of a plain sweep; at batch 32 its multiply-adds, over the peak of registers alone (bench/peak.c).
Weights that stay in the caches can bring the first above 100 %.
"""
import argparse
import fcntl
import hashlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEER_TYPES = {"f32": "float32", "i8": "int8"}
LONGEST = 256           # output tokens
WARM_UP = 10            # lines
CELL = ("batch", "beam", "type", "threads")


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
    with open(job["keep"], "w", encoding="utf-8") as file:
        for one in found:
            file.write(" ".join(one.hypotheses[0]) + "\n")
    print(json.dumps(out))


def run_peer(cell, options, chunk, setting):
    inter, intra, one_call = setting
    kept = os.path.join(options.cache, "ct2-output.txt")
    job = dict(cell, model=os.path.join(options.cache, "ct2-" + cell["type"]), tokens=chunk["tokens"], inter=inter,
               intra=intra, one_call=one_call, keep=kept)
    env = dict(os.environ, OMP_NUM_THREADS=str(intra))
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--worker", json.dumps(job)], env=env,
                          stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout), inter=inter, intra=intra, **reference_lines(cell, options, chunk, kept))


def reference_lines(cell, options, chunk, kept):
    """How many of the peer's lines there are references for beside the model, and how many have their ids."""
    kind = "greedy" if cell["beam"] == 1 else "beam%d" % cell["beam"]
    path = os.path.join(options.model, os.path.splitext(os.path.basename(options.input))[0] + ".%s.jsonl" % kind)
    if not os.path.exists(path):
        return {}
    with open(os.path.join(options.model, "vocab.json"), encoding="utf-8") as file:
        ids = json.load(file)
    with open(path) as wanted, open(kept, encoding="utf-8") as got:
        wanted = itertools.islice(wanted, chunk["begin"], chunk["end"])
        pairs = [(json.loads(a)["ids"], [ids.get(piece) for piece in b.split()]) for a, b in zip(wanted, got)]
    return {"references": len(pairs), "as_reference": sum(a == b for a, b in pairs)}


# ---- Pronk ----

def run_pronk(cell, options, chunk):
    decode = "greedy:max_length=%d" % LONGEST if cell["beam"] == 1 else \
        "beam:size=%d,rules=ct2,length_penalty=1,max_length=%d" % (cell["beam"], LONGEST)
    model = os.path.join(options.cache, "pronk-%s.pronk" % cell["type"])
    command = [options.pronk, "bench", "-m", model, "-i", chunk["text"], "--decode", decode, "--threads",
               str(cell["threads"]), "--batch", str(cell["batch"]), "--warm-up", str(WARM_UP), "--json"]
    if cell["batch"] > 1 and cell["threads"] > 1 and options.workers:
        command += ["--workers", str(options.workers)]
    out = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()[0])
    # Pronk counts end symbols too, one a line
    one = {key: out[key] for key in ("seconds", "load_seconds", "peak_memory_bytes", "passes_per_sentence",
                                     "bandwidth_fraction", "machine_bytes_per_second", "latency_seconds")}
    return dict(one, tokens=out["target_tokens"] - out["lines"], end_symbols=out["lines"])


# ---- preparing: both sides' models, the chunks, the machine's bounds ----

def convert_models(options):
    for kind in options.types.split(","):
        folder = os.path.join(options.cache, "ct2-" + kind)
        if not os.path.exists(os.path.join(folder, "model.bin")) and not options.scaling:
            from ctranslate2.converters import TransformersConverter
            TransformersConverter(options.model).convert(folder, quantization=PEER_TYPES[kind], force=True)
        # always anew: the program may have changed what it writes
        file = os.path.join(options.cache, "pronk-%s.pronk" % kind)
        if options.program:
            subprocess.run([options.pronk, "convert", options.model, file, "--type", kind, "--quiet"], check=True)


def read_lines(options):
    with open(options.input, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines[:options.lines]


def cut_chunks(options, lines, size):
    """Text and pieces of each chunk, in files. A last chunk of less than half the size joins the one before."""
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(options.model, "source.spm"))
    begins = list(range(0, len(lines), size))
    if len(begins) > 1 and len(lines) - begins[-1] < size / 2:
        begins.pop()
    chunks = []
    for begin, end in zip(begins, begins[1:] + [len(lines)]):
        name = os.path.join(options.cache, "chunk-%d-%d" % (begin, end))
        encoded = [pieces.encode(line, out_type=str) + ["</s>"] for line in lines[begin:end]]
        with open(name + ".txt", "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines[begin:end])
        with open(name + ".tokens", "w", encoding="utf-8") as out:
            out.writelines(" ".join(line) + "\n" for line in encoded)
        chunks.append({"begin": begin, "end": end, "text": name + ".txt", "tokens": name + ".tokens",
                       "source_tokens": sum(len(line) for line in encoded)})
    return chunks


def measure_peaks(options):
    program = os.path.join(options.cache, "peak")
    compiler = os.environ.get("CC", "cc")
    source = os.path.join(ROOT, "bench", "peak.c")
    subprocess.run([compiler, "-std=gnu11", "-O3", "-march=native", "-pthread", source, "-o", program], check=True)
    return [json.loads(subprocess.run([program, str(n)], stdout=subprocess.PIPE, check=True).stdout) for n in (1, 2)]


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


# ---- turns ----

class Turnstile:
    """Whoever times things on this machine takes the same lock (--lock). It is given up after the first turn that
    ends --hold seconds or more after it was got, with a pause in which others can have it."""
    def __init__(self, options):
        self.path, self.hold, self.file, self.since = options.lock, options.hold, None, 0

    def __enter__(self):
        if self.path and not self.file:
            self.file = open(self.path, "w")
            fcntl.flock(self.file, fcntl.LOCK_EX)
            self.since = time.monotonic()

    def __exit__(self, *_):
        if self.file and time.monotonic() - self.since >= self.hold:
            self.file.close()
            self.file = None
            time.sleep(0.5)


def rate(one):
    return one["tokens"] / one["seconds"]


def settings_of(cell, turns):
    """(workers, threads of each, all lines in one call) that the peer may choose from, or has chosen on the first
    chunk. At batch 1 several workers only help when the lines come in one call: nobody waits for a sentence
    then, but it is the better figure."""
    n = cell["threads"]
    both = [(1, n, False), (n, 1, True)] if n > 1 else [(1, 1, False)]
    tried = [one for turn in turns if turn["begin"] == 0 for one in turn["peer"]]
    if not tried:
        return both
    best = max(tried, key=rate)
    return [setting for setting in both if setting[:2] == (best["inter"], best["intra"])]


def take_turn(cell, options, chunk, turns, repeat):
    """One side, then the other; who begins alternates."""
    turn = dict(cell, who="turn", repeat=repeat, program=options.program,
                **{key: chunk[key] for key in ("begin", "end", "source_tokens")})
    settings = settings_of(cell, turns if chunk["begin"] else [])
    ours = lambda: turn.update(pronk=run_pronk(cell, options, chunk)) if options.program else None
    theirs = lambda: turn.update(peer=[run_peer(cell, options, chunk, setting) for setting in settings])
    order = [ours, theirs] if len(turns) % 2 == 0 else [theirs, ours]
    with options.turnstile:
        for side in order:
            side()
    if options.program:
        turn["multiply_adds"] = multiply_adds(options, chunk["source_tokens"], turn["pronk"]["tokens"] +
                                              turn["pronk"]["end_symbols"], cell["beam"])
    return turn


def is_of(cell):
    return lambda record: all(record[key] == cell[key] for key in CELL)


def measure(cell, options, chunks, records, log):
    turns = [turn for turn in filter(is_of(cell), of_kind(records, "turn")) if turn["program"] == options.program]
    done = {(turn["begin"], turn["end"], turn["repeat"]) for turn in turns}
    for repeat in range(options.repeats):
        for chunk in chunks:
            if (chunk["begin"], chunk["end"], repeat) not in done:
                turns.append(take_turn(cell, options, chunk, turns, repeat))
                append(turns[-1], records, log)


def scale(kind, options, chunks, records, log):
    """One thread and two in turn on the same chunk; every second time two begin."""
    for repeat in range(options.repeats):
        for chunk in chunks:
            record = {"who": "scaling", "type": kind, "repeat": repeat, "program": options.program,
                      "begin": chunk["begin"], "end": chunk["end"]}
            with options.turnstile:
                for threads in (1, 2) if len(records) % 2 == 0 else (2, 1):
                    cell = {"batch": 1, "beam": 1, "type": kind, "threads": threads}
                    record[str(threads)] = run_pronk(cell, options, chunk)
            append(record, records, log)


# ---- what was written, and the tables made from it ----

def append(record, records, log):
    records.append(record)
    log.write(json.dumps(record) + "\n")
    log.flush()


def read_records(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def of_kind(records, who):
    return [record for record in records if record["who"] == who]


def best_peaks(records, threads):
    machines = [machine["peaks"][threads - 1] for machine in of_kind(records, "machine")]
    return {key: max(peak[key] for peak in machines) for key in ("bytes_per_second", "float_macs", "int8_macs")}


def add_up(measurements):
    """The best measurement of each chunk, summed. `measurements`: (chunk, measurement) pairs."""
    best = {}
    for chunk, one in measurements:
        if chunk not in best or rate(one) > rate(best[chunk]):
            best[chunk] = one
    kept = best.values()
    total = {key: sum(one.get(key, 0) for one in kept) for key in ("seconds", "tokens", "references", "as_reference")}
    return dict(total, peak=max(one["peak_memory_bytes"] for one in kept), n=len(best), measured=list(kept),
                load=statistics.median(one["load_seconds"] for one in kept))


def bound_of(cell, turns, ours, peaks):
    """Part of what the machine could do at most: of its bandwidth at batch 1, of its arithmetic at 32."""
    if cell["batch"] == 1:
        used = sum(one["bandwidth_fraction"] * one["seconds"] for one in ours["measured"])
        return "%.0f %% of bandwidth" % (100 * used / ours["seconds"])
    work = sum({turn["begin"]: turn["multiply_adds"] for turn in turns}.values())
    most = peaks["int8_macs"] if cell["type"] == "i8" and peaks["int8_macs"] else peaks["float_macs"]
    return "%.0f %% of arithmetic" % (100 * work / ours["seconds"] / most)


HEAD = ("| batch | decode | type | threads | Pronk tok/s | CT2 tok/s (workers x threads) | ratio | by chunk | "
        "of the bound | peak MB Pronk / CT2 | load ms Pronk / CT2 |\n|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")


def table_line(cell, turns, records):
    _, inter, intra = max((rate(one), one["inter"], one["intra"]) for turn in turns if turn["begin"] == 0
                          for one in turn["peer"])
    theirs = add_up([(turn["begin"], one) for turn in turns for one in turn["peer"]
                     if (one["inter"], one["intra"]) == (inter, intra)])
    ours = [(turn["begin"], turn["pronk"]) for turn in turns if "pronk" in turn]
    name = "| %d | %s | %s | %d |" % (cell["batch"], "greedy" if cell["beam"] == 1 else "beam %d" % cell["beam"],
                                      cell["type"], cell["threads"])
    peer = "%.0f (%dx%d)" % (rate(theirs), inter, intra)
    if not ours:
        return "%s - | %s | - | - | - | - / %.0f | - / %.0f |" % (name, peer, theirs["peak"] / 1e6,
                                                                   theirs["load"] * 1e3)
    ours = add_up(ours)
    ratios = [rate(a) / rate(b) for a, b in zip(ours["measured"], theirs["measured"])]
    return "%s %.0f | %s | %.2f | %s | %s | %.0f / %.0f | %.1f / %.0f |" % (
        name, rate(ours), peer, rate(ours) / rate(theirs),
        "%.2f to %.2f" % (min(ratios), max(ratios)) if len(ratios) > 1 else "-",
        bound_of(cell, turns, ours, best_peaks(records, cell["threads"])), ours["peak"] / 1e6, theirs["peak"] / 1e6,
        ours["load"] * 1e3, theirs["load"] * 1e3)


def cells_of(options):
    numbers = lambda text: [int(part) for part in text.split(",")]
    lists = (numbers(options.batches), numbers(options.beams), options.types.split(","), numbers(options.threads))
    return [dict(zip(CELL, values)) for values in itertools.product(*lists)]


def turns_within(cell, options, records):
    """The cell's turns on the first lines, when they cover all of them."""
    turns = sorted((turn for turn in filter(is_of(cell), of_kind(records, "turn")) if turn["end"] <= options.lines),
                   key=lambda turn: turn["begin"])
    covered = sum(end - begin for begin, end in {(turn["begin"], turn["end"]) for turn in turns})
    return turns, covered


def print_table(options, records):
    missing = []
    print("\n" + HEAD)
    for cell in cells_of(options):
        turns, covered = turns_within(cell, options, records)
        if turns and covered == options.lines:
            print(table_line(cell, turns, records))
        else:
            missing.append("%s (%d lines)" % (" ".join("%s %s" % (key, cell[key]) for key in CELL), covered))
    print("\nThe first %d lines of %s." % (options.lines, os.path.basename(options.input)))
    if missing:
        print("Not measured on all of them: %s." % ", ".join(missing))
    for n in (1, 2):
        peak = best_peaks(records, n)
        print("%d thread%s: %.1f GB/s from memory, %.0f G float and %.0f G 8-bit multiply-adds/s at most." % (
            n, "s" if n > 1 else "", peak["bytes_per_second"] / 1e9, peak["float_macs"] / 1e9, peak["int8_macs"] / 1e9))
    print_references(options, records)
    programs = {record["program"] for record in records if record.get("program")}
    if len(programs) > 1:
        print("Attention: these turns are of %d different programs." % len(programs))


def print_references(options, records):
    """Whether the peer does the same work: its own tokens against the reference's, in f32."""
    for beam in sorted({cell["beam"] for cell in cells_of(options)}):
        first = [turn["peer"][0] for turn in of_kind(records, "turn") if turn["beam"] == beam and turn["type"] == "f32"
                and turn["end"] <= options.lines and turn["peer"][0].get("references")]
        if first:
            same, of = (sum(one[key] for one in first) for key in ("as_reference", "references"))
            print("CTranslate2 f32, beam %d: %.1f %% of its lines have the reference's tokens." %
                  (beam, 100 * same / of))


def print_scaling(options, records):
    print("\n| batch 1, greedy | 1 thread tok/s | 2 threads tok/s | ratio | by chunk | "
          "plain sweep, 1 and 2 threads GB/s | ratio |\n|---|--:|--:|--:|--:|--:|--:|")
    for kind in options.types.split(","):
        pairs = [(record["1"], record["2"]) for record in of_kind(records, "scaling") if record["type"] == kind]
        if not pairs:
            continue
        one, two = ({key: sum(pair[i][key] for pair in pairs) for key in ("tokens", "seconds")} for i in (0, 1))
        ratios = sorted(rate(b) / rate(a) for a, b in pairs)
        sweeps = [statistics.median(pair[i]["machine_bytes_per_second"] for pair in pairs) for i in (0, 1)]
        print("| %s | %.0f | %.0f | %.2f | %.2f to %.2f, median %.2f | %.1f and %.1f | %.2f |" % (
            kind, rate(one), rate(two), rate(two) / rate(one), ratios[0], ratios[-1], statistics.median(ratios),
            sweeps[0] / 1e9, sweeps[1] / 1e9, sweeps[1] / sweeps[0]))


# ---- options, the whole benchmark ----

def make_parser():
    shared = os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default=os.path.join(shared, "models", "en-de-base-hf"))
    parser.add_argument("--input", default=os.path.join(shared, "testsets", "en-de", "newstest2014.en"))
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"), help="converted models, chunks")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench", "compare_ct2.jsonl"))
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--all", action="store_true", help="every line of the input")
    parser.add_argument("--quick", action="store_true", help="40 lines: a few minutes")
    parser.add_argument("--chunk", type=int, default=0, help="lines; 0: 250 at batch 1, else 500; 125 with --scaling")
    parser.add_argument("--repeats", type=int, default=1, help="turns on each chunk")
    parser.add_argument("--lock", help="a file to lock for each turn, where others time things too")
    parser.add_argument("--hold", type=float, default=0, help="seconds to keep that lock at least, if turns are left")
    parser.add_argument("--workers", type=int, default=0, help="of Pronk at batch 32 on two threads; 0: its choice")
    parser.add_argument("--batches", default="1,32")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--types", default="i8,f32")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peer-only", action="store_true", help="CTranslate2 alone")
    parser.add_argument("--scaling", action="store_true", help="Pronk alone, two threads beside one at batch 1")
    parser.add_argument("--table", metavar="FILE", help="print the tables of that --output, measure nothing")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser


def read_options():
    parser = make_parser()
    options = parser.parse_args()
    options.lines = 40 if options.quick else 10 ** 9 if options.all else options.lines
    options.program = None
    if options.worker or options.table:
        return options
    if not os.path.isdir(options.model):
        parser.error("%s is not there: give --model and --input, or set PRONK_SHARED" % options.model)
    if not options.peer_only:
        if not os.path.exists(options.pronk):
            parser.error("%s is not there: run make first, or give --peer-only" % options.pronk)
        with open(options.pronk, "rb") as file:
            options.program = hashlib.sha256(file.read()).hexdigest()[:16]
    return options


def run_all(options):
    os.makedirs(options.cache, exist_ok=True)
    options.turnstile = Turnstile(options)
    lines = read_lines(options)
    records = read_records(options.output)
    with options.turnstile:
        convert_models(options)
        peaks = measure_peaks(options)
    cut = lambda size: cut_chunks(options, lines, options.chunk or size)
    with open(options.output, "a") as log:
        append({"who": "machine", "peaks": peaks}, records, log)
        if options.scaling:
            for kind in options.types.split(","):
                scale(kind, options, cut(125), records, log)
            return
        for cell in cells_of(options):
            measure(cell, options, cut(250 if cell["batch"] == 1 else 500), records, log)
            print(cell, "done", flush=True)


def main():
    options = read_options()
    if options.worker:
        return peer_worker(json.loads(options.worker))
    if not options.table:
        run_all(options)
    records = read_records(options.table or options.output)
    options.lines = min(options.lines, len(read_lines(options)))
    if of_kind(records, "turn"):
        print_table(options, records)
    if of_kind(records, "scaling"):
        print_scaling(options, records)


if __name__ == "__main__":
    main()
