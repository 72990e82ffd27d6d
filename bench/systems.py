#!/usr/bin/env python3
"""Measures a list of systems the same way: quality on test sets, or speed side by side. Writes JSON for results/.

usage: systems.py quality SYSTEMS OUT.json --sets DIR [--set NAME ...] [--device cuda] [--type f16] [--batch 128]
       systems.py speed   SYSTEMS OUT.json --input FILE [--batches 1 8 32 256] [--repeat 5] [--limit N] [--device cuda] [--type f16]
       systems.py table   RESULT.json ...

SYSTEMS is a text file, a system a line: NAME MODEL DECODE [DRAFTER [LEXICON]], white space between; # begins a comment. In `speed`
the first is what the others are compared with, in turns line by line in one run. DIR has NAME.en and NAME.de of each set.
`table` prints what was measured as Markdown.
"""
import argparse
import json
import os
import subprocess
import sys

PRONK = os.environ.get('PRONK', 'build/pronk')
SETS = ['newstest2013', 'newstest2014', 'newstest2019', 'newstest2020', 'flores-dev', 'parliament.test', 'tatoeba.test']
# of what `pronk bench --json` says; the rest is about the machine
KEPT = ['sentences_per_second', 'source_words_per_second', 'target_tokens_per_second', 'speed_to_first', 'latency_seconds',
        'passes_per_sentence', 'tokens_kept_per_pass', 'tokens_per_model_pass', 'asks_per_pass', 'peak_memory_bytes', 'flops_per_sentence', 'device_memory_bytes', 'networks', 'time_share']


def systems_of(path):
    with open(path, encoding='utf-8') as f:
        rows = [line.split('#')[0].split() for line in f]
    return [dict(zip(('name', 'model', 'decode', 'drafter', 'lexicon'), row)) for row in rows if row]


def run(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, **how)
    if done.returncode:
        sys.exit('%s: exit code %d' % (' '.join(command), done.returncode))
    return done.stdout


def with_machine(a):
    return ['--device', a.device] + (['--type', a.type] if a.type else [])


def ends(system):
    """The ends of the names of source and reference files."""
    return ('.de', '.en') if system.get('backwards') else ('.en', '.de')


def quality_of(a, system, name):
    source, reference = (os.path.join(a.sets, name + end) for end in ends(system))
    command = [PRONK, 'translate', '-q', '--no-split', '-m', system['model'], '-d', system['decode'], '-i', source,
               '--batch', str(a.batch)] + with_machine(a)
    for key in ('drafter', 'lexicon'):
        if key in system:
            command += ['--' + key, system[key]]
    found = json.loads(run([PRONK, 'eval', '--json', '-r', reference, '-'], input=run(command)))
    return {'bleu': round(found['bleu'], 2), 'chrf2': round(found['chrf2'], 2), 'trr': round(found['trr'], 3),
            'ratio': round(found['ratio'], 3)}


def quality(a):
    results = []
    for system in systems_of(a.systems):
        sets = {name: quality_of(a, system, name) for name in a.set or SETS}
        results.append(dict(system, sets=sets, type=a.type, device=a.device))
        print(system['name'], system['decode'], ' '.join('%s %.1f' % (n, s['bleu']) for n, s in sets.items()), flush=True)
    return results


def bench(a, systems, batch, *more):
    """What `pronk bench` says of each system, all in turns in one run."""
    command = [PRONK, 'bench', '--json', '--interleave', '-i', a.input, '--batch', str(batch), '--repeat', str(a.repeat), *more] + with_machine(a)
    if a.limit:
        command += ['--limit', str(a.limit)]
    if a.threads:
        command += ['--threads', str(a.threads)]
    for system in systems:
        # a drafter or a lexicon serves every -d behind it: "" ends that
        command += ['-m', system['model'], '--drafter', system.get('drafter', ''), '--lexicon', system.get('lexicon', ''), '-d', system['decode']]
    rows = [json.loads(line) for line in run(command).decode().splitlines()]
    assert len(rows) == len(systems)
    return rows


def speed_at(a, systems, batch):
    rows = bench(a, systems, batch)
    for system, row in zip(systems, rows):
        print('batch %d: %s %s %.1f sentences/s, %.2fx, %.1f passes' % (
            batch, system['name'], system['decode'], row['sentences_per_second'], row['speed_to_first'], row['passes_per_sentence']), flush=True)
        for network in row.get('networks', []):  # where models lie here is nobody's business
            network['file'] = os.path.basename(network['file'])
    return [{key: row[key] for key in KEPT if key in row} for row in rows]


def speed(a):
    systems = systems_of(a.systems)
    by_batch = {str(batch): speed_at(a, systems, batch) for batch in a.batches}
    return [dict(system, type=a.type, device=a.device, threads=a.threads, repeat=a.repeat,
                 batches={batch: rows[i] for batch, rows in by_batch.items()}) for i, system in enumerate(systems)]


def print_table(path):
    with open(path, encoding='utf-8') as f:
        rows = json.load(f)
    if 'sets' in rows[0]:
        columns = list(rows[0]['sets'])
        cell = lambda row, column: '%.1f / %.1f / %.2f' % tuple(row['sets'][column][k] for k in ('bleu', 'chrf2', 'trr'))
    else:
        columns = list(rows[0]['batches'])
        cell = lambda row, column: '%.0f words/s, %.2fx, %.1f passes' % tuple(
            row['batches'][column][k] for k in ('source_words_per_second', 'speed_to_first', 'passes_per_sentence'))
    print('| system | ' + ' | '.join(columns) + ' |')
    print('| --- |' + ' --: |' * len(columns))
    for row in rows:
        print('| %s `%s` | ' % (row['name'], row['decode']) + ' | '.join(cell(row, c) for c in columns) + ' |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest='kind', required=True)
    for name in ('quality', 'speed'):
        p = kinds.add_parser(name)
        p.add_argument('systems')
        p.add_argument('out')
        p.add_argument('--device', default='cpu')
        p.add_argument('--type')
    p = kinds.choices['quality']
    p.add_argument('--sets', required=True)
    p.add_argument('--set', nargs='*')
    p.add_argument('--batch', type=int, default=128)
    p = kinds.choices['speed']
    p.add_argument('--input', required=True)
    p.add_argument('--batches', type=int, nargs='*', default=[1, 8, 32, 256])
    p.add_argument('--repeat', type=int, default=5)
    p.add_argument('--limit', type=int)
    p.add_argument('--threads', type=int)
    kinds.add_parser('table').add_argument('results', nargs='+')
    a = parser.parse_args()
    if a.kind == 'table':
        for path in a.results:
            print_table(path)
        return
    results = quality(a) if a.kind == 'quality' else speed(a)
    with open(a.out, 'w', encoding='utf-8') as f:
        json.dump(results, f, indent=1)
        f.write('\n')


if __name__ == '__main__':
    main()
