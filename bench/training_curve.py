"""The same weights, the same sentences, the same settings: does training go the same way as in PyTorch?

usage: training_curve.py [--pronk build/pronk] [--shared ../shared] [--device cpu|cuda] [--updates 200] [--rate 2e-4]
                         [--sentences 64] [--dtype f32|bf16] [--work build/bench/curve]
needs: torch, numpy, safetensors, sentencepiece; a SentencePiece model and parallel text from --shared

Makes a MarianMT folder with random weights, lets `pronk train` and a plain PyTorch loop learn the same
sentences from it (one batch, all of them at each update, so that the order of batches cannot differ;
dropout off, label smoothing 0.1, Adam 0.9 0.98, clipping at 1, warm-up then inverse square root), and
prints the two loss curves. Fails when any of the losses in the log are more than 1 % apart.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

import numpy
import sentencepiece
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WARMUP, SMOOTHING, LOG = 50, 0.1, 10


# ---- the model, as Hugging Face names its weights ----

def shapes_of(o, vocab):
    shapes = {"model.shared.weight": (vocab, o.dim)}
    for side, layers in (("encoder", o.layers), ("decoder", o.layers)):
        for i in range(layers):
            head = "model.%s.layers.%d." % (side, i)
            for block in ["self_attn"] + ["encoder_attn"] * (side == "decoder"):
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes[head + block + "." + part + ".weight"] = (o.dim, o.dim)
                    shapes[head + block + "." + part + ".bias"] = (o.dim,)
                for part in ("weight", "bias"):
                    shapes[head + block + "_layer_norm." + part] = (o.dim,)
            shapes.update({head + "fc1.weight": (4 * o.dim, o.dim), head + "fc1.bias": (4 * o.dim,),
                           head + "fc2.weight": (o.dim, 4 * o.dim), head + "fc2.bias": (o.dim,),
                           head + "final_layer_norm.weight": (o.dim,), head + "final_layer_norm.bias": (o.dim,)})
    return shapes


def first_weights(o, vocab):
    torch.manual_seed(1)
    made = {}
    for name, shape in shapes_of(o, vocab).items():
        w = torch.zeros(shape)
        if "shared" in name:
            w.normal_(0, o.dim ** -0.5)
            w[vocab - 1] = 0
        elif "layer_norm.weight" in name:
            w.fill_(1)
        elif w.dim() == 2:
            torch.nn.init.xavier_uniform_(w)
        made[name] = w
    return made


def write_folder(o, weights, vocab):
    os.makedirs(o.work + "/model", exist_ok=True)
    pieces = sentencepiece.SentencePieceProcessor(model_file=o.spm)
    names = {pieces.id_to_piece(i): i for i in range(vocab - 1)}
    names["<pad>"] = vocab - 1
    eos, pad = names["</s>"], vocab - 1
    config = dict(architectures=["MarianMTModel"], model_type="marian", vocab_size=vocab, d_model=o.dim,
                  encoder_layers=o.layers, decoder_layers=o.layers, encoder_attention_heads=o.heads,
                  decoder_attention_heads=o.heads, encoder_ffn_dim=4 * o.dim, decoder_ffn_dim=4 * o.dim,
                  max_position_embeddings=512, activation_function="swish", scale_embedding=True, pad_token_id=pad,
                  eos_token_id=eos, bos_token_id=0, forced_eos_token_id=eos, decoder_start_token_id=pad,
                  share_encoder_decoder_embeddings=True, static_position_embeddings=True, is_encoder_decoder=True,
                  decoder_vocab_size=vocab, tie_word_embeddings=True, bad_words_ids=[[pad]])
    for name, value in (("config.json", config), ("vocab.json", names),
                        ("generation_config.json", dict(bad_words_ids=[[pad]], decoder_start_token_id=pad,
                                                        eos_token_id=eos, pad_token_id=pad, max_length=512)),
                        ("tokenizer_config.json", dict(source_lang="en", target_lang="de"))):
        with open(o.work + "/model/" + name, "w", encoding="utf-8") as file:
            json.dump(value, file)
    for side in ("source", "target"):
        with open(o.spm, "rb") as spm, open("%s/model/%s.spm" % (o.work, side), "wb") as out:
            out.write(spm.read())
    stored = dict(weights, final_logits_bias=torch.zeros(1, vocab))
    save_file(stored, o.work + "/model/model.safetensors", metadata={"format": "pt"})
    return eos, pad


# ---- the data: one batch ----

def choose_sentences(o, pieces):
    pairs = []
    stem = os.path.join(o.shared, "corpora", "en-de", "parliament.dev")
    with open(stem + ".en", encoding="utf-8") as en, open(stem + ".de", encoding="utf-8") as de:
        for a, b in zip(en, de):
            ids = pieces.encode(a.strip()), pieces.encode(b.strip())
            if all(0 < len(x) < 60 for x in ids) and len(pairs) < o.sentences:
                pairs.append((a.strip(), b.strip(), *ids))
    for side, at in (("en", 0), ("de", 1)):
        with open("%s/text.%s" % (o.work, side), "w", encoding="utf-8") as out:
            out.write("".join(pair[at] + "\n" for pair in pairs))
    return [pair[2:] for pair in pairs]


def padded(lists, pad, device):
    width = max(map(len, lists))
    return torch.tensor([x + [pad] * (width - len(x)) for x in lists], device=device)


# ---- PyTorch ----

class Loop:
    def __init__(self, o, weights, pairs, eos, pad):
        self.o, self.pad = o, pad
        self.device = "cuda" if o.device.startswith("cuda") else "cpu"
        self.type = torch.bfloat16 if o.dtype == "bf16" else torch.float32
        self.master = {k: v.clone().to(self.device) for k, v in weights.items()}
        self.moments = {k: (torch.zeros_like(v), torch.zeros_like(v)) for k, v in self.master.items()}
        self.source = padded([a + [eos] for a, _ in pairs], pad, self.device)
        self.target = padded([b + [eos] for _, b in pairs], pad, self.device)
        self.tokens = int((self.target != pad).sum())
        angle = numpy.arange(512)[:, None] / 10000 ** (2 * (numpy.arange(o.dim)[None] // 2) / o.dim)
        table = numpy.concatenate([numpy.sin(angle[:, 0::2]), numpy.cos(angle[:, 1::2])], 1)
        self.positions = torch.tensor(table, dtype=self.type, device=self.device)

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, (self.o.dim,), self.w[name + ".weight"], self.w[name + ".bias"])

    def attend(self, x, y, name, mask):
        split = [t.view(*t.shape[:2], self.o.heads, -1).transpose(1, 2) for t in
                 (self.linear(x, name + ".q_proj"), self.linear(y, name + ".k_proj"), self.linear(y, name + ".v_proj"))]
        out = F.scaled_dot_product_attention(*split, attn_mask=mask).transpose(1, 2).reshape(x.shape)
        return self.norm(x + self.linear(out, name + ".out_proj"), name + "_layer_norm")

    def feed(self, x, head):
        return self.norm(x + self.linear(F.silu(self.linear(x, head + "fc1")), head + "fc2"), head + "final_layer_norm")

    def loss(self):
        embed = lambda ids: F.embedding(ids, self.w["model.shared.weight"]) * (ids != self.pad)[..., None] * \
            math.sqrt(self.o.dim) + self.positions[:ids.shape[1]]       # a sentence begins with a row of zeros
        inputs = torch.cat([torch.full_like(self.target[:, :1], self.pad), self.target[:, :-1]], 1)
        seen = (self.source != self.pad)[:, None, None, :]
        causal = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool, device=self.device).tril()
        x, y = embed(self.source), embed(inputs)
        for i in range(self.o.layers):
            head = "model.encoder.layers.%d." % i
            x = self.feed(self.attend(x, x, head + "self_attn", seen), head)
        for i in range(self.o.layers):
            head = "model.decoder.layers.%d." % i
            y = self.attend(y, y, head + "self_attn", causal)
            y = self.feed(self.attend(y, x, head + "encoder_attn", seen), head)
        logits = F.linear(y, self.w["model.shared.weight"])[..., :self.pad].float()     # the padding is no class
        return F.cross_entropy(logits.reshape(-1, self.pad), self.target.reshape(-1), ignore_index=self.pad,
                               label_smoothing=SMOOTHING)

    def update(self, step):
        self.w = {k: v.detach().to(self.type, copy=True).requires_grad_(True) for k, v in self.master.items()}
        loss = self.loss()
        loss.backward()
        grads = {k: v.grad.float() for k, v in self.w.items()}
        norm = math.sqrt(sum(float((g * g).sum()) for g in grads.values()))
        rate = self.o.rate * min(step / WARMUP, math.sqrt(WARMUP / step))
        with torch.no_grad():
            for name, g in grads.items():
                m, v = self.moments[name]
                g = g * min(1.0, 1.0 / norm)
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.98).addcmul_(g, g, value=0.02)
                self.master[name] -= rate * (m / (1 - 0.9 ** step)) / ((v / (1 - 0.98 ** step)).sqrt() + 1e-8)
        return float(loss.detach())


def torch_curve(o, weights, pairs, eos, pad):
    loop, losses, begun = Loop(o, weights, pairs, eos, pad), [], time.time()
    for step in range(1, o.updates + 1):
        losses.append(loop.update(step))
    return losses, time.time() - begun


# ---- Pronk ----

def pronk_curve(o):
    settings = {"init": o.work + "/model", "output": o.work + "/out", "device": o.device, "type": o.dtype,
                "data.source": o.work + "/text.en", "data.target": o.work + "/text.de", "data.drop_duplicates": "no",
                "data.max_ratio": 1000, "data.batch_tokens": 1 << 20, "train.updates": o.updates, "train.rate": o.rate,
                "train.warmup": WARMUP, "train.dropout": 0, "train.label_smoothing": SMOOTHING, "train.clip": 1,
                "log.every": 1, "save.every": 0}
    with open(o.work + "/recipe.yml", "w") as out:
        out.write("".join("%s: %s\n" % item for item in settings.items()))
    subprocess.run(["rm", "-rf", o.work + "/out"], check=True)
    subprocess.run([o.pronk, "train", "-q", o.work + "/recipe.yml"], check=True)
    with open(o.work + "/out/log.jsonl") as log:
        rows = [json.loads(line) for line in log]
    return [row["loss"] for row in rows if "loss" in row][:o.updates]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--shared", default=os.environ.get("PRONK_SHARED", os.path.join(ROOT, "..", "shared")))
    parser.add_argument("--spm", help="SentencePiece model; default: that of the model in --shared")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--rate", type=float, default=2e-4, help="high ones learn by heart within a few updates")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "bench", "curve"))
    o = parser.parse_args()
    o.spm = o.spm or os.path.join(o.shared, "models", "en-de-base-hf", "source.spm")
    os.makedirs(o.work, exist_ok=True)
    pieces = sentencepiece.SentencePieceProcessor(model_file=o.spm)
    vocab = pieces.get_piece_size() + 1
    weights = first_weights(o, vocab)
    eos, pad = write_folder(o, weights, vocab)
    pairs = choose_sentences(o, pieces)
    ours = pronk_curve(o)
    theirs, _ = torch_curve(o, weights, pairs, eos, pad)
    apart = [abs(a - b) / b for a, b in zip(ours, theirs)]
    print("| update | Pronk | PyTorch | apart |\n|--:|--:|--:|--:|")
    for i in [0] + list(range(LOG - 1, o.updates, max(LOG, o.updates // 20))):
        print("| %d | %.4f | %.4f | %.3f %% |" % (i + 1, ours[i], theirs[i], 100 * apart[i]))
    print("\n%d updates, %d sentences, %s on %s: at most %.3f %% apart" % (len(ours), len(pairs), o.dtype, o.device,
                                                                    100 * max(apart)))
    sys.exit(len(ours) != o.updates or max(apart) > 0.01)


if __name__ == "__main__":
    main()
