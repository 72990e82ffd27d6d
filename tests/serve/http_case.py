"""A server under test, and one recorded request sent to it. Used by replay.py and by tools/record_libretranslate.py, so that
what was recorded and what is compared went over the wire in the same way.

A server is a command that takes LibreTranslate's options: `pronk serve`, or LibreTranslate itself. It gets a folder of models
(--models) with four tiny packages made of tests/data/ct2/en-de.argosmodel: en-de, de-en, en-fr, en-pb. So there is a pair each
way, a pivot (de-fr), a pair that is missing (fr-de) and a code with an alias (pb is pt-BR).
"""
import base64
import contextlib
import http.client
import json
import os
import socket
import sqlite3
import subprocess
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.join(ROOT, "tests", "data", "ct2", "en-de.argosmodel")
NAMES = {"en": "English", "de": "German", "fr": "French", "pb": "Portuguese (Brazil)"}
PAIRS = [("en", "de"), ("de", "en"), ("en", "fr"), ("en", "pb")]
CORS = {"Allow-Origin": "*", "Allow-Headers": "Authorization, Content-Type", "Expose-Headers": "Authorization",
        "Allow-Methods": "GET, POST", "Allow-Credentials": "true", "Max-Age": "1728000"}
TIMEOUT = 30                                            # seconds, for one request


# ---- what a server is given ----

def make_packages(folder):
    """The same tiny network under four pairs of names: what it writes is nonsense, that it writes is what counts."""
    os.makedirs(folder, exist_ok=True)
    for source, target in PAIRS:
        path = os.path.join(folder, "translate-%s_%s.argosmodel" % (source, target))
        with zipfile.ZipFile(PACKAGE) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                data = old.read(name)
                if name.endswith("metadata.json"):
                    about = json.loads(data)
                    about.update(from_code=source, from_name=NAMES[source], to_code=target, to_name=NAMES[target])
                    data = json.dumps(about).encode()
                new.writestr(name.replace("en_de", source + "_" + target), data)


def make_keys(path, keys):
    """LibreTranslate's own database of keys, as its 1.9.6 makes it."""
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute('CREATE TABLE api_keys ("api_key" TEXT NOT NULL, "req_limit" INTEGER NOT NULL, '
                     '"char_limit" INTEGER DEFAULT NULL, PRIMARY KEY("api_key"))')
        base.executemany("INSERT INTO api_keys VALUES (?, ?, ?)", keys)
        base.commit()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`with Server(command, options, keys, folder) as server`: running and answering, ended afterwards."""

    def __init__(self, command, options, keys, folder, seconds=60):
        self.port = free_port()
        models = os.path.join(folder, "models")
        if not os.path.isdir(models):
            make_packages(models)
        options = list(options)
        if keys:
            path = os.path.join(folder, "keys-%d.db" % self.port)
            make_keys(path, keys)
            options += ["--api-keys-db-path", path]
        self.command = [*command, "--host", "127.0.0.1", "--port", str(self.port), "--models", models, *options]
        prefix = [options[i + 1] for i, option in enumerate(options) if option == "--url-prefix"]
        self.health = ("/" + prefix[0].strip("/") if prefix else "") + "/health"
        self.log = os.path.join(folder, "server.log")
        self.folder, self.seconds = folder, seconds

    def __enter__(self):
        with open(self.log, "wb") as log:
            env = {name: value for name, value in os.environ.items() if not name.startswith("LT_")}
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if send(self.port, {"method": "GET", "path": self.health})["status"] == 200:
                    return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        with open(self.log, "rb") as log:
            raise RuntimeError("the server did not start: %s: %s" % (" ".join(self.command), log.read().decode()[-500:]))

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# ---- one request ----

def body_of(request):
    if "body_base64" in request:
        return base64.b64decode(request["body_base64"])
    return request["body"].encode() if "body" in request else None


def send(port, request):
    """The answer as it is recorded: status, type, whether other sites may read it (CORS), headers that matter, and the body where
    it is JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.putrequest(request["method"], request["path"], skip_accept_encoding=True)
        body = body_of(request)
        for name, value in request.get("headers", {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        elif request["method"] in ("POST", "PUT"):
            connection.putheader("Content-Length", "0")
        connection.endheaders(body)
        answer = connection.getresponse()
        data = answer.read()
    finally:
        connection.close()
    headers = dict(answer.getheaders())
    found = {"status": answer.status, "type": headers.get("Content-Type", ""), "cors": all(
        headers.get("Access-Control-" + name) == value for name, value in CORS.items())}
    found.update({name: headers[name] for name in ("Location", "Retry-After") if name in headers})
    if "Allow" in headers:
        found["Allow"] = sorted(method.strip() for method in headers["Allow"].split(","))
    if found["type"].startswith("application/json") and request["method"] != "HEAD":
        found["json"] = json.loads(data)
    return found
