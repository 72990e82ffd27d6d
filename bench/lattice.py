#!/usr/bin/env python3
"""Figures 1, 2 and 4 of the lattice paper (Deng and Rush 2021) for our models: measures, and writes results/lattice-*.json.

usage: lattice.py recall  --model LATTICE [--nat NAT] --source FILE --target FILE
       lattice.py ranks   --model LATTICE --source FILE [--limit 200] [--decode lattice:k=64,delta=0] [--device cuda]
       lattice.py latency --model LATTICE --source FILE [--decode lattice:k=64,delta=3] [--device cuda] [--type f16] [--repeat 5]

recall: how many of the target's tokens are among the K candidates of their positions (build/bench/candidates), among one list for the sentence, and,
with --nat, among the best K of a network that says each token from its position alone (build/bench/nat_candidates).
ranks: how often Viterbi takes the candidate with the n-th highest score of the edges from the candidate before it.
latency: milliseconds of a sentence by its length, in parts: what the network computes on candidates, what the strategy does on the host (look-ups, Viterbi),
and the rest, most of which is the encoder.
`paper_tables.py page` makes plots of all three.
"""
import argparse
import json
import os
import re
import subprocess
import sys

PRONK = os.environ.get('PRONK', 'build/pronk')
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_RANK, BUCKETS = 10, [8, 16, 24, 32, 40, 56]  # words of a source, at most; longer ones are one more bucket


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit('%s: exit code %d' % (' '.join(command), done.returncode))
    return done.stdout


def lines_of(path, limit=None):
    with open(path, encoding='utf-8') as text:
        return text.read().split('\n')[:-1][:limit]


def save(o, name, found):
    with open(os.path.join(o.results, 'lattice-%s.json' % name), 'w', encoding='utf-8') as out:
        json.dump(found, out, indent=1)
        out.write('\n')


def recall(o):
    tool = lambda name, model: run(os.path.join(os.path.dirname(PRONK), 'bench', name), model, o.source, o.target)
    found = {'set': os.path.basename(o.target), 'by neighbours': [], 'by distances': [], 'one list': []}
    for k, *shares in re.findall(r'^ *(\d+) +([\d.]+)% +([\d.]+)% +([\d.]+)%', tool('candidates', o.model), re.M):
        for name, share in zip(('by neighbours', 'by distances', 'one list'), shares):
            found[name].append([int(k), float(share)])
    if o.nat:
        found['NAT'] = [[int(k), float(share)] for k, share in re.findall(r'^ *(\d+) +([\d.]+)%', tool('nat_candidates', o.nat), re.M)]
    save(o, 'recall', found)
    print(json.dumps(found))


def ranks_of(picture):
    """Ranks, from 1, of the chosen cells among those of their columns."""
    for column in picture['lattice']:
        chosen = next((cell['probability'] for cell in column if cell['chosen']), None)
        if chosen is not None:
            yield 1 + sum(cell['probability'] > chosen for cell in column)


def ranks(o):
    counts = [0] * (MOST_RANK + 1)  # the last one: all further ranks
    for line in lines_of(o.source, o.limit):
        picture = json.loads(run(PRONK, 'viz', '-m', o.model, '-d', o.decode, '--device', o.device, '--format', 'json', line))
        for rank in ranks_of(picture):
            counts[min(rank, MOST_RANK + 1) - 1] += 1
    save(o, 'ranks', {'decode': o.decode, 'lines': o.limit, 'tokens': sum(counts), 'share': [round(n / sum(counts), 5) for n in counts]})
    print(' '.join('%.1f%%' % (100 * n / sum(counts)) for n in counts))


def latency_of(o, lines):
    os.makedirs(o.work, exist_ok=True)
    source = os.path.join(o.work, 'lattice.source')
    with open(source, 'w', encoding='utf-8') as out:
        out.writelines(line + '\n' for line in lines)
    machine = ['--device', o.device] + (['--type', o.type] if o.type else []) + (['--threads', str(o.threads)] if o.threads else [])
    said = json.loads(run(PRONK, 'bench', '--json', '-m', o.model, '-d', o.decode, '--batch', '1', '--repeat', str(o.repeat), '-i', source, *machine))
    whole = 1000 / said['sentences_per_second']
    scoring = 1000 * said['networks'][0]['pass_seconds'] / len(lines)
    search = whole * said['time_share']['strategy']
    return {'lines': len(lines), 'tokens': said['target_tokens'] / len(lines), 'ms': whole, 'scoring': scoring, 'search': search,
            'encoder and rest': max(0.0, whole - scoring - search)}


def latency(o):
    groups = {}
    for line in lines_of(o.source, o.limit):
        words = len(line.split())
        groups.setdefault(next((b for b in BUCKETS if words <= b), BUCKETS[-1] + 1), []).append(line)
    found = [latency_of(o, groups[b]) for b in sorted(groups)]
    save(o, 'latency', {'decode': o.decode, 'device': o.device, 'type': o.type, 'threads': o.threads, 'groups': found})
    for f in found:
        print('%(lines)5d lines %(tokens)5.1f tokens %(ms)7.3f ms: scoring %(scoring).3f, search %(search).3f, encoder and rest %(encoder and rest).3f' % f)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest='kind', required=True)
    for kind, of, decode in ((recall, 'recall', None), (ranks, 'ranks', 'lattice:k=64,delta=0'), (latency, 'latency', 'lattice:k=64,delta=3')):
        p = kinds.add_parser(of)
        p.set_defaults(run=kind)
        p.add_argument('--model', required=True)
        p.add_argument('--source', required=True)
        p.add_argument('--results', default=os.path.join(ROOT, 'results'))
        if decode:
            p.add_argument('--decode', default=decode)
            p.add_argument('--device', default='cuda')
            p.add_argument('--limit', type=int, default=200 if of == 'ranks' else None)
    p = kinds.choices['recall']
    p.add_argument('--target', required=True)
    p.add_argument('--nat')
    p = kinds.choices['latency']
    p.add_argument('--type')
    p.add_argument('--threads', type=int)
    p.add_argument('--repeat', type=int, default=5)
    p.add_argument('--work', default=os.path.join(ROOT, 'build', 'bench'))
    o = parser.parse_args()
    o.run(o)


if __name__ == '__main__':
    main()
