#!/usr/bin/env python3
"""Which placeholders does a model copy? Words of a test set are replaced by placeholders, one to three a line, and looked
for in the translation: one that is there exactly once came through. What src/markup/mask.c uses is chosen by this.

usage: placeholders.py PRONK SOURCE [LINES] [OPTION ...]            options go to `pronk translate`, -m MODEL say
"""
import random
import re
import subprocess
import sys

SCHEMES = {'%1': lambda i: f'%{i + 1}', 'X1': lambda i: f'X{i + 1}', 'A1': lambda i: f'A{i + 1}',
           '7101': lambda i: str(7101 + 13 * i), '__1__': lambda i: f'__{i + 1}__', '[1]': lambda i: f'[{i + 1}]',
           '{1}': lambda i: f'{{{i + 1}}}', 'ID1': lambda i: f'ID{i + 1}'}


def main():
    pronk, source = sys.argv[1:3]
    rest = sys.argv[3:]
    n = int(rest.pop(0)) if rest and rest[0].isdigit() else 300
    lines = [line.rstrip('\n') for line in open(source, encoding='utf-8')][:n]
    for name, write in SCHEMES.items():
        rng, texts, used = random.Random(1), [], []
        for line in lines:
            words = line.split(' ')
            at = sorted(rng.sample(range(len(words)), min(rng.choice([1, 1, 2, 3]), len(words))))
            used.append([write(i) for i in range(len(at))])
            for i, placeholder in zip(at, used[-1]):
                before, _, after = re.match(r'^(\W*)(.*?)(\W*)$', words[i]).groups()
                words[i] = before + placeholder + after
            texts.append(' '.join(words))
        out = subprocess.run([pronk, 'translate', '-q', '--no-split', *rest], input='\n'.join(texts) + '\n', check=True,
                             capture_output=True, encoding='utf-8').stdout.split('\n')
        counts = [len(re.findall(r'(?<![A-Za-z0-9])' + re.escape(p) + r'(?![A-Za-z0-9])', o))
                  for o, placeholders in zip(out, used) for p in placeholders]
        print(f'{name:6} {sum(c == 1 for c in counts)} of {len(counts)}, {100 * sum(c == 1 for c in counts) / len(counts):.1f} %',
              flush=True)


main()
