"""Makes the small models under tests/data/models and what transformers computes with them.

usage: make_fixtures.py [--out tests/data/models] [NAME ...]
needs: torch, transformers (made with 5.22), sentencepiece, protobuf, safetensors, numpy

Each folder is a Hugging Face checkpoint as a user would download it, and beside it golden.json (ids,
texts, scores, decoded outputs) and golden.safetensors (encoder states, logits). Weights are random,
then trained for seconds on the sentences below: purely random ones repeat one token for ever, and a
test needs outputs that vary and end. Seeds are tried in order until a model is worth testing with:
outputs that differ, that end by themselves more often than not, and that come out the same in float32
and float64, so that no comparison hangs on a tie. Everything is computed one sentence at a time, in
float32, on the CPU.

transformers 5.22 knows only the post-norm form of MarianMT (it ignores normalize_before); mBART is
pre-norm with norms on the embeddings and at the top of each stack. So those two forms are here.
"""
import argparse
import copy
import io
import json
import math
import os
import shutil
import warnings

import numpy as np
import sentencepiece
import torch
from safetensors.torch import save_file
from transformers import (GenerationConfig, MarianConfig, MarianMTModel, MarianTokenizer, MBart50Tokenizer,
                          MBartConfig, MBartForConditionalGeneration)
from transformers.utils import logging

warnings.filterwarnings("ignore")
logging.set_verbosity_error()
logging.disable_progress_bar()

POSITIONS = 40          # there are no more, so a sentence may have 40 tokens and an output 40
LONGEST_SOURCE = 32     # tokens, end included
NEW_TOKENS = 30         # limit of a normal output
PREFIX_WORDS = 2

ENGLISH = """The river runs past the old mill.
A grey cat sleeps on the warm stone wall.
We bought four apples and a loaf of bread.
Nobody knew why the lamp was still burning.
My sister paints boats in the harbour.
The train to the coast leaves at nine.
Please close the window before the storm comes.
He wrote a long letter and never sent it.
They have planted three trees behind the school.
The bridge will be opened again next spring.
It was raining, so the children stayed inside.
Can you tell me where the market is?
The soup is too hot to eat now.
Her new bicycle is faster than mine.
An engineer measured the height of the tower.
The museum shows maps from the last century.
I did not hear the bell this morning.
Our neighbours keep bees and sell honey.
Some people walk to work even in winter.
The doctor said that sleep helps more than tea.
Two ships met in the fog and sounded their horns.
The clock in the station is always five minutes late.
She speaks quietly, but everybody listens.
There is a small garden on the roof of the house.
The farmer counts his sheep every evening.
After the concert we talked until midnight.
The price of salt went up again.
Birds follow the plough across the field.""".split("\n")
GERMAN = """Der Fluss fließt an der alten Mühle vorbei.
Eine graue Katze schläft auf der warmen Mauer.
Wir haben vier Äpfel und ein Brot gekauft.
Niemand wusste, warum die Lampe noch brannte.
Meine Schwester malt Boote im Hafen.
Der Zug an die Küste fährt um neun ab.
Bitte schließ das Fenster, bevor der Sturm kommt.
Er schrieb einen langen Brief und schickte ihn nie ab.
Sie haben hinter der Schule drei Bäume gepflanzt.
Die Brücke wird im nächsten Frühling wieder geöffnet.
Es regnete, darum blieben die Kinder im Haus.
Können Sie mir sagen, wo der Markt ist?
Die Suppe ist jetzt zu heiß zum Essen.
Ihr neues Fahrrad ist schneller als meines.
Ein Ingenieur hat die Höhe des Turms gemessen.
Das Museum zeigt Karten aus dem letzten Jahrhundert.
Ich habe heute Morgen die Glocke nicht gehört.
Unsere Nachbarn halten Bienen und verkaufen Honig.
Manche Leute gehen auch im Winter zu Fuß zur Arbeit.
Der Arzt sagte, dass Schlaf mehr hilft als Tee.
Zwei Schiffe trafen sich im Nebel.
Die Uhr im Bahnhof geht immer fünf Minuten nach.
Sie spricht leise, aber alle hören zu.
Auf dem Dach des Hauses ist ein kleiner Garten.
Der Bauer zählt jeden Abend seine Schafe.
Nach dem Konzert haben wir bis Mitternacht geredet.
Der Preis für Salz ist wieder gestiegen.
Vögel folgen dem Pflug über das Feld.""".split("\n")
FRENCH = """La rivière passe devant le vieux moulin.
Un chat gris dort sur le mur chaud.
Nous avons acheté quatre pommes et du pain.
Ma sœur peint des bateaux dans le port.
Le train pour la côte part à neuf heures.
Il a écrit une longue lettre sans jamais l'envoyer.
Ils ont planté trois arbres derrière l'école.
Pouvez-vous me dire où est le marché ?
Le musée montre des cartes du siècle dernier.
Nos voisins ont des abeilles et vendent du miel.""".split("\n")

# what is translated: one token to about thirty, some of it outside every vocabulary here
SENTENCES = ["I", "The mill.", "Nobody spoke.", "A grey bridge near the coast", "Where is my letter?",
             "The price of bread was 漢字 again.", "Zażółć the window ☃!",
             "We walk to the station, and the bell sounds.",
             "Her sister never sells the honey of the bees.",
             "The engineer is late because the storm closed the bridge.",
             "Some children planted apples behind the museum in the last winter of the century.",
             "  Two   ships  in the fog,  at  midnight. "]

# X(name, kind, decoding options): what each output was made with; the C test reads these again
CASES = [("greedy", {}), ("beam4", {"size": 4, "n_best": 4}), ("beam5", {"size": 5}),
         ("beam4-short", {"size": 4, "length_penalty": 0.6}), ("beam4-early", {"size": 4, "early_stopping": 1}),
         ("greedy-ngram", {"no_repeat_ngram": 3}), ("beam4-ngram", {"size": 4, "no_repeat_ngram": 3}),
         ("greedy-repetition", {"repetition_penalty": 1.3}),
         ("beam4-repetition", {"size": 4, "repetition_penalty": 1.3}),
         ("greedy-limit", {"max_tokens": 6}), ("beam4-limit", {"size": 4, "max_tokens": 6}),
         ("greedy-prefix", {"prefix": True}), ("beam4-prefix", {"size": 4, "prefix": True})]

# Marian: d, ffn and heads are (encoder, decoder); anything else is a key of the configuration
FIXTURES = {
    "marian-relu": dict(act="relu", d=32, ffn=(48, 48), heads=(4, 4), layers=(2, 2), bias=True),
    "marian-swish-f16": dict(act="swish", d=16, ffn=(40, 32), heads=(2, 4), layers=(3, 1), half=True,
                             positions=True, nfkc=True, renormalise=True),
    "marian-gelu-separate": dict(act="gelu", d=24, ffn=(36, 44), heads=(3, 3), layers=(2, 2), separate=True,
                                 pad_row=True),
    "marian-swish-untied": dict(act="swish", d=24, ffn=(48, 48), heads=(4, 2), layers=(2, 2), separate=True,
                                untied=True, bias=True, scale=False, positions=True),
    "marian-relu-bin": dict(act="relu", d=16, ffn=(32, 32), heads=(2, 2), layers=(2, 2), file="zip",
                            positions=True, renormalise=True),
    "marian-gelu-legacy": dict(act="gelu", d=16, ffn=(32, 48), heads=(4, 4), layers=(1, 3), file="legacy",
                               half=True, bias=True),
    "marian-multi": dict(act="swish", d=32, ffn=(48, 32), heads=(4, 4), layers=(2, 2), tags=("de", "fr"),
                         renormalise=True),
    "mbart-relu": dict(family="mbart", act="relu", d=32, ffn=(48, 48), heads=(4, 4), layers=(2, 2), nfkc=True),
    "mbart-gelu-f16": dict(family="mbart", act="gelu", d=16, ffn=(40, 32), heads=(2, 2), layers=(3, 1),
                           half=True, bias=True, scale=False),
}


# ---- vocabularies ----

def train_pieces(sentences, size, nfkc, path):
    """A SentencePiece model; without nfkc it has no normalisation table, which is most of a small file."""
    made = io.BytesIO()                                 # from and to memory: a file's name would be stored
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=made, vocab_size=size, model_type="unigram",
        hard_vocab_limit=False, character_coverage=0.999, num_threads=1, minloglevel=2,
        normalization_rule_name="nmt_nfkc" if nfkc else "identity")
    with open(path, "wb") as out:
        out.write(made.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_file=path)
    return [pieces.id_to_piece(i) for i in range(pieces.get_piece_size()) if not pieces.is_control(i)
            and not pieces.is_unknown(i)]


def number(lists, tags=(), separate=False):
    """OPUS-MT's order: </s>, <unk>, tags, every piece once, <pad> last. Where there are two lists, <pad>
    must have one id in both, so it comes early."""
    names = ["</s>", "<unk>"] + ["<pad>"] * separate + [">>%s<<" % tag for tag in tags]
    for pieces in lists:
        names += [piece for piece in pieces if piece not in names]
    return {name: i for i, name in enumerate(dict.fromkeys(names + ["<pad>"]))}


def write_json(value, path):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, indent=1)
        out.write("\n")


def marian_vocabulary(folder, spec):
    target = GERMAN + (FRENCH if spec.get("tags") else [])
    source_pieces = train_pieces(ENGLISH, 130, spec.get("nfkc"), folder + "/source.spm")
    target_pieces = train_pieces(target, 150, False, folder + "/target.spm")
    separate = bool(spec.get("separate"))
    vocab = number([source_pieces] if separate else [source_pieces, target_pieces], spec.get("tags", ()),
                   separate)
    write_json(vocab, folder + "/vocab.json")
    names = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate, "model_max_length": 512,
             "tokenizer_class": "MarianTokenizer", "unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
    write_json(names, folder + "/tokenizer_config.json")
    target_vocab = vocab
    if separate:
        target_vocab = number([target_pieces], separate=True)
        write_json(target_vocab, folder + "/target_vocab.json")
    return vocab, target_vocab


def mbart_vocabulary(folder, spec):
    train_pieces(ENGLISH + GERMAN, 160, spec.get("nfkc"), folder + "/sentencepiece.bpe.model")
    write_json({"tokenizer_class": "MBart50Tokenizer", "src_lang": "en_XX", "tgt_lang": "de_DE",
                "model_max_length": POSITIONS, "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>",
                "cls_token": "<s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"},
               folder + "/tokenizer_config.json")
    return MBart50Tokenizer.from_pretrained(folder, src_lang="en_XX", tgt_lang="de_DE")


# ---- models ----

def shape(spec):
    return dict(d_model=spec["d"], encoder_ffn_dim=spec["ffn"][0], decoder_ffn_dim=spec["ffn"][1],
                encoder_attention_heads=spec["heads"][0], decoder_attention_heads=spec["heads"][1],
                encoder_layers=spec["layers"][0], decoder_layers=spec["layers"][1],
                activation_function=spec["act"], max_position_embeddings=POSITIONS,
                scale_embedding=spec.get("scale", True), num_hidden_layers=spec["layers"][0])


def marian_model(spec, vocab, target_vocab):
    pad = target_vocab["<pad>"]
    config = MarianConfig(
        vocab_size=len(vocab), decoder_vocab_size=len(target_vocab), pad_token_id=pad, eos_token_id=0,
        bos_token_id=0, forced_eos_token_id=0, decoder_start_token_id=pad,
        share_encoder_decoder_embeddings=not spec.get("separate"), tie_word_embeddings=not spec.get("untied"),
        static_position_embeddings=True, normalize_before=False, normalize_embedding=False,
        add_final_layer_norm=False, add_bias_logits=False, **shape(spec))
    model = MarianMTModel(config)
    options = dict(bad_words_ids=[[pad]], bos_token_id=0, eos_token_id=0, forced_eos_token_id=0,
                   decoder_start_token_id=pad, pad_token_id=pad, max_length=POSITIONS, num_beams=4)
    if spec.get("renormalise"):
        options["renormalize_logits"] = True
    model.generation_config = GenerationConfig(**options)
    return model


def mbart_model(spec, tokenizer):
    config = MBartConfig(vocab_size=len(tokenizer), pad_token_id=1, bos_token_id=0, eos_token_id=2,
                         decoder_start_token_id=2, forced_eos_token_id=2, tie_word_embeddings=True, **shape(spec))
    model = MBartForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        bos_token_id=0, decoder_start_token_id=2, eos_token_id=2, forced_eos_token_id=2, pad_token_id=1,
        max_length=POSITIONS, num_beams=5, early_stopping=True)
    return model


def fill(model, spec, seed):
    """Weights wide enough that every part of the network matters to the output."""
    random = np.random.default_rng(seed)

    def draw(tensor, width, middle=0.0):        # the same numbers for every width
        tensor.copy_(torch.from_numpy((middle + width * random.standard_normal(tensor.shape)).astype(np.float32)))

    with torch.no_grad():
        for name, tensor in sorted(model.state_dict(keep_vars=True).items()):
            if "embed_positions" in name:
                if model.config.model_type == "mbart":
                    draw(tensor, 0.6)
                else:                                               # stored ones differ from computed ones
                    tensor.copy_(model.get_encoder().embed_positions.create_weight())
                    if spec.get("positions"):
                        draw(tensor, 0.3, tensor.numpy())
            elif name == "final_logits_bias":
                draw(tensor, 0.7 if spec.get("bias") else 0.0)
            elif "embed_tokens" in name or "shared" in name or "lm_head" in name:
                draw(tensor, 1.0 / math.sqrt(spec["d"]) if spec.get("scale", True) or "lm_head" in name else 0.7)
            elif "norm" in name:
                draw(tensor, 0.2, 1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                draw(tensor, 0.2)
            else:
                draw(tensor, 1.0 / math.sqrt(tensor.shape[1]))


def learn(model, spec, tokenizer, language):
    """Some steps on the sentences of this file, so that outputs follow the source and come to an end."""
    beginning = lambda text: " ".join(text.split()[:3])             # so that it learns to stop early too
    pairs = [(source, target) for source, target in zip(ENGLISH, GERMAN)]
    pairs += [(beginning(source), beginning(target)) for source, target in pairs]
    if spec.get("tags"):
        pairs = [(">>de<< " + s, t) for s, t in pairs] + [(">>fr<< " + s, t) for s, t in zip(ENGLISH, FRENCH)]
    pad = tokenizer.pad_token_id if spec.get("family") else model.config.pad_token_id
    sources = [encode(tokenizer, source)[0][:POSITIONS] for source, _ in pairs]
    # mBART's tokenizer begins with the language; the others give plain pieces and the end
    targets = [torch.tensor(tokenizer(text_target=target).input_ids[:POSITIONS]) for _, target in pairs]
    together = lambda rows, empty: torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=empty)
    inputs, labels = together(sources, pad), together(targets, -100)
    # 0 is the end in Marian vocabularies, so lengths, not ids, say what is padding
    mask = together([torch.ones_like(source) for source in sources], 0)
    model.train(False)
    still = {id(p) for n, p in model.named_parameters() if "embed_positions" in n and spec.get("family") != "mbart"}
    optimiser = torch.optim.Adam([p for p in model.parameters() if id(p) not in still], lr=4e-3, betas=(0.9, 0.98))
    for step in range(700):
        logits = model(input_ids=inputs, attention_mask=mask, labels=None, decoder_input_ids=model.
                       prepare_decoder_input_ids_from_labels(labels) if not language else shifted(labels, pad)).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.05)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss.item() < 0.7:
            break


def shifted(labels, pad):
    """mBART-50 decodes from </s>: </s> de_DE Y -> de_DE Y </s>."""
    rows = labels.masked_fill(labels == -100, pad)
    return torch.cat([torch.full_like(rows[:, :1], 2), rows[:, :-1]], 1)


def finish(model, spec):
    """What the file will hold: a zero row for padding, as converters write it, and halves when asked."""
    with torch.no_grad():
        if not spec.get("pad_row"):
            for table in (model.get_encoder().embed_tokens, model.get_decoder().embed_tokens):
                table.weight[model.config.pad_token_id] = 0
        if spec.get("half"):
            computed = spec.get("family") != "mbart" and not spec.get("positions")
            for name, tensor in model.state_dict(keep_vars=True).items():
                if not (computed and "embed_positions" in name):    # those are in no file
                    tensor.copy_(tensor.half().float())
    return model.eval()


# ---- saving ----

def save_model(model, spec, folder):
    kind = torch.float16 if spec.get("half") else torch.float32
    model.config.dtype = kind
    saved = {name: tensor.detach().clone().to(kind) for name, tensor in model.state_dict().items()}
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    if not spec.get("positions") and model.config.model_type == "marian":
        saved = {name: tensor for name, tensor in saved.items() if "embed_positions" not in name}
    form = spec.get("file", "safetensors")
    if form != "safetensors":
        tie = {}                                                    # older files name a shared tensor often
        for name, tensor in model.state_dict().items():
            if name in saved:
                saved[name] = tie.setdefault(tensor.data_ptr(), saved[name])
        torch.save(saved, folder + "/pytorch_model.bin", _use_new_zipfile_serialization=form == "zip")
        return
    seen = set()
    for name, tensor in model.state_dict().items():                 # newer files name it once
        if name in saved and tensor.data_ptr() in seen:
            del saved[name]
        seen.add(tensor.data_ptr())
    save_file(saved, folder + "/model.safetensors", metadata={"format": "pt"})


def check_saved(model, folder, ids):
    """The folder as transformers reads it is the model in memory."""
    again = type(model).from_pretrained(folder, dtype=torch.float32).eval()
    for name, tensor in model.state_dict().items():
        if not torch.equal(tensor, again.state_dict()[name]):
            raise SystemExit("%s: %s is read back differently" % (folder, name))
    start = torch.tensor([[model.config.decoder_start_token_id]])
    with torch.no_grad():
        pair = [m(input_ids=ids, decoder_input_ids=start).logits for m in (model, again)]
    distance = (pair[0] - pair[1]).abs().max().item()
    if distance > 1e-4:                                             # alignment changes the rounding
        raise SystemExit("%s: read back, its logits differ by %g" % (folder, distance))


# ---- what the model makes of the sentences ----

def encode(tokenizer, text):
    return tokenizer(text, return_tensors="pt").input_ids


def shortened(tokenizer, text):
    while encode(tokenizer, text).shape[1] > LONGEST_SOURCE:
        text = text.rsplit(" ", 1)[0]
    return text


def log_probs(model, source, output, start):
    """Of each output token under the model as it is: nothing forced or penalised. Tokens that are never
    output count for nothing where the checkpoint says so (renormalize_logits)."""
    inputs = torch.tensor([[start] + output[:-1]])
    with torch.no_grad():
        logits = model(input_ids=source, decoder_input_ids=inputs).logits[0]
    if model.generation_config.renormalize_logits:
        logits[:, model.config.pad_token_id] = -math.inf
    return torch.log_softmax(logits, -1)[torch.arange(len(output)), torch.tensor(output)].tolist()


def generate(model, source, options, language, prefix):
    size = options.get("size", 1)
    keys = dict(num_beams=size, do_sample=False, max_new_tokens=options.get("max_tokens", NEW_TOKENS),
                length_penalty=options.get("length_penalty", 1.0),
                no_repeat_ngram_size=options.get("no_repeat_ngram", 0),
                repetition_penalty=options.get("repetition_penalty", 1.0),
                early_stopping=bool(options.get("early_stopping", 0)) if size > 1 else False,
                num_return_sequences=options.get("n_best", 1), return_dict_in_generate=True, output_scores=True)
    start = model.config.decoder_start_token_id
    if options.get("prefix"):
        forced = ([language] if language is not None else []) + prefix
        keys["decoder_input_ids"] = torch.tensor([[start] + forced])
    elif language is not None:
        keys["forced_bos_token_id"] = language
    with torch.no_grad():
        out = model.generate(input_ids=source, attention_mask=torch.ones_like(source), **keys)
    found = []
    for rank, row in enumerate(out.sequences.tolist()):
        ids = row[1:]
        eos = model.config.eos_token_id
        # past the end there is padding
        while len(ids) > 1 and ids[-1] == model.config.pad_token_id:
            ids.pop()
        score = out.sequences_scores[rank].item() if size > 1 else None
        found.append({"ids": ids, "score": score, "ended": ids[-1] == eos})
    return found


def plain_text(tokenizer, ids):
    """The text of an output, or None where it holds a token that is no text."""
    special = set(tokenizer.all_special_ids)
    body = [i for i in ids if i not in special]
    allowed = {tokenizer.eos_token_id} | (set(ids[:1]) if isinstance(tokenizer, MBart50Tokenizer) else set())
    names = tokenizer.convert_ids_to_tokens(body)
    if any(i in special and i not in allowed for i in ids) or any(name.startswith(">>") for name in names):
        return None
    # U+2581 may stand alone; how decoders treat several spaces in a row is no matter of translation
    text = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text.strip()


def worth_testing(model, sources, language):
    outputs = []
    for source in sources:
        found = generate(model, source, {}, language, None)[0]
        outputs.append(found)
    distinct = {tuple(found["ids"]) for found in outputs}
    ended = sum(len(found["ids"]) < NEW_TOKENS for found in outputs)
    lengths = [len(found["ids"]) for found in outputs]
    variety = np.mean([len(set(found["ids"])) / len(found["ids"]) for found in outputs])
    return len(distinct) >= len(outputs) - 2 and ended >= len(outputs) // 2 and np.mean(lengths) > 5 and variety > 0.4


def decode_all(model, wide, tokenizer, sentences, prefixes, language):
    """Every case for every sentence; None when float64 would decode otherwise."""
    start = model.config.decoder_start_token_id
    cases = []
    for name, options in CASES:
        outputs = []
        for i, text in enumerate(sentences):
            source, prefix = encode(tokenizer, text), prefixes[i][1]
            found = generate(model, source, options, language, prefix)
            other = generate(wide, source, options, language, prefix)
            if [one["ids"] for one in found] != [one["ids"] for one in other]:
                return None
            for one in found:
                each = log_probs(model, source, one["ids"], start)
                one["log_probs"] = [round(value, 5) for value in each]
                one["text"] = plain_text(tokenizer, one["ids"])
            outputs.append(found)
        cases.append({"name": name, **dict(options, max_tokens=options.get("max_tokens", NEW_TOKENS)),
                      "outputs": outputs})
    return cases


def tensors_of(model, tokenizer, sentences, targets):
    """Encoder states and teacher-forced logits; shapes (S, D) and (T, V)."""
    kept = {}
    start = model.config.decoder_start_token_id
    for i, text in enumerate(sentences):
        source = encode(tokenizer, text)
        with torch.no_grad():
            states = model.get_encoder()(input_ids=source).last_hidden_state[0]
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([[start] + targets[i]])).logits[0]
        kept["encoder.%d" % i] = states.contiguous()
        kept["logits.%d" % i] = logits.contiguous()
    return kept


def short_prefix(tokenizer, text):
    """The beginning of a text and its ids, short enough to leave room for NEW_TOKENS."""
    pieces = lambda: tokenizer(text_target=text, add_special_tokens=False).input_ids
    while len(pieces()) > POSITIONS - NEW_TOKENS - 2:
        text = text[:-1].strip()
    return text, pieces()


def attempt(model, spec, tokenizer, seed, language):
    fill(model, spec, seed)
    learn(model, spec, tokenizer, language)
    finish(model, spec)
    sentences = [shortened(tokenizer, text) for text in SENTENCES]
    if spec.get("family") == "mbart":
        # transformers 5 makes a token of a space at the end, where SentencePiece drops it; so none here
        sentences = [text.strip() for text in sentences]
    if spec.get("tags"):
        tags = [">>de<< ", ">>fr<< ", ">>fr<<", ">>xx<< "]          # the last is in no vocabulary
        sentences = [tags[i % len(tags)] + text.strip() for i, text in enumerate(sentences)]
    sources = [encode(tokenizer, text) for text in sentences]
    if not worth_testing(model, sources, language):
        return None
    prefixes = []
    for i in range(len(sentences)):
        prefixes.append(short_prefix(tokenizer, " ".join(GERMAN[i].split()[:PREFIX_WORDS])))
    wide = copy.deepcopy(model).double()
    cases = decode_all(model, wide, tokenizer, sentences, prefixes, language)
    if cases is None:
        return None
    targets = [(([language] if language is not None else []) +
                tokenizer(text_target=GERMAN[-1 - i], add_special_tokens=False).input_ids)[:5 + i % 4]
               for i in range(len(sentences))]
    golden = {"family": model.config.model_type, "seed": seed, "sentences": sentences,
              "source_ids": [source[0].tolist() for source in sources],
              "start": model.config.decoder_start_token_id, "targets": targets,
              "prefix_texts": [text for text, _ in prefixes], "prefix_ids": [ids for _, ids in prefixes],
              "cases": cases}
    if language is not None:
        golden.update({"from": "en_XX", "to": "de_DE"})
    return golden, tensors_of(model, tokenizer, sentences, targets), sources[0]


def make(name, spec, out):
    folder = os.path.join(out, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    language = None
    if spec.get("family") == "mbart":
        tokenizer = mbart_vocabulary(folder, spec)
        model = mbart_model(spec, tokenizer)
        language = tokenizer.convert_tokens_to_ids("de_DE")
    else:
        vocab, target_vocab = marian_vocabulary(folder, spec)
        tokenizer = MarianTokenizer.from_pretrained(folder)
        model = marian_model(spec, vocab, target_vocab)
    for seed in range(1, 40):
        made = attempt(model, spec, tokenizer, seed, language)
        if made:
            break
    else:
        raise SystemExit("%s: no seed gives a model worth testing" % name)
    golden, tensors, ids = made
    save_model(model, spec, folder)
    check_saved(model, folder, ids)
    with open(folder + "/golden.json", "w", encoding="utf-8") as file:
        json.dump(golden, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    save_file(tensors, folder + "/golden.safetensors")
    for one in os.listdir(folder):
        os.chmod(os.path.join(folder, one), 0o644)
    size = sum(os.path.getsize(os.path.join(folder, one)) for one in os.listdir(folder))
    lengths = [len(found[0]["ids"]) for found in golden["cases"][0]["outputs"]]
    print("%-22s seed %3d, %4d kB, greedy lengths %s" % (name, golden["seed"], size // 1024, lengths), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="tests/data/models")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, spec in FIXTURES.items():
        if not options.names or name in options.names:
            make(name, spec, options.out)


if __name__ == "__main__":
    main()
