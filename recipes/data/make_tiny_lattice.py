#!/usr/bin/env python3
"""Writes the text of recipes/tiny-lattice.yml: two made-up languages, translated word by word.

  swap    Each pair of words changes places: reordering.
  chain   Each word has two translations, and which one is right depends on the translation before it: some words
          take the form that the word before them was given, the others take the other form. So the right form is
          the parity of all such words so far: no table can know it, but the last output word shows it.

lattice.train.{source,target} has both; lattice.swap.* and lattice.chain.* are others to measure with.

usage: make_tiny_lattice.py [FOLDER]        default: the folder of this script; the files are always the same
"""
import os
import random
import sys

TRAIN, VALID, SHORTEST, LONGEST = 1500, 100, 3, 8
SWAP = [a + b for a in 'bdfg' for b in 'aeio']
CHAIN = [a + b for a in 'lmnp' for b in 'aeio']


def swap(words):
    pairs = [words[i:i + 2] for i in range(0, len(words), 2)]
    return ['ru' + word for pair in pairs for word in reversed(pair)]


def chain(words):
    form, out = 0, []
    for word in words:
        form ^= word[1] in 'ae'  # these take the other form
        out.append(word + 'st'[form] + 'u')
    return out


def pairs(draw, n, words, translate):
    for _ in range(n):
        source = [draw.choice(words) for _ in range(draw.randint(SHORTEST, LONGEST))]
        yield ' '.join(source), ' '.join(translate(source))


def write(folder, name, lines):
    for side, text in zip(('source', 'target'), zip(*lines)):
        with open(os.path.join(folder, 'lattice.%s.%s' % (name, side)), 'w') as f:
            f.write('\n'.join(text) + '\n')


if __name__ == '__main__':
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    draw = random.Random(1)
    write(folder, 'train', [pair for task in zip(pairs(draw, TRAIN, SWAP, swap), pairs(draw, TRAIN, CHAIN, chain)) for pair in task])
    write(folder, 'swap', list(pairs(draw, VALID, SWAP, swap)))
    write(folder, 'chain', list(pairs(draw, VALID, CHAIN, chain)))
