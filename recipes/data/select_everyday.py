"""Parts of the corpora from which the bundled model learned everyday text (recipes/everyday.yml), into a folder.

usage: select_everyday.py TRAIN.en.xz TRAIN.distilled.de.xz TRAIN.de.xz SOFTWARE.en.xz SOFTWARE.de.xz SOFTWARE.domain.xz FOLDER

short.*   pairs of TRAIN with at most 12 English words, with the teacher's German (short.distilled.de) and the corpus's own
more.*    strings of SOFTWARE with at least four English and two German words, each pair once
labels.*  its shorter strings
words.*   lines of its dictionary
plain.en  every tenth line of more.en, where it has nothing but letters, digits and marks that the old vocabulary has
"""
import lzma
import re
import sys

UNKNOWN = re.compile(r'[^\x20-\x7e]|[#&<>@\\^`{|}~]')  # to the vocabulary that is extended


def lines(path):
    with lzma.open(path, 'rt', encoding='utf-8', newline='\n') as f:
        return f.read().split('\n')[:-1]


def write(folder, name, rows):
    with open(folder + '/' + name, 'w', encoding='utf-8') as f:
        f.writelines(row + '\n' for row in rows)


def select_short(source, distilled, target):
    return [row for row in zip(source, distilled, target) if all(row) and len(row[0].split()) <= 12]


def select_software(source, target, domain):
    more, labels, words, seen = [], [], [], set()
    for a, b, kind in zip(source, target, domain):
        if (a, b) in seen or not a or not b:
            continue
        seen.add((a, b))
        if kind == 'dict':
            words.append((a, b))
        elif len(a.split()) < 4:
            labels.append((a, b))
        elif len(b.split()) >= 2:
            more.append((a, b))
    return more, labels, words


def main():
    *paths, folder = sys.argv[1:]
    train, software = [lines(p) for p in paths[:3]], [lines(p) for p in paths[3:]]
    short = select_short(*train)
    for name, column in ('short.en', 0), ('short.distilled.de', 1), ('short.de', 2):
        write(folder, name, [row[column] for row in short])
    for name, pairs in zip(('more', 'labels', 'words'), select_software(*software)):
        write(folder, name + '.en', [a for a, _ in pairs])
        write(folder, name + '.de', [b for _, b in pairs])
        if name == 'more':
            write(folder, 'plain.en', [a for a, _ in pairs[9::10] if not UNKNOWN.search(a)])


if __name__ == '__main__':
    main()
