#!/usr/bin/env python3
"""make_vocab_samples.py - makes the tiny vocabularies in tests/data/vocab and their expected ids.

Needs sentencepiece and transformers. Models are trained on the sentences below; expected ids and
texts are those of transformers' own tokenizers. Run from the repository root; results are
reproducible.

  source.spm target.spm   unigram, with a few normalisation rules of our own
  mbart.spm               unigram with mBART's special pieces
  bytes.spm               BPE with byte fallback, and two user-defined pieces
  *.tokens                token lists, a NUL byte after each name
  golden.tsv              vocabulary, direction, text, ids, ids decoded
"""
import contextlib
import io
import json
import pathlib
import tempfile

import sentencepiece
import transformers

OUT = pathlib.Path("tests/data/vocab").absolute()

ENGLISH = """The ship leaves the harbour in the morning.
A small boat follows the ship out to sea.
The old man reads his letters by the window.
She wrote a letter to her brother last week.
We walk along the river when the weather is fine.
The weather was bad, so we stayed at home.
My brother works in the harbour and my sister at sea.
There are many boats on the river today.
Where does the road to the harbour begin?
The road begins behind the old church.
He counted the boats: one, two, three, four.
Do not open the window when it rains!
It rained all morning, and the river rose.
The children play in the garden behind the house.
Their house stands between the church and the river.
I have never seen the sea, said the old woman.
Her letters were short, but she wrote often.
In winter the harbour is quiet and the boats are empty.
The captain of the ship knows every stone on this coast.
What a fine morning for a walk along the coast!
They bought bread, butter and cheese at the market.
The market is open on Tuesdays and on Fridays.
Nobody knew why the church was closed on Sunday.
The stones in the garden are older than the house.
Please write the number 12345 and the year 1867.
"""
GERMAN = """Das Schiff verlässt am Morgen den Hafen.
Ein kleines Boot folgt dem Schiff auf das Meer hinaus.
Der alte Mann liest seine Briefe am Fenster.
Sie schrieb letzte Woche einen Brief an ihren Bruder.
Wir gehen am Fluss entlang, wenn das Wetter schön ist.
Das Wetter war schlecht, also blieben wir zu Hause.
Mein Bruder arbeitet im Hafen und meine Schwester auf See.
Heute sind viele Boote auf dem Fluss.
Wo beginnt die Straße zum Hafen?
Die Straße beginnt hinter der alten Kirche.
Er zählte die Boote: eins, zwei, drei, vier.
Öffne das Fenster nicht, wenn es regnet!
Es regnete den ganzen Morgen, und der Fluss stieg.
Die Kinder spielen im Garten hinter dem Haus.
Ihr Haus steht zwischen der Kirche und dem Fluss.
Ich habe das Meer nie gesehen, sagte die alte Frau.
Ihre Briefe waren kurz, aber sie schrieb oft.
Im Winter ist der Hafen still, und die Boote sind leer.
Der Kapitän des Schiffes kennt jeden Stein an dieser Küste.
Was für ein schöner Morgen für einen Gang an der Küste!
Sie kauften Brot, Butter und Käse auf dem Markt.
Der Markt ist dienstags und freitags geöffnet.
Niemand wusste, warum die Kirche am Sonntag geschlossen war.
Die Steine im Garten sind älter als das Haus.
Bitte schreiben Sie die Zahl 12345 und das Jahr 1867.
"""
# code points and what they become: full-width letters, a ligature, odd spaces, a composed accent
RULES = [("FF21", "41"), ("FF22", "42"), ("FB01", "66 69"), ("A0", "20"), ("3000", "20"),
         ("9", "20"), ("61 308", "E4"), ("6F 308", "F6"), ("AD", "")]

TEXTS = [
    "The ship leaves the harbour.", "", " ", "  Two  spaces   here  ", "the",
    "The\u3000ship\u00a0sails",
    "Der Brief kam im Ma\u0308rz an.", "caf\u00e9 and na\u00efve \u4f60\u597d",
    "\uff21\uff22C \ufb01ne", "x\u00ady",
    "\U0001f600", "\U0001f600\U0001f601 boats", "1867, 12345!", ">>de<< The ship", ">>de<<The ship",
    ">>de<<   The ship", ">>fr<<", ">>xx<< The ship", ">> not a tag", ">>a b<< The",
    " >>de<< The", ">><< x",
    "the >>de<< boat", "<<de>> boat", "\u2581boat", "boat \u2581 \u2581",
    "a\u200bb", "\u00dfharp stra\u00dfe",
]
# those without outer spaces, which only transformers' mBART tokenizer keeps
MBART_TEXTS = [t for t in TEXTS if t == t.strip() and t and "\u2581" not in t]


def train(name, text, **options):
    model = io.BytesIO()
    # the model keeps the path of its rules, so that must always be the same
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pathlib.Path("rules.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in RULES))
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text.splitlines()), model_writer=model,
            normalization_rule_tsv="rules.tsv", minloglevel=2, num_threads=1,
            self_test_sample_size=0, **options)
    (OUT / name).write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [processor.IdToPiece(i) for i in range(processor.GetPieceSize())]


def write_tokens(name, tokens):
    (OUT / name).write_bytes(b"".join(t.encode() + b"\0" for t in tokens))


def unique(tokens):
    return list(dict.fromkeys(tokens))


def marian(source, target, source_tokens, target_tokens=None):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        numbered = lambda tokens: json.dumps({t: i for i, t in enumerate(tokens)})
        (path / "vocab.json").write_text(numbered(source_tokens))
        extra = {}
        if target_tokens:
            (path / "target_vocab.json").write_text(numbered(target_tokens))
            extra = dict(target_vocab_file=str(path / "target_vocab.json"), separate_vocabs=True)
        return transformers.MarianTokenizer(str(OUT / source), str(OUT / target),
                                            str(path / "vocab.json"), **extra)


def fields(data):
    """(number, value) of the fields of a protocol buffer; fixed-width ones are skipped"""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
    at = 0
    while at < len(data):
        key = varint()
        if key & 7 == 5:
            at += 4
        elif key & 7 == 2:
            size = varint()
            at += size
            yield key >> 3, data[at - size:at]
        else:
            yield key >> 3, varint()


def mbart(name):
    model = (OUT / name).read_bytes()
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    normalizer = dict(fields(dict(fields(model))[3]))
    return transformers.MBart50Tokenizer(
        vocab=[(processor.IdToPiece(i), processor.GetScore(i))
               for i in range(processor.GetPieceSize())],
        src_lang="en_XX", tgt_lang="de_DE", _spm_precompiled_charsmap=normalizer[2])


def decode(tokenizer, processor, ids):
    """as transformers, but for unknowns: those it drops, SentencePiece shows"""
    text = processor.decode_pieces(tokenizer.convert_ids_to_tokens(ids))
    text = text.replace("\u2581", " ").strip()
    if tokenizer.unk_token_id not in ids:       # mBART's tokenizer alone leaves spaces at the ends
        assert tokenizer.decode(ids, skip_special_tokens=True).strip() == text
    return text


def rows(name, tokenizer, spm, texts, cut):
    processor = sentencepiece.SentencePieceProcessor(model_proto=(OUT / spm).read_bytes())
    for text in texts:
        ids = cut(tokenizer(text).input_ids)
        yield name, "source", text, ids, ""
        ids = cut(tokenizer(text_target=text).input_ids)
        yield name, "target", text, ids, decode(tokenizer, processor, ids)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    plain = dict(model_type="unigram", character_coverage=0.995, bos_id=-1, pad_id=-1, eos_id=0,
                 unk_id=1)
    source = train("source.spm", ENGLISH, vocab_size=150, **plain)
    target = train("target.spm", GERMAN, vocab_size=150, **plain)
    fallback = train("bytes.spm", ENGLISH + GERMAN, model_type="bpe", vocab_size=480,
                     byte_fallback=True, bos_id=1, eos_id=2, unk_id=0, pad_id=-1,
                     user_defined_symbols=["<sep>", "harbour"])
    train("mbart.spm", ENGLISH + GERMAN, model_type="unigram", vocab_size=200,
          character_coverage=0.995, bos_id=1, eos_id=2, unk_id=0, pad_id=-1)
    many = mbart("mbart.spm")
    write_tokens("mbart.tokens", sorted(many.get_vocab(), key=many.get_vocab().get))
    shared = unique(source + target) + [">>de<<", ">>fr<<", "<pad>"]
    write_tokens("shared.tokens", shared)
    write_tokens("source.tokens", source + ["<pad>"])
    write_tokens("target.tokens", target + ["<pad>"])
    write_tokens("bytes.tokens", ["<s>", "<pad>", "</s>", "<unk>"] + fallback[3:] +
                 ["en_XX", "de_DE", "<mask>"])
    cut = lambda ids: ids[:-1]                  # the end symbol
    one = marian("source.spm", "target.spm", shared)
    two = marian("source.spm", "target.spm", source + ["<pad>"], target + ["<pad>"])
    found = list(rows("shared", one, "target.spm", TEXTS, cut))
    found += rows("separate", two, "target.spm", [t for t in TEXTS if not t.startswith(">>")], cut)
    found += rows("mbart", many, "mbart.spm", MBART_TEXTS, lambda ids: ids[1:-1])  # and language
    with open(OUT / "golden.tsv", "w", encoding="utf-8", newline="\n") as file:
        for name, direction, text, ids, decoded in found:
            assert not set("\t\n\r") & set(text + decoded)
            # a leading tag in a target text is Pronk's own business: it is text there
            if name != "mbart" and direction == "target" and text.startswith(">>") and "<<" in text:
                continue
            file.write("\t".join([name, direction, text, " ".join(map(str, ids)), decoded]) + "\n")


if __name__ == "__main__":
    main()
