"""`pronk serve` as its clients see it: good, odd and wrong requests, limits, keys, models, signals and faults."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse

from serving import PRONK, TINY, Server, check, finish, folder, holds, pronk, skip, wait_for

MISSING = 'Invalid request: missing {} parameter'
BROKEN = 'The browser (or proxy) sent a request that this server could not understand.'


def multipart(fields):
    parts = ''.join(f'--XX\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items())
    return (parts + '--XX--\r\n').encode(), 'multipart/form-data; boundary=XX'


# ---- LibreTranslate's API ----

def check_translate(s):
    lines = ['The house is small.', 'Good morning, my friend.', 'How are you? I am fine.']
    plain = pronk('translate', '-q', text='\n'.join(lines) + '\n').stdout.splitlines()
    check('a string', {'translatedText': plain[0]}, s.translate(lines[0]).json)
    check('an array', {'translatedText': plain}, s.translate(lines).json)
    check('an array of one', {'translatedText': plain[:1]}, s.translate(lines[:1]).json)
    fields = {'q': lines[0], 'source': 'en', 'target': 'de'}
    check('a form', {'translatedText': plain[0]}, s.form('/translate', fields).json)
    check('a query', {'translatedText': plain[0]},
          s.ask('POST', '/translate?' + urllib.parse.urlencode(fields)).json)
    body, kind = multipart(fields)
    check('multipart', {'translatedText': plain[0]}, s.ask('POST', '/translate', body, kind).json)
    check('query and form together, the query first', {'translatedText': plain[0]},
          s.form('/translate?' + urllib.parse.urlencode({'q': lines[0]}), {**fields, 'q': lines[1]}).json)
    check('codes in capitals', {'translatedText': plain[0]}, s.translate(lines[0], 'EN', 'DE').json)
    check('format text, an empty key', {'translatedText': plain[0]},
          s.translate(lines[0], format='text', api_key='').json)
    check('a key where none are needed', 200, s.translate(lines[0], api_key='anything').status)
    check('into the same language', {'translatedText': lines[0]}, s.translate(lines[0], 'en', 'en').json)
    check('emoji stay', {'translatedText': '\U0001f600 \u2764'}, s.translate('\U0001f600 \u2764').json)
    check('emoji, detected', {'translatedText': ['\U0001f600'], 'detectedLanguage': [{'confidence': 0.0, 'language': 'en'}]},
          s.translate(['\U0001f600'], 'auto').json)
    check('form lines', 'a\nb'.count('\n'), s.form('/translate', {**fields, 'q': 'One.\r\nTwo.\r\n'}).json['translatedText'].count('\n'))
    check('a zero in a text', 200, s.translate('a\0b').status)


def check_detected(s):
    found = s.translate('The house is small and the garden is large.', 'auto').json
    check('auto: keys', ['detectedLanguage', 'translatedText'], sorted(found))
    check('auto: language', 'en', found['detectedLanguage']['language'])
    found = s.translate(['The house is small.', 'This is the garden.'], 'auto').json
    check('auto of an array', ['en', 'en'], [d['language'] for d in found['detectedLanguage']])
    check('detect', 'en', s.form('/detect', {'q': 'This is the garden of the house.'}).json[0]['language'])
    check('detect an array', 'en', s.send('/detect', {'q': ['This is the garden.', 'And the house.']}).json[0]['language'])
    check('detect nothing', (400, MISSING.format('q')), s.form('/detect', {}).error)


def check_alternatives(s):
    found = s.translate('The house is small.', alternatives=3).json
    check('alternatives: keys', ['alternatives', 'translatedText'], sorted(found))
    holds('alternatives differ', 0 < len(set(found['alternatives']) - {found['translatedText']}) <= 3, found)
    found = s.translate(['The house is small.', 'Good morning.'], alternatives='2').json
    check('alternatives of an array', [list, list], [type(a) for a in found['alternatives']])
    check('none are asked for', ['translatedText'], sorted(s.translate('Yes.', alternatives=0).json))
    check('fewer than none', ['translatedText'], sorted(s.translate('Yes.', alternatives=-3).json))
    number = (400, 'Invalid request: alternatives parameter is not a number')
    check('alternatives: a word', number, s.translate('Yes.', alternatives='x').error)
    check('alternatives: null', number, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de', 'alternatives': None}).error)
    check('alternatives: too many', (400, 'Invalid request: alternatives parameter must be <= 15'),
          s.translate('Yes.', alternatives=16).error)


def check_wrong(s):
    good = {'q': 'Hello.', 'source': 'en', 'target': 'de'}
    for name in good:
        left = {k: v for k, v in good.items() if k != name}
        check(f'no {name}', (400, MISSING.format(name)), s.send('/translate', left).error)
        check(f'empty {name}', (400, MISSING.format(name)), s.form('/translate', {**good, name: ''}).error)
    for q in ([], {}, 0, False, None):
        check(f'q is {q}', (400, MISSING.format('q')), s.translate(q).error)
    for q in (5, True, {'a': 1}, ['a', 5], [['a']]):
        check(f'q is {q}', (400, 'Invalid request: q parameter is not a string or an array of strings'), s.translate(q).error)
    check('an unknown source', (400, 'zz is not supported'), s.translate(source='ZZ').error)
    check('an unknown target', (400, 'zz is not supported'), s.translate(target='zz').error)
    check('a target of another kind', (400, '5 is not supported'), s.translate(target=5).error)
    check('an alias', (400, 'zt is not supported'), s.translate(target='zh-Hant').error)
    check('no way', (400, 'English (en) is not available as a target language from German (de)'),
          s.translate(source='de', target='en').error)
    check('html', (400, 'html format is not supported'), s.translate(format='html').error)
    check('xml', (400, 'xml format is not supported'), s.translate(format='xml').error)
    for body in (b'', b'{', b'{"q": "\xff"}', b'{"q": "\\ud800"}', b'nonsense', b'[' * 5000):
        check(f'broken JSON {body[:12]}', (400, BROKEN), s.ask('POST', '/translate', body, 'application/json').error)
    for body in (b'[]', b'"q"', b'1'):
        check(f'JSON {body}', (400, 'Invalid JSON format'), s.ask('POST', '/translate', body, 'application/json').error)
    check('broken multipart', (400, BROKEN), s.ask('POST', '/translate', b'x', 'multipart/form-data; boundary=y').error)
    check('a body of another kind', (400, MISSING.format('q')), s.ask('POST', '/translate', b'q=x', 'text/plain').error)
    check('a form that is not UTF-8', 200, s.ask('POST', '/translate', b'q=%FF%FE&source=en&target=de',
                                                 'application/x-www-form-urlencoded').status)
    check('another method', 405, s.get('/translate').status)
    check('another path', 404, s.get('/nothing').status)
    check('files', (403, 'Files translation are disabled on this server.'), s.form('/translate_file', {}).error)
    check('suggestions', (403, 'Suggestions are disabled on this server.'), s.form('/suggest', {'q': 'x'}).error)


def check_others(s):
    check('languages', [('en', 'English', ['de', 'en']), ('de', 'German', ['de'])],
          [(l['code'], l['name'], l['targets']) for l in s.get('/languages').json])
    check('names in French', ['Anglais', 'Allemand'], [l['name'] for l in s.get('/languages?lang=fr').json])
    check('names by header', ['Anglais', 'Allemand'],
          [l['name'] for l in s.get('/languages', headers={'Accept-Language': 'fr-CH, en;q=0.5'}).json])
    check('languages with a body', 200, s.ask('GET', '/languages', 'api_key=x', 'application/x-www-form-urlencoded').status)
    check('settings', {'apiKeys': False, 'charLimit': -1, 'filesTranslation': False, 'frontendTimeout': 500, 'keyRequired': False,
                       'language': {'source': {'code': 'auto', 'name': 'Auto Detect'}, 'target': {'code': 'de', 'name': 'German'}},
                       'suggestions': False, 'supportedFilesFormat': []}, s.get('/frontend/settings').json)
    check('health', {'status': 'ok'}, s.ask('GET', '/health', '{}', 'application/json').json)
    answer = s.ask('OPTIONS', '/translate')
    check('OPTIONS', (200, 'POST, OPTIONS'), (answer.status, answer.headers['Allow']))
    check('CORS', ['*', 'Authorization, Content-Type', 'Authorization', 'GET, POST', 'true', '1728000'],
          [answer.headers['Access-Control-' + h] for h in ('Allow-Origin', 'Allow-Headers', 'Expose-Headers',
                                                           'Allow-Methods', 'Allow-Credentials', 'Max-Age')])
    check('CORS of errors', '*', s.get('/nothing').headers['Access-Control-Allow-Origin'])
    answer = s.ask('HEAD', '/health')
    check('HEAD', (200, b''), (answer.status, answer.body))
    spec = s.get('/spec').json
    check('spec: title', 'LibreTranslate', spec['info']['title'])
    check('spec: version', '3.0.3', spec['openapi'])
    for path, methods in spec['paths'].items():
        for method in methods:
            holds(f'spec: {method} {path} is there', s.ask(method.upper(), path, '').status not in (404, 405))
    check('no metrics', 404, s.get('/metrics').status)
    holds('a page', b'<html' in s.get('/').body)


def check_deepl(s):
    key = {'Authorization': 'DeepL-Auth-Key k'}
    plain = s.translate('Hello, world!').json['translatedText']
    found = s.send('/v2/translate', {'text': ['Hello, world!'], 'target_lang': 'DE', 'source_lang': 'EN'}, headers=key)
    check('deepl', {'translations': [{'detected_source_language': 'EN', 'text': plain, 'billed_characters': 13}]}, found.json)
    found = s.ask('POST', '/v2/translate', 'text=Hello%2C+world!&text=Hello%2C+world!&target_lang=de',
                  'application/x-www-form-urlencoded').json
    check('deepl: a form of several texts', [plain] * 2, [t['text'] for t in found['translations']])
    check('deepl: no text', (400, "Parameter 'text' not specified."), s.send('/v2/translate', {'target_lang': 'DE'}).error)
    check('deepl: no target', (400, "Parameter 'target_lang' not specified."), s.send('/v2/translate', {'text': ['a']}).error)
    check('deepl: another target', 400, s.send('/v2/translate', {'text': ['a'], 'target_lang': 'FR'}).status)
    check('deepl: tags', (400, "Value for 'tag_handling' not supported."),
          s.send('/v2/translate', {'text': ['a'], 'target_lang': 'DE', 'tag_handling': 'xml'}).error)
    check('deepl: formality', 400, s.send('/v2/translate', {'text': ['a'], 'target_lang': 'DE', 'formality': 'more'}).status)
    check('deepl: sources', ['EN'], [l['language'] for l in s.get('/v2/languages').json])
    check('deepl: targets', ['DE'], [l['language'] for l in s.get('/v2/languages?type=target').json])
    check('deepl: usage', 39, s.get('/v2/usage').json['character_count'])


# ---- limits and keys ----

def check_limits():
    with Server('--char-limit', '10', '--batch-limit', '2', '--alternatives-limit', '1', '-m', TINY + '/en-de.argosmodel') as s:
        check('ten characters', 200, s.translate('äöüäöüäöü!').status)
        check('eleven', (400, 'Invalid request: request (11) exceeds text limit (10)'), s.translate('äöüäöüäöü!!').error)
        check('eleven in an array', 400, s.translate(['a', 'x' * 11]).status)
        check('eleven for detect', 400, s.form('/detect', {'q': 'x' * 11}).status)
        check('eleven for deepl', 400, s.send('/v2/translate', {'text': ['x' * 11], 'target_lang': 'DE'}).status)
        check('a line end of a form is one', 200, s.form('/translate', {'q': 'a\r\n' * 4 + 'ab', 'source': 'en', 'target': 'de'}).status)
        check('three texts', (400, 'Invalid request: request (3) exceeds text limit (2)'), s.translate(['a'] * 3).error)
        check('three texts for deepl', 400, s.send('/v2/translate', {'text': ['a'] * 3, 'target_lang': 'DE'}).status)
        check('two alternatives', (400, 'Invalid request: alternatives parameter must be <= 1'), s.translate(alternatives=2).error)
    with Server('--req-limit', '3', '--trusted-proxy', '127.0.0.0/8', '-m', TINY + '/en-de.argosmodel') as s:
        check('three a minute', [200, 200], [s.translate('a').status, s.translate(['a', 'b']).status])
        answer = s.translate('a')
        check('a fourth', (429, 'Slowdown: 3 per 1 minute'), answer.error)
        holds('it may come again', 1 <= int(answer.headers['Retry-After']) <= 60, answer.headers['Retry-After'])
        check('others may', 200, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de'},
                                        headers={'X-Forwarded-For': '9.9.9.9'}).status)
        check('detect counts too', 429, s.form('/detect', {'q': 'a'}).status)
        check('deepl too', 429, s.send('/v2/translate', {'text': ['a'], 'target_lang': 'DE'}).status)
        check('languages do not', 200, s.get('/languages').status)
    with Server('--req-limit', '1', '-m', TINY + '/en-de.argosmodel') as s:
        s.translate('a')
        check('a proxy that nobody trusts', 429, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de'},
                                                       headers={'X-Forwarded-For': '9.9.9.9'}).status)


def check_keys():
    path = os.path.join(folder, 'db', 'keys.db')
    keys = ('serve', 'keys', '--api-keys-db-path', path)
    key = pronk(*keys, 'add', '2').stdout.strip()
    check('a key looks like one', 36, len(key))
    pronk(*keys, 'add', '--key', 'short', '--char-limit', '3')
    check('keys are listed', f'{key}: 2\nshort: -1, characters: 3\n', ''.join(sorted(pronk(*keys, 'list').stdout.splitlines(True))))
    with Server('--api-keys', '--api-keys-db-path', path, '--req-limit', '2', '--access-log', '-m', TINY + '/en-de.argosmodel') as s:
        check('a wrong key', (403, 'Invalid API key'), s.translate('a', api_key='wrong').error)
        check('deepl: a wrong key', (403, 'Invalid API key'),
              s.send('/v2/translate', {'text': ['a'], 'target_lang': 'DE'}, headers={'Authorization': 'DeepL-Auth-Key wrong'}).error)
        check('that counts for the address', 429, s.translate('a').status)
        check('a key has its own limit', [200, 200, 429], [s.translate('a', api_key=key).status for _ in range(3)])
        check('a key has its own characters', 400, s.translate('abcd', api_key='short').status)
        check('deepl: a key', 200, s.send('/v2/translate', {'text': ['a'], 'target_lang': 'DE'},
                                          headers={'Authorization': 'DeepL-Auth-Key short'}).status)
        check('in a query', 200, s.ask('POST', '/translate?q=a&source=en&target=de&api_key=short').status)
        pronk(*keys, 'add', '--key', 'later')
        holds('a new key is known soon', wait_for(lambda: s.translate('a', api_key='later').status == 200, 5))
        pronk(*keys, 'remove', 'later')
        s.process.send_signal(signal.SIGHUP)
        holds('and a removed one is not', wait_for(lambda: s.translate('a', api_key='later').status != 200, 5))
        log = '\n'.join(s.errors)
        holds('the log has requests', '127.0.0.1 POST /translate 200' in log, log)
        holds('and no keys', not any(k in log for k in (key, 'short', 'later', 'wrong', '?')), log)
    pronk(*keys, 'add', '0', '--key', 'zero')
    with Server('--api-keys', '--api-keys-db-path', path, '--req-flood-threshold', '2', '-m', TINY + '/en-de.argosmodel') as s:
        check('not yet banned', 200, s.translate('a').status)
        check('offences', [429, 429], [s.translate('a', api_key='zero').status for _ in range(2)])
        check('a ban', (403, 'Too many request limits violations'), s.translate('a').error)
        check('a ban for deepl', (403, 'Too many request limits violations'), s.get('/v2/usage').error)
    with Server('--api-keys', '--api-keys-db-path', path, '--require-api-key-origin', 'https://ours\\.example',
                '-m', TINY + '/en-de.argosmodel') as s:
        check('no key', (400, 'Please contact the server operator to get an API key'), s.translate('a').error)
        check('deepl: no key', 403, s.send('/v2/translate', {'text': ['a'], 'target_lang': 'DE'}).status)
        check('detect: no key', 400, s.form('/detect', {'q': 'a'}).status)
        check('a key', 200, s.translate('a', api_key='short').status)
        check('from the right place', 200, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de'},
                                                  headers={'Origin': 'https://ours.example'}).status)
        check('settings say so', [True, True], [s.get('/frontend/settings').json[k] for k in ('apiKeys', 'keyRequired')])


# ---- models ----

def check_models():
    models = os.path.join(folder, 'models')
    os.mkdir(models)
    shutil.copy(TINY + '/en-de.argosmodel', models + '/translate-en_de-1_9.argosmodel')
    shutil.copytree(TINY + '/opennmt', models + '/ct2-fr-en')
    pronk('convert', '-q', TINY + '/int8', models + '/es-en.pronk')
    os.mkdir(models + '/en-it')
    open(models + '/en-it/model.bin', 'w').write('nothing')
    open(models + '/notes.txt', 'w').write('nothing')
    with Server('--models', models, '--idle', '1', '--metrics') as s:
        check('languages', [('en', ['de', 'en', 'it']), ('fr', ['de', 'en', 'fr', 'it']), ('de', ['de']), ('it', ['it']),
                            ('es', ['de', 'en', 'es', 'it'])],
              [(l['code'], l['targets']) for l in s.get('/languages').json])
        check('nothing is open yet', 0, s.metric('pronk_models_open'))
        text = 'the cat sees every house'
        middle = pronk('translate', '-q', '-m', models + '/ct2-fr-en', text=text).stdout
        last = pronk('translate', '-q', '-m', models + '/translate-en_de-1_9.argosmodel', text=middle).stdout
        check('through English', last, s.translate(text, 'fr', 'de').json['translatedText'])
        check('two are open', 2, s.metric('pronk_models_open'))
        check('a model that is broken', (500, 'Cannot translate text: the model cannot be opened'), s.translate('a', 'en', 'it').error)
        check('the others go on', 200, s.translate(text, 'es', 'en').status)
        holds('idle ones are closed', wait_for(lambda: s.metric('pronk_models_open') == 0, 10))
        check('and opened again', last, s.translate(text, 'fr', 'de').json['translatedText'])
        shutil.rmtree(models + '/en-it')
        shutil.copy(models + '/es-en.pronk', models + '/en-nl.pronk')
        s.process.send_signal(signal.SIGHUP)
        holds('models are found anew', wait_for(lambda: ('es' in [l['code'] for l in s.get('/languages').json]) and
                                                'it' not in [l['code'] for l in s.get('/languages').json], 5))
        check('and the old ones serve', last, s.translate(text, 'fr', 'de').json['translatedText'])
    with Server('--models', models, '--load-only', 'en,fr') as s:
        check('only some', ['en', 'fr'], [l['code'] for l in s.get('/languages').json])
    with Server('--models', models, '--memory', '1') as s:
        check('no memory', (503, 'Cannot translate text: the server is out of memory for now'), s.translate('a', 'fr', 'en').error)
    check('an empty folder', 1, pronk('serve', '--models', '/var/empty' if os.path.isdir('/var/empty') else folder).returncode)
    check('no folder', 1, pronk('serve', '--models', '/nowhere').returncode)
    check('no model', 1, pronk('serve', '-m', '/nowhere').returncode)


# ---- signals and faults ----

def many(n, work):
    found = [None] * n

    def one(i):
        try:
            found[i] = work(i)
        except Exception as e:  # what a client saw is the result
            found[i] = repr(e)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    return threads, found


def talk_until_closed(s, line):
    """One request after the other on one connection, until an answer says that it was the last."""
    c = s.connect()
    while True:
        c.request('POST', '/translate', json.dumps({'q': line, 'source': 'en', 'target': 'de'}), {'Content-Type': 'application/json'})
        answer = c.getresponse()
        if answer.status != 200 or not answer.read():
            return answer.status
        if answer.headers['Connection'] == 'close':
            return 'closed'


def check_signals():
    lines = [f'The number {i} is small, and the house is large.' for i in range(24)]
    plain = pronk('translate', '-q', text='\n'.join(lines) + '\n').stdout.splitlines()
    s = Server('--access-log')
    threads, found = many(24, lambda i: s.translate(lines[i]).json['translatedText'])
    for t in threads:
        t.join()
    check('many at once: the same bytes', plain, found)
    threads, found = many(24, lambda i: s.translate(lines[i]).json['translatedText'])
    for _ in range(3):
        s.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
    for t in threads:
        t.join()
    check('SIGHUP under load loses nothing', plain, found)
    s.end()
    s = Server()
    threads, found = many(8, lambda i: talk_until_closed(s, lines[i]))
    time.sleep(0.5)
    s.process.send_signal(signal.SIGTERM)
    for t in threads:
        t.join()
    check('SIGTERM: connections that are kept are closed behind an answer', ['closed'] * 8, found)
    s.end()
    s = Server('--access-log')
    connections = [s.connect() for _ in range(24)]
    for c, line in zip(connections, lines):
        c.request('POST', '/translate', json.dumps({'q': [line] * 8, 'source': 'en', 'target': 'de'}), {'Content-Type': 'application/json'})
    wait_for(lambda: True)
    time.sleep(0.3)
    s.process.send_signal(signal.SIGTERM)
    answers = [json.loads(c.getresponse().read())['translatedText'] for c in connections]
    check('SIGTERM under load loses nothing', [[p] * 8 for p in plain], answers)
    check('and ends with 0', 0, s.process.wait(20))
    s.end()
    holds('texts are not in the log', not any('number' in e or 'Zahl' in e for e in s.errors), s.errors)


def check_vanish():
    with Server('--metrics') as s:
        s.translate('Hello.')
        c = s.connect()
        c.request('POST', '/translate', json.dumps({'q': ['The house is large and the garden is small.'] * 3000, 'source': 'en', 'target': 'de'}),
                  {'Content-Type': 'application/json'})
        time.sleep(0.3)
        c.sock.close()
        begin = time.monotonic()
        holds('who vanishes is noticed within a second', wait_for(lambda: s.metric('pronk_vanished_total') == 1, 5) and
              time.monotonic() - begin < 1, time.monotonic() - begin)
        holds('and the work ends soon', wait_for(lambda: s.metric('libretranslate_http_requests_in_flight') == 1, 10))
        check('others are served', 200, s.translate('Hello.').status)


def raw(s, data, seconds=10):
    with socket.create_connection(('127.0.0.1', s.port), timeout=seconds) as c:
        try:
            c.sendall(data)
        except OSError:
            pass
        try:
            return c.recv(65536)
        except OSError as e:
            return repr(e).encode()


def check_faults():
    with Server('-m', TINY + '/en-de.argosmodel', '--queue', '20000', '-d', 'greedy:max_length=4') as s:
        slow = [socket.create_connection(('127.0.0.1', s.port)) for _ in range(200)]
        for c in slow:
            c.sendall(b'POST /translate HTTP/1.1\r\nHost: x\r\nContent-Le')
        check('slow clients hinder nobody', 200, s.translate('a').status)
        for c in slow:
            c.close()
        big = b'x' * (9 << 20)
        check('nine MiB', 413, s.ask('POST', '/translate', big, 'application/json').status)
        chunks = (b'x' * (1 << 20) for _ in range(9))
        check('nine MiB in chunks', 413, s.ask('POST', '/translate', chunks, 'application/json').status)
        check('a hundred MB', 413, s.ask('POST', '/translate', b'x' * 100_000_000, 'application/json').status)
        check('who asks first', b'413', raw(s, b'POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n')[9:12])
        q = 'a' * (8 * (1 << 20) - 100)
        check('nearly eight MiB', (400, 'zz is not supported'), s.translate(q, 'zz').error)
        check('an array of 10,000', 10000, len(s.translate(['good morning'] * 10000).json['translatedText']))
        check('too many values', (413, 'Invalid request: too many values'), s.ask(
            'POST', '/translate', '{"q":[' + '"",' * 300000 + '""]}', 'application/json').error)
        holds('a long header', raw(s, b'GET /health HTTP/1.1\r\nHost: x\r\nX: ' + b'y' * 100000 + b'\r\n\r\n')[9:12] in (b'431', b'400', b'413'))
        holds('a long query', raw(s, b'POST /translate?q=' + b'y' * 100000 + b' HTTP/1.1\r\nHost: x\r\n\r\n')[9:12] in (b'414', b'431'))
        check('a long text in a query', 200, s.ask('POST', '/translate?source=en&target=de&q=' + '%C3%A4' * 7500).status)
        holds('no HTTP at all', raw(s, b'\x16\x03\x01\x00\xff nonsense\r\n\r\n')[:9] in (b'', b'HTTP/1.1 ', b'HTTP/1.0 '))
        c = s.connect()
        for _ in range(3):
            c.request('POST', '/translate', 'q=a&source=en&target=de', {'Content-Type': 'application/x-www-form-urlencoded'})
            check('a connection is kept', 200, c.getresponse().read() and 200)
        check('still well', 200, s.get('/health').status)
    with Server('-m', TINY + '/en-de.argosmodel', '--url-prefix', 'lt/', '--disable-web-ui') as s:
        check('below a prefix', [200, 404, 301, 301], [s.get(p).status for p in ('/lt/health', '/lt/', '/health', '/ltx')])
        check('where to go', '/lt', s.get('/health').headers['Location'])


# ---- operations ----

def check_operations():
    with Server('--metrics', '--metrics-auth-token', 'secret', '-m', TINY + '/en-de.argosmodel') as s:
        check('metrics without a token', 401, s.get('/metrics').status)
        check('with a wrong one', 401, s.get('/metrics', headers={'Authorization': 'Bearer secre'}).status)
        s.translate('a')
        page = s.get('/metrics', headers={'Authorization': 'Bearer secret'}).body.decode()
        holds('requests are counted', 'seconds_count{endpoint="/translate",status="200"} 1' in page, page)
        holds('and nobody is named', '127.0.0.1' not in page and 'key' not in page, page)
    env = {'LT_PORT': '0', 'LT_CHAR_LIMIT': '3', 'LT_METRICS': 'true', 'LT_WONDER': '1', 'LT_API_KEYS': 'false'}
    with Server(env=env, command=[PRONK, 'serve', '-m', TINY + '/en-de.argosmodel']) as s:
        check('variables', [400, 200], [s.translate('four').status, s.get('/metrics').status])
        holds('an unknown one is named', any('LT_WONDER is not known' in e for e in s.errors), s.errors)
        check('only that one', 1, sum('not known' in e for e in s.errors))
    check('a variable that is wrong', 2, pronk('serve', env={'LT_SSL': 'maybe'}).returncode)
    with Server('--char-limit', '5', env={'LT_CHAR_LIMIT': '3'}, command=None) as s:
        check('options win', 200, s.translate('four').status)
    check('an address that is not ours', 1, pronk('serve', '--host', '192.0.2.1').returncode)
    check('TLS without files', 1, pronk('serve', '--ssl', '--port', '0').returncode)


def check_systemd():
    notify, listener = os.path.join(folder, 'notify'), socket.socket()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(notify)
        told.settimeout(10)
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        command = ['sh', '-c', f'LISTEN_FDS=1 LISTEN_PID=$$ exec {PRONK} serve -m {TINY}/en-de.argosmodel 3<&{listener.fileno()}']
        with Server(command=command, env={'NOTIFY_SOCKET': notify}, popen={'pass_fds': [listener.fileno()]}) as s:
            check('ready', b'READY=1', told.recv(100))
            check('the socket that was given', listener.getsockname()[1], s.port)
            check('serves', 200, s.translate('a').status)
            s.process.send_signal(signal.SIGHUP)
            check('reloading', b'RELOADING=1', told.recv(100).split(b'\n')[0])
            check('and ready again', b'READY=1', told.recv(100))
            s.process.send_signal(signal.SIGTERM)
            check('stopping', b'STOPPING=1', told.recv(100))
        command[2] = command[2].replace(' serve ', ' serve --access-log ') + ' 2>/dev/full'
        with Server(command=command, env={'NOTIFY_SOCKET': notify}, popen={'pass_fds': [listener.fileno()]}, port=s.port) as s:
            check('a log on a full disk', b'READY=1', told.recv(100))
            check('hinders nobody', 200, s.translate('a').status)
    listener.close()


def check_tls():
    key, certificate = os.path.join(folder, 'key.pem'), os.path.join(folder, 'certificate.pem')
    made = shutil.which('openssl') and subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out',
         certificate, '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'], capture_output=True)
    if not made or made.returncode:
        return skip('TLS', 'no openssl to make a certificate')
    import urllib.request
    with Server('--ssl', '--ssl-cert', certificate, '--ssl-key', key, '-m', TINY + '/en-de.argosmodel') as s:
        context = ssl.create_default_context(cafile=certificate)
        with urllib.request.urlopen(f'https://127.0.0.1:{s.port}/translate', b'q=a&source=en&target=de', context=context, timeout=10) as r:
            check('TLS', 200, r.status)
            check('TLS: the answer', ['translatedText'], list(json.load(r)))
    check('TLS with wrong files', 1, pronk('serve', '--ssl', '--ssl-cert', key, '--ssl-key', certificate, '--port', '0').returncode)


def check_unprivileged():
    nobody = 65534
    readable = os.getuid() == 0 and subprocess.run(['test', '-x', PRONK], user=nobody, group=nobody).returncode == 0
    if not readable:
        return skip('an unprivileged user', 'not root, or the program lies where nobody else may read')
    with Server(popen={'user': nobody, 'group': nobody, 'extra_groups': [], 'cwd': '/proc'}) as s:
        check('an unprivileged user in a folder that cannot be written', 200, s.translate('a').status)


def main():
    with Server() as s:
        holds('only this machine is served', 'http://127.0.0.1:' in s.errors[0], s.errors)
        for part in (check_translate, check_detected, check_alternatives, check_wrong, check_others, check_deepl):
            part(s)
    for part in (check_limits, check_keys, check_models, check_signals, check_vanish, check_faults, check_operations, check_systemd,
                 check_tls, check_unprivileged):
        part()
    finish()


main()
