"""The requests that tools/record_libretranslate.py sends: good, odd and wrong ones, in groups that share a server.

A group is (name, options of the server, keys of its database, cases). Cases of a group are sent in their order, each over
a connection of its own: limits and bans count on that order. A case is a name and a request.
"""
import base64
import json
from urllib.parse import urlencode

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BOUNDARY = "pronkpronkpronk"
HELLO = {"q": "Hello world!", "source": "en", "target": "de"}
KEY = "0123456789abcdef"
PREFLIGHT = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "content-type"}


def raw(name, method, path, headers=None, body=None):
    request = {"method": method, "path": path}
    if headers:
        request["headers"] = headers
    if isinstance(body, bytes):
        request["body_base64"] = base64.b64encode(body).decode()
    elif body is not None:
        request["body"] = body
    return name, request


def get(name, path, **headers):
    return raw(name, "GET", path, {key.replace("_", "-"): value for key, value in headers.items()})


def sent(name, value, path="/translate", headers=None):
    """value as JSON; changes to HELLO are given as a dict of what to add, None takes a field out"""
    return raw(name, "POST", path, dict(JSON, **(headers or {})), json.dumps(value, ensure_ascii=False))


def with_(**changes):
    return {key: value for key, value in dict(HELLO, **changes).items() if value is not ...}


def form(name, fields, path="/translate"):
    return raw(name, "POST", path, FORM, urlencode(fields))


def query(name, fields, path="/translate"):
    return raw(name, "POST", path + "?" + urlencode(fields))


def multipart(name, fields, path="/translate", file=None):
    lines = []
    for key, value in fields.items():
        lines += ["--" + BOUNDARY, 'Content-Disposition: form-data; name="%s"' % key, "", value]
    if file:
        lines += ["--" + BOUNDARY, 'Content-Disposition: form-data; name="file"; filename="%s"' % file,
                  "Content-Type: text/plain", "", "Hello world!"]
    return raw(name, "POST", path, {"Content-Type": "multipart/form-data; boundary=" + BOUNDARY},
               "\r\n".join(lines + ["--" + BOUNDARY + "--", ""]))


TRANSLATE = [
    sent("json", HELLO),
    form("form", HELLO),
    multipart("multipart", HELLO),
    query("query", HELLO),
    raw("query and form together", "POST", "/translate?source=en&target=de", FORM, "q=Hello"),
    raw("query beside JSON is not read", "POST", "/translate?source=en&target=de", JSON, '{"q": "Hello"}'),
    raw("query wins over form", "POST", "/translate?target=zz", FORM, urlencode(HELLO)),
    raw("form field twice", "POST", "/translate", FORM, "q=Hello&q=Bye&source=en&target=de"),
    raw("form: plus and percent", "POST", "/translate", FORM, "q=a+b%20c%26d&source=en&target=de"),
    sent("json with charset", HELLO, headers={"Content-Type": "application/json; charset=utf-8"}),
    sent("json by suffix", HELLO, headers={"Content-Type": "application/vnd.api+json"}),
    sent("json sent as text", HELLO, headers={"Content-Type": "text/plain"}),
    sent("json with a key nobody asked for", with_(api_key=KEY)),
    sent("json with an empty key", with_(api_key="")),
    sent("json with unknown fields", with_(tone="formal", glossary=[1, {}])),
    sent("array", with_(q=["Hello.", "Good morning.", "Bye."])),
    sent("array of one", with_(q=["Hello."])),
    sent("array with an empty string", with_(q=["Hello.", ""])),
    sent("empty array", with_(q=[])),
    form("array in a form is a text", dict(HELLO, q='["Hello.", "Bye."]')),
    sent("auto", with_(q="Good morning, how are you today?", source="auto")),
    sent("auto, array", with_(q=["Good morning, how are you today?", "The weather is nice."], source="auto")),
    form("auto, form", dict(HELLO, q="Good morning, how are you today?", source="auto")),
    sent("auto as target", with_(target="auto")),
    sent("alternatives", with_(alternatives=2)),
    sent("alternatives, array", with_(q=["Hello.", "Bye."], alternatives=1)),
    sent("alternatives, as a string", with_(alternatives="2")),
    form("alternatives, form", dict(HELLO, alternatives="2")),
    sent("alternatives, none", with_(alternatives=0)),
    sent("alternatives, negative", with_(alternatives=-3)),
    form("alternatives, no number", dict(HELLO, alternatives="many")),
    form("alternatives, a fraction", dict(HELLO, alternatives="1.5")),
    form("alternatives, empty", dict(HELLO, alternatives="")),
    sent("alternatives, no number in JSON", with_(alternatives="many")),
    sent("alternatives, null", with_(alternatives=None)),
    sent("alternatives, a fraction in JSON", with_(alternatives=1.5)),
    sent("alternatives, a list", with_(alternatives=[1])),
    sent("alternatives and auto", with_(q="Good morning, how are you?", source="auto", alternatives=1)),
    sent("upper case codes", with_(source="EN", target="De")),
    sent("alias as target", with_(target="pt-BR")),
    sent("model's code as target", with_(target="pb")),
    sent("to itself", with_(target="en")),
    sent("pivot", with_(q="Guten Morgen.", source="de", target="fr")),
    sent("pivot, array", with_(q=["Guten Morgen.", "Danke."], source="de", target="fr")),
    sent("pair is missing", with_(source="fr")),
    sent("pair is missing, array", with_(q=["Bonjour."], source="fr")),
    sent("pair is missing, alias", with_(source="pt-BR")),
    sent("unknown source", with_(source="zz")),
    sent("unknown target", with_(target="zz")),
    sent("unknown source and target", with_(source="yy", target="zz")),
    sent("unknown alias", with_(target="zh-Hans")),
    sent("unknown source in upper case", with_(source="ZZ")),
    sent("unknown source before wrong format", with_(source="zz", format="xml")),
    sent("format text", with_(format="text")),
    sent("format html", with_(q="<p>Hello <b>world</b>!</p>", format="html")),
    sent("format html, array", with_(q=["<p>Hello</p>", "<i>Bye</i>"], format="html")),
    sent("format empty", with_(format="")),
    sent("format unknown", with_(format="xml")),
    sent("format in upper case", with_(format="TEXT")),
    form("format unknown, form", dict(HELLO, format="markdown")),
    sent("q missing", with_(q=...)),
    sent("q empty", with_(q="")),
    sent("q null", with_(q=None)),
    form("q missing, form", {"source": "en", "target": "de"}),
    form("q empty, form", dict(HELLO, q="")),
    sent("source missing", with_(source=...)),
    sent("source empty", with_(source="")),
    sent("target missing", with_(target=...)),
    form("target missing, form", {"q": "Hello", "source": "en"}),
    sent("all missing", {}),
    sent("q before source before target", {"api_key": "x"}),
    raw("no body, no type", "POST", "/translate"),
    raw("JSON type without a body", "POST", "/translate", JSON, ""),
    raw("broken JSON", "POST", "/translate", JSON, '{"q": "Hello", '),
    raw("JSON with a tail", "POST", "/translate", JSON, json.dumps(HELLO) + " x"),
    raw("JSON array at the top", "POST", "/translate", JSON, "[1, 2]"),
    raw("JSON string at the top", "POST", "/translate", JSON, '"Hello"'),
    raw("JSON number at the top", "POST", "/translate", JSON, "17"),
    raw("JSON null at the top", "POST", "/translate", JSON, "null"),
    raw("JSON with a double key", "POST", "/translate", JSON, '{"q": "a", "q": "b", "source": "en", "target": "de"}'),
    raw("JSON that is no UTF-8", "POST", "/translate", JSON, b'{"q": "\xff\xfe", "source": "en", "target": "de"}'),
    raw("JSON with a byte order mark", "POST", "/translate", JSON, b"\xef\xbb\xbf" + json.dumps(HELLO).encode()),
    raw("JSON with escapes", "POST", "/translate", JSON,
        r'{"q": "\u0048ello \ud83d\ude00 \"x\"\t", "source": "en", "target": "de"}'),
    raw("JSON with half a pair", "POST", "/translate", JSON, r'{"q": "a \ud83d b", "source": "en", "target": "de"}'),
    raw("form that is no UTF-8", "POST", "/translate", FORM, b"q=%FF%FE&source=en&target=de"),
    sent("q a number", with_(q=17)),
    sent("q a huge number", with_(q=10 ** 40)),
    sent("q true", with_(q=True)),
    sent("q an object", with_(q={"text": "Hello"})),
    sent("q with a number inside", with_(q=["Hello.", 17])),
    sent("q with null inside", with_(q=[None])),
    sent("q nested", with_(q=[["Hello."], ["Bye."]])),
    sent("source a number", with_(source=1)),
    sent("source null", with_(source=None)),
    sent("source a list", with_(source=["en"])),
    sent("target an object", with_(target={"code": "de"})),
    sent("format a number", with_(format=7)),
    sent("emoji only", with_(q="\U0001F600 \U0001F680")),
    sent("emoji only, auto", with_(q="\U0001F600", source="auto")),
    sent("emoji only, array, auto", with_(q=["\U0001F600", "\U0001F680"], source="auto")),
    sent("emoji only, unknown source", with_(q="\U0001F600", source="zz")),
    sent("emoji only, unknown target", with_(q="\U0001F600", target="zz")),
    sent("emoji only, alternatives", with_(q="\U0001F600", alternatives=1)),
    sent("emoji and text in an array", with_(q=["\U0001F600", "Hello."])),
    sent("spaces only", with_(q="   ")),
    sent("newline only", with_(q="\n")),
    form("newline only, form", dict(HELLO, q="\n")),
    sent("digits only", with_(q="12345")),
    sent("lines", with_(q="Hello.\nBye.\n\nGood morning.")),
    form("lines with CR LF, form", dict(HELLO, q="Hello.\r\nBye.\rGood morning.")),
    sent("lines with CR LF, JSON", with_(q="Hello.\r\nBye.")),
    sent("long text", with_(q="Hello world. " * 40)),
    sent("NUL inside", with_(q="a\0b")),
]

OTHERS = [
    sent("detect", {"q": "Good morning, how are you today?"}, "/detect"),
    form("detect, form", {"q": "Guten Morgen, wie geht es Ihnen heute?"}, "/detect"),
    query("detect, query", {"q": "Good morning, how are you today?"}, "/detect"),
    sent("detect, array", {"q": ["Good morning, how are you?", "Guten Morgen, wie geht es?"]}, "/detect"),
    sent("detect, digits", {"q": "12345"}, "/detect"),
    sent("detect, emoji", {"q": "\U0001F600"}, "/detect"),
    sent("detect, q missing", {}, "/detect"),
    sent("detect, q empty", {"q": ""}, "/detect"),
    sent("detect, empty array", {"q": []}, "/detect"),
    sent("detect, a number", {"q": 17}, "/detect"),
    sent("detect, array at the top", ["Hello"], "/detect"),
    raw("detect, broken JSON", "POST", "/detect", JSON, "{"),
    get("detect, GET", "/detect?q=Hello"),
    get("languages", "/languages"),
    get("languages, lang=de", "/languages?lang=de"),
    get("languages, unknown lang", "/languages?lang=zz"),
    get("languages, Accept-Language", "/languages", Accept_Language="de-DE,de;q=0.9,en;q=0.5"),
    get("languages, Accept-Language unknown", "/languages", Accept_Language="xx"),
    raw("languages, GET with a form body", "GET", "/languages", FORM, "api_key="),
    raw("languages, POST", "POST", "/languages"),
    raw("languages, HEAD", "HEAD", "/languages"),
    get("frontend settings", "/frontend/settings"),
    raw("frontend settings, POST", "POST", "/frontend/settings"),
    sent("suggest, off", dict(HELLO, s="Hallo Welt!"), "/suggest"),
    sent("suggest, nothing sent", {}, "/suggest"),
    get("suggest, GET", "/suggest"),
    multipart("translate_file, off", {"source": "en", "target": "de"}, "/translate_file", "a.txt"),
    sent("translate_file, nothing sent", {}, "/translate_file"),
    get("translate_file, GET", "/translate_file"),
    get("download_file, off", "/download_file/a.txt"),
    get("health", "/health"),
    raw("health, GET with a JSON body", "GET", "/health", JSON, "{}"),
    raw("health, POST", "POST", "/health"),
    get("metrics, off", "/metrics"),
    get("spec", "/spec"),
    get("docs", "/docs/"),
    get("root", "/"),
    get("unknown path", "/nothing"),
    raw("unknown path, POST", "POST", "/nothing", JSON, "{}"),
    get("path with a slash behind", "/languages/"),
    get("path in upper case", "/LANGUAGES"),
    get("path out of the root", "/../languages"),
    get("translate, GET", "/translate?" + urlencode(HELLO)),
    raw("translate, PUT", "PUT", "/translate", JSON, json.dumps(HELLO)),
    raw("translate, DELETE", "DELETE", "/translate"),
    raw("translate, HEAD", "HEAD", "/translate"),
    raw("translate, preflight", "OPTIONS", "/translate", PREFLIGHT),
    raw("languages, preflight", "OPTIONS", "/languages", PREFLIGHT),
    raw("unknown path, preflight", "OPTIONS", "/nothing", PREFLIGHT),
]

LIMITS = [
    sent("characters: as many as allowed", with_(q="x" * 20)),
    sent("characters: one too many", with_(q="x" * 21)),
    form("characters: one too many, form", dict(HELLO, q="x" * 21)),
    sent("characters, not bytes", with_(q="\u00e4" * 20)),
    sent("characters: emoji count once", with_(q="\U0001F600" * 20)),
    sent("characters: each of an array", with_(q=["x" * 20, "y" * 20])),
    sent("characters: one of an array", with_(q=["ok", "y" * 30])),
    form("characters: CR LF counts once", dict(HELLO, q="x" * 9 + "\r\n" + "x" * 10)),
    sent("characters before language", with_(q="x" * 21, source="zz")),
    sent("characters: not for detect", {"q": "Good morning, how are you today?"}, "/detect"),
    sent("batch: as many as allowed", with_(q=["a", "b", "c"])),
    sent("batch: one too many", with_(q=["a", "b", "c", "d"])),
    sent("batch before characters", with_(q=["x" * 21] * 4)),
    sent("batch: not for detect", {"q": ["a", "b", "c", "d"]}, "/detect"),
    sent("alternatives: as many as allowed", with_(alternatives=2)),
    sent("alternatives: one too many", with_(alternatives=3)),
    sent("alternatives before batch", with_(q=["a", "b", "c", "d"], alternatives=3)),
    sent("missing before alternatives", with_(target=..., alternatives=3)),
    get("settings with limits", "/frontend/settings"),
]

KEYS = [
    sent("keys: none sent", HELLO),
    sent("keys: known", with_(api_key=KEY)),
    sent("keys: unknown", with_(api_key="wrong")),
    form("keys: known, form", dict(HELLO, api_key=KEY)),
    form("keys: unknown, form", dict(HELLO, api_key="wrong")),
    query("keys: unknown, query", dict(HELLO, api_key="wrong")),
    sent("keys: empty", with_(api_key="")),
    sent("keys: null", with_(api_key=None)),
    sent("keys: a number", with_(api_key=17)),
    sent("keys: unknown before missing", {"api_key": "wrong"}),
    sent("keys: unknown, detect", {"q": "Hello", "api_key": "wrong"}, "/detect"),
    sent("keys: known, detect", {"q": "Hello there, my friend", "api_key": KEY}, "/detect"),
    sent("keys: own limit of characters", with_(q="x" * 30, api_key="short")),
    sent("keys: the key in capitals", with_(api_key=KEY.upper())),
    raw("keys: broken JSON", "POST", "/translate", JSON, "{"),
    raw("keys: unknown, languages", "GET", "/languages?api_key=wrong"),
    sent("keys: as a header is not read", HELLO, headers={"Authorization": "Bearer wrong"}),
    get("settings with keys", "/frontend/settings"),
]

REQUIRED = [
    sent("required: none sent", HELLO),
    sent("required: known", with_(api_key=KEY)),
    sent("required: unknown", with_(api_key="wrong")),
    sent("required: origin is the one", HELLO, headers={"Origin": "https://example.org"}),
    sent("required: another origin", HELLO, headers={"Origin": "https://example.com"}),
    sent("required: before missing fields", {}),
    sent("required: detect", {"q": "Hello"}, "/detect"),
    get("required: languages", "/languages"),
    get("required: settings", "/frontend/settings"),
    get("required: health", "/health"),
]

RATE = [
    sent("rate: first", HELLO),
    get("rate: languages do not count", "/languages"),
    sent("rate: an error counts", {}),
    sent("rate: one too many", HELLO),
    sent("rate: detect shares no count", {"q": "Hello there, my friend"}, "/detect"),
    sent("rate: another address behind a proxy", HELLO, headers={"X-Forwarded-For": "192.0.2.7"}),
    get("rate: health goes on", "/health"),
]

# an array counts as many times as it has texts
ARRAY_RATE = [sent("rate of arrays: three at once", with_(q=["a", "b", "c"])), sent("rate of arrays: too many", HELLO)]

BANS = [
    sent("ban: first", HELLO),
    sent("ban: too many", HELLO),
    sent("ban: too many again", HELLO),
    sent("ban: too many once more", HELLO),             # its count of offences begins at nought
    sent("ban: known key from that address", with_(api_key=KEY)),
    get("ban: languages", "/languages"),
]

KEY_RATE = [
    sent("rate of a key: first", with_(api_key="slow")),
    sent("rate of a key: too many", with_(api_key="slow")),
    sent("rate of a key: another key", with_(api_key=KEY)),
    sent("rate of a key: no key", HELLO),
]

PREFIX = [
    sent("prefix: translate", HELLO, "/lt/translate"),
    get("prefix: languages", "/lt/languages"),
    get("prefix: settings", "/lt/frontend/settings"),
    get("prefix: a path outside", "/languages"),
    get("prefix: the prefix alone", "/lt/"),
]

METRICS = [
    sent("metrics: something to count", HELLO),
    get("metrics: no token", "/metrics"),
    get("metrics: wrong token", "/metrics", Authorization="Bearer wrong"),
    get("metrics: right token", "/metrics", Authorization="Bearer sesame"),
]

GROUPS = [
    ("plain", ["--disable-files-translation"], [], TRANSLATE + OTHERS),
    ("limits", ["--disable-files-translation", "--char-limit", "20", "--batch-limit", "3", "--alternatives-limit", "2"], [],
     LIMITS),
    ("keys", ["--disable-files-translation", "--api-keys"], [(KEY, 1000, None), ("short", 1000, 10)], KEYS),
    ("keys required", ["--disable-files-translation", "--api-keys", "--require-api-key-origin", "https://example\\.org"],
     [(KEY, 1000, None)], REQUIRED),
    ("keys from a link", ["--api-keys", "--require-api-key-origin", "https://example\\.org", "--get-api-key-link",
                          "https://example.org/keys"], [(KEY, 1000, None)], [sent("link: none sent", HELLO)]),
    ("rate", ["--req-limit", "2"], [], RATE),
    ("rate of arrays", ["--req-limit", "3"], [], ARRAY_RATE),
    ("rate of keys", ["--req-limit", "100", "--api-keys"], [(KEY, 1000, None), ("slow", 1, None)], KEY_RATE),
    ("bans", ["--req-limit", "1", "--req-flood-threshold", "2", "--api-keys"], [(KEY, 1000, None)], BANS),
    ("prefix", ["--disable-files-translation", "--url-prefix", "/lt"], [], PREFIX),
    ("metrics", ["--metrics"], [], [get("metrics, on", "/metrics")]),
    ("metrics with a token", ["--metrics", "--metrics-auth-token", "sesame"], [], METRICS),
    ("no web page", ["--disable-web-ui"], [], [get("root, off", "/")]),
    ("some languages", ["--disable-files-translation", "--load-only", "en,de"], [],
     [get("load-only: languages", "/languages"), sent("load-only: one that is not", with_(target="fr"))]),
    ("cache", ["--translation-cache", "all"], [], [sent("cache: first", HELLO), sent("cache: again", HELLO),
                                                   sent("cache: a long one before its limit", with_(q="x" * 30))]),
]
