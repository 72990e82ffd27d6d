"""Networks with random weights, for speed where no trained model is there; and sentences whose outputs are made as long as their
references, since such a network does not know when to stop."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def random_model(pronk, recipe, folder, source, target, **settings):
    """Trains a model of the recipe's shape for an update that changes nothing; the pieces of the target text in all."""
    settings = {"output": folder, "data.source": source, "data.target": target, "valid.source": source, "valid.target": target,
                "data.batch_tokens": 2048, "data.max_length": 400, "data.max_ratio": 100, "data.drop_duplicates": "false",
                "train.rate": 0, "train.updates": 1, "train.cooldown": 0, "valid.every": 0, "valid.bleu": "false", **settings}
    shutil.rmtree(folder, ignore_errors=True)
    command = [pronk, "train", os.path.join(ROOT, "recipes", recipe)]
    command += [word for key, value in settings.items() for word in ("--set", "%s=%s" % (key, value))]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(command), done.stderr.strip()))
    return int(re.search(r"(\d+) target tokens", done.stderr)[1])


def by_length(source, target, pieces, bucket):
    """Sources in groups by the pieces of their references, rounded to a multiple of `bucket`. There are so many pieces in
    all; a reference has its share of them by its letters."""
    share, groups = pieces / sum(map(len, target)), {}
    for line, reference in zip(source, target):
        n = max(bucket, round((len(reference) * share + 1) / bucket) * bucket)
        groups.setdefault(n, []).append(line)
    return groups


def forced(spec, n):
    """A decoding strategy whose outputs have n tokens; lattices and nat know lengths by themselves."""
    if spec.split(":")[0] in ("lattice", "nat"):
        return spec
    return "%s%smin_length=%d,max_length=%d" % (spec, "," if ":" in spec else ":", n, n)
