"""Writes the pairs of a corpus of short strings that are sentences rather than labels, each pair once.

usage: select_pairs.py SOURCE.xz TARGET.xz OUT.source.gz OUT.target.gz      (recipes/teacher.yml: more.en.gz, more.de.gz)
Kept are pairs with at least four words on the source side and two on the other.
"""
import gzip
import lzma
import sys


def main():
    source, target, out_source, out_target = sys.argv[1:]
    seen, read = set(), 0
    with lzma.open(source, "rt", encoding="utf-8") as a, lzma.open(target, "rt", encoding="utf-8") as b, \
            gzip.open(out_source, "wt", encoding="utf-8") as x, gzip.open(out_target, "wt", encoding="utf-8") as y:
        for pair in zip(a, b):
            read += 1
            if len(pair[0].split()) < 4 or len(pair[1].split()) < 2 or pair in seen:
                continue
            seen.add(pair)
            x.write(pair[0])
            y.write(pair[1])
    print("%d pairs read, %d kept" % (read, len(seen)))


if __name__ == "__main__":
    main()
