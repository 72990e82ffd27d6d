#!/usr/bin/env python3
"""Translates tests/data/markup.tsv as HTML and counts fragments whose tag encloses what it should.

Each line is a fragment with an inline tag around one content word and a regular expression for that word in
German. A fragment is right when its tags are the source's and the text between them is not empty and matches.

usage: check_markup.py PRONK [--least N] [-v] [OPTION ...]       options go to `pronk translate`
"""
import re
import subprocess
import sys


def main():
    argv = sys.argv[1:]
    pronk, least, verbose, options = argv[0], 0, False, []
    rest = iter(argv[1:])
    for word in rest:
        if word == '--least':
            least = int(next(rest))
        elif word == '-v':
            verbose = True
        else:
            options.append(word)
    rows = [line.rstrip('\n').split('\t') for line in open('tests/data/markup.tsv', encoding='utf-8')]
    page = ''.join(f'<p>{source}</p>\n' for source, _ in rows)
    done = subprocess.run([pronk, 'translate', '-q', '--format', 'html', *options], input=page, text=True,
                          capture_output=True, check=True, encoding='utf-8')
    out = re.findall(r'<p>(.*?)</p>', done.stdout, re.S)
    assert len(out) == len(rows), (len(out), len(rows))
    right = 0
    for (source, expected), target in zip(rows, out):
        tags = re.findall(r'<[^>]*>', source)
        inside = re.search(re.escape(tags[0]) + '(.*?)' + re.escape(tags[1]), target)
        good = re.findall(r'<[^>]*>', target) == tags and inside and re.search(expected, inside[1])
        # as many words as the source has there, or one more: not half a sentence
        good = bool(good) and len(inside[1].split()) <= 1 + len(re.search('>(.*?)<', source)[1].split())
        right += good
        if verbose and not good:
            print(f'{source}\t{target}\t{expected}')
    print(f'{right} of {len(rows)} tags enclose their word')
    sys.exit(right < least)


main()
