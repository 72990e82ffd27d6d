#!/usr/bin/env python3
"""Counts how a model translates tests/data/everyday.tsv: outputs that keep what must appear, and outputs that
are acceptable as a whole; by kind and in all. With floors it fails below them.

usage: check_everyday.py PRONK [-m MODEL] [--kept N] [--acceptable N] [--show] [-- OPTION OF TRANSLATE...]
"""
import argparse
import re
import subprocess
import sys

TABLE = 'tests/data/everyday.tsv'


def read_table(path):
    with open(path, encoding='utf-8') as f:
        lines = [line.rstrip('\n') for line in f if not line.startswith('# ')]
    return [line.split('\t') for line in lines]


def translate(pronk, model, sources, more):
    command = [pronk, 'translate', '--no-split'] + (['-m', model] if model else []) + more
    text = ''.join(s + '\n' for s in sources)
    out = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = out.split('\n')[:-1]
    assert len(lines) == len(sources), 'a line for a line'
    return lines


def judge(row, output):
    """-> (what must appear does, the whole is acceptable)"""
    _, source, must, accepted = row
    kept = all(item in output for item in must.split(';;'))
    kept = kept and '\u2047' not in output and ('??' in source or '??' not in output)
    return kept, kept and re.fullmatch(accepted, output.strip()) is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('pronk')
    parser.add_argument('-m', '--model')
    parser.add_argument('--kept', type=int, default=0)
    parser.add_argument('--acceptable', type=int, default=0)
    parser.add_argument('--show', action='store_true', help='every output that is not acceptable')
    own, more = sys.argv[1:], []
    if '--' in own:
        own, more = own[:own.index('--')], own[own.index('--') + 1:]
    a = parser.parse_args(own)
    table = read_table(TABLE)
    outputs = translate(a.pronk, a.model, [row[1] for row in table], more)
    verdicts = [judge(row, output) for row, output in zip(table, outputs)]
    for row, output, (kept, whole) in zip(table, outputs, verdicts):
        if a.show and not whole:
            print('%s\t%s\t%s\t%s' % ('other' if kept else 'LOST', row[0], row[1], output))
    for kind in dict.fromkeys(row[0] for row in table):
        of_kind = [v for row, v in zip(table, verdicts) if row[0] == kind]
        print('%-12s %3d kept %3d acceptable of %d' % (kind, sum(k for k, _ in of_kind), sum(w for _, w in of_kind), len(of_kind)))
    kept, whole = sum(k for k, _ in verdicts), sum(w for _, w in verdicts)
    print('%-12s %3d kept %3d acceptable of %d' % ('all', kept, whole, len(table)))
    sys.exit(kept < a.kept or whole < a.acceptable)


main()
