#!/usr/bin/env python3
"""Makes tests/data/fuzz: small valid inputs for each fuzz target, out of the tests' own fixtures.

usage: make_fuzz_seeds.py [build/pronk]        in the repository's root; needs the program zstd
"""
import glob
import gzip
import io
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import zipfile

import ct2_file

PRONK = sys.argv[1] if len(sys.argv) > 1 else 'build/pronk'
OUT = 'tests/data/fuzz'
MODELS = 'tests/data/models'
CT2 = 'tests/data/ct2'
TEXT = 'Good morning!\r\nDr. Smith paid 3.50 at 5 p.m.\n\n\u00bbWirklich?\u00ab  Ja. \u4f60\u597d\u3002\nlast'.encode()

HTML = ('<!DOCTYPE html><p class="a">The <b>old <i>house</i></b> &amp; <a href="/x">#<span>cats</span></a>.<br>Next '
        '<img src=a> line<br>goes on: <code>x &lt; y</code>, https://a.org/?b=1&amp;c {name} %1$s.</p><!-- c -->'
        '<script>if (a < b) {}</script><div translate="no">Foo</div><pre>a\n  b</pre></b>&zzz;<ul><li>x<li>y').encode()
SRT = (b'\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:02,000\r\nI have <i>never</i>\r\nseen\r\n\r\n2\r\n'
       b'00:00:02,500 --> 00:00:03,000\r\n{\\an8}it.\r\n\r\n3\r\n00:00:04,000 --> 00:00:05,000\r\n- A!\r\n- B!\r\n')
VTT = (b'WEBVTT\n\nNOTE x\n\nid\n00:01.000 --> 00:02.000 line:0\n<v Bob>Fish &amp; <00:01.500><c.x>chips</c>\n\n'
       b'00:03.000 --> 00:04.000\nfor me.\n')


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def seed(target, name, data):
    folder = os.path.join(OUT, target + '_fuzz')
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'wb') as f:
        f.write(data)


def seed_files(target, pattern):
    found = sorted(glob.glob(pattern))
    assert found, pattern
    for path in found:
        seed(target, os.path.basename(path), read(path))


def safetensors(tensors, metadata=None):
    header, data = {}, b''
    for name, (kind, shape, values) in tensors.items():
        header[name] = {'dtype': kind, 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}
        data += values
    if metadata:
        header['__metadata__'] = metadata
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    return struct.pack('<Q', len(text)) + text + data


def compressed():
    yield 'plain', TEXT
    yield 'gzip', gzip.compress(TEXT, mtime=0)
    yield 'gzip_twice', 2 * gzip.compress(TEXT, mtime=0)
    yield 'xz', lzma.compress(TEXT)
    yield 'zstd', subprocess.run(['zstd', '-q', '-c'], input=TEXT, capture_output=True, check=True).stdout


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    seed('safetensors', 'two', safetensors({'a': ('F32', [2, 2], struct.pack('<4f', 1, 2, 3, 4)),
                                            'b.c': ('F16', [3], struct.pack('<3e', 1, -2, 0.5))}))
    seed('safetensors', 'types', safetensors({k: (k, [2], bytes(2 * n)) for k, n in (
        ('F64', 8), ('BF16', 2), ('I64', 8), ('I32', 4), ('I16', 2), ('I8', 1), ('U8', 1), ('BOOL', 1))},
        {'format': 'pt'}))
    seed_files('torch', 'tests/data/torch/*.bin')
    seed_files('recipe', 'recipes/*.yml')
    seed('recipe', 'set', b'model.dim=64')
    for choice in (0, 5, 0x4A, 0xF3):  # language, vocabulary and way of splitting: see text_fuzz.c
        seed('text', 'choice_%02x' % choice, bytes([choice]) + TEXT)
    for name, codes, text in (('all', '', TEXT), ('two', 'ende', 'das Haus \u0414\u043e\u043c'.encode()),
                              ('three', 'zhztja', '\u5929\u6c23 \ud55c\uad6d'.encode() + b'\xff\xc3'),
                              ('marks', '', 'fu\u0308r http://a/b_c@d \u30fc\u30ab\u30fc'.encode())):
        seed('detect', name, bytes([len(codes) // 2]) + codes.encode() + text)
    for kind in ('f16', 'i8'):
        seed('model', kind, convert('marian-gelu-legacy', kind))
    # a file that has a list of tokens for the target side alone
    seed('model', 'no_source_tokens', convert('marian-gelu-legacy', 'i8').replace(b'vocab.source.tokens', b'vocab.target.tokens'))
    seed('model', 'drafter', drafter(convert('marian-gelu-legacy', 'f16')))
    folder = os.path.join(MODELS, 'marian-gelu-separate')
    files = ('config.json', 'generation_config.json', 'tokenizer_config.json', 'vocab.json', 'target_vocab.json',
             'source.spm')  # in the order of hf_folder_fuzz.c
    for i, name in enumerate(files):
        seed('hf_folder', name, bytes([i]) + read(os.path.join(folder, name)))
    for version in range(1, 7):
        seed('ct2', 'v%d' % version, ct2(version))
    files = ('model.bin', 'config.json', 'source_vocabulary.json', 'target_vocabulary.json')  # ct2_folder_fuzz.c
    for i, name in enumerate(files):
        seed('ct2_folder', name, bytes([i]) + read(os.path.join(CT2, 'int8', name)))
    for name, method in (('deflated', zipfile.ZIP_DEFLATED), ('stored', zipfile.ZIP_STORED)):
        seed('argos', name, package(files, method))
    seed_files('spm', 'tests/data/vocab/*.spm')
    seed_files('token_list', 'tests/data/vocab/*.tokens')
    for name, data in compressed():
        seed('text_reader', name, data)
        seed('decompress', name, b'\x03' + data)
    for name, extra in (('one_way', []), ('both', ['--symmetrise', 'grow-diag']),
                        ('pieces', ['--vocab', 'tests/data/vocab/source.spm'])):
        seed('align', name, align(extra))
    for version, name in ((1, 'small'), (2, 'neighbours'), (3, 'followed')):
        seed('lexicon', name, lexicon(version))
    for choice in (0, 4, 8):  # words as they are, turned, lost: see markup_fuzz.c
        seed('markup', 'html_%d' % choice, bytes([choice]) + HTML)
        seed('markup', 'srt_%d' % choice, bytes([choice + 1]) + SRT)
        seed('markup', 'vtt_%d' % choice, bytes([choice + 3]) + VTT)
    seed('glossary', 'terms', b'house\tHaus\nneural machine translation\tNMT\n\nUS\tUSA\n\0'
         b'The Houses of neural machine translations in the US.')
    for i, spec in enumerate(('greedy', 'beam:size=4,rules=hf', 'beam:size=2,length_penalty=0.6', 'jacobi:window=8')):
        seed('options', str(i), spec.encode())
    for name, data in http_bodies():
        seed('http_body', name, data)


def lexicon(version):
    """Candidates of two source tokens and null for four target tokens; see src/lexicon/lexicon_file.c."""
    any_distance, before, after = -0x7fffffff, 1 << 20, 1 << 21
    parts = [struct.pack('<' + kind, *values) for kind, values in (
        ('4I', (0, 2, 4, 5)), ('5i', (any_distance, 0, any_distance, -1, any_distance)),  # rows of 0, of 1, of null
        ('6I', (0, 2, 4, 5, 6, 7)), (7 * 'if', (1, .75, 2, .25, 1, .75, 2, .25, 3, 1, 3, 1, 0, 1)),
        ('4I', (0, 0, 1, 3)), ('4I', (0, 1, 3, 4)), (4 * 'if', (0, 1, -1, .5, 0, .5, 1, 1)),
        ('3I', (0, 3, 4)), ('4I', (0, before | 2, after | 1, 0)), ('4f', (0, .25, .5, 0)),  # rows of 0, of 1
        ('5I', (0, 2, 3, 4, 5)), (5 * 'if', (1, .75, 2, .25, 1, .75, 2, .5, 3, 1)))]
    followed = [struct.pack('<' + kind, *values) for kind, values in (
        ('6I', (0, 2, 3, 3, 3, 4)), (4 * 'if', (1, .75, 3, .25, 2, 1, 0, .5)), ('4f', (.25, .25, .25, .25)))]
    numbers = {1: b'', 2: struct.pack('<II', 4, 5), 3: struct.pack('<II', 4, 0)}[version]
    parts = {1: parts[:7], 2: parts, 3: parts[:7] + followed}[version]
    data = numbers + b''.join(part + bytes(-len(part) % 8) for part in parts)
    header = struct.pack('<8sIIiiQddiIII', b'PKLEXIC', version, 5, 2, 4, 12345, 1, 0.5, 2, 3, 7, 4)
    size = (len(header) + 7) // 8 * 8 + 8 + len(data)
    return header + bytes(-len(header) % 8) + struct.pack('<Q', size) + data


def ct2(version):
    variables = {'a/weight': ct2_file.variable([2, 2], 'int8', [1, -2, 3, 4]), 'a/number': ct2_file.variable([], 'int8', [1]),
                 'a/weight_scale': ct2_file.variable([2], 'float32', [1, 2])}
    if version >= 4:
        variables['half'] = ct2_file.variable([3], 'float16', [1, -2, 0.5])
    ct2_file.write('build/seed', version, 'TransformerSpec', 3, variables, {'b/weight': 'a/weight'})
    data = read('build/seed')
    os.remove('build/seed')
    return data


def package(files, method):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', method) as z:
        def add(name, data):
            z.writestr(zipfile.ZipInfo('p/' + name), data, method)
        add('metadata.json', json.dumps({'from_code': 'en', 'to_code': 'de', 'target_prefix': '\u2581der'}))
        add('sentencepiece.model', read(os.path.join(CT2, 'int8', 'sentencepiece.model')))
        for name in files:
            add('model/' + name, read(os.path.join(CT2, 'int8', name)))
    return out.getvalue()


def made_by(*arguments, path='build/seed', text=b''):
    """The file that the program wrote."""
    subprocess.run([PRONK, *arguments], check=True, input=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    data = read(path)
    os.remove(path)
    return data


def convert(model, kind):
    return made_by('convert', os.path.join(MODELS, model), 'build/seed', '--type', kind)


def drafter(model):
    """A model's decoder as a drafter that shares its encoder, with one token of its own."""
    size = struct.unpack('<Q', model[:8])[0]
    header = json.loads(model[8:8 + size])
    metadata = header.pop('__metadata__')
    config = json.loads(metadata['config'])
    vocab, dim = config['target_vocab'], config['dim']
    config.update(n_text=vocab, shares_encoder=1, first_own=vocab, verifier='0123456789abcdef', tasks='gad',
                  target_vocab=vocab + 1, source_vocab=vocab + 1)
    metadata['config'] = json.dumps(config)
    tensors = {}
    for name, t in header.items():
        if name.startswith('decoder.'):
            begin, end = (8 + size + at for at in t['data_offsets'])
            tensors[name] = (t['dtype'], t['shape'], model[begin:end])
    tensors['own_embed'] = ('F16', [1, dim, 16], bytes(2 * dim * 16))
    tensors['vocab.target.tokens'] = ('U8', [7], b'<mask>\0')
    rest = {}  # those whose size keeps what follows aligned come first
    for name in [n for n in tensors if len(tensors[n][2]) % 64]:
        rest[name] = tensors.pop(name)
        rest['padding.%d' % len(rest)] = ('U8', [-len(rest[name][2]) % 64], bytes(-len(rest[name][2]) % 64))
    data = safetensors({**tensors, **rest}, metadata)
    size = struct.unpack('<Q', data[:8])[0]
    more = -(8 + size) % 64
    return struct.pack('<Q', size + more) + data[8:8 + size] + b' ' * more + data[8 + size:]


def align(extra):
    sides = [read('recipes/data/tiny.train.' + side).split(b'\n')[:12] for side in ('en', 'de')]
    pairs = b''.join(a + b' ||| ' + b + b'\n' for a, b in zip(*sides))
    return made_by('align', '--save', 'build/seed', *extra, text=pairs)


def http_bodies():
    """Content type, query string and body, with a zero behind the first two."""
    form, json_type = b'application/x-www-form-urlencoded', b'application/json; charset=utf-8'
    part = b'--B\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    parts = part % (b'q', b'', b'Hello\r\nworld') + part % (b'file', b'; filename="a.txt"', b'no') + part % (b'source', b'', b'en')
    yield 'form', form + b'\0q=query\0q=Hello%2C+world%21%C3%A4&source=en&target=de&alternatives=2'
    yield 'query', b'\0q=Hello%20world&source=auto&target=de&api_key=x\0'
    yield 'json', json_type + b'\0\0' + json.dumps({'q': ['Hello \u00e4', 'b\nc'], 'source': 'en', 'target': 'de', 'alternatives': 3}).encode()
    yield 'mark', b'application/x+json\0\0\xef\xbb\xbf{"q": "a\\u0000b", "n": [1, {"x": null}]}'
    yield 'multipart', b'multipart/form-data; boundary=B\0z=1\0before\r\n' + parts + b'--B--\r\n'
    yield 'quoted', b'multipart/form-data; boundary="B"\0\0--B\nContent-Disposition: form-data; name=q\n\nx\n--B--'
    yield 'broken', form + b'\0\0q=%FF%E2%82&%zz=%4&&=x&flag'


if __name__ == '__main__':
    main()
