"""Three clients from PyPI, as they are, against a server: libretranslatepy, deep-translator, deepl (its library and its program).

usage: clients.py COMMAND...         for example: clients.py build/pronk serve
Run it with the Python of a virtual environment that has them: clients_test.sh makes one. Prints "N passed, N failed".
"""
import os
import subprocess
import sys
import tempfile
import urllib.error

import deep_translator
import deep_translator.exceptions
import deepl
import libretranslatepy

import http_case

KEY = "0123456789abcdef"
SENTENCE = "Good morning, how are you today?"
passed = failed = 0


def check(name, good, found=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED  %s: %r" % (name, found), flush=True)


def raises(name, kind, call):
    """The call fails as that client says it does; the exception is given back"""
    try:
        check(name, False, call())
    except kind as error:
        check(name, True)
        return error
    except Exception as error:                          # another failure is no crash of the test
        check(name, False, error)
    return None


def found_by(name, call, good):
    """The call returns something that is good."""
    try:
        value = call()
        check(name, good(value), value)
    except Exception as error:
        check(name, False, error)


def some_text(value):
    return isinstance(value, str) and value != ""


# ---- the clients ----

def use_libretranslatepy(url):
    client = libretranslatepy.LibreTranslateAPI(url, KEY)
    found_by("libretranslatepy: translate", lambda: client.translate(SENTENCE, "en", "de"), some_text)
    found_by("libretranslatepy: auto", lambda: client.translate(SENTENCE, "auto", "de"), some_text)
    found_by("libretranslatepy: detect", lambda: client.detect(SENTENCE), lambda found: found[0]["language"] == "en")
    found_by("libretranslatepy: languages", client.languages,
             lambda found: {one["code"] for one in found} == {"en", "de", "fr", "pt-BR"})
    stranger = libretranslatepy.LibreTranslateAPI(url, "wrong")
    error = raises("libretranslatepy: wrong key", urllib.error.HTTPError, lambda: stranger.translate("Hello", "en", "de"))
    check("libretranslatepy: wrong key, status", error and error.code == 403, error)
    error = raises("libretranslatepy: unknown language", urllib.error.HTTPError, lambda: client.translate("Hello", "en", "zz"))
    check("libretranslatepy: unknown language, status", error and error.code == 400, error)


def use_deep_translator(url):
    def client(key, **languages):
        return deep_translator.LibreTranslator(**languages, api_key=key, custom_url=url)
    found_by("deep-translator: translate", lambda: client(KEY, source="en", target="de").translate(SENTENCE), some_text)
    found_by("deep-translator: names of languages",
             lambda: client(KEY, source="English", target="French").translate(SENTENCE), some_text)
    found_by("deep-translator: batch", lambda: client(KEY, source="en", target="de").translate_batch([SENTENCE, "Bye."]),
             lambda found: len(found) == 2 and all(map(some_text, found)))
    found_by("deep-translator: special characters",
             lambda: client(KEY, source="en", target="de").translate("Fish & chips = 100 % good? Ja, \u00fcber\nall."), some_text)
    raises("deep-translator: wrong key", deep_translator.exceptions.AuthorizationException,
           lambda: client("wrong", source="en", target="de").translate(SENTENCE))


def use_deepl(url):
    client = deepl.DeepLClient(KEY, server_url=url)
    found_by("deepl: translate", lambda: client.translate_text(SENTENCE, source_lang="EN", target_lang="DE"),
             lambda found: some_text(found.text) and found.billed_characters == len(SENTENCE))
    found_by("deepl: detected", lambda: client.translate_text(SENTENCE, target_lang="DE"),
             lambda found: found.detected_source_lang == "EN")
    found_by("deepl: several", lambda: client.translate_text([SENTENCE, "Bye."], source_lang="EN", target_lang="DE"),
             lambda found: len(found) == 2 and all(some_text(one.text) for one in found))
    found_by("deepl: regional target",
             lambda: client.translate_text("Guten Morgen.", source_lang="DE", target_lang="EN-US").text, some_text)
    found_by("deepl: Brazil", lambda: client.translate_text("Hello.", source_lang="EN", target_lang="PT-BR").text, some_text)
    for kind in ("html", "xml"):
        found_by("deepl: tags, " + kind,
                 lambda: client.translate_text("Good <b>morning</b>, %s.", source_lang="EN", target_lang="DE", tag_handling=kind),
                 lambda found: found.text.count("<b>") == found.text.count("</b>") == found.text.count("%s") == 1)
    found_by("deepl: glossary", lambda: client.translate_text("The cat.", source_lang="EN", target_lang="DE", glossary="pets"),
             lambda found: "Schnurrtier" in found.text)
    raises("deepl: no such glossary", deepl.DeepLException,
           lambda: client.translate_text("The cat.", source_lang="EN", target_lang="DE", glossary="none"))
    found_by("deepl: source languages", client.get_source_languages,
             lambda found: {"EN", "DE"} <= {one.code.upper() for one in found})
    found_by("deepl: target languages", client.get_target_languages,
             lambda found: {"DE", "FR"} <= {one.code.upper() for one in found})
    found_by("deepl: usage", client.get_usage, lambda found: not found.any_limit_reached)
    raises("deepl: unknown language", deepl.DeepLException,
           lambda: client.translate_text("Hello.", source_lang="EN", target_lang="ZZ"))
    raises("deepl: wrong key", deepl.AuthorizationException,
           lambda: deepl.DeepLClient("wrong", server_url=url).translate_text("Hello.", target_lang="DE"))


def use_deepl_program(url):
    def run(*arguments):
        command = [sys.executable, "-m", "deepl", "--server-url", url, "--auth-key", KEY, *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, text=True)
    done = run("text", "--from", "EN", "--to", "DE", SENTENCE)
    check("deepl program: text", done.returncode == 0 and done.stdout.strip(), done.stdout)
    done = run("languages")
    check("deepl program: languages", done.returncode == 0 and "German" in done.stdout, done.stdout)
    done = run("usage")
    check("deepl program: usage", done.returncode == 0, done.stdout)


def main():
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        os.environ.pop(name, None)                      # all of this stays on this machine
    keys = [(KEY, 100000, None)]
    with tempfile.TemporaryDirectory() as folder:
        terms = os.path.join(folder, "pets.tsv")
        with open(terms, "w", encoding="utf-8") as file:
            file.write("cat\tSchnurrtier\n")
        with http_case.Server(sys.argv[1:], ["--api-keys", "--glossary", "pets=" + terms], keys, folder) as server:
            url = "http://127.0.0.1:%d/" % server.port
            for use in (use_libretranslatepy, use_deep_translator, use_deepl, use_deepl_program):
                use(url)
    print("%d passed, %d failed" % (passed, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
