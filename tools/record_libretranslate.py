"""Records what LibreTranslate 1.9.6 answers, as test data: tests/data/serve/libretranslate.json.

usage: record_libretranslate.py [--output FILE]             records every request of libretranslate_cases.py
       record_libretranslate.py serve --port N ...          LibreTranslate itself, as tests/serve/replay.py starts it
needs: libretranslate==1.9.6 argos-translate-lt==1.12.1 argos-translate-files==1.4.4 minisbd==0.9.5 (pip install --no-deps),
       and flask==2.2.5 werkzeug==2.3.8 waitress==2.1.2 flask-babel==3.1.0 flask-limiter==2.6.3 flask-swagger==0.2.14
       flask-swagger-ui==4.11.1 apscheduler==3.11.2 expiringdict==1.2.2 langdetect==1.0.9 lexilang==1.0.7 polib==1.1.1
       prometheus-client==0.15.0 redis==4.4.4 requests==2.31.0 itsdangerous==2.1.2 packaging==23.1 beautifulsoup4 setuptools

The program is the real one from its command line down: argparse, waitress, Flask, its limits, keys, languages and pivots. Only
what would need a model is put in its place: libraries that compute are empty modules, and a package translates "text" into
"[de] text". Its languages are those of tests/serve/http_case.py.

Nothing of the program's own text is kept but its short answers: of /spec the title and the paths, of pages the status and type.
"""
import argparse
import json
import os
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import http_case                                        # noqa: E402
import libretranslate_cases                             # noqa: E402

OUTPUT = os.path.join(ROOT, "tests", "data", "serve", "libretranslate.json")
ABSENT = ("ctranslate2", "sentencepiece", "onnxruntime", "numpy", "pymupdf", "pysrt", "minisbd")


# ---- LibreTranslate with nothing to compute with ----

def put_stubs():
    """Libraries that compute, as modules in which every name is a class that does nothing."""
    for name in ABSENT:
        module = types.ModuleType(name)
        module.__getattr__ = lambda member: type(member, (), {})
        sys.modules[name] = module


def install_packages(folder):
    """What Argos Translate takes for installed packages: a folder with metadata each."""
    for source, target in http_case.PAIRS:
        path = os.path.join(folder, "%s_%s" % (source, target))
        os.makedirs(path)
        open(os.path.join(path, "sentencepiece.model"), "w").close()
        with open(os.path.join(path, "metadata.json"), "w", encoding="utf-8") as file:
            json.dump({"package_version": "1.0", "from_code": source, "from_name": http_case.NAMES[source],
                       "to_code": target, "to_name": http_case.NAMES[target]}, file)


def stub_translator():
    from argostranslate import translate

    def begin(self, from_lang, to_lang, package):
        self.from_lang, self.to_lang, self.pkg = from_lang, to_lang, package

    def hypotheses(self, text, num_hypotheses=4):
        marks = [self.to_lang.code] + ["%s %d" % (self.to_lang.code, i) for i in range(1, num_hypotheses)]
        return [translate.Hypothesis("[%s] %s" % (mark, text), -i) for i, mark in enumerate(marks)]

    translate.PackageTranslation.__init__ = begin
    translate.PackageTranslation.hypotheses = hypotheses


def serve(arguments):
    """libretranslate.main.main() with the options it knows; --models is Pronk's"""
    at = arguments.index("--models")
    del arguments[at:at + 2]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, ARGOS_PACKAGES_DIR=os.path.join(home, "packages"))
        only = arguments[arguments.index("--load-only") + 1].split(",") if "--load-only" in arguments else None
        if only:                                        # it downloads these alone; here that means installing them alone
            http_case.PAIRS[:] = [pair for pair in http_case.PAIRS if set(pair) <= set(only)]
        install_packages(os.environ["ARGOS_PACKAGES_DIR"])
        os.makedirs(os.path.join(home, "db"))
        os.chdir(home)
        put_stubs()
        stub_translator()
        from libretranslate.main import main
        sys.argv = ["libretranslate", *arguments]
        main()


# ---- recording ----

def trimmed(case, answer):
    """Of the specification, which is the program's own text, only what clients look at."""
    if case == "spec":
        paths = {path: sorted(methods) for path, methods in answer["json"]["paths"].items()}
        answer["json"] = {"info": {"title": answer["json"]["info"]["title"]}, "paths": dict(sorted(paths.items()))}
    return answer


def record_group(name, options, keys, cases, folder):
    command = [sys.executable, os.path.abspath(__file__), "serve"]
    found = []
    with http_case.Server(command, options, keys, folder) as server:
        for case, request in cases:
            answer = http_case.send(server.port, request)
            found.append({"name": case, "request": request, "response": trimmed(case, answer)})
    return {"name": name, "options": options, "keys": keys, "cases": found}


def write(groups, path):
    """One case a line, so that a change of the recording can be read."""
    about = "Answers of LibreTranslate 1.9.6 (PyPI, AGPL-3.0) with a stubbed translator to requests of ours: test data, made " \
            "by tools/record_libretranslate.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"about": %s,\n "groups": [' % json.dumps(about))
        for i, group in enumerate(groups):
            head = {key: group[key] for key in ("name", "options", "keys")}
            file.write((",\n" if i else "\n") + json.dumps(head, ensure_ascii=False)[:-1] + ', "cases": [\n')
            file.write(",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in group["cases"]) + "]}")
        file.write("]}\n")


def main():
    if sys.argv[1:2] == ["serve"]:
        return serve(sys.argv[2:])
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--output", default=OUTPUT)
    options = parser.parse_args()
    names = [case for group in libretranslate_cases.GROUPS for case, _ in group[3]]
    assert len(names) == len(set(names)), "a name is given twice"
    with tempfile.TemporaryDirectory() as folder:
        groups = [record_group(*group, folder) for group in libretranslate_cases.GROUPS]
    write(groups, options.output)
    print("%d requests in %d groups: %s" % (len(names), len(groups), options.output))


if __name__ == "__main__":
    main()
