#!/usr/bin/env python3
"""Writes tiny.{train,valid}.{en,de}: simple English sentences and their German translations, made by a
small grammar. Cases, genders, endings and word order differ between the two, so there is something to
learn: the verb goes to the end after "dass", before the subject when the sentence begins with a time, and some
verbs fall into two parts.

usage: make_tiny.py [FOLDER]        default: the folder of this script; the files are always the same
"""
import os
import random
import sys

TRAIN, VALID = 2700, 150

# English, German, gender
NOUNS = [('dog', 'Hund', 'm'), ('cat', 'Katze', 'f'), ('horse', 'Pferd', 'n'), ('bird', 'Vogel', 'm'),
         ('house', 'Haus', 'n'), ('garden', 'Garten', 'm'), ('flower', 'Blume', 'f'), ('tree', 'Baum', 'm'),
         ('woman', 'Frau', 'f'), ('man', 'Mann', 'm'), ('child', 'Kind', 'n'), ('friend', 'Freund', 'm'),
         ('teacher', 'Lehrerin', 'f'), ('king', 'König', 'm'), ('queen', 'Königin', 'f'), ('book', 'Buch', 'n'),
         ('letter', 'Brief', 'm'), ('city', 'Stadt', 'f'), ('bridge', 'Brücke', 'f'), ('river', 'Fluss', 'm'),
         ('car', 'Auto', 'n'), ('train', 'Zug', 'm'), ('door', 'Tür', 'f'), ('window', 'Fenster', 'n')]
PEOPLE = {'woman', 'man', 'child', 'friend', 'teacher', 'king', 'queen', 'dog', 'cat', 'bird', 'horse'}
ADJECTIVES = [('small', 'klein'), ('big', 'groß'), ('old', 'alt'), ('new', 'neu'), ('red', 'rot'),
              ('green', 'grün'), ('beautiful', 'schön'), ('quiet', 'leise'), ('white', 'weiß'), ('black', 'schwarz')]
# third person and infinitive; in German the same, the part that is split off between them
VERBS = [('sees', 'see', 'sieht', '', 'sehen'), ('finds', 'find', 'findet', '', 'finden'),
         ('loves', 'love', 'liebt', '', 'lieben'), ('knows', 'know', 'kennt', '', 'kennen'),
         ('seeks', 'seek', 'sucht', '', 'suchen'), ('paints', 'paint', 'malt', '', 'malen'),
         ('buys', 'buy', 'kauft', '', 'kaufen'), ('sells', 'sell', 'verkauft', '', 'verkaufen'),
         ('looks at', 'look at', 'sieht', 'an', 'ansehen'), ('brings back', 'bring back', 'bringt', 'zurück', 'zurückbringen')]
TIMES = [('today', 'heute'), ('tomorrow', 'morgen'), ('often', 'oft'), ('now', 'jetzt'), ('here', 'hier'),
         ('every day', 'jeden Tag'), ('in the morning', 'am Morgen'), ('in the evening', 'am Abend')]
SAYS = [('I know', 'Ich weiß'), ('we think', 'Wir glauben'), ('she says', 'Sie sagt'), ('he hopes', 'Er hofft'),
        ('you see', 'Du siehst'), ('they say', 'Sie sagen')]

THE = {'nom': {'m': 'der', 'f': 'die', 'n': 'das'}, 'acc': {'m': 'den', 'f': 'die', 'n': 'das'}}
A = {'nom': {'m': 'ein', 'f': 'eine', 'n': 'ein'}, 'acc': {'m': 'einen', 'f': 'eine', 'n': 'ein'}}
ENDING_THE = {'nom': {'m': 'e', 'f': 'e', 'n': 'e'}, 'acc': {'m': 'en', 'f': 'e', 'n': 'e'}}
ENDING_A = {'nom': {'m': 'er', 'f': 'e', 'n': 'es'}, 'acc': {'m': 'en', 'f': 'e', 'n': 'es'}}


def phrase(rng, case):
    """An article, perhaps an adjective, and a noun, in both languages."""
    noun, german, gender = rng.choice([n for n in NOUNS if case == 'acc' or n[0] in PEOPLE])
    adjective, stem = rng.choice(ADJECTIVES) if rng.random() < 0.6 else ('', '')
    definite = rng.random() < 0.6
    article = 'the' if definite else 'an' if (adjective or noun)[0] in 'aeiou' else 'a'
    ending = (ENDING_THE if definite else ENDING_A)[case][gender]
    words = [(THE if definite else A)[case][gender]] + ([stem + ending] if stem else []) + [german]
    return ' '.join(w for w in (article, adjective, noun) if w), ' '.join(words)


def sentence(rng):
    subject, german_subject = phrase(rng, 'nom')
    thing, german_thing = phrase(rng, 'acc')
    third, infinitive, finite, part, german_infinitive = rng.choice(VERBS)
    time, german_time = rng.choice(TIMES)
    last = ' ' + part if part else ''
    kind = rng.randrange(5)
    if kind == 0:
        return f'{subject} {third} {thing}.', f'{german_subject} {finite} {german_thing}{last}.'
    if kind == 1:
        return (f'{time} {subject} {third} {thing}.',
                f'{german_time} {finite} {german_subject} {german_thing}{last}.')
    if kind == 2:
        say, german_say = rng.choice(SAYS)
        return (f'{say} that {subject} {third} {thing}.',
                f'{german_say}, dass {german_subject} {german_thing} {part}{finite}.')
    if kind == 3:
        return (f'does {subject} {infinitive} {thing} {time}?',
                f'{finite} {german_subject} {german_time} {german_thing}{last}?')
    return f'{subject} wants to {infinitive} {thing}.', f'{german_subject} will {german_thing} {german_infinitive}.'


def capital(text):
    return text[0].upper() + text[1:]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    rng, pairs = random.Random(1), {}
    while len(pairs) < TRAIN + VALID:
        english, german = sentence(rng)
        pairs.setdefault(capital(english), capital(german))
    pairs = list(pairs.items())
    for name, part in ('train', pairs[:TRAIN]), ('valid', pairs[TRAIN:]):
        for side, language in enumerate(('en', 'de')):
            with open(os.path.join(folder, f'tiny.{name}.{language}'), 'w', encoding='utf-8') as out:
                out.writelines(pair[side] + '\n' for pair in part)


if __name__ == '__main__':
    main()
