"""What operators use: metrics, variables, systemd, TLS, an unprivileged user."""
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import urllib.request

from serving import FORM, PRONK, SMALL, Server, check, folder, holds, pronk, skip, wait_for


def check_operations():
    with Server('--metrics', '--metrics-auth-token', 'secret', *SMALL) as s:
        check('metrics without a token', 401, s.get('/metrics').status)
        check('with a wrong one', 401, s.get('/metrics', headers={'Authorization': 'Bearer secre'}).status)
        s.translate('a')
        page = s.get('/metrics', headers={'Authorization': 'Bearer secret'}).body.decode()
        holds('requests are counted', 'seconds_count{endpoint="/translate",status="200"} 1' in page, page)
        holds('and nobody is named', '127.0.0.1' not in page and 'key' not in page, page)
    env = {'LT_PORT': '0', 'LT_CHAR_LIMIT': '3', 'LT_METRICS': 'true', 'LT_WONDER': '1', 'LT_API_KEYS': 'false'}
    with Server(env=env, command=[PRONK, 'serve', *SMALL]) as s:
        check('variables', [400, 200], [s.translate('four').status, s.get('/metrics').status])
        holds('an unknown one is named', any('LT_WONDER is not known' in e for e in s.errors), s.errors)
        check('only that one', 1, sum('not known' in e for e in s.errors))
    wrong = (('LT_SSL', 'maybe', 2), ('LT_PORT', 'many', 2), ('LT_TRUSTED_PROXY', 'any', 1), ('LT_GLOSSARY', 'x', 1))
    for name, value, code in wrong:
        ended = pronk('serve', env={name: value})
        check(f'{name} that is wrong', code, ended.returncode)
        holds('its name is in the message', ended.stderr.startswith(f'pronk serve: {name}'), ended.stderr)
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
        line = f'LISTEN_FDS=1 LISTEN_PID=$$ exec {PRONK} serve --access-log {" ".join(SMALL)} 3<&{listener.fileno()}'
        given = {'env': {'NOTIFY_SOCKET': notify}, 'popen': {'pass_fds': [listener.fileno()]}}
        with Server(command=['bash', '-c', line], **given) as s:
            check('ready', b'READY=1', told.recv(100))
            check('the socket that was given', listener.getsockname()[1], s.port)
            check('serves', 200, s.translate('a').status)
            s.process.send_signal(signal.SIGHUP)
            check('reloading', b'RELOADING=1', told.recv(100).split(b'\n')[0])
            check('and ready again', b'READY=1', told.recv(100))
            s.process.send_signal(signal.SIGTERM)
            check('stopping', b'STOPPING=1', told.recv(100))
        with Server(command=['bash', '-c', line + ' 2>/dev/full'], port=s.port, **given) as s:
            check('a log on a full disk', b'READY=1', told.recv(100))
            check('hinders nobody', 200, s.translate('a').status)
    listener.close()


def make_certificate(name):
    """A pair of PEM files for 127.0.0.1; None: there is no openssl."""
    key, certificate = os.path.join(folder, 'key.pem'), os.path.join(folder, 'certificate.pem')
    made = shutil.which('openssl') and subprocess.run(
        ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
         '-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=' + name, '-addext',
         'subjectAltName=IP:127.0.0.1'], capture_output=True)
    return None if not made or made.returncode else (certificate, key)


def shown(s):
    """The certificate that a new connection is shown."""
    return ssl.get_server_certificate(('127.0.0.1', s.port), timeout=10)


def check_renewal(s, certificate, key):
    """SIGHUP reads the pair again; a connection that there is goes on with the old one."""
    first = open(certificate).read()
    kept = http.client.HTTPSConnection('127.0.0.1', s.port, context=ssl._create_unverified_context(), timeout=10)
    kept.request('GET', '/health')
    kept.getresponse().read()
    check('TLS: the certificate', first, shown(s))
    make_certificate('second')
    second = open(certificate).read()
    check('TLS: a new file alone changes nothing', first, shown(s))
    s.process.send_signal(signal.SIGHUP)
    holds('TLS: SIGHUP takes the new certificate', wait_for(lambda: shown(s) == second, 5), s.errors)
    kept.request('POST', '/translate', 'q=a&source=en&target=de', {'Content-Type': FORM})
    answer = kept.getresponse()
    check('TLS: a connection that was there is served, and closed then', (200, 'close'),
          (answer.status, answer.headers['Connection']))
    for text in ('nonsense', first):  # no certificate at all; one that the key is not for
        open(certificate, 'w').write(text)
        s.process.send_signal(signal.SIGHUP)
        said = 'the certificate stays as it was: '
        holds('TLS: a broken pair is named', wait_for(lambda: said in '\n'.join(s.errors), 5), s.errors)
        check('TLS: and the one before serves', second, shown(s))
        s.errors[:] = [e for e in s.errors if said not in e]


def check_tls():
    pair = make_certificate('first')
    if not pair:
        return skip('TLS', 'no openssl to make a certificate')
    certificate, key = pair
    with Server('--ssl', '--ssl-cert', certificate, '--ssl-key', key, *SMALL) as s:
        context = ssl.create_default_context(cafile=certificate)
        with urllib.request.urlopen(f'https://127.0.0.1:{s.port}/translate', b'q=a&source=en&target=de',
                                    context=context, timeout=10) as r:
            check('TLS', 200, r.status)
            check('TLS: the answer', ['translatedText'], list(json.load(r)))
        check_renewal(s, certificate, key)
    make_certificate('third')
    swapped = ('--ssl-cert', key, '--ssl-key', certificate)
    wrong = pronk('serve', '--ssl', *swapped, '--port', '0')
    check('TLS with wrong files', 1, wrong.returncode)
    holds('TLS: both are named', key in wrong.stderr and certificate in wrong.stderr, wrong.stderr)


def check_unprivileged():
    nobody = 65534
    readable = os.getuid() == 0 and subprocess.run(['test', '-x', PRONK], user=nobody, group=nobody).returncode == 0
    if not readable:
        return skip('an unprivileged user', 'not root, or the program lies where nobody else may read')
    with Server(popen={'user': nobody, 'group': nobody, 'extra_groups': [], 'cwd': '/proc'}) as s:
        check('an unprivileged user in a folder that cannot be written', 200, s.translate('a').status)
