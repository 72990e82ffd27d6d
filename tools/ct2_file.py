#!/usr/bin/env python3
"""Reads CTranslate2's model.bin and writes it anew as any binary version, or with other types of weights.

usage: ct2_file.py [--version 1..6] [--type float32|float16|bfloat16|int16|int8] FOLDER OUT

Versions before 6 keep settings as variables instead of config.json, those before 5 describe the whole model instead of
each stack, version 2 takes the number of heads from the name, and version 1 has OpenNMT-tf's names, its
sinusoids instead of stored positions, and no settings.
Needs nothing but Python.
"""
import argparse
import json
import os
import shutil
import struct
import sys

TYPES = {0: 'f', 1: 'b', 2: 'h', 3: 'i', 4: 'e', 5: 'H'}  # as struct has them; 5 is bfloat16, in its bits
NUMBER = {'float32': 0, 'int8': 1, 'int16': 2, 'int32': 3, 'float16': 4, 'bfloat16': 5}
BYTES = {0: 4, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2}
REVISION = {6: 7, 5: 6, 4: 4, 3: 3, 2: 2, 1: 1}
SPEC = {2: 'TransformerBase'}
OLD_NAMES = [('embeddings/weight', 'w_embs'), ('projection', 'dense'), ('linear_0', 'conv1d'), ('linear_', 'conv1d_'),
             ('layer_norm', 'LayerNorm'), ('weight', 'kernel')]


class Variable:
    def __init__(self, dims, kind, data):
        self.dims, self.kind, self.data = list(dims), kind, data

    def values(self):
        n = len(self.data) // BYTES[self.kind]
        found = struct.unpack('<%d%s' % (n, TYPES[self.kind]), self.data)
        if self.kind == NUMBER['bfloat16']:
            found = struct.unpack('<%df' % n, b''.join(struct.pack('<I', v << 16) for v in found))
        return found


def variable(dims, kind, values):
    kind = NUMBER[kind]
    if kind == NUMBER['bfloat16']:  # the upper half of a float, rounded to even
        bits = struct.unpack('<%dI' % len(values), struct.pack('<%df' % len(values), *values))
        values = [(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits]
    return Variable(dims, kind, struct.pack('<%d%s' % (len(values), TYPES[kind]), *values))


# ---- The file ----

def read(path):
    """Version 6 only: (spec, revision, {name: variable}, {alias: name})."""
    with open(path, 'rb') as f:
        data = f.read()
    at = 0

    def number(kind):
        nonlocal at
        value, = struct.unpack_from('<' + kind, data, at)
        at += struct.calcsize('<' + kind)
        return value

    def text():
        nonlocal at
        n = number('H')
        at += n
        return data[at - n:at - 1].decode()

    assert number('I') == 6, 'only version 6 is rewritten'
    spec, revision = text(), number('I')
    variables = {}
    for _ in range(number('I')):
        name = text()
        dims = [number('I') for _ in range(number('B'))]
        kind, n = number('B'), number('I')
        variables[name] = Variable(dims, kind, data[at:at + n])
        at += n
    aliases = {}
    for _ in range(number('I')):
        alias = text()
        aliases[alias] = text()
    assert at == len(data)
    return spec, revision, variables, aliases


def write(path, version, spec, revision, variables, aliases):
    out = [struct.pack('<I', version)]

    def text(t):
        out.append(struct.pack('<H', len(t.encode()) + 1) + t.encode() + b'\0')

    if version >= 2:
        text(spec)
        out.append(struct.pack('<I', revision))
    out.append(struct.pack('<I', len(variables)))
    for name, v in sorted(variables.items()):
        text(name)
        out.append(struct.pack('<B%dI' % len(v.dims), len(v.dims), *v.dims))
        size = BYTES[v.kind]
        out.append(struct.pack('<BI', v.kind, len(v.data)) if version >= 4 else
                   struct.pack('<BI', size, len(v.data) // size))
        out.append(v.data)
    if version >= 3:
        out.append(struct.pack('<I', len(aliases)))
        for alias, name in sorted(aliases.items()):
            text(alias)
            text(name)
    with open(path, 'wb') as f:
        f.write(b''.join(out))


# ---- Other types ----

def quantise(v, kind):
    """A matrix of floats as integers, and its scales: as CTranslate2's converter does it."""
    rows, cols = v.dims
    values = v.values()
    if kind == 'int16':
        scale = 2 ** 10 / max(abs(x) for x in values)
        return variable(v.dims, kind, [round(x * scale) for x in values]), variable([], 'float32', [scale])
    scales, found = [], []
    for row in range(rows):
        part = values[row * cols:(row + 1) * cols]
        scales.append(127 / (max(abs(x) for x in part) or 127))
        found += [round(x * scales[-1]) for x in part]
    return variable(v.dims, kind, found), variable([rows], 'float32', scales)


def retype(variables, kind):
    changed = {}
    for name, v in variables.items():
        weight = name.endswith('/weight')
        if not v.dims or v.kind != NUMBER['float32'] or (kind.startswith('int') and not weight):
            changed[name] = v
        elif kind.startswith('int'):
            changed[name], changed[name + '_scale'] = quantise(v, kind)
        else:
            changed[name] = variable(v.dims, kind, v.values())
    return changed


# ---- Older versions ----

def rename(name):
    name = name.replace('embeddings_0', 'embeddings')
    for new, old in OLD_NAMES:
        name = name.replace(new, old, 1)
    name = name.replace('self_attention', 'multi_head' if 'encoder' in name else 'masked_multi_head')
    return 'transformer/' + name.replace('attention', 'multi_head') + ':0'


def settings(config):
    """Those of config.json as variables."""
    flag = lambda on: variable([], 'int8', [int(on)])
    found = {'with_source_bos': flag(config['add_source_bos']), 'with_source_eos': flag(config['add_source_eos']),
             'with_target_bos': flag(config['decoder_start_token'] == config['bos_token'])}
    for key in ('unk_token', 'bos_token', 'eos_token'):
        text = config[key].encode()
        found[key] = Variable([len(text)], NUMBER['int8'], text)
    return found


def age(version, variables, aliases, config):
    """Variables and aliases as that version has them."""
    if version < 6:
        variables = {**variables, **settings(config)}
    if version < 5:
        for key in ('num_heads', 'pre_norm', 'activation', 'embeddings_merge', 'alignment_layer', 'alignment_heads'):
            found = [variables.pop(stack + '/' + key, None) for stack in ('decoder', 'encoder')]
            if any(found):
                variables[key] = found[0] or found[1]
    if version < 4:  # numbers of one element: of their size only that and not their type is known
        variables = {name: variable([], 'int8', [int(v.values()[0])]) if not v.dims and '_scale' not in name and v.kind
                     else v for name, v in variables.items()}
    if version < 3:
        for alias, name in aliases.items():
            for end in ('', '_scale'):
                if name + end in variables:
                    variables[alias + end] = variables[name + end]
        aliases = {}
        variables.pop('num_heads')
    if version == 1:
        variables = {rename(name): v for name, v in variables.items()
                     if v.dims and '/' in name and 'position_encodings' not in name}
    return variables, aliases


def rewrite(folder, out, version=6, kind=None):
    """A folder written anew; without --version 6 it has no config.json, before 5 its vocabularies are .txt files."""
    spec, _, variables, aliases = read(os.path.join(folder, 'model.bin'))
    with open(os.path.join(folder, 'config.json'), encoding='utf-8') as f:
        config = json.load(f)
    os.makedirs(out, exist_ok=True)
    if kind:
        variables = retype(variables, kind)
    variables, aliases = age(version, variables, aliases, config)
    write(os.path.join(out, 'model.bin'), version, SPEC.get(version, spec), REVISION[version], variables, aliases)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith('_vocabulary.json') and version < 5:
            with open(path, encoding='utf-8') as f:
                tokens = json.load(f)
            with open(os.path.join(out, name[:-5] + '.txt'), 'w', encoding='utf-8') as f:
                f.write(''.join(token + '\n' for token in tokens))
        elif name != 'model.bin' and (name != 'config.json' or version == 6):
            shutil.copy(path, os.path.join(out, name))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--version', type=int, default=6, choices=range(1, 7))
    parser.add_argument('--type', choices=sorted(NUMBER, key=NUMBER.get))
    parser.add_argument('folder')
    parser.add_argument('out')
    given = parser.parse_args()
    sys.exit(rewrite(given.folder, given.out, given.version, given.type))
