#!/usr/bin/env python3
"""Beam search beside draft and verify for it (gad-beam): passes, asks and speed, by what is guessed and where from.

usage: gad_beam.py -m MODEL -i SOURCE -r REFERENCE [--size 4] [--batch 1] [--limit 40] [--threads 2] [--device cpu] [--type i8]
                   [--drafter MODEL]

Drafts: none, the reference, and beam's own output, which is what a perfect guess at the best hypothesis would bring. Speed is in turns line
by line with beam search in one run; passes and asks do not depend on the machine where levels are given.
Prints a table as Markdown.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PRONK = os.environ.get('PRONK', 'build/pronk')
SHAPES = ['', ',levels=2,width={0}', ',levels=4,width={0}', ',levels=8,width={0}', ',levels=8,width={1}', ',levels=8,width={2}']


def run(*command):
    done = subprocess.run([PRONK, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout


def head(path, n, to):
    with open(path, encoding='utf-8') as text, open(to, 'w', encoding='utf-8') as out:
        out.writelines(line for _, line in zip(range(n), text))
    return to


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for short, name in (('-m', '--model'), ('-i', '--input'), ('-r', '--reference')):
        parser.add_argument(short, name, required=True)
    parser.add_argument('--drafter')
    parser.add_argument('--size', type=int, default=4)
    parser.add_argument('--batch', type=int, default=1)
    parser.add_argument('--limit', type=int, default=40)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--type')
    o = parser.parse_args()
    machine = ['--threads', o.threads, '--device', o.device] + (['--type', o.type] if o.type else [])
    with tempfile.TemporaryDirectory() as folder:
        source, reference = (head(path, o.limit, os.path.join(folder, name)) for path, name in ((o.input, 'en'), (o.reference, 'de')))
        own, beam = os.path.join(folder, 'own'), 'beam:size=%d' % o.size
        run('translate', '-q', '-m', o.model, '-d', beam, '--no-split', '-i', source, '-o', own, *machine)
        cases = [(beam, '', '', 'none')]
        for name, draft in ('none', ''), ('reference', reference), ('own output', own):
            shapes = [s.format(o.size, 2 * o.size, 4 * o.size) for s in SHAPES]
            cases += [('gad-' + beam + shape, draft, '', name) for shape in shapes]
        if o.drafter:
            cases += [('gad-' + beam + s.format(o.size, 2 * o.size, 4 * o.size), '', o.drafter, 'drafter') for s in SHAPES]
        command = ['bench', '--json', '--interleave', '-m', o.model, '-i', source, '--batch', o.batch, '--warm-up', 2, *machine]
        for decode, draft, drafter, _ in cases:
            command += ['--drafter', drafter, '-d', decode, '--draft', draft]
        rows = [json.loads(line) for line in run(*command).splitlines()]
    print('| decoding | guesses from | passes a sentence | times fewer | asks a pass | speed | lines as beam\'s |')
    print('| --- | --- | --: | --: | --: | --: | --: |')
    for (decode, _, _, name), row in zip(cases, rows):
        passes = row['target_tokens'] / row['tokens_per_model_pass'] / row['lines']
        first = rows[0]['target_tokens'] / rows[0]['tokens_per_model_pass'] / row['lines']
        print('| `%s` | %s | %.1f | %.2f | %.1f | %.2fx | %d of %d |' % (
            decode, name, passes, first / passes, row['asks_per_pass'], row['speed_to_first'], row['lines_as_first'], row['lines']))


main()
