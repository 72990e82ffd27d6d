#!/usr/bin/env python3
"""HTML through `pronk translate --format html`: are tags and spans kept, and what does the text lose?

Makes N fragments (default 1000) from a test set: each is a line with up to six inline elements, which nest and have
attributes, void elements, comments, and in every second one spans to protect at random places. Prints how many have the
source's tags, how many are well nested, how many spans came out byte for byte, and BLEU of the text without its tags
against that of the plain text, for the fragments without spans.

usage: markup.py PRONK SOURCE REFERENCE [N] [OPTION ...]            options go to `pronk translate`, -m MODEL say
"""
import collections
import html
import os
import random
import re
import subprocess
import sys
import tempfile

SPANS = ['https://www.example.org/a?b=1&c=2', 'http://x.test/path_(y)', 'bob.smith@example.com', '%s', '%1$s', '%d', '{name}',
         '{0}', '{{ user }}', '${HOME}', '<x id="1"/>', '`make test`', '@alice', '#cats']
ELEMENTS = ['b', 'i', 'em', 'strong', 'a href="/x?a=1&amp;b=2" class=\'l\'', 'span style="color: red"', 'u', 'mark']
VOIDS = ['<img src="a.png" alt="a > b">', '<wbr>', '<!-- a <b> comment -->']
TAG = re.compile(r'<!--.*?-->|</?[a-z](?:"[^"]*"|\'[^\']*\'|[^>"\'])*>', re.S)


def fragment(words, spans, rng):
    """Words with elements around stretches of them, each inside or beside the others."""
    words = [html.escape(w, quote=False) for w in words]
    for span in spans:
        words.insert(rng.randrange(len(words) + 1), html.escape(span, quote=False))
    before, after = collections.defaultdict(list), collections.defaultdict(list)

    def wrap(first, last, depth):
        if depth > 3 or first >= last:
            return
        a = rng.randrange(first, last)
        b = rng.randrange(a + 1, last + 1)
        name = rng.choice(ELEMENTS)
        before[a].append(f'<{name}>')
        after[b - 1].insert(0, f'</{name.split()[0]}>')
        wrap(a, b, depth + 1)
        if rng.random() < 0.5:
            wrap(b, last, depth + 1)
    wrap(0, len(words), rng.randrange(3))
    out = []
    for i, word in enumerate(words):
        void = rng.choice(VOIDS) if rng.random() < 0.03 else ''
        out.append(void + ''.join(before[i]) + word + ''.join(after[i]))
    return ' '.join(out)


def well_nested(text):
    stack = []
    for tag in TAG.findall(text):
        name = re.match(r'</?([a-z]*)', tag)[1] if not tag.startswith('<!') else ''
        if name in ('', 'img', 'wbr'):
            continue
        if tag[1] != '/':
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    return not stack


def run(pronk, text, *options):
    done = subprocess.run([pronk, 'translate', '-q', '--no-split', *options], input=text, capture_output=True, check=True,
                          encoding='utf-8')
    return done.stdout


def bleu(pronk, reference, lines):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ('reference', 'lines')]
        for path, content in zip(paths, (reference, lines)):
            with open(path, 'w', encoding='utf-8') as f:
                f.write(''.join(line + '\n' for line in content))
        out = subprocess.run([pronk, 'eval', '-r', *paths], capture_output=True, check=True, encoding='utf-8').stdout
    return float(re.search(r'= ([0-9.]+) ', out)[1])


def main():
    pronk, source, reference = sys.argv[1:4]
    rest = sys.argv[4:]
    n = int(rest.pop(0)) if rest and rest[0].isdigit() else 1000
    rng = random.Random(1)
    lines = [line.rstrip('\n') for line in open(source, encoding='utf-8')]
    references = [line.rstrip('\n') for line in open(reference, encoding='utf-8')]
    chosen = rng.sample(range(len(lines)), min(n, len(lines)))
    spans = [rng.sample(SPANS, rng.randrange(1, 4)) if i % 2 else [] for i in range(len(chosen))]
    fragments = [fragment(lines[c].split(), s, rng) for c, s in zip(chosen, spans)]
    page = ''.join(f'<p>{f}</p>\n' for f in fragments)
    out = re.findall(r'<p>(.*?)</p>\n', run(pronk, page, '--format', 'html', *rest), re.S)
    assert len(out) == len(fragments)
    same = sum(sorted(TAG.findall(a)) == sorted(TAG.findall(b)) for a, b in zip(fragments, out))
    nested = sum(map(well_nested, out))
    # a span is at its place in the text as often as in the fragment, tags aside
    plain = [TAG.sub('', o) for o in out]
    kept = [(TAG.sub('', f).count(html.escape(x, quote=False)), p.count(html.escape(x, quote=False)))
            for f, s, p in zip(fragments, spans, plain) for x in s]
    print(f'{len(out)} fragments, {sum(len(TAG.findall(f)) for f in fragments)} tags: {same} have the same tags, '
          f'{nested} are well nested')
    print(f'{len(kept)} spans, {sum(a == b for a, b in kept)} come out byte for byte and as often')
    bare = [i for i, s in enumerate(spans) if not s]
    text = [html.unescape(re.sub(r'\s+', ' ', plain[i])).strip() for i in bare]
    alone = run(pronk, ''.join(lines[chosen[i]] + '\n' for i in bare), *rest).split('\n')[:len(bare)]
    ref = [references[chosen[i]] for i in bare]
    with_tags, without = bleu(pronk, ref, text), bleu(pronk, ref, alone)
    print(f'BLEU of {len(bare)} fragments: {with_tags:.2f} with tags, {without:.2f} as plain text; '
          f'{sum(a == b for a, b in zip(text, alone))} texts are the same')


main()
