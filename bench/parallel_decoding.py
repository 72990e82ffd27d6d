"""Parallel decoding beside greedy search: time and iterations, as in Tables 1 and 6 of the paper, and its Figure 3.

usage: parallel_decoding.py [--quick] [--plan NAME ...] [--pronk build/pronk] [--shared ../shared] [--report]
needs: Python 3 alone; a model (converted here unless --f32 and --i8 name .pronk files) and the test sets

All cases of a setting are open in one process and get each line (batch 32: each 256 lines) in turn
(`pronk bench --interleave`), so ratios to greedy are paired. Sets are cut into chunks, a process each,
so that a busy machine can be shared: with --lock FILE that file is locked around each chunk, or around several
that take --hold seconds together. Every chunk becomes a JSON line (--output); one that is there already is not
measured again. Prints Markdown and fails if a single line of any case differs from greedy's.
"""
import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETS = {"newstest2014": "testsets/en-de/newstest2014", "tatoeba.test": "corpora/en-de/tatoeba.test",
        "software.test": "corpora/en-de/software.test"}
# label: (--decode, draft)
CASES = {
    "greedy": ("greedy", None),
    "PJ": ("pj", None),
    "PGJ (b = 3)": ("pgj:block=3", None),
    "PGJ (b = 5)": ("pgj:block=5", None),
    "HGJ (b = 3)": ("hgj:block=3", None),
    "jacobi": ("jacobi", None),
    "jacobi, init=copy": ("jacobi:init=copy", None),
    "jacobi, init=copy,window=16": ("jacobi:init=copy,window=16", None),
    "jacobi, draft: reference": ("jacobi", "reference"),
    "jacobi, window=16, draft: reference": ("jacobi:window=16", "reference"),
    "jacobi, draft: own output": ("jacobi", "own"),
}
MAIN = ["greedy", "PGJ (b = 3)", "jacobi", "jacobi, draft: reference", "jacobi, draft: own output"]
OTHERS = ["greedy", "PJ", "PGJ (b = 5)", "HGJ (b = 3)", "jacobi, init=copy"]
WIDE = ["greedy", "jacobi, init=copy,window=16", "jacobi, window=16, draft: reference"]
SCALING = ["greedy", "PJ", "PGJ (b = 3)", "PGJ (b = 5)", "HGJ (b = 3)", "jacobi"]
EVERY = [case for case in CASES if "window" not in case]
ALL = 10 ** 9
# name: [(types, threads, batch, sets, lines, cases)]
PLANS = {
    "main": [(["i8", "f32"], 2, 1, list(SETS), ALL, MAIN)],
    "others": [(["i8", "f32"], 2, 1, list(SETS), 200, OTHERS), (["i8"], 2, 1, list(SETS), 200, WIDE)],
    "scaling": [(["i8", "f32"], 1, 1, ["newstest2014"], 200, SCALING),
                (["i8", "f32"], 2, 1, ["newstest2014"], 200, SCALING)],
    "batch": [(["i8", "f32"], 2, 32, ["newstest2014"], ALL, EVERY)],
    # equality and iterations, on one thread; its times are not reported
    "equal": [(["i8"], 1, 1, ["newstest2014"], ALL, OTHERS + WIDE[1:]), (["f32"], 1, 1, ["newstest2014"], ALL, OTHERS),
              (["f32"], 1, 32, ["newstest2014"], ALL, EVERY)],
}


# ---- measuring ----

def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def chunks_of(lines, room):
    """(first, end) of parts of at most `room` bytes, one line at least."""
    first, size = 0, 0
    for i, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > room and i > first:
            yield first, i
            first, size = i, len(line.encode()) + 1
    yield first, len(lines)


class Lock:
    """A lock on a file that is kept for a while, so that short chunks need not wait for each other."""

    def __init__(self, path, hold):
        self.path, self.hold, self.file, self.since = path, hold, None, 0

    def __enter__(self):
        if self.path and not self.file:
            self.file = open(self.path, "a")
            fcntl.flock(self.file, fcntl.LOCK_EX)
            self.since = time.monotonic()

    def __exit__(self, *_):
        if self.file and time.monotonic() - self.since > self.hold:
            self.file.close()
            self.file = None


def write_lines(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    return path


def measure(options, setting, first, end, source, reference, folder):
    """One chunk of one setting: a JSON object a case, from `pronk bench`."""
    model = getattr(options, setting["type"])
    path = write_lines(folder, "source", source[first:end])
    drafts = {None: "", "reference": write_lines(folder, "reference", reference[first:end]),
              "own": os.path.join(folder, "own")}
    if any(CASES[case][1] == "own" for case in setting["cases"]):
        subprocess.run([options.pronk, "translate", "-m", model, "--no-split", "-q", "-i", path, "-o",
                        drafts["own"]], check=True)
    command = [options.pronk, "bench", "-m", model, "-i", path, "--threads", str(setting["threads"]), "--batch",
               str(setting["batch"]), "--warm-up", "2", "--interleave", "--json"]
    for case in setting["cases"]:
        decode, draft = CASES[case]
        command += ["--decode", decode, "--draft", drafts[draft]]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    return [json.loads(line) for line in out.splitlines()]


def figures_of(case, found):
    keep = ("seconds", "lines", "lines_as_first", "target_tokens", "asks_per_pass")
    row = {key: found[key] for key in keep}
    row.update(case=case, passes=found["passes_per_sentence"] * found["lines"],
               probe=found["probe_passes_per_sentence"] * found["lines"],
               encoder=found["time_share"]["encoder"] * found["seconds"])
    return row


def all_settings(options):
    for plan in options.plan:
        for types, threads, batch, sets, lines, cases in PLANS[plan]:
            for kind in (kind for kind in types if kind in options.types):
                for name in (name for name in sets if name in options.sets):
                    yield {"plan": plan, "type": kind, "threads": threads, "batch": batch, "set": name,
                           "cases": cases, "lines": min(lines, options.lines or ALL)}


def run_all(options, done):
    lock = Lock(options.lock, options.hold)
    for setting in all_settings(options):
        stem = os.path.join(options.shared, SETS[setting["set"]])
        source, reference = read_lines(stem + ".en"), read_lines(stem + ".de")
        lines = source[:setting["lines"]]
        room = options.chunk * 1000 * (3 if setting["type"] == "i8" else 1) * (1.2 if setting["batch"] > 1 else 1)
        for first, end in chunks_of(lines, room):
            key = dict(setting, first=first, end=end)
            if any(all(row[k] == v for k, v in key.items()) for row in done):
                continue
            with tempfile.TemporaryDirectory() as folder, lock:
                found = measure(options, setting, first, end, source, reference, folder)
            row = dict(key, found=[figures_of(case, one) for case, one in zip(setting["cases"], found)])
            done.append(row)
            with open(options.output, "a") as log:
                log.write(json.dumps(row) + "\n")
            print("%(plan)s: %(type)s, threads %(threads)d, batch %(batch)d, %(set)s %(first)d-%(end)d" % row,
                  "  ".join("%.2f" % (row["found"][0]["seconds"] / one["seconds"]) for one in row["found"]),
                  file=sys.stderr, flush=True)


# ---- reporting ----

def add_up(rows):
    """Sums over the chunks of one table cell: {case: figures}, each with greedy's own sums beside it."""
    sums = {}
    for row in rows:
        greedy = row["found"][0]
        for one in row["found"]:
            cell = sums.setdefault(one["case"], {"lines": 0})
            for key in ("seconds", "passes", "lines", "lines_as_first", "target_tokens", "encoder"):
                cell[key] = cell.get(key, 0) + one[key]
                cell["greedy_" + key] = cell.get("greedy_" + key, 0) + greedy[key]
            cell["all_passes"] = cell.get("all_passes", 0) + one["passes"] + one["probe"]
            cell["asks"] = cell.get("asks", 0) + one["asks_per_pass"] * (one["passes"] + one["probe"])
    return sums


def select(done, **wanted):
    return [row for row in done if all(row[key] == value for key, value in wanted.items())]


def ratio(cell):
    return cell["greedy_seconds"] / cell["seconds"]


def known_length(cell):
    """In the paper PJ knows the length: its time without the greedy search that finds it here."""
    search = cell["greedy_seconds"] - cell["greedy_encoder"]
    return cell["greedy_seconds"] / (cell["seconds"] - search) if cell["seconds"] > search else 0


def table(title, columns, cells_of, iterations=True):
    """columns: [(head, sums)]; a row for each case that any column has."""
    print("\n%s\n" % title)
    print("| decoding |" + "".join(" %s%s |" % (head, ": time / iterations / asks a pass" if iterations else "")
                                   for head, _ in columns))
    print("|---|" + "--:|" * len(columns))
    for case in CASES:
        if any(case in sums for _, sums in columns):
            print("| %s |" % case + "".join(" %s |" % (cells_of(sums[case]) if case in sums else "-")
                                            for _, sums in columns))
            if case == "PJ":
                print("| PJ, its length known |" + "".join(
                    " %s |" % ("%.2f" % known_length(sums[case]) if case in sums else "-") for _, sums in columns))


def both(cell):
    return "%.2f / %.2f / %.1f" % (ratio(cell), cell["greedy_passes"] / cell["passes"],
                                   cell["asks"] / cell["all_passes"])


def lines_of(sums):
    return ", ".join("%s %d" % (case, cell["lines"]) for case, cell in sums.items())


def report(done, output):
    for kind in ("f32", "i8"):
        columns = []
        for name in SETS:
            rows = select(done, plan="main", type=kind, set=name) + select(done, plan="others", type=kind, set=name)
            if rows:
                columns.append((name, add_up(rows)))
        if columns:
            table("**%s, batch 1, 2 threads**" % kind, columns, both)
            for name, sums in columns:
                print("\n%s: lines: %s; greedy: %.0f tokens/s" % (name, lines_of(sums),
                      sums["greedy"]["target_tokens"] / sums["greedy"]["seconds"]))
    columns = [("%s" % kind, add_up(select(done, plan="batch", type=kind))) for kind in ("f32", "i8")
               if select(done, plan="batch", type=kind)]
    if columns:
        table("**newstest2014, batch 32, 2 threads**", columns, both)
        for kind, sums in columns:
            print("\n%s: lines: %s" % (kind, lines_of(sums)))
    columns = [("%s, %d thread%s" % (kind, threads, "s" if threads > 1 else ""),
                add_up(select(done, plan="scaling", type=kind, threads=threads)))
               for kind in ("f32", "i8") for threads in (1, 2)
               if select(done, plan="scaling", type=kind, threads=threads)]
    if columns:
        table("**newstest2014, batch 1, speed against greedy on as many threads**", columns,
              lambda cell: "%.2f" % ratio(cell), iterations=False)
    different = sum(one["lines"] - one["lines_as_first"] for row in done for one in row["found"])
    compared = sum(one["lines"] for row in done for one in row["found"][1:])
    print("\n%d translations compared with greedy's, %d differ (%s)" % (compared, different, os.path.basename(output)))
    return different


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--shared", default=os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared")))
    parser.add_argument("--model", help="folder to convert; default: the one of the tests in --shared")
    parser.add_argument("--f32", help="a .pronk file, in place of converting --model")
    parser.add_argument("--i8", help="the same for int8")
    parser.add_argument("--plan", nargs="+", choices=list(PLANS), default=list(PLANS))
    parser.add_argument("--types", nargs="+", choices=["f32", "i8"], default=["f32", "i8"])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--lines", type=int, default=0, help="only the first N lines of each set; 0: as the plan says")
    parser.add_argument("--chunk", type=int, default=100, help="1000 bytes of source in a process (f32; i8: 3 x)")
    parser.add_argument("--lock", help="a file to lock around each chunk")
    parser.add_argument("--hold", type=float, default=0, help="seconds to keep that lock for further chunks")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench", "parallel_decoding.jsonl"))
    parser.add_argument("--quick", action="store_true", help="20 lines of each set")
    parser.add_argument("--report", action="store_true", help="measure nothing, print what --output holds")
    options = parser.parse_args()
    if options.quick:
        options.lines = 20
    options.model = options.model or os.path.join(options.shared, "models", "en-de-base-hf")
    return options


def prepare(options):
    cache = os.path.dirname(os.path.abspath(options.output))
    os.makedirs(cache, exist_ok=True)
    for kind in ("f32", "i8"):
        if not getattr(options, kind):
            setattr(options, kind, os.path.join(cache, "pronk-%s.pronk" % kind))
            subprocess.run([options.pronk, "convert", options.model, getattr(options, kind), "--type", kind,
                            "--quiet"], check=True)


def main():
    options = read_options()
    done = []
    if os.path.exists(options.output):
        with open(options.output) as log:
            done = [json.loads(line) for line in log]
    if not options.report:
        prepare(options)
        run_all(options, done)
    sys.exit(report(done, options.output) != 0)


if __name__ == "__main__":
    main()
