"""Sends the recorded requests to a server and compares its answers with LibreTranslate's.

usage: replay.py [--recording FILE] [--only GROUP] [--all-alike] COMMAND...
       replay.py build/pronk serve
       replay.py --all-alike python3 tools/record_libretranslate.py serve       LibreTranslate against its own recording

Status, keys, types and error strings must be equal; how text, confidences and detections are compared is said in one place
below. tests/data/serve/differences.json lists what differs on purpose: what is listed must differ, in the way that is
listed, and each reason stands in docs/serving.md word by word. --all-alike knows no differences.
"""
import argparse
import json
import os
import sys
import tempfile

import http_case

DATA = os.path.join(http_case.ROOT, "tests", "data", "serve")
DOCUMENT = os.path.join(http_case.ROOT, "docs", "serving.md")
SURE = 70.0         # confidence at which LibreTranslate's language is taken for the right one


# ---- what is compared by shape, not by value: all of it is here ----

def text(want, got, request):
    """Translations: as many lines; and the text itself where there was nothing to translate."""
    if not isinstance(got, str):
        return "is no text: %r" % (got,)
    if want.count("\n") != got.count("\n"):
        return "has %d line breaks, not %d" % (got.count("\n"), want.count("\n"))
    same = want in sent_texts(request)
    return "is %r, not unchanged" % got if same and got != want else None


def sent_texts(request):
    try:
        sent = json.loads(request["body"]).get("q")
    except (KeyError, ValueError, AttributeError):
        return []
    return sent if isinstance(sent, list) else [sent]


def alternatives(want, got, request):
    """Other translations: a model may have fewer than were asked for; lists of lists for arrays."""
    if not isinstance(got, list):
        return "is no list"
    if want and isinstance(want[0], list):
        if len(got) != len(want):
            return "has %d lists, not %d" % (len(got), len(want))
        return next(filter(None, (alternatives(a, b, request) for a, b in zip(want, got))), None)
    if len(got) > len(want):
        return "has %d texts, more than %d" % (len(got), len(want))
    return None if all(isinstance(one, str) for one in got) else "has something that is no text"


def detection(want, got, _):
    """A language and a percentage; the language is compared where LibreTranslate was sure, or sure of nothing."""
    if not isinstance(got, dict) or set(got) != set(want):
        return "has not the keys %s: %r" % (sorted(want), got)
    if isinstance(got["confidence"], bool) or not isinstance(got["confidence"], (int, float)) or not 0 <= got["confidence"] <= 100:
        return "has confidence %r" % got["confidence"]
    if want["confidence"] == 0 and got["confidence"] != 0:
        return "is sure of something: %s" % got
    sure = want["confidence"] >= SURE or want["confidence"] == 0
    return "is %r, not %r" % (got["language"], want["language"]) if sure and got["language"] != want["language"] else None


def detections(want, got, request):
    """/detect: at least one, best first; how many is the detector's business."""
    if not got:
        return "is an empty list"
    wrong = next(filter(None, (detection(want[0] if i == 0 else dict(want[0], confidence=1), one, request)
                               for i, one in enumerate(got))), None)
    if wrong or len(want) > 1:                          # of an array its order goes by lengths too
        return wrong
    found = [one["confidence"] for one in got]
    return None if found == sorted(found, reverse=True) else "has not the best first"


def languages(want, got, _):
    """/languages: codes, names and targets, in any order."""
    def by_code(all_):
        return sorted(({**one, "targets": sorted(one.get("targets", []))} for one in all_), key=lambda one: one.get("code", ""))
    return None if by_code(want) == by_code(got) else "is %s, not %s" % (got, want)


def specification(want, got, _):
    """/spec: Dialect looks at the title; the paths that LibreTranslate has are there with their methods."""
    if got.get("info", {}).get("title") != want["info"]["title"]:
        return "has another title"
    missing = [path for path, methods in want["paths"].items() if not set(methods) <= set(got.get("paths", {}).get(path, {}))]
    return "is without %s" % missing if missing else None


SHAPES = {"translatedText": text, "alternatives": alternatives, "detectedLanguage": detection}
WHOLE = {"/detect": detections, "/languages": languages, "/spec": specification}


# ---- comparing ----

def kind(value):
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def compare_json(want, got, request, where="body"):
    """What differs, in words, or None."""
    if kind(want) != kind(got):
        return "%s is a %s, not a %s: %r" % (where, kind(got), kind(want), got)
    if isinstance(want, dict):
        if set(want) != set(got):
            return "%s has keys %s, not %s" % (where, sorted(got), sorted(want))
        return next(filter(None, (compare_key(key, want[key], got[key], request) for key in want)), None)
    if isinstance(want, list):
        if len(want) != len(got):
            return "%s has %d items, not %d" % (where, len(got), len(want))
        return next(filter(None, (compare_json(a, b, request, where) for a, b in zip(want, got))), None)
    return None if want == got else "%s is %r, not %r" % (where, got, want)


def compare_key(key, want, got, request):
    shape = SHAPES.get(key)
    if shape is None:
        return compare_json(want, got, request, key)
    if kind(want) != kind(got):
        return "%s is a %s, not a %s" % (key, kind(got), kind(want))
    if isinstance(want, list) and shape is not alternatives:
        if len(want) != len(got):
            return "%s has %d items, not %d" % (key, len(got), len(want))
        what = next(filter(None, (shape(a, b, request) for a, b in zip(want, got))), None)
    else:
        what = shape(want, got, request)
    return what and "%s %s" % (key, what)


def compare(case, got, prefix=""):
    want, request = case["response"], case["request"]
    if want["status"] != got["status"]:
        return "status %d, not %d: %s" % (got["status"], want["status"], got.get("json", got["type"]))
    if want["cors"] and not got["cors"]:
        return "without the headers that let other sites read it (CORS)"
    for name in ("Allow", "Location"):
        if name in want and want[name] != got.get(name):
            return "%s: %s, not %s" % (name, got.get(name), want[name])
    if "json" not in want:                              # of pages only the type counts, and only of good ones
        media = want["type"].split(";")[0]
        return "type %s, not %s" % (got["type"], media) if want["status"] == 200 and request["method"] != "OPTIONS" and \
            got["type"].split(";")[0] != media else None
    if "json" not in got:
        return "is no JSON but %s" % got["type"]
    whole = WHOLE.get(request["path"].split("?")[0][len(prefix):]) if want["status"] == 200 else None
    if whole and kind(want["json"]) == kind(got["json"]):
        return whole(want["json"], got["json"], request)
    return compare_json(want["json"], got["json"], request)


# ---- differences on purpose ----

def read_differences():
    """Case name -> (status, error string or None, reason)"""
    with open(os.path.join(DATA, "differences.json"), encoding="utf-8") as file:
        reasons = json.load(file)
    return {name: (answer[0], answer[1] if len(answer) > 1 else None, reason)
            for reason, cases in reasons.items() for name, answer in cases.items()}


def check_difference(listed, what, got):
    """A listed difference must be there, and be the one that is listed."""
    status, error, _ = listed
    if what is None:
        return "is listed as a difference and is none"
    if got["status"] != status:
        return "status %d; listed is the difference %d" % (got["status"], status)
    found = got.get("json", {}).get("error") if isinstance(got.get("json"), dict) else None
    return "error %r; listed is %r" % (found, error) if error is not None and found != error else None


def undocumented(differences):
    if not differences:
        return []
    document = ""
    if os.path.exists(DOCUMENT):
        with open(DOCUMENT, encoding="utf-8") as file:
            document = " ".join(file.read().split())
    return sorted({reason for _, _, reason in differences.values() if reason not in document})


# ---- running ----

class Tally:
    def __init__(self):
        self.passed = self.failed = 0

    def count(self, name, what):
        self.passed, self.failed = self.passed + (not what), self.failed + bool(what)
        if what:
            print("FAILED  %s: %s" % (name, what), flush=True)


def replay_group(group, command, differences, tally, folder):
    options = group["options"]
    prefix = options[options.index("--url-prefix") + 1] if "--url-prefix" in options else ""
    try:
        with http_case.Server(command, options, group["keys"], folder) as server:
            for case in group["cases"]:
                try:
                    got = http_case.send(server.port, case["request"])
                    what = compare(case, got, prefix)
                    if case["name"] in differences:
                        what = check_difference(differences[case["name"]], what, got)
                except (OSError, ValueError, http_case.http.client.HTTPException) as error:
                    what = "no answer: %r" % error
                tally.count("%s: %s" % (group["name"], case["name"]), what)
    except RuntimeError as error:
        for case in group["cases"]:
            tally.count("%s: %s" % (group["name"], case["name"]), str(error)[-300:])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--recording", default=os.path.join(DATA, "libretranslate.json"))
    parser.add_argument("--only")
    parser.add_argument("--all-alike", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with open(options.recording, encoding="utf-8") as file:
        groups = json.load(file)["groups"]
    differences = {} if options.all_alike else read_differences()
    tally = Tally()
    names = {case["name"] for group in groups for case in group["cases"]}
    for name in sorted(set(differences) - names):
        tally.count(name, "is listed as a difference, but was not recorded")
    for reason in undocumented(differences):
        tally.count("docs/serving.md", "does not have the reason '%s'" % reason)
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            if options.only in (None, group["name"]):
                replay_group(group, options.command, differences, tally, folder)
    print("%d passed, %d failed, 0 skipped" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
