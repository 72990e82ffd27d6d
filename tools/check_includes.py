#!/usr/bin/env python3
"""Fail when a file includes a folder its own folder may not know. The table below is the architecture.

usage: check_includes.py [ROOT]        ROOT holds src/, cli/ and include/; default: the current folder
"""
import os
import re
import sys

MAY = {  # folder: folders it may include besides itself and pronk.h ("include")
    'base': set(),
    'text': {'base'},
    'vocab': {'text', 'base'},
    'detect': {'text', 'base'},
    'metric': {'text', 'base'},
    'align': {'vocab', 'text', 'base'},
    'lexicon': {'base'},
    'tensor': {'base'},
    'backend': {'tensor', 'base'},
    'backend/ref': {'backend', 'tensor', 'base'},
    'backend/cpu': {'backend', 'tensor', 'base'},
    'backend/cuda': {'backend', 'tensor', 'base'},
    'backend/cpu/kernels': {'backend/cpu', 'tensor', 'base'},
    'checkpoint': {'base'},
    'model': {'checkpoint', 'lexicon', 'tensor', 'base'},
    'decode': {'lexicon', 'base'},
    'session': {'decode', 'model', 'tensor', 'base'},
    'engine': {'session', 'decode', 'model', 'align', 'lexicon', 'vocab', 'text', 'backend', 'tensor', 'base'},
    'markup': {'engine', 'vocab', 'text', 'base'},
    'data': {'vocab', 'text', 'base'},
    'recipe': {'text', 'tensor', 'base'},
    'task': {'data', 'tensor', 'base'},
    'ranks': {'tensor', 'base'},
    'train': {'task', 'data', 'recipe', 'ranks', 'model', 'align', 'lexicon', 'vocab', 'backend', 'tensor', 'checkpoint',
              'base'},
    'distill': {'metric', 'text', 'base'},
    'server': set(),
    'cli': {'../server'},
}
# where only some headers of a folder may be known
ONLY = {('session', 'decode'): {'pass.h'}, ('engine', 'backend'): {'list.h'}, ('train', 'backend'): {'list.h'},
        ('recipe', 'tensor'): {'types.h'}, ('task', 'data'): {'batch.h'}, ('train', 'data'): {'loader.h'},
        ('backend/ref', 'backend'): {'list.h'}, ('backend/cpu', 'backend'): {'list.h'},
        ('backend/cuda', 'backend'): {'list.h'}, ('cli', '../server'): {'server.h'}}

BESIDE = ('server', 'cli')  # rooms that are not in src/


def violations(root):
    rooms = [(os.path.join(root, 'src'), f) for f in MAY if f not in BESIDE] + [(root, f) for f in BESIDE]
    for top, folder in rooms:
        here = os.path.join(top, folder)
        for name in sorted(os.listdir(here)) if os.path.isdir(here) else []:
            if not name.endswith(('.c', '.h', '.cc', '.cu', '.cuh')):
                continue
            for n, line in enumerate(open(os.path.join(here, name), encoding='utf-8'), 1):
                m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if not m or m[1] == 'pronk.h':
                    continue
                there, header = os.path.split(m[1])
                if there in ('', folder):
                    continue
                only = ONLY.get((folder, there))
                if there not in MAY[folder] or (only and header not in only):
                    yield f'{folder}/{name}:{n}: {folder} may not know {m[1]}'
    seen = {}
    for d, _, files in os.walk(os.path.join(root, 'src')):
        for f in files:
            if f in seen and f != 'list.h' and f != 'list.c':
                yield f'{d}/{f}: the name is taken by {seen[f]}/{f}'
            seen[f] = d


if __name__ == '__main__':
    root = sys.argv[1] if len(sys.argv) > 1 else '.'
    if os.path.basename(os.path.normpath(root)) == 'src':
        root = os.path.join(root, '..')
    found = list(violations(root))
    print('\n'.join(found) if found else 'include rule: ok')
    sys.exit(bool(found))
