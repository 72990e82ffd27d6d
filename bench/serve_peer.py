"""What serve_load.py measures `pronk serve` against: CTranslate2 as LibreTranslate calls it, and LibreTranslate itself.

usage: serve_peer.py loop --model DIR --pieces FILE --input FILE            prints {"seconds": ...}
       serve_peer.py libretranslate --model DIR --pieces FILE --port N      serves on 127.0.0.1
DIR is a CTranslate2 folder (bench/compare_ct2.py makes one in build/bench), FILE of --pieces its SentencePiece model.
needs: ctranslate2, sentencepiece; for LibreTranslate what tools/record_libretranslate.py needs

Both use Argos Translate's settings: one translator, as many threads as CTranslate2 likes, a beam of 4, length penalty 0.2. A
paragraph is one sentence: LibreTranslate's own splitter wants a download, and the lines of a test set are sentences.
"""
import argparse
import json
import os
import sys
import tempfile
import time
import types


def loop(options):
    """One string after the other, as argostranslate.translate.apply_packaged_translation has them computed"""
    import ctranslate2
    import sentencepiece
    translator = ctranslate2.Translator(options.model, device="cpu", inter_threads=1, intra_threads=0)
    pieces = sentencepiece.SentencePieceProcessor(model_file=options.pieces)
    with open(options.input, encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]

    def translate(line):
        found = translator.translate_batch([pieces.encode(line, out_type=str) + ["</s>"]], replace_unknowns=True, max_batch_size=32,
                                           batch_type="tokens", beam_size=4, num_hypotheses=1, length_penalty=0.2,
                                           return_scores=True)
        return pieces.decode_pieces(found[0].hypotheses[0])

    for line in lines[:10]:
        translate(line)
    begin = time.perf_counter()
    for line in lines:
        translate(line)
    print(json.dumps({"seconds": time.perf_counter() - begin}))


def link_model(model, folder):
    """The same folder, but CTranslate2 adds the end symbol: Argos Translate's tokens are without it."""
    os.makedirs(folder)
    for name in os.listdir(model):
        os.symlink(os.path.abspath(os.path.join(model, name)), os.path.join(folder, name))
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        config = dict(json.load(file), add_source_eos=True)
    os.unlink(path)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


def install_packages(folder, options):
    """Two packages with the same weights: with fewer than two LibreTranslate asks the network for more."""
    for source, target, names in (("en", "de", ("English", "German")), ("de", "en", ("German", "English"))):
        path = os.path.join(folder, source + "_" + target)
        link_model(options.model, os.path.join(path, "model"))
        os.symlink(os.path.abspath(options.pieces), os.path.join(path, "sentencepiece.model"))
        with open(os.path.join(path, "metadata.json"), "w", encoding="utf-8") as file:
            json.dump({"package_version": "1.0", "from_code": source, "from_name": names[0], "to_code": target,
                       "to_name": names[1]}, file)


def put_splitter():
    for name in ("minisbd", "onnxruntime", "pymupdf", "pysrt"):
        module = types.ModuleType(name)
        module.__getattr__ = lambda member: type(member, (), {"list_models": staticmethod(lambda: ["en"])})
        sys.modules[name] = module
    from argostranslate import sbd
    sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]


def libretranslate(options):
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, ARGOS_PACKAGES_DIR=os.path.join(home, "packages"))
        install_packages(os.environ["ARGOS_PACKAGES_DIR"], options)
        os.makedirs(os.path.join(home, "db"))
        os.chdir(home)
        put_splitter()
        from libretranslate.main import main
        sys.argv = ["libretranslate", "--host", "127.0.0.1", "--port", str(options.port), "--disable-files-translation"]
        main()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("what", choices=("loop", "libretranslate"))
    for name in ("--model", "--pieces", "--input"):
        parser.add_argument(name)
    parser.add_argument("--port", type=int)
    chosen = parser.parse_args()
    globals()[chosen.what](chosen)
