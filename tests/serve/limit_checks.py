"""Limits, keys and bans."""
import os
import signal
import subprocess

from serving import SMALL, Server, check, folder, holds, pronk, skip, wait_for


def check_limits():
    with Server('--char-limit', '10', '--batch-limit', '2', '--alternatives-limit', '1', *SMALL) as s:
        check('ten characters', 200, s.translate('äöüäöüäöü!').status)
        check('eleven', (400, 'Invalid request: request (11) exceeds text limit (10)'),
              s.translate('äöüäöüäöü!!').error)
        check('eleven in an array', 400, s.translate(['a', 'x' * 11]).status)
        check('eleven for detect', 400, s.form('/detect', {'q': 'x' * 11}).status)
        check('eleven for deepl', 400, s.deepl(['x' * 11]).status)
        fields = {'q': 'a\r\n' * 4 + 'ab', 'source': 'en', 'target': 'de'}
        check('a line end of a form is one', 200, s.form('/translate', fields).status)
        check('three texts', (400, 'Invalid request: request (3) exceeds text limit (2)'), s.translate(['a'] * 3).error)
        check('three texts for deepl', 400, s.deepl(['a'] * 3).status)
        check('two alternatives', (400, 'Invalid request: alternatives parameter must be <= 1'),
              s.translate(alternatives=2).error)
    with Server('--req-limit', '3', '--trusted-proxy', '127.0.0.0/8', *SMALL) as s:
        check('three a minute', [200, 200], [s.translate('a').status, s.translate(['a', 'b']).status])
        answer = s.translate('a')
        check('a fourth', (429, 'Slowdown: 3 per 1 minute'), answer.error)
        holds('it may come again', 1 <= int(answer.headers['Retry-After']) <= 60, answer.headers['Retry-After'])
        check('others may', 200, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de'},
                                        headers={'X-Forwarded-For': '9.9.9.9'}).status)
        check('detect counts too', 429, s.form('/detect', {'q': 'a'}).status)
        check('deepl too', 429, s.deepl().status)
        check('languages do not', 200, s.get('/languages').status)
    with Server('--hourly-req-limit', '4', '--hourly-req-limit-decay', '1', *SMALL, env={'LT_DAILY_REQ_LIMIT': '3'}) as s:
        check('an array counts in all windows', 200, s.translate(['a', 'b', 'c']).status)
        answer = s.translate('a')
        check('a day', (429, 'Slowdown: 3 per 1 day'), answer.error)
        holds('comes again tomorrow', 86400 - 3000 < int(answer.headers['Retry-After']) <= 86400, answer.headers['Retry-After'])
    with Server('--hourly-req-limit', '1', *SMALL) as s:
        check('an hour', [200, (429, 'Slowdown: 1 per 1 hour')], [s.translate('a').status, s.translate('a').error])
    with Server('--req-limit', '1', *SMALL) as s:
        s.translate('a')
        check('a proxy that nobody trusts', 429, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de'},
                                                       headers={'X-Forwarded-For': '9.9.9.9'}).status)


def check_keys():
    path = os.path.join(folder, 'db', 'keys.db')
    keys = ('serve', 'keys', '--api-keys-db-path', path)
    key = pronk(*keys, 'add', '2').stdout.strip()
    check('a key looks like one', 36, len(key))
    pronk(*keys, 'add', '--key', 'short', '--char-limit', '3')
    check('keys are listed', [f'{key}: 2', 'short: -1, characters: 3'], sorted(pronk(*keys, 'list').stdout.splitlines()))
    with Server('--api-keys', '--api-keys-db-path', path, '--req-limit', '2', '--access-log', *SMALL) as s:
        check('a wrong key', (403, 'Invalid API key'), s.translate('a', api_key='wrong').error)
        check('deepl: a wrong key', (403, 'Invalid API key'),
              s.deepl(headers={'Authorization': 'DeepL-Auth-Key wrong'}).error)
        check('that counts for the address', 429, s.translate('a').status)
        check('a key has its own limit', [200, 200, 429], [s.translate('a', api_key=key).status for _ in range(3)])
        check('a key has its own characters', 400, s.translate('abcd', api_key='short').status)
        check('deepl: a key', 200, s.deepl(headers={'Authorization': 'DeepL-Auth-Key short'}).status)
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
    with Server('--api-keys', '--api-keys-db-path', path, '--req-flood-threshold', '2', *SMALL) as s:
        check('not yet banned', 200, s.translate('a').status)
        check('offences', [429, 429], [s.translate('a', api_key='zero').status for _ in range(2)])
        check('a ban', (403, 'Too many request limits violations'), s.translate('a').error)
        check('a ban for deepl', (403, 'Too many request limits violations'), s.get('/v2/usage').error)
    with Server('--api-keys', '--api-keys-db-path', path, '--require-api-key-origin', 'https://ours\\.example',
                *SMALL) as s:
        check('no key', (400, 'Please contact the server operator to get an API key'), s.translate('a').error)
        check('deepl: no key', 403, s.deepl().status)
        check('detect: no key', 400, s.form('/detect', {'q': 'a'}).status)
        check('a key', 200, s.translate('a', api_key='short').status)
        check('from the right place', 200, s.send('/translate', {'q': 'a', 'source': 'en', 'target': 'de'},
                                                  headers={'Origin': 'https://ours.example'}).status)
        settings = s.get('/frontend/settings').json
        check('settings say so', [True, True], [settings[k] for k in ('apiKeys', 'keyRequired')])


def fill(path):
    """Writes until there is no room left."""
    with open(path, 'wb', buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass


def check_full_disk():
    disk = os.path.join(folder, 'disk')
    os.mkdir(disk)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', disk], capture_output=True).returncode:
        return skip('keys on a full disk', 'not permitted to mount a small one')
    try:
        keys = ('serve', 'keys', '--api-keys-db-path', disk + '/keys.db')
        pronk(*keys, 'add', '5', '--key', 'kept')
        fill(disk + '/rest')
        with Server('--api-keys', '--api-keys-db-path', disk + '/keys.db', *SMALL) as s:
            found = pronk(*keys, 'add', '5', '--key', 'lost')
            check('a full disk: no key is added', (1, '', f'pronk serve: {disk}/keys.db: database or disk is full\n'),
                  (found.returncode, found.stdout, found.stderr))
            check('nor removed', 1, pronk(*keys, 'remove', 'kept').returncode)
            check('and none is lost', 'kept: 5\n', pronk(*keys, 'list').stdout)
            check('the server goes on', [200, 403], [s.translate('a', api_key=k).status for k in ('kept', 'lost')])
            os.remove(disk + '/rest')
            pronk(*keys, 'add', '--key', 'lost')
            holds('with room again it is added', wait_for(lambda: s.translate('a', api_key='lost').status == 200, 5))
        fill(disk + '/rest')
        new = ('--api-keys-db-path', disk + '/new.db')
        check('nor is a new file made', 1, pronk('serve', 'keys', 'add', *new).returncode)
        with Server('--api-keys', *new, *SMALL) as s:
            check('what is left of it has no keys', [403, 200], [s.translate('a', api_key='x').status, s.translate('a').status])
    finally:
        subprocess.run(['umount', disk])
