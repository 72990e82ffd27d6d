#!/usr/bin/env python3
"""Makes tests/data/ct2: small CTranslate2 folders and .argosmodel packages, and what CTranslate2 does with them.

usage: make_ct2_fixtures.py        in the repository's root; needs ctranslate2 4.8.4, transformers, torch, numpy,
                                   sentencepiece

  marian/          tests/data/models/marian-relu through CTranslate2's own converter, in int8
  opennmt/         random weights with OpenNMT-py's conventions (norms first, its order of positions, no end symbol
                   behind the source, two vocabularies), float32
  v1/ .. v5/       opennmt/ as older binary versions, by ct2_file.py
  float16/ ..      opennmt/ with weights of other types, by the same
  en-de.argosmodel opennmt/ as a package, its metadata with a target_prefix
  expected.tsv     folder, way of decoding, source, tokens of the translation: by CTranslate2
"""
import json
import os
import shutil
import sys
import zipfile

import ctranslate2
import numpy as np
import sentencepiece
from ctranslate2.specs import transformer_spec

sys.path.insert(0, os.path.dirname(__file__))
import ct2_file  # noqa: E402

OUT = 'tests/data/ct2'
SPM = 'tests/data/vocab'  # of opennmt/; its normaliser leaves nothing of some characters
MARIAN = 'tests/data/models/marian-relu'
DIM, FFN, HEADS, POSITIONS = 16, 24, 8, 40
N_SOURCE, N_TARGET = 90, 60  # tokens: not all pieces have one
TEXTS = ['the cat sees every house', 'good morning', 'rain again', 'sleep every night even more than that',
         'identity', 'it is raining in the morning, is it?', 'a b c d', 'thought of rain', 'every body sleeps',
         'zebra \u4f60 x']
PREFIX = '\u2581der'
WAYS = ('greedy:max_length=24,min_length=2', 1), ('beam:size=4,rules=ct2,max_length=24', 4)


def pieces(path):
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return [model.id_to_piece(i) for i in range(model.get_piece_size())]


def positions():
    """OpenNMT-py's: sines and cosines by turns."""
    at = np.arange(POSITIONS)[:, None] * np.exp(np.arange(0, DIM, 2) * -(np.log(10000.0) / DIM))
    table = np.zeros((POSITIONS, DIM), dtype=np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(at), np.cos(at)
    return table


def fill(spec, rng):
    """Random weights for every tensor that a layer wants; norms near 1."""
    def linear(s, out, wide=DIM):
        s.weight = rng.normal(0, 1.2 * wide ** -0.5, (out, wide)).astype(np.float32)
        s.bias = rng.normal(0, 0.1, out).astype(np.float32)

    def norm(s):
        s.gamma = rng.uniform(0.8, 1.2, DIM).astype(np.float32)
        s.beta = rng.normal(0, 0.1, DIM).astype(np.float32)

    for stack in (spec.encoder, spec.decoder):
        norm(stack.layer_norm)
        stack.position_encodings.encodings = positions()
        for layer in stack.layer:
            for block in filter(None, (layer.self_attention, getattr(layer, 'attention', None))):
                norm(block.layer_norm)
                for i, s in enumerate(block.linear):
                    last = i == len(block.linear) - 1
                    linear(s, DIM if last else (3 if len(block.linear) == 2 else 1 + i) * DIM)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, FFN)
            linear(layer.ffn.linear_1, DIM, FFN)


def make_opennmt(folder):
    rng = np.random.default_rng(7)
    specials = ['<unk>', '<blank>', '<s>', '</s>']
    source = specials + [p for p in pieces(SPM + '/source.spm') if not p.startswith('<')][:N_SOURCE]
    target = specials + [PREFIX] + [p for p in pieces(SPM + '/target.spm') if not p.startswith('<') and p != PREFIX][:N_TARGET]
    spec = transformer_spec.TransformerSpec.from_config((1, 2), HEADS)
    fill(spec, rng)
    spec.encoder.embeddings[0].weight = rng.normal(0, DIM ** -0.5, (len(source), DIM)).astype(np.float32)
    spec.decoder.embeddings.weight = rng.normal(0, DIM ** -0.5, (len(target), DIM)).astype(np.float32)
    spec.decoder.projection.weight = rng.normal(0, 0.6, (len(target), DIM)).astype(np.float32)
    spec.decoder.projection.bias = rng.normal(0, 0.2, len(target)).astype(np.float32)
    spec.decoder.projection.bias[3] += 4.5  # ends come often enough
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize()
    os.makedirs(folder)
    spec.save(folder)
    shutil.copy(SPM + '/source.spm', folder + '/sentencepiece.model')


def make_marian(folder):
    converter = ctranslate2.converters.TransformersConverter(MARIAN)
    converter.convert(folder, quantization='int8')
    for name in ('source.spm', 'target.spm'):
        shutil.copy(os.path.join(MARIAN, name), folder)


def make_package(folder, path):
    metadata = {'package_version': '1.0', 'argos_version': '1.5', 'from_code': 'en', 'from_name': 'English',
                'to_code': 'de', 'to_name': 'German', 'target_prefix': PREFIX}
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as z:
        def add(name, data):
            z.writestr(zipfile.ZipInfo('translate-en_de-1_0/' + name), data, zipfile.ZIP_DEFLATED)
        add('metadata.json', json.dumps(metadata))
        add('README.md', 'A package for tests.\n')
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), 'rb') as f:
                add(name if name == 'sentencepiece.model' else 'model/' + name, f.read())


def translate(folder, marian, prefix=None):
    """Greedy and beam search; integers are computed with as what they stand for."""
    spm = sentencepiece.SentencePieceProcessor(model_file=(MARIAN if marian else SPM) + '/source.spm')
    model = ctranslate2.Translator(folder, compute_type='float32')
    for name, beam in WAYS:
        for text in TEXTS:
            tokens = spm.encode(text, out_type=str) + (['</s>'] if marian else [])
            found = model.translate_batch([tokens], [[prefix]] if prefix else None, beam_size=beam,
                                          length_penalty=1 if beam > 1 else 0, max_decoding_length=24)
            yield name, text, ' '.join(found[0].hypotheses[0])


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    make_marian(OUT + '/marian')
    make_opennmt(OUT + '/opennmt')
    for version in range(1, 6):
        ct2_file.rewrite(OUT + '/opennmt', OUT + '/v%d' % version, version)
    for kind in ('float16', 'bfloat16', 'int16', 'int8'):
        ct2_file.rewrite(OUT + '/opennmt', OUT + '/' + kind, 6, kind)
    make_package(OUT + '/opennmt', OUT + '/en-de.argosmodel')
    with open(OUT + '/expected.tsv', 'w', encoding='utf-8') as f:
        for folder in sorted(n for n in os.listdir(OUT) if os.path.isdir(os.path.join(OUT, n))):
            for row in translate(os.path.join(OUT, folder), folder == 'marian'):
                f.write('\t'.join((folder,) + row) + '\n')
        for row in translate(OUT + '/opennmt', False, PREFIX):
            f.write('\t'.join(('en-de.argosmodel',) + row) + '\n')


if __name__ == '__main__':
    main()
