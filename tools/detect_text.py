#!/usr/bin/env python3
"""Gathers the text that the table of languages (src/detect/detect.table) is learned from: Debian packages, and
English and German of a parallel corpus.

usage: detect_text.py CACHE OUT [CORPUS]
  CACHE   folder for downloaded packages (apt-get download; some 700 MB) and what they hold
  OUT     folder for CODE.SCRIPT.lines (text, a line each) and CODE.SCRIPT.words (word, tab, count)
  CORPUS  folder with NAME.train.en.xz and NAME.train.de.xz; default: $PRONK_SHARED/corpora/en-de

Manual pages (manpages-*) are not among the sources: bench/detect.py measures on those. Only statistics of
n-grams of letters go into the table, no text. Needs Debian 12 with its package lists.
"""
import bz2
import collections
import functools
import glob
import html
import lzma
import os
import re
import struct
import subprocess
import sys
import unicodedata
import urllib.request
import zipfile
import zlib

# ---- which languages, and in which script ----
LATIN = ('en de fr es it pt nl pl cs sk sl hr sr da sv nb ro hu fi et lv lt tr az vi id ms tl sq eu ca gl ga cy is '
         'af eo').split()
OTHERS = {'Cyrl': 'ru uk bg be sr mk kk ky mn tg', 'Arab': 'ar fa ur ug', 'Deva': 'hi mr ne', 'Hani': 'ja zh zt',
          'Beng': 'bn as'}
# scripts of one language each: the script says all
ALONE = {'Grek': 'el', 'Hebr': 'he', 'Armn': 'hy', 'Geor': 'ka', 'Thai': 'th', 'Laoo': 'lo', 'Khmr': 'km', 'Mymr': 'my',
         'Taml': 'ta', 'Telu': 'te', 'Knda': 'kn', 'Mlym': 'ml', 'Gujr': 'gu', 'Guru': 'pa', 'Orya': 'or', 'Sinh': 'si',
         'Ethi': 'am', 'Hang': 'ko', 'Tibt': 'bo'}
CLASSES = [(code, 'Latn') for code in LATIN]
CLASSES += [(code, script) for script, codes in OTHERS.items() for code in codes.split()]
KNOWN = set(CLASSES)
CODES = {code for code, _ in CLASSES}

# ---- sources ----
CATALOGUES = ('wesnoth-1.16-data freeciv-data gimp-data libgtk-3-common libglib2.0-data evolution-common '
              'gnome-control-center-data nautilus-data vlc-l10n epiphany-browser-data deja-dup gparted synaptic').split()
OFFICE = ('af ar be bg ca cs cy da de eo es et eu fa fi fr ga gl hi hr hu id is it ja kk lt lv mk mn mr nb ne '
          'nl pl pt pt-br ro ru sk sl sr sv tg tr ug uk vi zh-cn zh-tw as bn').split()
HELP = 'ca cs da de en-us es et eu fi fr gl hi hu id it ja nl pl pt pt-br ru sk sl sv tr vi zh-cn zh-tw'.split()
FIREFOX = ('en-gb af ar az be bg bn ca cs cy da eo es-es et eu fa fi ga-ie gl hi-in hr hu id is kk lt lv mk mr ms nb-no ne-np '
           'ro sk sl sq sr tg tl tr ur vi').split()
DOCUMENTS = ['installation-guide-amd64', 'debian-handbook']
FORTUNES = ['fortunes-min'] + ['fortunes-' + c for c in 'bg br cs de eo es ga it pl ru'.split()]
WORDS = ('hunspell-nl hunspell-ar hunspell-be hunspell-ca hunspell-eu hunspell-fr-classical hunspell-kk hunspell-lv '
         'hunspell-de-de hunspell-af hunspell-bg hunspell-cs hunspell-da hunspell-en-gb hunspell-en-us hunspell-es '
         'hunspell-gl hunspell-hi hunspell-hr hunspell-hu hunspell-id hunspell-is hunspell-it hunspell-lt hunspell-mn '
         'hunspell-ne hunspell-no hunspell-pl hunspell-pt-br hunspell-pt-pt hunspell-ro hunspell-ru hunspell-sk '
         'hunspell-sl hunspell-sr hunspell-sv hunspell-tr hunspell-uk hunspell-vi myspell-tl myspell-fa myspell-sq '
         'myspell-et myspell-ga myspell-eo').split()
COUNTED = 'onboard-data'  # words with their counts
CHARACTERS = 'unicode-data'
DESCRIPTIONS = ('ca cs da de en eo es eu fi fr gl hr hu id it ja nb nl pl pt pt_BR ro ru sk sr sv tr uk vi zh '
                'zh_CN zh_TW').split()
TRANSLATIONS = 'dists/bookworm/main/i18n/Translation-'  # below the archive that apt uses

MOST_LINES = 25000  # of a source and class, so that no subject prevails
MOST_BYTES = 400    # of a line


def archive():
    """The address of the first Debian archive that apt is set up with"""
    return subprocess.check_output(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'],
                                   text=True).split()[0].rstrip('/')


def class_code(locale):
    """'pt_BR.UTF-8' -> 'pt'; None: not one of ours"""
    locale = locale.split('.')[0].replace('_', '-').lower()
    parts = re.split('[-@]', locale)
    if parts[0] == 'zh':
        return 'zt' if set(parts) & {'tw', 'hk', 'hant'} else 'zh'
    code = {'no': 'nb', 'fil': 'tl'}.get(parts[0], parts[0])
    return code if code in CODES and 'valencia' not in parts else None


RANGES = [(0x370, 'Grek'), (0x400, 'Cyrl'), (0x530, 'Armn'), (0x590, 'Hebr'), (0x600, 'Arab'), (0x700, ''), (0x750, 'Arab'),
          (0x780, ''), (0x900, 'Deva'), (0x980, 'Beng'), (0xA00, ''), (0x1E00, 'Latn'), (0x1F00, 'Grek'), (0x2000, ''),
          (0x3040, 'Hani'), (0x3130, ''), (0x3400, 'Hani'), (0xA000, ''), (0xFB50, 'Arab'), (0xFE00, ''), (0xFE70, 'Arab'),
          (0xFF00, '')]


@functools.lru_cache(None)
def script_of(letter):
    if not letter.isalpha():
        return None
    found = 'Latn'
    for first, script in RANGES:
        if ord(letter) < first:
            break
        found = script
    return found


def main_script(line):
    counts = collections.Counter(map(script_of, line))
    counts.pop(None, 0)
    if not counts:
        return ''
    script, n = counts.most_common(1)[0]
    return script if n >= 0.8 * sum(counts.values()) else ''


JUNK = re.compile(r'<[^<>]*>|&[a-z]+;|%[-+0-9.$]*(?:[a-zA-Z]|\([a-z_]+\)s)|\$\(?[A-Za-z_{}]+\)?|\{[^{}]*\}|\\[a-z]|https?://\S+')


def clean(text):
    text = JUNK.sub(' ', text.replace('~', '').replace('\u200b', '').replace('\u00ad', ''))
    text = re.sub(r'(?<!\w)_(?=\w)|(?<=\w)_(?=\w)|&(?=\w)', '', text)
    return unicodedata.normalize('NFC', ' '.join(text.split()))


ENGLISH = set('the and this that from with you will are which your been were they have not'.split())


def looks_english(line):
    return len(ENGLISH & set(line.lower().split())) > 1


class Store:
    """lines and words of all classes; a line counts once"""

    def __init__(self):
        self.lines = collections.defaultdict(dict)  # class -> {line: None}, in order
        self.words = collections.defaultdict(collections.Counter)
        self.from_source = collections.Counter()
        self.english = set()  # all English lines: where others have them, they were not translated

    def add(self, code, source, line):
        line = clean(line)[:MOST_BYTES]
        key = (code, main_script(line))
        if code == 'en':
            self.english.add(line)
        if key not in KNOWN or line in self.lines[key] or self.from_source[key, source] >= MOST_LINES:
            return
        if code != 'en' and looks_english(line):
            return
        if key[1] != 'Hani' and sum(c.isalpha() for c in line) < 4:
            return
        self.from_source[key, source] += 1
        self.lines[key][line] = None

    def add_word(self, code, word, count=1):
        key = (code, main_script(word))
        if key in KNOWN:
            self.words[key][unicodedata.normalize('NFC', word)] += count

    def drop_untranslated(self):
        """what English has too, and what three languages share: names, mostly"""
        shared = collections.Counter(line for lines in self.lines.values() for line in lines)
        for (code, _), lines in self.lines.items():
            for line in [x for x in lines if shared[x] > 2 or (code != 'en' and x in self.english)]:
                del lines[line]

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for code, script in CLASSES:
            lines, words = self.lines[code, script], self.words[code, script]
            with open(os.path.join(folder, f'{code}.{script}.lines'), 'w', encoding='utf-8') as f:
                f.writelines(line + '\n' for line in lines)
            with open(os.path.join(folder, f'{code}.{script}.words'), 'w', encoding='utf-8') as f:
                f.writelines(f'{word}\t{n}\n' for word, n in words.items())
            sources = {s: n for (k, s), n in self.from_source.items() if k == (code, script)}
            print(f'{code}.{script}: {len(lines)} lines, {len(words)} words;', sources)
        with open(os.path.join(folder, 'classes'), 'w', encoding='utf-8') as f:
            f.writelines(f'{code} {script}\n' for code, script in CLASSES)
            f.writelines(f'{code} {script} alone\n' for script, code in ALONE.items())


# ---- packages ----
def unpack(cache, package):
    """the folder with a package's files; fetched where it is not there yet"""
    out = os.path.join(cache, 'unpacked', package)
    if os.path.isdir(out):
        return out
    debs = os.path.join(cache, 'debs')
    os.makedirs(debs, exist_ok=True)
    if not glob.glob(os.path.join(debs, package + '_*.deb')):
        subprocess.run(['apt-get', '-qq', 'download', package], cwd=debs, check=True)
    deb = sorted(glob.glob(os.path.join(debs, package + '_*.deb')))[-1]
    os.makedirs(out + '.part', exist_ok=True)
    tar = subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE)
    subprocess.run(['tar', '-x', '-C', out + '.part', '--exclude=*.png', '--exclude=*.ogg', '--exclude=*.svg',
                    '--exclude=*.map', '--exclude=*.cfg'], stdin=tar.stdout, check=True)
    tar.wait()
    os.rename(out + '.part', out)
    return out


def files(folder, pattern):
    return sorted(glob.glob(os.path.join(folder, '**', pattern), recursive=True))


def messages(path):
    """(original, translation) of a catalogue of gettext's"""
    data = open(path, 'rb').read()
    order = '<' if data[:4] == b'\xde\x12\x04\x95' else '>'
    n, originals, translations = struct.unpack_from(order + '3I', data, 8)
    for i in range(n):
        size, at = struct.unpack_from(order + '2I', data, originals + 8 * i)
        original = data[at:at + size].split(b'\4')[-1].split(b'\0')[0]
        size, at = struct.unpack_from(order + '2I', data, translations + 8 * i)
        translation = data[at:at + size].split(b'\0')[0]
        try:
            yield original.decode(), translation.decode()
        except UnicodeDecodeError:
            continue


def add_catalogues(store, folder, source):
    for path in files(folder, '*.mo'):
        code = class_code(re.search(r'/([^/]+)/LC_MESSAGES/', path)[1])
        if not code:
            continue
        for original, translation in messages(path):
            if not original or original == translation:
                continue
            for line in translation.split('\n\n'):
                store.add(code, source, line)
            if code == 'de':
                store.add('en', source, original)


def page_lines(path):
    text = open(path, encoding='utf-8', errors='ignore').read()
    text = re.sub(r'(?s)<(script|style|pre|head|code|tt)\b.*?</\1>', ' ', text)
    text = re.sub(r'(?i)</?(p|div|li|ul|ol|dt|dd|td|tr|table|h\d|br|title|section)\b[^>]*>', '\0', text)
    text = re.sub(r'<[^>]*>', ' ', text)
    for line in html.unescape(text).split('\0'):
        if len(line.split()) > 3 or (len(line) > 8 and main_script(line) == 'Hani'):
            yield line


def add_pages(store, folder, source, locale_at):
    by_code = collections.defaultdict(list)
    for path in files(folder, '*.html'):
        found = re.search(locale_at, path)
        code = class_code(found[1]) if found else None
        if code:
            by_code[code].append(path)
    for code, paths in by_code.items():
        paths.sort(key=lambda p: zlib.crc32(os.path.basename(p).encode()))
        for path in paths[:400]:
            for line in page_lines(path):
                store.add(code, source, line)


def add_firefox(store, folder, locale):
    for path in files(folder, '*.xpi'):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith(('.ftl', '.properties')):
                    continue
                for line in archive.read(name).decode('utf-8', 'ignore').splitlines():
                    value = line.partition('=')[2] if not line.startswith((' ', '#')) else line
                    value = '' if line.lstrip().startswith(('#', '.', '*', '[', '}')) else value
                    if len(value.split()) > 2:
                        store.add(class_code(locale), 'firefox', value)


def add_descriptions(store, cache, locale):
    ending, module = ('.xz', lzma) if locale == 'en' else ('.bz2', bz2)
    path = os.path.join(cache, f'Translation-{locale}{ending}')
    if not os.path.exists(path):
        urllib.request.urlretrieve(f'{archive()}/{TRANSLATIONS}{locale}{ending}', path)
    paragraph = []
    for line in module.decompress(open(path, 'rb').read()).decode('utf-8', 'ignore').splitlines() + ['']:
        if line.startswith('Description-') and 'md5' not in line:
            store.add(class_code(locale), 'descriptions', line.partition(': ')[2])
        elif line.startswith(' ') and line.strip() != '.':
            paragraph.append(line.strip())
            continue
        if paragraph:
            store.add(class_code(locale), 'descriptions', ' '.join(paragraph))
        paragraph = []


def add_fortunes(store, folder, package):
    code = {'min': 'en', 'br': 'pt'}.get(package.split('-')[1], package.split('-')[1])
    for path in files(folder, '*'):
        if '/games/fortunes/' not in path or '/off/' in path or not os.path.isfile(path) or path.endswith(('.dat', '.u8')):
            continue
        try:
            text = open(path, encoding='utf-8').read()
        except UnicodeDecodeError:
            continue
        for line in re.split(r'\n%\n|\n\n', text):
            store.add('sk' if 'sk' in os.path.basename(path) else code, 'fortunes', line)


def add_spelling(store, folder):
    seen = set()
    for path in files(folder, '*.dic'):
        code = class_code(os.path.basename(path)[:-4])
        rules = path[:-4] + '.aff'
        if not code or code in seen or os.path.islink(path) or not os.path.exists(rules) or 'hyph' in path:
            continue
        seen.add(code)
        head = open(rules, 'rb').read(200000)
        encoding = re.search(rb'(?m)^\xef?\xbb?\xbf?SET\s+(\S+)', head)
        name = encoding[1].decode().replace('microsoft-cp', 'cp') if encoding else 'latin-1'
        for line in open(path, encoding=name, errors='ignore').read().splitlines()[1:]:
            word = re.split(r'[/\t ]', line)[0]
            if word.isalpha() and len(word) < 25 and not word.isupper():
                store.add_word(code, word)


def add_counted(store, folder):
    for path in files(folder, '*.lm'):
        code = class_code(os.path.basename(path)[:-3])
        if not code:
            continue
        for line in open(path, encoding='utf-8'):
            if line.startswith('\\2-grams'):
                break
            count, _, word = line.strip().partition(' ')
            if count.isdigit() and word.isalpha():
                store.add_word(code, word, int(count))


def add_characters(store, folder):
    """characters that are only simplified, or only traditional"""
    text = bz2.open(files(folder, 'Unihan_Variants.txt.bz2')[0], 'rt', encoding='utf-8').read()
    for kind, code in ('kTraditionalVariant', 'zh'), ('kSimplifiedVariant', 'zt'):
        for character, others in re.findall(r'(?m)^(U\+(?:4[EF]|[5-9]\w)\w\w)\t' + kind + r'\t(.*)$', text):
            if character not in others.split():
                store.add_word(code, chr(int(character[2:], 16)))


def add_corpus(store, corpus):
    for name in 'parliament+tatoeba', 'software':
        for code in 'en', 'de':
            path = os.path.join(corpus, f'{name}.train.{code}.xz')
            with lzma.open(path, 'rt', encoding='utf-8') as f:
                for line in f:
                    if zlib.crc32(line.encode()) % 12 == 0:
                        # sentences of a parliament are long, those of Tatoeba short
                        store.add(code, f'{name}, {"long" if len(line) > 60 else "short"}', line)


def main(cache, out, corpus):
    store = Store()
    for package in CATALOGUES:
        add_catalogues(store, unpack(cache, package), package)
    for locale in OFFICE:
        add_catalogues(store, unpack(cache, 'libreoffice-l10n-' + locale), 'libreoffice')
    for locale in HELP:
        add_pages(store, unpack(cache, 'libreoffice-help-' + locale), 'libreoffice-help', r'/help/([^/]+)/text/')
    for package in DOCUMENTS:
        add_pages(store, unpack(cache, package), package, package + r'(?:/html)?/([a-z]{2}(?:[-_][A-Z]{2})?)/')
    for locale in FIREFOX:
        add_firefox(store, unpack(cache, 'firefox-esr-l10n-' + locale), locale)
    for locale in DESCRIPTIONS:
        add_descriptions(store, cache, locale)
    for package in FORTUNES:
        add_fortunes(store, unpack(cache, package), package)
    for package in WORDS:
        add_spelling(store, unpack(cache, package))
    add_counted(store, unpack(cache, COUNTED))
    add_characters(store, unpack(cache, CHARACTERS))
    add_corpus(store, corpus)
    store.drop_untranslated()
    store.write(out)


if __name__ == '__main__':
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    default = os.path.join(os.environ.get('PRONK_SHARED', '../shared'), 'corpora/en-de')
    main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else default)
