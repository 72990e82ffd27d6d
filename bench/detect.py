#!/usr/bin/env python3
"""How often `pronk detect` is right, how well it knows, and how fast it is; beside langdetect and CLD2.

usage: detect.py [--pronk build/pronk] [--pages CACHE] [--per-language N] [--peers]
  1. English and German: sentences and two-word pieces of test sets ($PRONK_SHARED, default ../shared), choosing
     between the two and among all languages that Pronk knows
  2. paragraphs and pieces of 2 to 5 words of Debian's translated manual pages (--pages: a folder to download
     manpages-* into; skipped without), choosing among the languages of the pages and among all. The table of
     languages was not learned from manual pages
  3. with --peers the same through langdetect 1.0.9 (restricted by loading only those languages' profiles) and, where
     pycld2 is installed, CLD2 (which takes no such list)
Prints Markdown.
"""
import argparse
import collections
import glob
import gzip
import html
import os
import random
import re
import resource
import subprocess

PAGES = {'cs': 'cs', 'da': 'da', 'de': 'de', 'el': 'el', 'es': 'es', 'fi': 'fi', 'fr': 'fr', 'hu': 'hu', 'id': 'id',
         'it': 'it', 'ja': 'ja', 'mk': 'mk', 'nb': 'nb', 'nl': 'nl', 'pl': 'pl', 'pt-br': 'pt', 'ro': 'ro', 'ru': 'ru',
         'sr': 'sr', 'sv': 'sv', 'tr': 'tr', 'uk': 'uk', 'vi': 'vi', 'zh': 'zh'}
SETS = ['testsets/en-de/newstest2013', 'testsets/en-de/newstest2014', 'testsets/en-de/newstest2019',
        'testsets/en-de/newstest2020', 'testsets/en-de/flores-dev', 'corpora/en-de/parliament.test',
        'corpora/en-de/tatoeba.test', 'corpora/en-de/software.test']
BINS = [0, 50, 70, 80, 90, 95, 99, 100.1]


# ---- text ----
def has_letter(text):
    return any(c.isalpha() for c in text)


def two_words(lines):
    for line in lines:
        words = line.split()
        for i in range(0, len(words) - 1, 2):
            piece = words[i] + ' ' + words[i + 1]
            if has_letter(words[i]) and has_letter(words[i + 1]):
                yield piece


def roff_text(line):
    line = re.sub(r'\\f(\[[^\]]*\]|\(..|.)|\\[&%/,|^:]|\\s[-+]?\d', '', line)
    line = re.sub(r'\\\[u([0-9A-F]{4,5})\]', lambda m: chr(int(m[1], 16)), line)
    line = re.sub(r'\\\((?:lq|rq|Fo|Fc|oq|cq|aq|dq)|\\\[[^\]]*\]|\\\*\(..|\\\*\[[^\]]*\]|\\\((?:em|en|bu)', ' ', line)
    return line.replace('\\-', '-').replace('\\(co', '').replace('\\ ', ' ').replace('\\~', ' ').replace('\\e', '\\')


def paragraphs(path):
    """text between requests, without lines that are only markup"""
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as f:
        text = f.read().decode('utf-8', 'replace')
    if '\ufffd' in text:
        return
    found, literal = [], False
    for line in text.splitlines() + ['.PP']:
        if re.match(r"\.\s*(nf|EX|TS|SY)\b", line):
            literal = True
        elif re.match(r"\.\s*(fi|EE|TE|YS)\b", line):
            literal = False
        plain = re.match(r"\.\s*(B|I|BR|RB|IR|RI|IB|BI)\s", line) is not None
        if line.startswith(('.', "'")) and not plain:
            if found:
                yield html.unescape(' '.join(' '.join(found).split()))
            found = []
        elif not literal:
            found.append(roff_text(re.sub(r'^\.\s*\w+\s', '', line).replace('"', '') if plain else line))


def fetch_pages(cache):
    """language -> paragraphs; what several languages have alike was not translated"""
    os.makedirs(cache, exist_ok=True)
    texts = collections.defaultdict(dict)
    for package, code in list(PAGES.items()) + [('', 'en')]:
        name = 'manpages' + (package and '-' + package)
        if not glob.glob(f'{cache}/{name}_*.deb'):
            subprocess.run(['apt-get', '-qq', 'download', name], cwd=cache, check=True)
        folder = f'{cache}/{name}'
        if not os.path.isdir(folder):
            subprocess.run(['dpkg-deb', '-x', sorted(glob.glob(f'{cache}/{name}_*.deb'))[-1], folder], check=True)
        paths = sorted(glob.glob(f'{folder}/usr/share/man/**/*.gz', recursive=True))
        random.Random(1).shuffle(paths)
        for path in paths[:400]:
            if os.path.islink(path) or 'zh_TW' in path:
                continue
            for paragraph in paragraphs(path):
                texts[code][paragraph] = None
    seen = collections.Counter(p for of in texts.values() for p in of)
    counts = collections.Counter(w for p in texts['en'] for w in words_of(p))
    english = {w for w, _ in counts.most_common(2000)}
    return {code: [p for p in of if seen[p] == 1 and worth(p, code, english)] for code, of in texts.items()}


WORD = re.compile(r'[(«„"“]?[^\W\d_]+[.,;:!?)»“"”]*$')


def words_of(paragraph):
    return [w.strip('(«„"“.,;:!?)»”').lower() for w in paragraph.split() if WORD.match(w)]


def worth(paragraph, code, english):
    """text with words; what nobody has translated yet is left out: most words are frequent ones of English pages"""
    if code in ('ja', 'zh'):
        return sum(ord(c) > 0x3000 for c in paragraph) >= 10
    words = words_of(paragraph)
    if '(coreutils)' in paragraph:  # one sentence in all pages of a package
        return False
    return len(words) >= 6 and (code == 'en' or sum(w in english for w in words) < len(words) / 2)


def short_piece(paragraph, code, dice):
    """2 to 5 neighbours, at least 2 of them words; of Japanese and Chinese 4 to 10 characters, at least 4 not Latin"""
    if code in ('ja', 'zh'):
        letters, n = [c for c in paragraph if not c.isspace()], dice.randint(4, 10)
        for _ in range(100):
            at = dice.randrange(max(1, len(letters) - n + 1))
            if sum(ord(c) > 0x3000 and c.isalpha() for c in letters[at:at + n]) >= 4:
                break
        return ''.join(letters[at:at + n])
    words, n = paragraph.split(), dice.randint(2, 5)
    for _ in range(100):
        at = dice.randrange(max(1, len(words) - n + 1))
        if sum(WORD.match(w) is not None for w in words[at:at + n]) >= 2:
            break
    return ' '.join(words[at:at + n])


# ---- detectors: lines -> [(language, confidence)] ----
class Pronk:
    name, takes_list = 'Pronk', True

    def __init__(self, program):
        self.program = program

    def __call__(self, lines, languages):
        command = [self.program, 'detect'] + (['--languages', ','.join(languages)] if languages else [])
        text = '\n'.join(line.replace('\n', ' ') for line in lines) + '\n'
        out = subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout.decode()
        return [(line.split('\t')[0], float(line.split('\t')[1])) for line in out.splitlines()]


class Langdetect:
    name, takes_list = 'langdetect', True
    other = {'nb': 'no', 'zh': 'zh-cn'}

    def __call__(self, lines, languages):
        from langdetect import detector_factory
        from langdetect.lang_detect_exception import LangDetectException
        factory = detector_factory.DetectorFactory()
        wanted = {self.other.get(code, code) for code in languages} if languages else None
        profiles = []
        for path in sorted(glob.glob(os.path.join(detector_factory.PROFILES_DIRECTORY, '*'))):
            if not wanted or os.path.basename(path) in wanted:
                profiles.append(open(path, encoding='utf-8').read())
        factory.load_json_profile(profiles)
        factory.set_seed(0)
        back = {v: k for k, v in self.other.items()}
        answers = []
        for line in lines:
            detector = factory.create()
            detector.append(line)
            try:
                best = detector.get_probabilities()
            except LangDetectException:
                best = []
            answers.append((back.get(best[0].lang, best[0].lang), 100 * best[0].prob) if best else ('', 0))
        return answers


class Cld2:
    name, takes_list = 'CLD2', False

    def __call__(self, lines, languages):
        import pycld2
        answers = []
        for line in lines:
            clean = ''.join(c for c in line if c.isprintable())
            _, _, details = pycld2.detect(clean, bestEffort=True)
            code = {'no': 'nb', 'iw': 'he'}.get(details[0][1], details[0][1])
            answers.append((code, details[0][2]))
        return answers


# ---- figures ----
class Reliability:
    def __init__(self):
        self.n, self.right, self.sum = ([0] * (len(BINS) - 1) for _ in range(3))

    def add(self, answers, code):
        for language, confidence in answers:
            i = next(i for i in range(len(BINS) - 1) if confidence < BINS[i + 1])
            self.n[i] += 1
            self.right[i] += language == code
            self.sum[i] += confidence

    def rows(self):
        for i, n in enumerate(self.n):
            if n:
                yield f'{BINS[i]} to {min(100, BINS[i + 1])}', n, self.sum[i] / n, 100 * self.right[i] / n


def share(answers, code):
    return 100 * sum(language == code for language, _ in answers) / max(1, len(answers))


def print_reliability(title, reliability):
    print(f'\n{title}\n\n| said | answers | mean said | right |\n|---|--:|--:|--:|')
    for said, n, mean, right in reliability.rows():
        print(f'| {said} | {n} | {mean:.1f} | {right:.1f} |')


def english_and_german(pronk, shared):
    print('| set | language | sentences | right of 2, % | right of all, % | two-word pieces | of 2, % | of all, % |')
    print('|---|---|--:|--:|--:|--:|--:|--:|')
    reliability, totals = Reliability(), [0] * 6
    for name in SETS:
        for code in 'en', 'de':
            lines = open(f'{shared}/{name}.{code}', encoding='utf-8').read().split('\n')
            lines = [line for line in lines if has_letter(line)]
            pieces = list(two_words(lines))
            figures = []
            for texts in lines, pieces:
                both, among_all = pronk(texts, ['en', 'de']), pronk(texts, None)
                figures += [len(texts), share(both, code), share(among_all, code)]
            reliability.add(both, code)
            totals = [t + (f if i % 3 == 0 else f / 100 * figures[i - i % 3])
                      for i, (t, f) in enumerate(zip(totals, figures))]
            print('| %s | %s | %d | %.2f | %.2f | %d | %.2f | %.2f |' % (os.path.basename(name), code, *figures))
    n, m = totals[0], totals[3]
    print('| all | | %d | %.2f | %.2f | %d | %.2f | %.2f |' % (
        n, 100 * totals[1] / n, 100 * totals[2] / n, m, 100 * totals[4] / m, 100 * totals[5] / m))
    print_reliability('Two-word pieces, of two languages:', reliability)


def print_mean(name, rows):
    means = (sum(column) / len(rows) for column in zip(*rows.values()))
    print(f'| {name} | | ' + ' | '.join('%.1f' % m for m in means) + ' |')


def manual_pages(detectors, cache, per_language):
    texts = fetch_pages(cache)
    dice = random.Random(2)
    codes = sorted(texts)
    sample = {c: dice.sample(texts[c], min(per_language, len(texts[c]))) for c in codes}
    kinds = {'paragraphs': sample, 'pieces': {c: [short_piece(p, c, dice) for p in sample[c]] for c in codes}}
    for kind, by_code in kinds.items():
        by_code = {c: [p for p in by_code[c] if has_letter(p)] for c in codes}
        print(f'\n{kind}, right in %; of {len(codes)}: only the languages of the table to choose from\n')
        choices = [(d, i) for d in detectors for i in range(2 if d.takes_list else 1)]
        heads = [f'{d.name}, ' + ('of all' if i or not d.takes_list else f'of {len(codes)}') for d, i in choices]
        print('| language | texts | ' + ' | '.join(heads) + ' |\n|---|--:|' + '--:|' * len(heads))
        rows, reliability = {}, [Reliability(), Reliability()]
        for code in codes:
            figures = []
            for detector, i in choices:
                answers = detector(by_code[code], (codes, None)[i])
                figures.append(share(answers, code))
                if detector.name == 'Pronk':
                    reliability[i].add(answers, code)
            rows[code] = figures
            print(f'| {code} | {len(by_code[code])} | ' + ' | '.join('%.1f' % f for f in figures) + ' |', flush=True)
        print_mean('mean', rows)
        print_mean('mean without sr', {c: r for c, r in rows.items() if c != 'sr'})  # langdetect does not know it
        print_reliability(f'Reliability, {kind}, of {len(codes)}:', reliability[0])
        print_reliability(f'Reliability, {kind}, of all:', reliability[1])


def speed(pronk, shared):
    lines = open(f'{shared}/{SETS[1]}.en', encoding='utf-8').read().splitlines() * 10
    seconds = min(processor_seconds(pronk, lines) for _ in range(3))
    print(f'\n{len(lines) / seconds:.0f} sentences a second of one core, reading and writing included, all languages to '
          f'choose from (newstest2014, best of 3)')


def processor_seconds(pronk, lines):
    """of the program: others may use the machine"""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    pronk(lines, None)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--pronk', default='build/pronk')
    parser.add_argument('--pages')
    parser.add_argument('--per-language', type=int, default=300)
    parser.add_argument('--peers', action='store_true')
    given = parser.parse_args()
    shared = os.environ.get('PRONK_SHARED', '../shared')
    pronk = Pronk(given.pronk)
    english_and_german(pronk, shared)
    if given.pages:
        peers = [Langdetect()] if given.peers else []
        try:
            import pycld2  # noqa: F401
            peers += [Cld2()] if given.peers else []
        except ImportError:
            pass
        manual_pages([pronk] + peers, given.pages, given.per_language)
    speed(pronk, shared)


if __name__ == '__main__':
    main()
