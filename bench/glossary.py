#!/usr/bin/env python3
"""Terms through `pronk translate --glossary`: do they appear, and does the text get better or worse?

Finds N lines (default 300) of a test set with a term each: a source word, and a German noun that the line's reference has
and the plain translation has not, not even inflected. Which noun translates which word is learned from the test set
itself by `pronk align`. All terms are one glossary. Prints how many lines have their term, as it is or inflected, and BLEU
of those lines against the reference, with the glossary and without.

usage: glossary.py PRONK SOURCE REFERENCE [N] [OPTION ...]          options go to `pronk translate`, -m MODEL say
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

WORD = re.compile(r"\w+(?:[-'\u2019]\w+)*")
ENDING = '(?:s|es|e|en|er|em|n|ern|ens)?'
LEAST = -3.0  # natural logarithm of the probability of a term


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read().split('\n')


def run(pronk, lines, *options):
    done = subprocess.run([pronk, 'translate', '-q', '--no-split', *options], input='\n'.join(lines) + '\n',
                          capture_output=True, check=True, encoding='utf-8')
    return done.stdout.split('\n')[:len(lines)]


def table(pronk, source, reference, folder):
    """Nouns that translate each word, with their log-probabilities."""
    def words(lines, name):
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.writelines(' '.join(re.findall(r"\w+(?:[-'\u2019]\w+)*|[^\w\s]", line)) + '\n' for line in lines)
        return os.path.join(folder, name)
    out = os.path.join(folder, 'table')
    subprocess.run([pronk, 'align', '-q', '-i', words(source, 's'), words(reference, 't'), '--table', out, '-o', os.devnull],
                   check=True)
    found = collections.defaultdict(dict)
    for line in read(out)[:-1]:
        s, t, p = line.split('\t')
        found[s][t] = float(p)
    return found


def has(text, term, ending=ENDING):
    return re.search(r'(?<!\w)' + re.escape(term) + ending + r'(?!\w)', text) is not None


def choose(source, reference, plain, found, n):
    """Lines and their terms; no line has a word of the glossary whose term its reference has not."""
    candidates = [(i, w, t) for i, (s, r, p) in enumerate(zip(source, reference, plain)) for w in WORD.findall(s)
                  if len(w) >= 4 and w.islower() for t, log_prob in found.get(w, {}).items()
                  if len(t) >= 5 and t[0].isupper() and log_prob > LEAST and has(r, t, '') and not has(p, t)]
    glossary = {}
    for (w, t), _ in collections.Counter((w, t) for _, w, t in candidates).most_common():
        glossary.setdefault(w, t)
    chosen = {}
    for i, w, t in candidates:
        words = WORD.findall(source[i])
        others = [x for x in words if x in glossary and x != w and not has(reference[i], glossary[x], '')]
        if glossary[w] == t and i not in chosen and not others and words.count(w) == 1:
            chosen[i] = (w, t)
    lines = sorted(chosen)[:n]
    return lines, {w: t for w, t in (chosen[i] for i in lines)}, [chosen[i][1] for i in lines]


def bleu(pronk, folder, reference, lines):
    paths = [os.path.join(folder, name) for name in ('reference', 'lines')]
    for path, content in zip(paths, (reference, lines)):
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n'.join(content) + '\n')
    out = subprocess.run([pronk, 'eval', '-r', *paths], capture_output=True, check=True, encoding='utf-8').stdout
    return float(re.search(r'= ([0-9.]+) ', out)[1])


def main():
    pronk, source, reference = sys.argv[1], read(sys.argv[2])[:-1], read(sys.argv[3])[:-1]
    rest = sys.argv[4:]
    n = int(rest.pop(0)) if rest and rest[0].isdigit() else 300
    with tempfile.TemporaryDirectory() as folder:
        plain = run(pronk, source, *rest)
        lines, glossary, terms = choose(source, reference, plain, table(pronk, source, reference, folder), n)
        path = os.path.join(folder, 'glossary.tsv')
        with open(path, 'w', encoding='utf-8') as f:
            f.writelines(f'{w}\t{t}\n' for w, t in glossary.items())
        ref = [reference[i] for i in lines]
        with_terms = run(pronk, [source[i] for i in lines], '--glossary', path, *rest)
        print(f'{len(lines)} lines, a glossary of {len(glossary)} terms')
        print(f'term as it is: {sum(has(o, t, "") for o, t in zip(with_terms, terms))}, '
              f'or inflected: {sum(has(o, t) for o, t in zip(with_terms, terms))}')
        print(f'BLEU {bleu(pronk, folder, ref, with_terms):.2f} with the glossary, '
              f'{bleu(pronk, folder, ref, [plain[i] for i in lines]):.2f} without')


main()
