"""Signals under load, clients that vanish, are slow or send too much."""
import json
import signal
import socket
import threading
import time

from serving import FORM, SMALL, Server, check, holds, pronk, wait_for


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


def begin(connection, q):
    """Asks, and does not wait for the answer."""
    connection.request('POST', '/translate', json.dumps({'q': q, 'source': 'en', 'target': 'de'}),
                       {'Content-Type': 'application/json'})


def talk_until_closed(s, line):
    """One request after the other on one connection, until an answer says that it was the last."""
    c = s.connect()
    while True:
        begin(c, line)
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
        begin(c, [line] * 8)
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
        begin(c, ['The house is large and the garden is small.'] * 3000)
        time.sleep(0.3)
        c.sock.close()
        closed = time.monotonic()
        holds('who vanishes is noticed within a second', wait_for(lambda: s.metric('pronk_vanished_total') == 1, 5) and
              time.monotonic() - closed < 1, time.monotonic() - closed)
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
    with Server(*SMALL, '--queue', '20000', '-d', 'greedy:max_length=4') as s:
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
        asks = b'Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n'
        check('who asks first', b'413', raw(s, b'POST /translate HTTP/1.1\r\nHost: x\r\n' + asks)[9:12])
        q = 'a' * (8 * (1 << 20) - 100)
        check('nearly eight MiB', (400, 'zz is not supported'), s.translate(q, 'zz').error)
        check('an array of 10,000', 10000, len(s.translate(['good morning'] * 10000).json['translatedText']))
        check('too many values', (413, 'Invalid request: too many values'), s.ask(
            'POST', '/translate', '{"q":[' + '"",' * 300000 + '""]}', 'application/json').error)
        header = b'GET /health HTTP/1.1\r\nHost: x\r\nX: ' + b'y' * 100000 + b'\r\n\r\n'
        check('a long header', b'431', raw(s, header)[9:12])
        query = b'POST /translate?q=' + b'y' * 100000 + b' HTTP/1.1\r\nHost: x\r\n\r\n'
        holds('a long query', raw(s, query)[9:12] in (b'414', b'431'))
        query = '/translate?source=en&target=de&q=' + '%C3%A4' * 7500
        check('a long text in a query', 200, s.ask('POST', query).status)
        found = raw(s, b'\x16\x03\x01\x00\xff nonsense\r\n\r\n')[:9]
        holds('no HTTP at all', found in (b'', b'HTTP/1.1 ', b'HTTP/1.0 '), found)
        c = s.connect()
        for _ in range(3):
            c.request('POST', '/translate', 'q=a&source=en&target=de', {'Content-Type': FORM})
            check('a connection is kept', 200, c.getresponse().read() and 200)
        check('still well', 200, s.get('/health').status)
    with Server(*SMALL, '--url-prefix', 'lt/', '--disable-web-ui') as s:
        paths = ('/lt/health', '/lt/', '/health', '/ltx')
        check('below a prefix', [200, 404, 301, 301], [s.get(p).status for p in paths])
        check('where to go', '/lt', s.get('/health').headers['Location'])
