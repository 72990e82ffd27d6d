#!/usr/bin/env python3
"""The tables of the papers for our models: measures them, and writes docs/results.md from what was measured.

usage: paper_tables.py run PAPER [--models recipes] [--sets DIR] [--device cuda] [--type f16] [--repeat 5] [--limit N] [--batch 128] [--random [--set KEY=VALUE ...]] [--table ID ...]
       paper_tables.py page [--results results] [--out docs/results.md]

PAPER is hrt, gad, pairs (its other tables are bench/pairs.py's) or small (all methods, with the networks of recipes/compare.sh --small). `run` takes every model of a table that is there (recipes/compare.sh trains
them; folders have the names that stand here), translates the test sets in --sets (NAME.en and NAME.de, all in one folder), times all of them in turns in one run, and writes results/PAPER-ID.json after each table, so that a run that
was ended early goes on with --table. With --random a model that is missing is made with random weights, and measured for speed alone, where speed
does not depend on what it has learned; all outputs of such a table are as long as their references. `page` needs nothing but the files in results/; a cell that was not measured is a dash.
"""
import argparse
import json
import os
import re
import sys

import systems
from random_models import by_length, forced, random_model

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DASH = '–'
MAIN = 'newstest2014'
QUALITY = ('bleu', 'chrf2', 'trr')
SETS = ['newstest2014', 'parliament.test', 'tatoeba.test']


def row(label, model, decode, drafter=None):
    return {'name': label, 'model': model, 'decode': decode, **({'drafter': drafter} if drafter else {})}


def at(depth, decode='greedy', label=None):
    return row(label or 'AT %s, %s' % (depth, 'greedy' if decode == 'greedy' else 'beam 5'), 'at-%s-more' % depth, decode)


def hrt(depth, k, more='', label=None):
    return row(label or 'HRT %s, k = %d' % (depth, k), 'hrt-%s' % depth, 'hrt:k=%d%s' % (k, more))


def pairs(depth):
    return row('two tokens a step, %s' % depth, 'pairs-%s' % depth, 'pairs')


def cmlm(iterations):
    return row('CMLM 6-6, %d iterations' % iterations, 'cmlm-6-6', 'cmlm:iterations=%d,lengths=5' % iterations)


def gad(label, decode, drafter='gad-6-6-1', model='at-6-6'):
    return row(label, model, decode, drafter)


GREEDY, BEAM = row('AT, greedy', 'at-6-6', 'greedy'), row('AT, beam 5', 'at-6-6', 'beam:size=5')
# id, title, columns, rows. A column is KIND:SET or KIND:BATCH; speeds are ratios to the table's first row, in one run
TABLES = {
    'hrt': [
        ('2', 'Table 2: depth of the encoder', ['bleu:newstest2014', 'words:1', 'speed:1'],
         [x for d in ('6-1', '12-1', '20-1') for x in (at(d), hrt(d, 2))]),
        ('3', 'Table 3: beams of both stages', ['bleu:newstest2014', 'words:1', 'speed:1'],
         [at('12-1')] + [hrt('12-1', 2, ',b_at=%d,b_nat=%d' % b, 'HRT 12-1, k = 2, b_at %d, b_nat %d' % b) for b in ((5, 5), (5, 1), (1, 1))]),
        ('4', 'Table 4: variants (COMET\'s weights cannot be had; chrF2 and token repetition instead)',
         ['bleu:' + s for s in SETS] + ['chrf2:newstest2014', 'trr:newstest2014', 'words:1', 'speed:1', 'passes:1'],
         [at(d, 'beam:size=5') for d in ('6-1', '12-1', '20-1')] + [at(d) for d in ('6-1', '12-1', '20-1')] +
         [hrt(d, k) for d in ('12-1', '20-1') for k in (2, 3, 4)]),
        ('6-6', 'Six decoder layers, and Mask-Predict', ['bleu:' + s for s in SETS] + ['trr:newstest2014', 'words:1', 'speed:1', 'passes:1'],
         [at('6-6'), hrt('6-6', 2), hrt('6-6', 3), hrt('6-6', 4)] +
         [row('CMLM 6-6, %d iterations, %s' % (n, t), m, 'cmlm:iterations=%d,lengths=5' % n)
          for t, m in (('distilled', 'cmlm-6-6'), ('raw', 'cmlm-6-6-raw')) for n in (4, 10)]),
        ('5-f32', 'Table 5: in fp32', ['words:1', 'speed:1'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 4)]),
        ('5-f16', 'Table 5: in fp16', ['words:1', 'speed:1'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 4)]),
        ('cpu-6-6', 'Two CPU cores, int8: 6-6', ['words:1', 'speed:1', 'speed:32'], [at('6-6'), hrt('6-6', 2), hrt('6-6', 3), hrt('6-6', 4), cmlm(4), cmlm(10)]),
        ('cpu-12-1', 'Two CPU cores, int8: 12-1', ['words:1', 'speed:1', 'speed:32'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 3), hrt('12-1', 4)]),
        ('batches-12-1', 'Where each wins: speed by batch, 12-1', ['speed:1', 'speed:8', 'speed:32', 'speed:256'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 4)]),
        ('batches-6-6', 'Where each wins: speed by batch, 6-6', ['speed:1', 'speed:8', 'speed:32', 'speed:256'], [at('6-6'), hrt('6-6', 2), cmlm(4)]),
        ('ablations', 'Ablations, HRT 12-1, k = 2', ['bleu:newstest2014', 'bleu:parliament.test'],
         [hrt('12-1', 2)] + [row(label, model, 'hrt:k=2') for label, model in (
             ('without the auxiliary tasks', 'hrt-12-1-alone'), ('lambda 0.5', 'hrt-12-1-lambda0.5'), ('lambda 2', 'hrt-12-1-lambda2'),
             ('most 0.5: also greedy, beam and cmlm', 'hrt-12-1-most0.5'), ('from scratch', 'hrt-12-1-scratch'))]),
    ],
    'gad': [
        ('1', 'Table 1: the methods', ['bleu:newstest2014', 'tokens:1', 'speed:1'],
         [BEAM, GREEDY, row('AT raw, beam 5', 'at-6-6-raw', 'beam:size=5'), row('AT raw, greedy', 'at-6-6-raw', 'greedy'),
          row('NAT alone, blocks of 25', 'gad-paper', 'blocks:block=25'), gad('GAD, 1 layer', 'gad'), gad('GAD, paper\'s drafter, k = 25', 'gad:block=25', 'gad-paper'),
          gad('GAD++, beta 3, tau 1', 'gad:beta=3,tau=1'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3'),
          row('GAD, one network', 'gad-self', 'gad-self'), gad('beam 5 by draft and verify', 'gad-beam:size=5')]),
        ('2', 'Table 2: block size, on newstest2013, beta 3, tau 1', ['bleu:newstest2013', 'tokens:1', 'speed:1'],
         [GREEDY] + [gad('k = %d' % k, 'gad:block=%d,beta=3,tau=1' % k) for k in (10, 15, 20, 25, 30)]),
        ('3', 'Table 3: beta and tau, on newstest2013, k = 25', ['bleu:newstest2013', 'tokens:1'],
         [gad('beta %d, tau %d' % (b, t), 'gad:block=25,beta=%d,tau=%d' % (b, t)) for b in (1, 3, 5) for t in (1, 2, 3, 4, 5) if b > 1 or t == 1]),
        ('5', 'Table 5: size of the drafter', ['tokens:1', 'speed:1'],
         [GREEDY, gad('1 layer', 'gad'), gad('1 layer, no glancing', 'gad', 'gad-6-6-1-plain'), gad('2 layers', 'gad', 'gad-6-6-2'),
          gad('6 layers and an encoder', 'gad', 'gad-paper')]),
        ('7', 'Table 7: profile, share of the time', ['share:encoder', 'share:self-attention', 'share:cross-attention', 'share:ffn', 'share:output', 'drafting:1'],
         [GREEDY, gad('GAD', 'gad'), gad('GAD++, beta 5, tau 3', 'gad:block=25,beta=5,tau=3')]),
        ('8', 'Table 8: memory', ['memory:1'], [BEAM, GREEDY, gad('GAD', 'gad'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3')]),
        ('9', 'Table 9: token repetition', ['bleu:newstest2014', 'trr:newstest2014'],
         [GREEDY] + [row('CMLM, %d iterations' % n, 'cmlm-6-6', 'cmlm:iterations=%d,lengths=3' % n) for n in (4, 10)] +
         [gad('GAD', 'gad'), gad('GAD++, beta 3, tau 1', 'gad:block=25,beta=3,tau=1')]),
        ('cpu', 'Two CPU cores, int8', ['tokens:1', 'speed:1', 'speed:32'],
         [GREEDY, gad('GAD', 'gad'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3'), row('GAD, one network', 'gad-self', 'gad-self'), BEAM,
          gad('beam 5 by draft and verify', 'gad-beam:size=5')]),
        ('12-1', 'Verifier 12-1', ['bleu:newstest2014', 'tokens:1', 'speed:1'],
         [row('AT 12-1, greedy', 'at-12-1', 'greedy'), gad('GAD, 1 layer', 'gad', 'gad-12-1-1', 'at-12-1')]),
        ('hf', 'Verifier: a downloaded model (Hugging Face, raw text, its own vocabulary)', ['bleu:newstest2014', 'tokens:1', 'speed:1'],
         [row('greedy', 'hf', 'greedy'), gad('GAD, 1 layer', 'gad', 'gad-hf', 'hf'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3', 'gad-hf', 'hf'),
          row('beam 4', 'hf', 'beam:size=4'), row('beam 4 by draft and verify, no drafter', 'hf', 'gad-beam:size=4'),
          gad('beam 4 by draft and verify', 'gad-beam:size=4', 'gad-hf', 'hf')]),
    ],
    'pairs': [(place + depth, title + depth, ['words:1', 'speed:1', 'speed:32', 'passes:1'], [at(depth), pairs(depth)])
              for place, title in (('', 'Speed: '), ('cpu-', 'Two CPU cores, int8: ')) for depth in ('6-6', '12-1')],
    'small': [('all', 'All methods', ['bleu:tatoeba.test', 'chrf2:tatoeba.test', 'trr:tatoeba.test', 'passes:1', 'tokens:1', 'speed:1'],
               [row('AT, greedy', 'at-3-3', 'greedy'), row('AT, beam 5', 'at-3-3', 'beam:size=5'),
                row('AT, as long as HRT, greedy', 'at-3-3-more', 'greedy'), row('AT, as long as HRT, beam 5', 'at-3-3-more', 'beam:size=5')] +
               [row('HRT, k = %d' % k, 'hrt-3-3', 'hrt:k=%d' % k) for k in (2, 3, 4)] +
               [row('HRT, k = 2, beams of 5', 'hrt-3-3', 'hrt:k=2,b_at=5,b_nat=5'),
                row('HRT, k = 2 alone for 3,000 updates more', 'hrt-3-3-k2', 'hrt:k=2'),
                row('HRT, k = 2 alone, beams of 5', 'hrt-3-3-k2', 'hrt:k=2,b_at=5,b_nat=5')] +
               [row('CMLM, %d iterations' % n, 'cmlm-3-3', 'cmlm:iterations=%d,lengths=5' % n) for n in (4, 10)] +
               [row('two tokens a step', 'pairs-3-3', 'pairs'), row('two tokens a step, beam 5', 'pairs-3-3', 'pairs:size=5'),
                row('lattice, the table alone', 'lattice-3-1', 'lattice:k=1,delta=0'), row('lattice, K = 64', 'lattice-3-1', 'lattice:k=64,delta=3')] +
               [gad(name, decode, 'gad-3-3-1', 'at-3-3') for name, decode in (
                   ('GAD, blocks of 10', 'gad:block=10'), ('GAD, block by cost', 'gad'), ('GAD++, beta 3, tau 1', 'gad:block=10,beta=3,tau=1'))] +
               [row('the one network\'s own greedy', 'gad-self', 'greedy'), row('GAD, one network', 'gad-self', 'gad-self'),
                row('GAD, one network, blocks of 4', 'gad-self', 'gad-self:block=4')])],
}
FIGURE = [GREEDY, gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3')]
# tables that say themselves where they are measured
CPU = {'device': 'cpu', 'type': 'i8', 'threads': 2}
FIXED = {'all': dict(CPU, threads=1), '5-f32': {'type': 'f32'}, '5-f16': {'type': 'f16'}, 'cpu': CPU, 'cpu-6-6': CPU, 'cpu-12-1': CPU}
HEADS = {'bleu': 'BLEU %s', 'chrf2': 'chrF2 %s', 'trr': 'repeated tokens, %%, %s', 'words': 'source words/s, batch %s', 'speed': 'speed, batch %s',
         'passes': 'passes a sentence', 'tokens': 'tokens a pass of the model', 'share': '%s', 'drafting': 'of it in the drafter\'s passes',
         'memory': 'memory, MB'}
PAPERS = [('small', 'Small networks', 'recipes/compare.sh --small --train'),
          ('hrt', 'Hybrid-regressive translation and Mask-Predict', 'recipes/compare-hrt.yml, compare-cmlm.yml'),
          ('gad', 'Draft and verify (Xia et al. 2022)', 'recipes/compare-gad.yml')]
NOTES = {'small': 'What each method learns from the same real text in minutes on a CPU core: three layers, d = 128, 4,000 pieces, 226,497 distilled sentences of '
                  'at most ten words, 10,000 updates of 1,024 tokens (HRT and "as long as HRT": 8,000 more; drafter 5,000, one network 4,000). Sentences of nine '
                  'words leave little to do at once, and networks this small are fast at one token a step: the figures compare what was learned, and the passes '
                  '(speeds differ from case to case by more than the methods: greedy search of two equal networks has 1.00x and 0.83x). '
                  'HRT shares its updates between three k and the auxiliary tasks, so each k had a sixth of them: every second token is right in 54 % of cases '
                  'where AT has 79 %, what lies between in 76 %; 3,000 updates for k = 2 alone bring 5 BLEU. None of it stands for the networks below.',
         'hrt': 'One file serves all three k. The tables time all rows in turns, sentence by sentence. One model after the other (`pronk bench --batch 1 --repeat 5 --limit 300`, '
                'no `--interleave`) gives AT 12-1 greedy 11,763 source words/s, k = 2 17,175 (1.46x; 4.5 times the 3.8 thousand of the paper), k = 3 20,784 (1.77x), k = 4 23,274 (1.98x). '
                'BLEU falls short: k = 2 is 1.6 below AT with as many updates on newstest2014, 1.2 on parliament.test, 2.9 on tatoeba.test; beams of 5 in both stages '
                'bring back 0.4. AT has 94 % of its training tokens right by then, HRT 84 %: one decoder layer has to guess two to four tokens ahead, and had it for half of 15,000 updates. '
                'More updates, and k = 2 alone, are what small networks gained most from.',
         'gad': 'Table 4 (big size) has speeds with random weights only and is not measured yet. Table 6 (an ensemble of teachers) is not repeated. '
                'Table 10 is the settings of the recipes, Table 11 pages of `pronk viz -d gad`. '
                'Blockwise decoding (Stern et al. 2018), as quoted in Table 4 of the paper, is not ours.'}


# ---- measuring ----

BUCKET = 10  # lengths of outputs that are made as long as their references are multiples of it
RECIPES = {'at': ('compare-at.yml', 'at'), 'hrt': ('compare-at.yml', 'hrt:k=2,k_max=4'), 'cmlm': ('compare-at.yml', 'cmlm'),
           'pairs': ('compare-pairs.yml', 'pairs')}


def lines_of(o, name):
    with open(os.path.join(o.sets, name), encoding='utf-8') as text:
        lines = text.read().split('\n')[:-1]
    return lines[:o.limit] if o.limit else lines


def work(o, name, lines=None):
    """A file or folder of our own; with lines, written."""
    os.makedirs(o.work, exist_ok=True)
    path = os.path.join(o.work, name)
    if lines is not None:
        with open(path, 'w', encoding='utf-8') as text:
            text.writelines(line + '\n' for line in lines)
    return path


def random_row(o, r):
    """The row with random weights, and the pieces of the references; (None, 0) where its speed depends on what it has learned. A run makes a model once."""
    shape = re.match(r'(at|hrt|cmlm|pairs)-([0-9]+)-([0-9]+)', r['model'])
    if 'drafter' in r or not shape:
        return None, 0
    kind, encoder, decoder = shape.groups()
    recipe, task = RECIPES[kind]
    folder = work(o, '-'.join(shape.groups()))
    if folder not in o.made:
        settings = {'task': task, 'model.encoder_layers': encoder, 'model.decoder_layers': decoder, 'device': o.device, **dict(s.split('=', 1) for s in o.set)}
        o.made[folder] = random_model(systems.PRONK, recipe, folder, work(o, 'source.en', lines_of(o, MAIN + '.en')),
                                      work(o, 'target.de', lines_of(o, MAIN + '.de')), **settings)
    return dict(r, model=folder, random=True), o.made[folder]


def find(o, r):
    """The row with the paths of its models, and pieces as above; (None, 0) where they are missing."""
    paths = {key: os.path.join(o.models, r[key]) for key in ('model', 'drafter') if key in r}
    if all(os.path.exists(path) for path in paths.values()):
        return dict(r, **paths), 0
    return random_row(o, r) if o.random else (None, 0)


def forced_speed(o, found, batch, pieces):
    """Speeds where all outputs are as long as their references: group by group, in turns, summed."""
    groups = by_length(lines_of(o, MAIN + '.en'), lines_of(o, MAIN + '.de'), pieces, BUCKET)
    seconds, passes, words, total = [0.0] * len(found), [0.0] * len(found), 0, 0
    for n, lines in sorted(groups.items()):
        o.input = work(o, 'group.en', lines)
        here = argparse.Namespace(**dict(vars(o), limit=None))
        for i, s in enumerate(systems.speed_at(here, [dict(r, decode=forced(r['decode'], n)) for r in found], batch)):
            seconds[i] += len(lines) / s['sentences_per_second']
            passes[i] += len(lines) * s['passes_per_sentence']
        total, words = total + len(lines), words + sum(len(line.split()) for line in lines)
    return [{'source_words_per_second': words / each, 'speed_to_first': seconds[0] / each, 'sentences_per_second': total / each,
             'passes_per_sentence': passed / total} for each, passed in zip(seconds, passes)]


def speeds(o, columns, found, pieces):
    """By batch, a list of what was measured of each row."""
    timed = [what for kind, what in columns if kind in ('words', 'speed', 'passes', 'tokens', 'memory', 'drafting')]
    o.input = os.path.join(o.sets, next((what for kind, what in columns if kind in QUALITY), MAIN) + '.en')
    return {batch: forced_speed(o, found, int(batch), pieces) if pieces else systems.speed_at(o, found, int(batch))
            for batch in dict.fromkeys(timed)}


def measure(o, paper, table):
    number, title, columns, rows = table
    columns = [c.split(':') for c in columns]
    tried = [find(o, r) for r in rows]
    found, pieces = [r for r, _ in tried if r], max(n for _, n in tried)
    missing = [r['name'] for r, (there, _) in zip(rows, tried) if not there]
    print('%s %s: %d of %d rows%s' % (paper, title, len(found), len(rows), '; missing: ' + ', '.join(missing) if missing else ''), flush=True)
    if not found:
        return
    results = [dict(r, **{key: os.path.basename(r[key]) for key in ('model', 'drafter') if key in r}, sets={}, batches={}) for r in found]
    for name in dict.fromkeys(what for kind, what in columns if kind in QUALITY):
        for result, system in zip(results, found):
            if not system.get('random'):
                result['sets'][name] = systems.quality_of(o, system, name)
    for batch, measured in speeds(o, columns, found, pieces).items():
        for result, speed in zip(results, measured):
            result['batches'][batch] = speed
    with open(os.path.join(o.results, '%s-%s.json' % (paper, number)), 'w', encoding='utf-8') as out:
        json.dump({'device': o.device, 'type': o.type, 'threads': o.threads, 'limit': o.limit, 'repeat': o.repeat, 'complete': not missing,
                   'random': pieces > 0, 'rows': results}, out, indent=1)
        out.write('\n')


def measure_figure(o):
    """Figure 4: how many times faster than greedy each line is, line by line in turns."""
    tried = [find(argparse.Namespace(**dict(vars(o), random=False)), r)[0] for r in FIGURE]
    print('gad Figure 4: %s' % ('measured' if all(tried) else 'models are missing'), flush=True)
    if not all(tried):
        return
    o.input = os.path.join(o.sets, MAIN + '.en')
    slow, fast = (row['line_seconds'] for row in systems.bench(o, tried, 1, '--each-line'))
    with open(os.path.join(o.results, 'gad-figure-4.json'), 'w', encoding='utf-8') as out:
        json.dump({'device': o.device, 'type': o.type, 'limit': o.limit, 'repeat': o.repeat,
                   'speed': [round(a / b, 3) for a, b in zip(slow, fast)]}, out)
        out.write('\n')


# ---- the page ----

def speed_cell(kind, batch):
    if kind == 'words':
        return '%.0f' % batch['source_words_per_second']
    if kind == 'speed':
        return '%.2fx' % batch['speed_to_first']
    if kind == 'passes':
        return '%.1f' % batch['passes_per_sentence']
    if kind == 'tokens':
        return '%.2f' % batch['tokens_per_model_pass']
    if kind == 'memory':
        return '%.0f' % ((batch['device_memory_bytes'] or batch['peak_memory_bytes']) / 1e6)
    spent = [network['pass_seconds'] for network in batch['networks']]
    return '%.0f %%' % (100 * sum(spent[1:]) / sum(spent))


def cell(found, column):
    kind, what = column.split(':')
    if not found:
        return DASH
    if kind in QUALITY:
        return '%.2f' % found['sets'][what][kind] if what in found['sets'] else DASH
    if kind == 'share':
        batch = next(iter(found['batches'].values()), None)
        return '%.0f %%' % (100 * batch['time_share'][what]) if batch else DASH
    return speed_cell(kind, found['batches'][what]) if what in found['batches'] else DASH


def table_text(o, paper, table):
    number, title, columns, rows = table
    path = os.path.join(o.results, '%s-%s.json' % (paper, number))
    said = json.load(open(path, encoding='utf-8')) if os.path.exists(path) else {'rows': []}
    by_name = {r['name']: r for r in said['rows']}
    where = 'not measured yet' if not by_name else '%s%s%s%s' % (said['device'], ', ' + said['type'] if said['type'] else '',
                                                                 ', %d lines' % said['limit'] if said['limit'] else '',
                                                                 '; random weights, outputs as long as the references' if said.get('random') else '')
    out = ['**%s** (%s)' % (title, where), '', '| | decoding | ' + ' | '.join(HEADS[k] % w if '%s' in HEADS[k] else HEADS[k] for k, w in (c.split(':') for c in columns)) + ' |',
           '|---|---|' + '--:|' * len(columns)]
    for r in rows:
        out.append('| %s | `%s` | %s |' % (r['name'], r['decode'], ' | '.join(cell(by_name.get(r['name']), c) for c in columns)))
    return '\n'.join(out) + '\n'


def bars(rows, title, path, width=640):
    """Speeds against the first row, as SVG."""
    height, most = 30 * len(rows) + 50, max(ratio for _, ratio in rows)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">' % (width, height),
           '<rect width="%d" height="%d" fill="white"/><text x="10" y="20">%s</text>' % (width, height, title)]
    for i, (name, ratio) in enumerate(rows):
        y, length = 35 + 30 * i, (width - 330) * ratio / most
        out.append('<text x="250" y="%d" text-anchor="end">%s</text><rect x="260" y="%d" width="%.1f" height="20" fill="#06c"/>'
                   '<text x="%.1f" y="%d">%.2fx</text>' % (y + 14, name.replace('&', '&amp;').replace('<', '&lt;'), y, length, 266 + length, y + 14, ratio))
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out + ['</svg>']) + '\n')


def histogram(values, title, path, width=640, height=300, step=0.25):
    """Shares of values by steps, as SVG."""
    counts = {}
    for value in values:
        counts[int(value / step)] = counts.get(int(value / step), 0) + 1
    last, most, left, bottom = max(counts) + 1, max(counts.values()), 40, height - 40
    wide = (width - left - 20) / last
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">' % (width, height),
           '<rect width="%d" height="%d" fill="white"/><text x="10" y="20">%s</text>' % (width, height, title)]
    for i, n in sorted(counts.items()):
        high = (bottom - 40) * n / most
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#06c"><title>%.2f to %.2f: %d lines</title></rect>'
                   % (left + i * wide, bottom - high, wide - 1, high, i * step, (i + 1) * step, n))
    for x in range(int(last * step) + 1):
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%dx</text>' % (left + x / step * wide, bottom + 16, x))
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out + ['</svg>']) + '\n')


def figure_text(o):
    path = os.path.join(o.results, 'gad-figure-4.json')
    if not os.path.exists(path):
        return '**Figure 4: how speed-ups are spread over sentences** (not measured yet: `run gad --table figure-4`)\n'
    said = json.load(open(path, encoding='utf-8'))
    speed = sorted(said['speed'])
    os.makedirs(o.plots, exist_ok=True)
    histogram(speed, 'Sentences by how many times faster than greedy', os.path.join(o.plots, 'gad-figure-4.svg'))
    at = lambda part: speed[min(int(part * len(speed)), len(speed) - 1)]
    return '**Figure 4: how speed-ups are spread over sentences** (%s; %d lines): median %.2fx, one in ten below %.2fx, one in ten above %.2fx\n\n![Figure 4](%s)\n' % (
        ', '.join(filter(None, (said['device'], said['type']))), len(speed), at(0.5), at(0.1), at(0.9), os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), 'gad-figure-4.svg'))


def plots(o, paper):
    """A plot for each measured table with speeds; the lines that show them."""
    shown = []
    for number, title, columns, _ in TABLES[paper]:
        path = os.path.join(o.results, '%s-%s.json' % (paper, number))
        batch = next((c.split(':')[1] for c in columns if c.startswith('speed')), None)
        if not batch or not os.path.exists(path):
            continue
        rows = [(r['name'], r['batches'][batch]['speed_to_first']) for r in json.load(open(path, encoding='utf-8'))['rows']]
        name = '%s-%s.svg' % (paper, number)
        os.makedirs(o.plots, exist_ok=True)
        bars(rows, '%s: speed, batch %s' % (title, batch), os.path.join(o.plots, name))
        shown.append('![%s](%s)\n' % (title, os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), name)))
    return shown


def baselines(o):
    rows = json.load(open(os.path.join(o.results, 'at.json'), encoding='utf-8'))
    sets = list(next(iter(rows[0]['bleu'].values())))
    out = ['| | target text | decoding | ' + ' | '.join(sets) + ' | minutes of training |', '|---|---|---|' + '--:|' * (len(sets) + 1)]
    for r in rows:
        for decode, bleu in r['bleu'].items():
            out.append('| %s %s | %s | `%s` | %s | %.1f |' % (r['task'], r['shape'], r['target'], decode, ' | '.join('%.1f' % bleu[s] for s in sets),
                                                            r['train_seconds'] / 60))
    return '\n'.join(out) + '\n'


def trainings(o):
    """What was trained for the tables below, from results/trainings.json."""
    path = os.path.join(o.results, 'trainings.json')
    if not os.path.exists(path):
        return 'None yet.\n'
    out = ['| model | begins as | task | target text | updates | seed | minutes | tokens right in training |', '|---|---|---|---|--:|--:|--:|--:|']
    for r in json.load(open(path, encoding='utf-8')):
        out.append('| `%s` | %s | `%s` | %s | %d | %d | %.1f | %.1f %% |' % (r['name'], '`%s`' % r['init'] if r['init'] else 'nothing', r['task'], r['target'],
                                                                           r['updates'], r['seed'], r['train_seconds'] / 60, 100 * r['accuracy']))
    return '\n'.join(out) + '\n'


def pairs_tables(o):
    """Table 2 of two tokens a step, from the lines of bench/pairs.py."""
    methods = ['single L2R', 'single R2L', 'double bidirectional', 'double L2R', 'double R2L', 'Mask-Predict 4', 'Mask-Predict 10']
    path, found = os.path.join(o.results, 'pairs.jsonl'), {}
    if os.path.exists(path):
        lines = [json.loads(line) for line in open(path, encoding='utf-8')]
        found = {line['name']: line for line in lines if line['what'] == 'quality'}
    first = next(iter(found.values()), None)
    out = ['**Table 2: quality and speed** (%s)' % ('measured' if found else 'not measured yet'), '', '| method | BLEU | tokens/s | ratio |', '|---|--:|--:|--:|']
    for name in list(dict.fromkeys(methods + list(found))):
        f = found.get(name)
        out.append('| %s | %s |' % (name, '%.2f | %.0f | %.0f %%' % (f['eval']['bleu'], f['tokens_per_second'], 100 * f['tokens_per_second'] / first['tokens_per_second'])
                                    if f else ' | '.join([DASH] * 3)))
    return '\n'.join(out) + '\n\nTables 3 and 4 and Figure 3: `bench/pairs.py ends`, `vocabularies`, `widths`; not measured yet.\n'


def page(o):
    out = ['# Results\n', '<!-- made by bench/paper_tables.py page from results/*.json: change those, not this -->\n',
           'Every table of the papers whose methods Pronk has, for our own models, measured by committed scripts (bench/README.md); a dash is a cell that was '
           'not measured yet. Text, vocabulary and commands of the trainings: recipes/README.md. BLEU is sacreBLEU\'s (13a, mixed case), of whole sets; '
           'a number of lines is that of the speeds.\n',
           '## Baselines\n', 'One H200, 15,000 updates, `recipes/compare-at.yml`; the rows that all comparisons begin from (results/at.json).\n', baselines(o),
           '## Trainings\n', '`recipes/compare.sh --commands` prints the commands, `--train NAME` runs them; one H200 each (results/trainings.json). Validation was left out '
           '(`--set valid.every=0`), so a model is the average of its last updates.\n', trainings(o)]
    for paper, title, recipe in PAPERS:
        out += ['## %s\n' % title, 'Models: `%s`. `python3 bench/paper_tables.py run %s` measures all of it.\n' % (recipe, paper)]
        out += [table_text(o, paper, table) for table in TABLES[paper]] + plots(o, paper)
        out += [figure_text(o)] if paper == 'gad' else []
        out += [NOTES[paper] + '\n'] if paper in NOTES else []
    out += ['## Two tokens a step (Imamura and Sumita 2020)\n', 'Models: `recipes/compare-pairs.yml`, `compare-at.yml`; measured by `bench/pairs.py`, whose `--output` is '
            'results/pairs.jsonl; speed by `bench/paper_tables.py run pairs`. ASPEC cannot be had.\n', pairs_tables(o)]
    out += [table_text(o, 'pairs', table) for table in TABLES['pairs']]
    with open(o.out, 'w', encoding='utf-8') as f:
        f.write('\n'.join(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest='kind', required=True)
    p = kinds.add_parser('run')
    p.add_argument('paper', choices=list(TABLES))
    p.add_argument('--models', default=os.path.join(ROOT, 'recipes'))
    p.add_argument('--sets', default=os.path.join(os.environ.get('PRONK_SHARED', os.path.join(ROOT, '..', 'shared')), 'testsets', 'en-de'))
    p.add_argument('--device', default='cuda')
    p.add_argument('--type')
    p.add_argument('--repeat', type=int, default=5)
    p.add_argument('--limit', type=int)
    p.add_argument('--threads', type=int)
    p.add_argument('--batch', type=int, default=128, help='of the translations that BLEU is taken of')
    p.add_argument('--table', nargs='+', help='only these')
    p.add_argument('--random', action='store_true', help='random weights for models that are missing: speed alone')
    p.add_argument('--set', action='append', default=[], metavar='KEY=VALUE', help='of the recipe of models with random weights')
    p.add_argument('--work', default=os.path.join(ROOT, 'build', 'bench', 'random'))
    p.add_argument('--results', default=os.path.join(ROOT, 'results'))
    p = kinds.add_parser('page')
    p.add_argument('--results', default=os.path.join(ROOT, 'results'))
    p.add_argument('--out', default=os.path.join(ROOT, 'docs', 'results.md'))
    p.add_argument('--plots', default=os.path.join(ROOT, 'docs', 'results'))
    o = parser.parse_args()
    if o.kind == 'page':
        page(o)
        return
    chosen = [t for t in TABLES[o.paper] if not o.table or t[0] in o.table]
    figure = o.paper == 'gad' and (not o.table or 'figure-4' in o.table)
    if figure:
        measure_figure(o)
    if not chosen and not figure:
        sys.exit('no such table: there are %s' % ', '.join(t[0] for t in TABLES[o.paper]))
    o.made, failed = {}, False
    for table in chosen:
        here = argparse.Namespace(**dict(vars(o), **FIXED.get(table[0], {})))
        try:
            measure(here, o.paper, table)
        except SystemExit as why:  # the other tables can still be measured
            print('%s %s: %s' % (o.paper, table[0], why), file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == '__main__':
    main()
