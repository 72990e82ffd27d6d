#!/usr/bin/env python3
"""The tables of the papers for our models: measures them, and writes docs/results.md from what was measured.

usage: paper_tables.py run PAPER [--models recipes] [--sets DIR] [--device cuda] [--type f16] [--repeat 5] [--limit N] [--batch 128] [--random [--set KEY=VALUE ...]] [--table ID ...]
       paper_tables.py page [--results results] [--out docs/results.md]

PAPER is hrt, gad, lattice (its figures are bench/lattice.py's), pairs (its other tables are bench/pairs.py's) or small (all methods, with the networks of recipes/compare.sh --small). `run` takes every model of a table that is there (recipes/compare.sh trains
them; folders have the names that stand here), translates the test sets in --sets (NAME.en and NAME.de, all in one folder), times all of them in turns in one run, and writes results/PAPER-ID.json after each table, so that a run that
was ended early goes on with --table. With --random a model that is missing is made with random weights, and measured for speed alone, where speed
does not depend on what it has learned; all outputs of such a table are as long as their references (of lattices and nat as long as the look-up expects; --text is what
their candidates are then counted over). `page` needs nothing but the files in results/; a cell that was not measured is a dash.
"""
import argparse
import json
import os
import re
import sys

import plots
import systems
from paper_rows import FIGURE, FIGURES, FIXED, HEADS, MAIN, NOTES, PAPERS, QUALITY, TABLES
from random_models import by_length, forced, random_model

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DASH = '–'


# ---- measuring ----

BUCKET = 10  # lengths of outputs that are made as long as their references are multiples of it
RECIPES = {'at': ('compare-at.yml', 'at'), 'hrt': ('compare-at.yml', 'hrt:k=2,k_max=4'), 'cmlm': ('compare-at.yml', 'cmlm'),
           'pairs': ('compare-pairs.yml', 'pairs'), 'lattice': ('compare-lattice.yml', 'markov'), 'nat': ('compare-lattice.yml', 'nat')}
PATHS = ('model', 'drafter', 'lexicon')  # of a row: what lies in the folder of models
COUNTED = ('lattice', 'nat')  # their candidates and lengths are counted over a text


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
    shape = re.match(r'(%s)-([0-9]+)-([0-9]+)' % '|'.join(RECIPES), r['model'])
    if 'drafter' in r or not shape:
        return None, 0
    kind, encoder, decoder = shape.groups()
    recipe, task = RECIPES[kind]
    folder = work(o, '-'.join(shape.groups()))
    if folder not in o.made:
        settings = {'task': task, 'model.encoder_layers': encoder, 'model.decoder_layers': decoder, 'device': o.device, **dict(s.split('=', 1) for s in o.set)}
        text = [work(o, 'source.en', lines_of(o, MAIN + '.en')), work(o, 'target.de', lines_of(o, MAIN + '.de'))]
        if kind in COUNTED and o.text:
            text = o.text
        o.made[folder] = random_model(systems.PRONK, recipe, folder, *text, **settings)
    return dict(r, model=folder, random=True), 1 if kind in COUNTED else o.made[folder]


def find(o, r):
    """The row with the paths of its models, and pieces as above; (None, 0) where they are missing."""
    paths = {key: os.path.join(o.models, r[key]) for key in PATHS if key in r}
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
    timed = [what for kind, what in columns if kind in ('words', 'ms', 'speed', 'passes', 'tokens', 'memory', 'drafting')]
    o.input = os.path.join(o.sets, next((what for kind, what in columns if kind in QUALITY), MAIN) + systems.ends(found[0])[0])
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
    results = [dict(r, **{key: os.path.basename(r[key]) for key in PATHS if key in r}, sets={}, batches={}) for r in found]
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
    if kind == 'ms':
        return '%.3g' % (1000 / batch['sentences_per_second'])
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


def figure_text(o):
    path = os.path.join(o.results, 'gad-figure-4.json')
    if not os.path.exists(path):
        return '**Figure 4: how speed-ups are spread over sentences** (not measured yet: `run gad --table figure-4`)\n'
    said = json.load(open(path, encoding='utf-8'))
    speed = sorted(said['speed'])
    os.makedirs(o.plots, exist_ok=True)
    plots.histogram(speed, 'Sentences by how many times faster than greedy', os.path.join(o.plots, 'gad-figure-4.svg'))
    at = lambda part: speed[min(int(part * len(speed)), len(speed) - 1)]
    return '**Figure 4: how speed-ups are spread over sentences** (%s; %d lines): median %.2fx, one in ten below %.2fx, one in ten above %.2fx\n\n![Figure 4](%s)\n' % (
        ', '.join(filter(None, (said['device'], said['type']))), len(speed), at(0.5), at(0.1), at(0.9), os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), 'gad-figure-4.svg'))


def plots_of(o, paper):
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
        plots.bars(rows, '%s: speed, batch %s' % (title, batch), os.path.join(o.plots, name))
        shown.append('![%s](%s)\n' % (title, os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), name)))
    return shown


def scripted_text(o):
    """Table 4 of draft and verify: lines of bench/gad_speed.c."""
    path = os.path.join(o.results, 'gad-scripted.jsonl')
    found = [json.loads(line) for line in open(path, encoding='utf-8')] if os.path.exists(path) else []
    out = ['**Table 4: big size, and other shapes; random weights, scripted acceptance** (%s)' % ('sentences of 28 tokens, one drafter layer on the model\'s encoder; '
           'speeds in turns in one run' if found else 'not measured yet: `build/bench/gad_speed`'), '',
           '| size | shape | where | batch | decoding | tokens a pass of the model | ms | speed |', '|---|---|---|--:|---|--:|--:|--:|']
    for f in found:
        out.append('| %(size)s | %(shape)s | %(backend)s, %(type)s | %(batch)d | `%(case)s` | %(tokens_per_model_pass).2f | %(median_ms).3g | %(speed_to_first).2fx |' % f)
    return '\n'.join(out) + '\n'


def series_of(name, said):
    """The lines of a figure of lattices, from what bench/lattice.py wrote."""
    if name == 'recall':
        return {label: points for label, points in said.items() if isinstance(points, list)}
    if name == 'ranks':
        return {said['decode']: [(i + 1, 100 * share) for i, share in enumerate(said['share'][:-1])]}
    return {part: [(round(g['tokens']), g[part]) for g in said['groups']] for part in ('scoring', 'search', 'encoder and rest')}


def lattice_figures(o):
    """What is there of figures 1, 2 and 4, and of figure 3, which is a table of its own."""
    out = []
    for name, title, xlabel in FIGURES:
        path, figure = os.path.join(o.results, 'lattice-%s.json' % name), 'lattice-%s.svg' % name
        if not os.path.exists(path):
            out.append('**%s** (not measured yet: `bench/lattice.py %s`)\n' % (title, name))
            continue
        said = json.load(open(path, encoding='utf-8'))
        os.makedirs(o.plots, exist_ok=True)
        plots.lines(series_of(name, said), title, xlabel, os.path.join(o.plots, figure))
        where = ', '.join(str(said[key]) for key in ('set', 'decode', 'device', 'type', 'lines') if said.get(key))
        out.append('**%s** (%s)\n\n![%s](%s)\n' % (title, where, title.split(':')[0], os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), figure)))
    path = os.path.join(o.results, 'lattice-3.json')
    if os.path.exists(path):
        found = {r['name']: r['sets']['newstest2013']['bleu'] for r in json.load(open(path, encoding='utf-8'))['rows'] if 'newstest2013' in r['sets']}
        layers = [(int(name.split()[0]), bleu) for name, bleu in found.items() if name[0].isdigit()]
        if layers:
            nat = {'NAT': [(6, found['NAT, 6 layers'])]} if 'NAT, 6 layers' in found else {}
            plots.lines({'lattice': layers, **nat}, 'Figure 3: BLEU by layers of the scorer', 'layers', os.path.join(o.plots, 'lattice-layers.svg'))
            out.append('![Figure 3](%s)\n' % os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), 'lattice-layers.svg'))
    return out


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
        out.append('| `%s` | %s | `%s` | %s | %d | %d | %.1f | %s |' % (r['name'], '`%s`' % r['init'] if r['init'] else 'nothing', r['task'], r['target'],
                                                                         r['updates'], r['seed'], r['train_seconds'] / 60, '%.1f %%' % (100 * r['accuracy']) if 'accuracy' in r else DASH))
    return '\n'.join(out) + '\n'


METHODS = ['single L2R', 'single R2L', 'double bidirectional', 'double L2R', 'double R2L', 'Mask-Predict 4', 'Mask-Predict 10']  # Table 2


def markdown(title, head, rows, command):
    """A table, or what measures it where nothing was."""
    if not rows:
        return '**%s** (not measured yet: `bench/pairs.py %s`)\n' % (title, command)
    cells = [head, [':--' if i == 0 or head[i] == 'decoding' else '--:' for i in range(len(head))]] + rows
    return '**%s**\n\n%s\n' % (title, '\n'.join('| %s |' % ' | '.join(row) for row in cells))


def quality_rows(found):
    """Table 2: the rows that the paper has, measured or not, and what else was measured."""
    if not found:
        return []
    by_name, first = {f['name']: f for f in found}, found[0]
    rows = []
    for name in dict.fromkeys(METHODS + list(by_name)):
        f = by_name.get(name)
        p = f and f['eval']['p_value'] and '%.4f' % f['eval']['p_value']['bleu']
        rows.append([name] + (['`%s`' % f['decode'], '%.2f' % f['eval']['bleu'], '%.2f' % f['eval']['chrf2'], p or '', '%.0f' % f['tokens_per_second'],
                               '%.0f %%' % (100 * f['tokens_per_second'] / first['tokens_per_second'])] if f else [DASH] * 6))
    return rows


def ends_rows(found):
    """Table 3: precisions of each system, 1-grams and then 4-grams."""
    return [[str(f['left']), str(f['right'])] + ['%.1f' % p[n] for n in (0, 3) for p in f['precisions']] for f in found]


def two_rows(found, name):
    """Tokens a second of one token a step and of two."""
    return [[name(f), '%.0f' % f['one'], '%.0f' % f['two'], '%.0f %%' % (100 * f['two'] / f['one'])] for f in found]


def pairs_tables(o):
    """Tables 2, 3 and 4 and Figure 3 of two tokens a step, from the lines of bench/pairs.py."""
    path, lines = os.path.join(o.results, 'pairs.jsonl'), []
    if os.path.exists(path):
        lines = [json.loads(line) for line in open(path, encoding='utf-8')]
    of = lambda what: [line for line in lines if line['what'] == what]
    sets = ' + '.join(of('quality')[0]['sets']) if of('quality') else ''
    names = of('ends')[0]['names'] if of('ends') else []
    beam = lambda found: ', beam %d' % found[0]['beam'] if found else ''
    out = [markdown('Table 2: quality and speed' + (', %s, batch 32' % sets if sets else ''),
                    ['method', 'decoding', 'BLEU', 'chrF2', 'p against the first', 'tokens/s', 'ratio'], quality_rows(of('quality')), 'quality'),
           markdown('Table 2, big models: speed alone%s, random weights, outputs as long as the references' % beam(of('shape')),
                    ['size', 'one token a step, tokens/s', 'two', 'ratio'], two_rows(of('shape'), lambda f: f['name']), 'big'),
           markdown('Table 3: precision of the first and last tokens, %, sentences of more than 30 words',
                    ['left', 'right'] + ['%d-gram, %s' % (n, name) for n in (1, 4) for name in names], ends_rows(of('ends')), 'ends'),
           markdown('Table 4: size of the vocabulary%s, random weights, outputs as long as the references' % beam(of('vocabulary')),
                    ['pieces in all, in a sentence', 'one token a step, tokens/s', 'two', 'ratio'],
                    two_rows(of('vocabulary'), lambda f: '{:,}, {:.1f}'.format(f['size'], f['mean_length'])), 'vocabularies'),
           markdown('Figure 3: beam width', ['beam width', 'one token a step, tokens/s', 'two', 'ratio'], two_rows(of('width'), lambda f: str(f['width'])), 'widths')]
    if of('width'):
        os.makedirs(o.plots, exist_ok=True)
        plots.lines({'two tokens a step': [(f['width'], f['two'] / f['one']) for f in of('width')]}, 'Figure 3: speed, one token a step = 1', 'beam width',
                    os.path.join(o.plots, 'pairs-widths.svg'))
        out.append('![Figure 3](%s)\n' % os.path.join(os.path.relpath(o.plots, os.path.dirname(o.out)), 'pairs-widths.svg'))
    return out


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
        out += [table_text(o, paper, table) for table in TABLES[paper]] + plots_of(o, paper)
        out += [figure_text(o), scripted_text(o)] if paper == 'gad' else lattice_figures(o) if paper == 'lattice' else []
        out += [NOTES[paper] + '\n'] if paper in NOTES else []
    out += ['## Two tokens a step (Imamura and Sumita 2020)\n', 'Models: `recipes/compare-pairs.yml`, `compare-at.yml`; measured by `bench/pairs.py`, whose `--output` is '
            'results/pairs.jsonl; speed by `bench/paper_tables.py run pairs`. ASPEC cannot be had.\n'] + pairs_tables(o)
    out += [table_text(o, 'pairs', table) for table in TABLES['pairs']]
    out += ['## Parallel decoding of existing models (Santilli et al. 2023)\n', 'Nothing is trained for it; counterparts of its Tables 1 to 6 are in '
            '[performance.md](performance.md#parallel-decoding), its DDGviz is `pronk viz`.\n']
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
    p.add_argument('--text', nargs=2, metavar=('SOURCE', 'TARGET'), help='what candidates of lattices with random weights are counted over (default: the test set)')
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
