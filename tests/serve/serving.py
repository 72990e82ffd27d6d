"""What the checks of `pronk serve` share: a server on a free port, requests, and counting."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PRONK = os.path.abspath(os.environ.get('PRONK', 'build/pronk'))
TINY = os.path.abspath('tests/data/ct2')
SMALL = ('-m', TINY + '/en-de.argosmodel')
FORM = 'application/x-www-form-urlencoded'
counts = {'passed': 0, 'failed': 0, 'skipped': 0}
folder = tempfile.mkdtemp(prefix='pronk-serve-')


def check(name, expected, found):
    good = expected == found
    counts['passed' if good else 'failed'] += 1
    print(f'ok      {name}' if good else f'FAILED  {name}: expected {expected!r}, found {found!r}', flush=True)


def holds(name, good, what=''):
    check(name, 'yes', 'yes' if good else f'no {what}')


def skip(name, why):
    counts['skipped'] += 1
    print(f'SKIP    {name}: {why}', flush=True)


def wait_for(what, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def pronk(*words, text=None, env=None):
    return subprocess.run([PRONK, *words], input=text, capture_output=True, text=True, timeout=100,
                          env={**os.environ, **(env or {})})


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """Status and message, which clients look at."""
        data = self.json
        return self.status, data.get('error', data.get('message'))


class Server:
    """A server of its own for a few checks; `with` ends it, and its exit code is checked."""

    def __init__(self, *options, env=None, command=None, popen=None, port=None):
        self.errors, self.port = [], port
        clean = {k: v for k, v in os.environ.items() if not k.startswith('LT_') and k != 'PRONK_MODEL'}
        self.process = subprocess.Popen(command or [PRONK, 'serve', '--port', '0', *options], stderr=subprocess.PIPE,
                                        text=True, env={**clean, **(env or {})}, **(popen or {}))
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        wait_for(lambda: self.port or self.process.poll() is not None, 30)

    def read(self):
        for line in self.process.stderr:
            self.errors.append(line.rstrip('\n'))
            found = re.search(r'listening on https?://[^ ]*:(\d+)', line)
            if found:
                self.port = int(found[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, seconds=30):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = 'it had to be killed'
        self.thread.join(5)
        if code != 0:
            check('a server ends with 0: ' + ' | '.join(self.errors[-3:]), 0, code)

    def connect(self, timeout=30):
        return http.client.HTTPConnection('127.0.0.1', self.port, timeout=timeout)

    def ask(self, method, path, body=None, kind=None, headers=None):
        c = self.connect()
        try:
            c.request(method, path, body, {**({'Content-Type': kind} if kind else {}), **(headers or {})})
            return Answer(c.getresponse())
        finally:
            c.close()

    def get(self, path, **more):
        return self.ask('GET', path, **more)

    def form(self, path, fields, **more):
        return self.ask('POST', path, urllib.parse.urlencode(fields), FORM, **more)

    def send(self, path, data, **more):
        return self.ask('POST', path, json.dumps(data), 'application/json', **more)

    def translate(self, q='Hello.', source='en', target='de', **more):
        return self.send('/translate', {'q': q, 'source': source, 'target': target, **more})

    def deepl(self, text=('a',), target='DE', headers=None, **more):
        return self.send('/v2/translate', {'text': list(text), 'target_lang': target, **more}, headers=headers)

    def metric(self, name):
        found = re.search(rf'^{re.escape(name)} ([0-9.e+]+)$', self.get('/metrics').body.decode(), re.M)
        return float(found[1]) if found else None


def finish():
    import shutil
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(counts['failed'] > 0 or counts['passed'] == 0)
