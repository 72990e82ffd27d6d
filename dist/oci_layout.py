"""An OCI image of one layer as a tar: written from a folder, unpacked into one, asked over HTTP. Standard library only.

usage: oci_layout.py pack FOLDER FILE --user UID:GID --version TEXT
       oci_layout.py unpack FILE FOLDER         every digest is checked
       oci_layout.py ask PORT                   a translation from a server on this machine

The tar holds an image layout (oci-layout, index.json, blobs) and the manifest.json that older versions of `docker load` read.
The same folder gives the same bytes: files are sorted, times are SOURCE_DATE_EPOCH or 0, owners are numbers.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import tarfile
import urllib.request

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
TYPE = "application/vnd.oci.image."


def clean(entry):
    """What an entry of a tar may say of the machine that made it"""
    entry.mtime, entry.uname, entry.gname = EPOCH, "", ""
    return entry


def layer_of(folder):
    """All of a folder as the bytes of a tar"""
    paths = sorted(os.path.relpath(os.path.join(base, name), folder)
                   for base, folders, files in os.walk(folder) for name in folders + files)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in paths:
            tar.add(os.path.join(folder, path), path, recursive=False, filter=clean)
    return out.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def config_of(options, layer):
    return {"architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine], "os": "linux",
            "config": {"User": options.user, "Entrypoint": ["/usr/bin/pronk"], "Cmd": ["serve", "--host", "0.0.0.0"],
                       "ExposedPorts": {"5000/tcp": {}}, "Env": ["PATH=/usr/bin", "LANG=C.UTF-8"], "WorkingDir": "/data",
                       "StopSignal": "SIGTERM", "Labels": {"org.opencontainers.image.title": "pronk",
                                                           "org.opencontainers.image.version": options.version}},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
            "history": [{"created_by": "dist/make_image.sh"}]}


def pack(options):
    layer = layer_of(options.source)
    packed = gzip.compress(layer, 9, mtime=0)
    config = json.dumps(config_of(options, layer)).encode()
    blobs = {digest(data): data for data in (packed, config)}

    def points_to(data, media):
        return {"mediaType": TYPE + media, "digest": digest(data), "size": len(data)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json",
                           "config": points_to(config, "config.v1+json"), "layers": [points_to(packed, "layer.v1.tar+gzip")]}).encode()
    blobs[digest(manifest)] = manifest
    tag = {"org.opencontainers.image.ref.name": options.version, "io.containerd.image.name": "pronk:" + options.version}
    index = {"schemaVersion": 2, "manifests": [dict(points_to(manifest, "manifest.v1+json"), annotations=tag)]}
    named = {name.replace("sha256:", "blobs/sha256/"): data for name, data in blobs.items()}
    named["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    named["index.json"] = json.dumps(index).encode()
    named["manifest.json"] = json.dumps([{"Config": digest(config).replace("sha256:", "blobs/sha256/"), "RepoTags": [
        "pronk:" + options.version], "Layers": [digest(packed).replace("sha256:", "blobs/sha256/")]}]).encode()
    with tarfile.open(options.target, "w") as tar:
        for name, data in sorted(named.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), EPOCH
            tar.addfile(entry, io.BytesIO(data))


def unpack(options):
    with tarfile.open(options.source) as image:
        def blob(pointer):
            data = image.extractfile(pointer["digest"].replace(":", "/").join(("blobs/", ""))).read()
            if digest(data) != pointer["digest"] or len(data) != pointer["size"]:
                raise SystemExit("the image is damaged: " + pointer["digest"])
            return data
        index = json.load(image.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]))
        config = json.loads(blob(manifest["config"]))
        for pointer, plain in zip(manifest["layers"], config["rootfs"]["diff_ids"]):
            layer = gzip.decompress(blob(pointer))
            if digest(layer) != plain:
                raise SystemExit("the image is damaged: " + plain)
            with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
                tar.extractall(options.target, numeric_owner=True)


def ask(options):
    body = json.dumps({"q": "Good morning.", "source": "en", "target": "de"}).encode()
    request = urllib.request.Request("http://127.0.0.1:%s/translate" % options.source, body, {"Content-Type": "application/json"})
    print(json.load(urllib.request.urlopen(request, timeout=20))["translatedText"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("what", choices=("pack", "unpack", "ask"))
    parser.add_argument("source")
    parser.add_argument("target", nargs="?")
    parser.add_argument("--user", default="65532:65532")
    parser.add_argument("--version", default="latest")
    chosen = parser.parse_args()
    globals()[chosen.what](chosen)
