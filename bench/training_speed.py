"""Training speed and quality at equal time, beside PyTorch: a transformer-base on the same text, one after the other.

usage: training_speed.py --text STEM --spm FILE [--peer train_pytorch.py --npz FOLDER] [--seconds 60] [--tokens 12288]
                         [--encoder 6] [--decoder 6] [--device cuda] [--pronk build/pronk] [--work build/bench/speed]
needs: a GPU; for the peer: torch, numpy, and the text encoded as that script wants it

STEM.en and STEM.de are parallel text. Both get the same pairs, d=512, F=2048, 8 heads, swish, dropout 0.1, label
smoothing 0.1, Adam (0.9, 0.98), batches of --tokens a side (the peer pads to buckets; Pronk has no padding), bf16
with fp32 master weights. Prints source and target tokens a second, end symbols counted in, padding not.
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run_pronk(o):
    out = os.path.join(o.work, "out")
    subprocess.run(["rm", "-rf", out], check=True)
    os.makedirs(o.work, exist_ok=True)
    settings = {"output": out, "device": o.device, "vocab": o.spm, "data.source": o.text + ".en",
                "data.target": o.text + ".de", "data.max_length": 95, "data.max_ratio": 1000,
                "data.drop_duplicates": "no", "data.batch_tokens": o.tokens, "data.cache": o.work + "/cache",
                "model.encoder_layers": o.encoder, "model.decoder_layers": o.decoder, "model.act": "swish",
                "train.minutes": o.seconds / 60, "train.updates": 0, "train.cooldown": 0.25, "log.every": 100,
                "save.every": 0, "save.type": "f16"}
    recipe = os.path.join(o.work, "recipe.yml")
    with open(recipe, "w") as file:
        file.write("".join("%s: %s\n" % item for item in settings.items()))
    subprocess.run([o.pronk, "train", recipe], check=True)
    with open(out + "/log.jsonl") as log:
        rows = [json.loads(line) for line in log]
    rows = [row for row in rows if "tokens_per_second" in row]
    half = rows[len(rows) // 2:]
    return sum(row["tokens_per_second"] for row in half) / len(half), rows


def run_peer(o):
    env = dict(os.environ, TOK=str(o.tokens), NE=str(o.encoder), ND=str(o.decoder), PYTHONUNBUFFERED="1")
    text = subprocess.run([sys.executable, o.peer, o.npz, os.path.join(o.work, "peer"), str(o.seconds)], env=env,
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    print(text)
    found = re.findall(r"step (\d+) .* ls-loss ([\d.]+) .* ([\d.]+) M tok/s", text)
    return float(found[-1][2]) * 1e6, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", required=True)
    parser.add_argument("--spm", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--npz")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--tokens", type=int, default=12288)
    parser.add_argument("--encoder", type=int, default=6)
    parser.add_argument("--decoder", type=int, default=6)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pronk", default=os.path.join(ROOT, "build", "pronk"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build", "bench", "speed"))
    o = parser.parse_args()
    o.text, o.spm, o.work = (os.path.abspath(path) for path in (o.text, o.spm, o.work))
    ours, rows = run_pronk(o)
    print("Pronk: %.3f million tokens/s, %d updates, loss %.3f" % (ours / 1e6, rows[-1]["update"], rows[-1]["loss"]))
    if o.peer:
        theirs, found = run_peer(o)
        print("PyTorch: %.3f million tokens/s, %s updates, loss %s" % (theirs / 1e6, found[-1][0], found[-1][1]))
        print("ratio: %.2f" % (ours / theirs))


if __name__ == "__main__":
    main()
