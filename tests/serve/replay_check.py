"""Checks that the comparison of replay.py can fail: every recorded answer is equal to itself, and is told from the same answer
with one thing changed. Needs no server. Prints "N passed, N failed"."""
import copy
import json
import os
import sys

import replay


def changes(answer):
    """The answer with one thing wrong, each in turn."""
    def changed(**values):
        return dict(copy.deepcopy(answer), **values)
    yield changed(status=answer["status"] + 1)
    if answer["cors"]:
        yield changed(cors=False)
    if "Allow" in answer:
        yield changed(Allow=answer["Allow"][1:])
    if "json" not in answer:
        return
    yield {key: value for key, value in answer.items() if key != "json"}
    yield changed(json="a text")
    body = answer["json"]
    if isinstance(body, dict):
        for key in body:
            yield changed(json={other: value for other, value in body.items() if other != key})
            yield changed(json=dict(body, **{key: {"another": "kind"}}))
        if "paths" not in body:                         # a specification may say more
            yield changed(json=dict(body, surplus=1))
        if "error" in body:
            yield changed(json={"error": body["error"] + "."})
    else:
        yield changed(json=[])
        yield changed(json=[{}] + body[1:])


def check_case(case, prefix):
    """What the comparison gets wrong about a case, in words, or None"""
    answer = case["response"]
    if replay.compare(case, answer, prefix):
        return "differs from itself: %s" % replay.compare(case, answer, prefix)
    for wrong in changes(answer):
        try:
            if not replay.compare(case, wrong, prefix):
                return "is not told from %s" % json.dumps(wrong)[:200]
        except (KeyError, TypeError, AttributeError) as error:
            return "breaks the comparison: %r with %s" % (error, json.dumps(wrong)[:200])
    return None


def main():
    with open(os.path.join(replay.DATA, "libretranslate.json"), encoding="utf-8") as file:
        groups = json.load(file)["groups"]
    tally = replay.Tally()
    for group in groups:
        prefix = "/lt" if "--url-prefix" in group["options"] else ""
        for case in group["cases"]:
            tally.count(case["name"], check_case(case, prefix))
    print("%d passed, %d failed" % (tally.passed, tally.failed))
    return tally.failed > 0


if __name__ == "__main__":
    sys.exit(main())
