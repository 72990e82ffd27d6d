#!/usr/bin/env python3
"""Writes the golden data of the metric tests, tests/data/metric/*.tsv, with sacreBLEU 2.6.0.

    pip install sacrebleu==2.6.0 numpy && python tools/make_metric_golden.py

Fields are separated by tabs; bytes other than printable ASCII, and backslashes, are written \\xHH.
Doubles are written in hexadecimal, so that tests can ask for equality of every bit.
"""
import os
import pathlib
import random

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "metric"
TOKENIZERS = ["13a", "none", "char", "intl", "zh"]

NASTY = [
    b"", b" ", b"\t \xc2\xa0\xe3\x80\x80", b".", b",", b"..", b",,,", b" .5", b"5.", b"5. ",
    b"1.5,7",
    b"1-2 -3 a-b 4-", b"don't 'quote' it's",
    b"A&amp;B &lt;tag&gt; &quot;q&quot; &amp;lt; &amp;amp;",
    b"<skipped>gone<skip<skipped>ped> stays", b"hyphen-\nated line\nbreak", b"a\x00b \x00\x00 c",
    b"\xff\xfe bad \xc3( utf \xe2\x82 here\xf0\x9f\x98",
    b"\xed\xa0\x80 surrogate \xc0\xaf overlong",
    b"$3,000.50 (approx.) 50% #1 @home a/b [x] {y} ~z ^w _v `u |t",
    "Straße „Größe“ – 3,5 °C; ½ kg, m² … «ja»".encode(),
    "ΟΔΥΣΣΕΥΣ ΣΑΣ Σ. ΑΣ́Β İSTANBUL ẞ Ǆ ᾈ Ⅷ Ⓐ".encode(),
    "他说：“好。”3.5％，A股—x→y 𠀀𪛖 ㈱ ｱ".encode(), "  。前 space".encode(), "  .x dot first".encode(),
    "٣،٤ ३.५ 1٫5 Ⅳ.Ⅴ ²,³ a.² 中.9".encode(), "€5 +7 −3 ×2 <=> ¬x ©® 👍🏽 ♥".encode(),
    b"tab\tvt\x0bff\x0cfs\x1cgs\x1drs\x1eus\x1f\xc2\x85nel\xe2\x80\xa8ls\xe2\x80\x8bzwsp",
    b"word " * 40, b"x" * 300, b". " * 30, b"(hi) ((hi)) !a! b? ?c -- - !!",
]
WORDS = ("the a of und der die Katze Haus sees 3.5 2014 , . ( ) - naïve Zürich e.g. don't 中文 。 "
         "“quoted” €5 1,000 x-ray Σίσυφος ΣΑΣ").split()


def escape(raw):
    return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02x}" for b in raw)


def decode(raw):
    return raw.decode("utf-8", "replace")


def figure(x):
    return float(x).hex()


def write(name, rows):
    with open(OUT / name, "w", encoding="ascii", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)


def corpus():
    """(reference, system, system): sentences with noise, then nasty lines against each other."""
    rnd = random.Random(5)

    def noisy(words):
        out = list(words)
        for _ in range(rnd.randrange(4)):
            at = rnd.randrange(len(out))
            out[at:at + rnd.randrange(3)] = [rnd.choice(WORDS)] * rnd.randrange(3) or ["x"]
            out = out or ["x"]
        return " ".join(out).encode()

    rows = []
    for _ in range(60):
        words = [rnd.choice(WORDS) for _ in range(rnd.randrange(1, 18))]
        rows.append((" ".join(words).encode(), noisy(words), noisy(words)))
    for i, line in enumerate(NASTY):
        rows.append((line, NASTY[i - 1], line if i % 3 else line[: len(line) // 2]))
    return rows


def bleu_fields(score):
    return [figure(x) for x in (score.score, *score.precisions, score.bp, score.ratio)] + [
        str(score.sys_len), str(score.ref_len)]


def repetition(metric, lines):
    tokens = repeated = 0
    for line in lines:
        words = metric._preprocess_segment(line).split()
        tokens += len(words)
        repeated += sum(a == b for a, b in zip(words, words[1:]))
    return 100.0 * repeated / tokens if tokens else 0.0


def score_rows(name, reference, systems, first, last):
    reference = reference[first:last]
    for tokenizer in TOKENIZERS:
        for lower in (False, True):
            for number, system in enumerate(systems):
                system = system[first:last]
                bleu = BLEU(tokenize=tokenizer, lowercase=lower, force=True)
                score = bleu.corpus_score(system, [reference])
                chrf = [CHRF(word_order=n, lowercase=lower) for n in (0, 2)]
                figures = [figure(c.corpus_score(system, [reference]).score) for c in chrf]
                yield [name, str(first), str(last), tokenizer, str(int(lower)), str(number),
                       *bleu_fields(score), *figures, figure(repetition(bleu, system)),
                       str(bleu.get_signature()), *(str(c.get_signature()) for c in chrf)]


def metrics(tokenizer):
    return {"b": BLEU(tokenize=tokenizer, force=True), "c": CHRF(), "p": CHRF(word_order=2)}


def paired_rows(reference, systems, first, last, tokenizer, n, seed):
    os.environ["SACREBLEU_SEED"] = str(seed)
    named = [(str(i), system[first:last]) for i, system in enumerate(systems)]
    signatures, results = PairedTest(named, metrics(tokenizer), [reference[first:last]], "bs", n)()
    for number in range(len(systems)):
        row = ["paired", str(first), str(last), tokenizer, str(n), str(seed), str(number)]
        for name in ("BLEU", "chrF2", "chrF2++"):
            result = results[name][number]
            p = 1.0 if result.p_value is None else result.p_value
            row += [figure(result.mean), figure(result.ci), figure(p)]
        yield row + [str(s) for s in signatures.values()]


def alone_row(reference, system, first, last, n, seed):
    os.environ["SACREBLEU_SEED"] = str(seed)
    row, signatures = ["alone", str(first), str(last), "13a", str(n), str(seed), "0"], []
    for metric in metrics("13a").values():
        score = metric.corpus_score(system[first:last], [reference[first:last]], n_bootstrap=n)
        row += [figure(score._mean), figure(score._ci), figure(1.0)]
        signatures.append(str(metric.get_signature()))
    return row + signatures


def token_rows():
    for raw in NASTY:
        yield ["lower", escape(raw), escape(decode(raw).lower().encode())]
        for name in TOKENIZERS:
            tokens = BLEU(tokenize=name)._preprocess_segment(decode(raw)).split()
            yield [name, escape(raw), escape(" ".join(tokens).encode())]


def random_rows():
    for seed in (1, 12345, 2**32, 2**64 - 1):
        for bound in (1, 2, 7, 3003, 2**31 + 1, 2**32 - 1):
            draws = numpy.random.default_rng(seed).choice(bound, size=(2, 6), replace=True)
            yield [str(seed), str(bound), *(str(x) for x in draws.flat)]


def main():
    assert sacrebleu.__version__ == "2.6.0", "the signatures in the tests name 2.6.0"
    OUT.mkdir(parents=True, exist_ok=True)
    rows = corpus()
    columns = [[decode(line) for line in column] for column in zip(*rows)]
    reference, systems = columns[0], columns[1:]
    end = len(rows)
    write("corpus.tsv", ([escape(x) for x in row] for row in rows))
    write("tokens.tsv", token_rows())
    write("random.tsv", random_rows())
    scores = []
    for first, last in ((0, end), (0, 60), (60, end), (60, 61), (0, 1), (61, 64)):
        scores += score_rows("scores", reference, systems, first, last)
    write("scores.tsv", scores)
    boots = []
    for case in ((0, end, "13a", 1000, 12345), (0, 60, "intl", 333, 7), (0, 7, "13a", 130, 2**40 + 5),
                 (60, end, "char", 100, 12345), (3, 4, "13a", 41, 12345), (60, 66, "13a", 200, 3)):
        boots += paired_rows(reference, systems, *case)
    for first, last, n in ((0, end, 1000), (0, 60, 40), (5, 40, 7)):
        boots.append(alone_row(reference, systems[0], first, last, n, 12345))
    write("bootstrap.tsv", boots)


main()
