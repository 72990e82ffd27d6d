#!/usr/bin/env python3
"""Alignment error of `pronk translate --alignment`: by the model's attention, and by saved alignments.

usage: alignment_error.py MODEL SOURCE TARGET LINKS [LEXICON ...]

SOURCE and TARGET are pairs, a sentence a line; LINKS what they are compared with, in Pharaoh's format (the intersected
links of fast_align, say). Each target is given to the model as the prefix of its translation, so links are between words of
the pair. Links to words that the model wrote behind it do not count. The error is 1 - 2 |A and L| / (|A| + |L|): all links
are taken for sure ones. LEXICON: what `pronk align -m MODEL --save` wrote.
"""
import os
import subprocess
import sys

PRONK = os.environ.get('PRONK', 'build/pronk')


def links(line):
    return {tuple(map(int, pair.split('-'))) for pair in line.split()}


def translate(model, source, target, lexicon):
    command = [PRONK, 'translate', '-q', '-m', model, '--no-split', '--alignment', '-i', source, '--prefix', target]
    if lexicon:
        command += ['--lexicon', lexicon]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [links(line.rsplit(' ||| ', 1)[1]) for line in out.splitlines()]


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    model, source, target, path = sys.argv[1:5]
    with open(path) as file:
        right = [links(line) for line in file]
    with open(target, encoding='utf-8') as file:
        words = [len(line.split()) for line in file]
    print(f'{"":32} {"links":>8} {"precision":>9} {"recall":>7} {"error":>7}')
    for lexicon in [None] + sys.argv[5:]:
        found = [{(s, t) for s, t in one if t < n} for one, n in zip(translate(model, source, target, lexicon), words)]
        n, same = sum(map(len, found)), sum(len(a & b) for a, b in zip(found, right))
        of = sum(len(b) for b in right[:len(found)])
        print(f'{lexicon or "attention":32} {n:8} {100 * same / n:8.1f}% {100 * same / of:6.1f}% {100 - 200 * same / (n + of):6.1f}%')


if __name__ == '__main__':
    main()
