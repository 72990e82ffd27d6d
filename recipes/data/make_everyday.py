"""Makes pairs of everyday text out of a corpus: what must be copied (placeholders, addresses, numbers, emoji, other
scripts, markup) inside real sentences, and lists, labels and letters' first and last lines.

usage: make_everyday.py SOURCE.xz TARGET.xz WORDS.source WORDS.target N OUT.source OUT.target
SOURCE and TARGET are sentence pairs, English and German; WORDS are pairs of single words (a
dictionary), of which those are taken that the sentences have. A word that
both sides have, a name or a number, gives its place to something that is copied. Nothing of tests/data/everyday.tsv is
written. The same N gives the same text.
"""
import lzma
import random
import re
import string
import sys

SCRIPTS = [(0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939), (0xE01, 0xE2E),
           (0x3042, 0x3093), (0x30A2, 0x30F3), (0x4E00, 0x9FA0), (0xAC00, 0xD7A3), (0x10D0, 0x10F0), (0x531, 0x556)]
EMOJI = [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F90C, 0x1F9FF), (0x2600, 0x26FF), (0x2702, 0x27B0), (0x2B50, 0x2B55)]
ACCENTS = 'áàâäãåāčćçďéèêëėęěğíìîïłľńñňóòôöõøőřśšşťúùûüůűýžźżþðæœÁÉÍÓÚČŠŽŁØÅÞÆĆŚŻ'
FACES = [':-)', ':)', ';-)', ':-(', ':D', ':-/', '^^', '<3', 'xD']
TAGS = ['b', 'i', 'em', 'strong', 'u', 'code', 'span', 'p', 'li', 'h1', 'h2', 'td', 'title', 'a', 'div', 'kbd', 'small']
MARKS = ['**', '*', '_', '__', '`', '~~', '"', "'"]
BULLETS = ['- ', '* ', '• ', '# ', '## ', '> ', '1. ', '2. ', '3. ', 'a) ', 'b) ', '(1) ', '+ ', '– ']
LABELS = [('Name', 'Name'), ('Address', 'Adresse'), ('Phone', 'Telefon'), ('Total', 'Summe'), ('Date', 'Datum'),
          ('Time', 'Uhrzeit'), ('Size', 'Größe'), ('Color', 'Farbe'), ('Colour', 'Farbe'), ('Weight', 'Gewicht'),
          ('Quantity', 'Menge'), ('Amount', 'Betrag'), ('Order number', 'Bestellnummer'), ('Invoice', 'Rechnung'),
          ('Customer', 'Kunde'), ('Status', 'Status'), ('Warning', 'Warnung'), ('Note', 'Hinweis'), ('Error', 'Fehler'),
          ('File', 'Datei'), ('User', 'Benutzer'), ('Password', 'Passwort'), ('Country', 'Land'), ('City', 'Stadt'),
          ('Language', 'Sprache'), ('Street', 'Straße'), ('Subject', 'Betreff'), ('Author', 'Autor'), ('Title', 'Titel'),
          ('Page', 'Seite'), ('Chapter', 'Kapitel'), ('Line', 'Zeile'), ('Version', 'Version'), ('Example', 'Beispiel'),
          ('Price', 'Preis'), ('Opening hours', 'Öffnungszeiten'), ('E-mail', 'E-Mail'), ('Website', 'Website')]
LETTERS = [('Hello %s,', 'Hallo %s,'), ('Hi %s!', 'Hallo %s!'), ('Dear %s,', 'Liebe(r) %s,'), ('Good morning, %s!', 'Guten Morgen, %s!'),
           ('Good evening %s', 'Guten Abend, %s'), ('Dear Mrs. %s,', 'Sehr geehrte Frau %s,'), ('Dear Mr %s,', 'Sehr geehrter Herr %s,'),
           ('Dear Sir or Madam,', 'Sehr geehrte Damen und Herren,'), ('Yours sincerely, %s', 'Mit freundlichen Grüßen %s'),
           ('Yours faithfully,', 'Mit freundlichen Grüßen'), ('Regards,', 'Mit freundlichen Grüßen'), ('Kind regards', 'Mit freundlichen Grüßen'),
           ('Best regards', 'Beste Grüße'), ('Best wishes, %s', 'Beste Grüße, %s'), ('Kind regards, %s', 'Mit freundlichen Grüßen, %s'),
           ('With best regards, %s', 'Mit besten Grüßen, %s'), ('Many thanks, %s', 'Vielen Dank, %s'), ('Thanks, %s!', 'Danke, %s!'),
           ('Love, %s', 'Alles Liebe, %s'), ('See you soon, %s!', 'Bis bald, %s!'), ('Welcome, %s!', 'Willkommen, %s!'),
           ('Welcome back, %s', 'Willkommen zurück, %s'), ('Happy birthday, %s!', 'Alles Gute zum Geburtstag, %s!'),
           ('Merry Christmas, %s!', 'Frohe Weihnachten, %s!'), ('Happy Easter, %s!', 'Frohe Ostern, %s!'), ('hi', 'hallo'),
           ('Congratulations, %s!', 'Herzlichen Glückwunsch, %s!'), ('Good night, %s', 'Gute Nacht, %s'), ('Bye, %s!', 'Tschüss, %s!'),
           ('Get well soon, %s!', 'Gute Besserung, %s!'), ('Take care, %s!', 'Mach\'s gut, %s!'), ('Have a nice day!', 'Einen schönen Tag noch!'),
           ('Have a nice weekend, %s!', 'Ein schönes Wochenende, %s!'), ('Thank you, %s.', 'Danke, %s.'), ('Sorry, %s.', 'Tut mir leid, %s.')]
NAMES = 'Anna Peter Maria Tom Laura Ahmed Yuki Olga José Zoë Łucja Søren Nikola Priya Chen Fatima David Elif Marek Inès'.split()


def letters(r, n, alphabet=string.ascii_lowercase):
    return ''.join(r.choice(alphabet) for _ in range(n))


KNOWN = []  # words of the sentences: names in addresses are often words, and stay what they are


def word(r):
    if KNOWN and r.random() < 0.5:
        return r.choice(KNOWN)
    return letters(r, r.randint(2, 9))


HOSTS = ['example.com', 'example.org', 'example.net', 'gmail.com', 'github.com', 'wikipedia.org', 'amazon.de', 'web.de', 'debian.org', 'localhost']


def host(r):
    if r.random() < 0.3:
        return r.choice(['', '', '', 'www.', 'mail.', 'docs.', word(r) + '.']) + r.choice(HOSTS)
    return '.'.join([word(r) for _ in range(r.randint(1, 2))] + [r.choice(['com', 'org', 'net', 'de', 'eu', 'co.uk', 'io', 'info', 'at'])])


def placeholder(r):
    name = r.choice([word(r), word(r) + '_' + word(r), str(r.randint(0, 9)), word(r).upper()])
    return r.choice(['{%s}', '{{%s}}', '${%s}', '%%(%s)s', '<%s>', '[%s]', '@%s@', '__%s__', '$%s', '%%%s%%', '#{%s}', '&%s;', '[[%s]]']) % name


def mail(r):
    return '%s@%s' % (r.choice([word(r), word(r) + '.' + word(r), word(r) + str(r.randint(1, 99))]), host(r))


def url(r):
    path = ''.join('/' + word(r) for _ in range(r.randint(0, 3)))
    query = '?%s=%d' % (word(r), r.randint(1, 999)) if r.random() < 0.2 else ''
    return r.choice(['http://', 'https://', 'https://www.', 'www.', 'ftp://']) + host(r) + path + query


def number(r):
    n = r.randint(0, 10 ** r.randint(1, 6))
    return r.choice(['%d €', '%d', '%d', '%d %%', '£%d', '%d km', '%d °C', '+49 %d', '#%d', '-%d', 'No. %d', '%d kg', '§ %d']) % n


def clock(r):
    return '%d:%02d' % (r.randint(0, 23), r.randint(0, 59))


def foreign(r):
    low, high = r.choice(SCRIPTS)
    return ''.join(chr(r.randint(low, high)) for _ in range(r.randint(1, 7)))


def accented(r):
    return letters(r, 1, string.ascii_uppercase + ACCENTS).upper() + letters(r, r.randint(2, 6), string.ascii_lowercase + 3 * ACCENTS.lower())


def code(r):
    return r.choice(['%s', '%d', '%1$s', '%u', '%s/%s', '/' + word(r) + '/' + word(r), '~/' + word(r), word(r) + '.' + r.choice(['txt', 'c', 'py', 'html']),
                     '--' + word(r), '`' + word(r) + '`', word(r) + '()', '0x%04x' % r.randint(0, 65535), '@' + word(r), '#' + word(r),
                     word(r) + '_' + word(r), '%d.%d.%d' % (r.randint(0, 9), r.randint(0, 20), r.randint(0, 20))])


COPIED = [placeholder, placeholder, mail, url, number, clock, foreign, foreign, accented, code, code]


def copied(r):
    return r.choice(COPIED)(r)


def emoji(r):
    def one():
        if r.random() < 0.15:
            return r.choice(FACES)
        if r.random() < 0.05:  # a flag: two letters of a country's code
            return chr(0x1F1E6 + r.randrange(26)) + chr(0x1F1E6 + r.randrange(26))
        return chr(r.randint(*r.choice(EMOJI))) + ('\ufe0f' if r.random() < 0.1 else '')
    return one() * r.choice([1, 1, 1, 2, 3]) + (one() if r.random() < 0.2 else '')


def tagged(r, text, other):
    tag = r.choice(TAGS)
    more = ' href="%s"' % url(r) if tag == 'a' else ' class="%s"' % word(r) if r.random() < 0.15 else ''
    return '<%s%s>%s</%s>' % (tag, more, text, tag), '<%s%s>%s</%s>' % (tag, more, other, tag)


def shared_word(a, b):
    """a name or number that both sides have once"""
    for w in re.findall(r'\b(?:[A-Z][a-z]{2,}|\d{2,})\b', a):
        if len(re.findall(r'\b%s\b' % w, a)) == 1 and len(re.findall(r'\b%s\b' % w, b)) == 1:
            return w
    return None


def put(text, old, new):
    return re.sub(r'\b%s\b' % old, lambda _: new, text, count=1)


def swap(r, a, b):
    w = shared_word(a, b)
    if not w:
        return None
    item = copied(r)
    if r.random() < 0.1:
        x, y = tagged(r, w, w)
        return put(a, w, x), put(b, w, y)
    return put(a, w, item), put(b, w, item)


def decorate(r, a, b):
    kind = r.randrange(5)
    if kind == 0:
        face = emoji(r)
        if r.random() < 0.2:
            return face + ' ' + a, face + ' ' + b
        return a + ' ' + face, b + ' ' + face
    if kind == 1:
        return tagged(r, a, b)
    if kind == 2:
        mark = r.choice(MARKS)
        return mark + a + mark, mark + b + mark
    if kind == 3:
        bullet = r.choice(BULLETS)
        return bullet + a, bullet + b
    item = copied(r)
    return r.choice([(a + ' ' + item, b + ' ' + item), (item + ': ' + a, item + ': ' + b), (a + ' (' + item + ')', b + ' (' + item + ')')])


def listed(r, words):
    chosen = [r.choice(words) for _ in range(r.randint(2, 6))]
    between = r.choice([', ', ', ', ', ', '; ', ' / ', ' | ', ' • ', ' - '])
    a, b = ([p[side] for p in chosen] for side in (0, 1))
    if between == ', ' and r.random() < 0.3:
        return ', '.join(a[:-1]) + ' and ' + a[-1], ', '.join(b[:-1]) + ' und ' + b[-1]
    return between.join(a), between.join(b)


def labelled(r):
    parts = [(x, y, copied(r)) for x, y in (r.choice(LABELS) for _ in range(r.choice([1, 1, 1, 2, 3])))]
    between = r.choice([', ', ' ', '; '])
    return between.join('%s: %s' % (x, item) for x, _, item in parts), between.join('%s: %s' % (y, item) for _, y, item in parts)


def letter(r):
    a, b = r.choice(LETTERS)
    name = r.choice(NAMES) if r.random() < 0.7 else copied(r)
    return (a % name, b % name) if '%s' in a else (a, b)


def alone(r):
    item = copied(r) if r.random() < 0.8 else emoji(r)
    return item, item


def make(r, pairs, words):
    a, b = r.choice(pairs)
    kind = r.random()
    if kind < 0.35:
        return swap(r, a, b)
    if kind < 0.65:
        return decorate(r, a, b)
    return r.choice([lambda: listed(r, words), lambda: labelled(r), lambda: letter(r), lambda: alone(r), lambda: r.choice(words)])()


def read(source, target, longest):
    opener = lzma.open if source.endswith('.xz') else open
    with opener(source, 'rt', encoding='utf-8') as x, opener(target, 'rt', encoding='utf-8') as y:
        pairs = ((a.strip(), b.strip()) for a, b in zip(x, y))
        return [(a, b) for a, b in pairs if a and b and len(a) <= longest and len(b) <= longest + 30]


def in_use(words, pairs):
    """the dictionary's words that the sentences have, on both sides"""
    seen = [{w.lower() for pair in pairs for w in re.findall(r'\w+', pair[side])} for side in (0, 1)]
    return [p for p in words if p[0].lower() in seen[0] and p[1].lower() in seen[1]]


def main():
    source, target, word_source, word_target, n, out_source, out_target = sys.argv[1:]
    with open('tests/data/everyday.tsv', encoding='utf-8') as f:
        kept_out = {line.split('\t')[1] for line in f if not line.startswith('# ')}
    pairs = read(source, target, 90)
    words = in_use(read(word_source, word_target, 20), pairs)
    KNOWN.extend(sorted({a for a, _ in words if a.isascii() and a.islower() and a.isalpha()}))
    r, written = random.Random(int(n)), set()
    with open(out_source, 'w', encoding='utf-8') as x, open(out_target, 'w', encoding='utf-8') as y:
        while len(written) < int(n):
            pair = make(r, pairs, words)
            if not pair or pair in written or pair[0] in kept_out:
                continue
            written.add(pair)
            x.write(pair[0] + '\n')
            y.write(pair[1] + '\n')


if __name__ == '__main__':
    main()
