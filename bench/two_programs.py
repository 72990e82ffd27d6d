"""Two builds of Pronk beside each other: is the newer one as fast, and are its outputs the same?

usage: two_programs.py OLD NEW [--lines N] [--chunk N] [--repeats N] [--cells WORD] [--core N] [--model MODEL] [--text FILE]

Every cell of {batch 1, 32} x {greedy, beam 4} x {f32, i8} is measured on one thread, chunk by chunk of the
lines. On each chunk the two programs take turns, in the order old new new old .., each in a fresh process on one core,
so that both see the same machine. The processor seconds of a chunk are the fewest of its repeats. Reading the model is
part of them. --cells picks the cells whose name contains a word ("i8", "batch 32", "greedy").
"""
import argparse
import itertools
import os
import subprocess
import sys
import tempfile

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared")
CELLS = [(f"{number} {decode.split(':')[0]} batch {batch}", number, decode, batch)
         for number, decode, batch in itertools.product(("f32", "i8"), ("greedy", "beam:size=4"), (1, 32))]


def seconds_of(program, cell, model, lines, core):
    """Processor seconds of one process that translates the lines, and its output."""
    _, number, decode, batch = cell
    with tempfile.TemporaryDirectory() as folder:
        source, output = os.path.join(folder, "in"), os.path.join(folder, "out")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(lines)
        command = [program, "translate", "-q", "-m", model, "-d", decode, "--type", number, "--batch",
                   str(batch), "--threads", "1", "-i", source, "-o", output]
        process = subprocess.Popen(command, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        _, status, used = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"two_programs.py: failed: {' '.join(command)}")
        with open(output, encoding="utf-8") as file:
            return used.ru_utime + used.ru_stime, file.readlines()


def measure(cell, chunks, options):
    """(seconds of the old program, of the new one, lines that differ), summed over the chunks."""
    total, different = {"old": 0.0, "new": 0.0}, 0
    programs = {"old": options.old, "new": options.new}
    for number, chunk in enumerate(chunks):
        best, said = {}, {}
        for repeat in range(options.repeats):
            for side in ("old", "new") if (number + repeat) % 2 == 0 else ("new", "old"):
                seconds, said[side] = seconds_of(programs[side], cell, options.model, chunk, options.core)
                best[side] = min(seconds, best.get(side, seconds))
        for side in best:
            total[side] += best[side]
        different += sum(a != b for a, b in zip(said["old"], said["new"], strict=True))
    return total["old"], total["new"], different


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--chunk", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cells", default="")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--model", default=os.path.join(SHARED, "models", "en-de-base-hf"))
    parser.add_argument("--text", default=os.path.join(SHARED, "testsets", "en-de", "newstest2014.en"))
    options = parser.parse_args()
    with open(options.text, encoding="utf-8") as file:
        lines = file.readlines()[:options.lines]
    chunks = [lines[at:at + options.chunk] for at in range(0, len(lines), options.chunk)]
    print("| cell | old, s | new, s | new / old | lines that differ |\n| --- | --: | --: | --: | --: |")
    for cell in CELLS:
        if options.cells in cell[0]:
            old, new, different = measure(cell, chunks, options)
            print(f"| {cell[0]} | {old:.1f} | {new:.1f} | {new / old:.3f} | {different} |", flush=True)


if __name__ == "__main__":
    main()
