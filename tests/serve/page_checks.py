"""The page of `pronk serve` in real Chromium: typing, words, languages, keyboard, sight, sizes, and what it may not do."""
import json
import os
import re
import time

from browser import Page, dump, open_browser, why_not
from http_case import make_packages
from serving import TINY, Server, check, finish, folder, holds, pronk, skip, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
ACCESSIBLE = open(os.path.join(HERE, 'page_accessible.js'), encoding='utf-8').read()
TEXT = 'The house is small. My friend lives there, and he likes it very much.'
ATTACK = '<img src=x onerror="document.title=1"> <script>document.title=2</script> &lt;b&gt;'


def plain(*lines):
    return pronk('translate', '-q', text='\n'.join(lines) + '\n').stdout.rstrip('\n')


# ---- what needs no browser ----

def check_files(s):
    page = s.get('/')
    check('type', 'text/html; charset=utf-8', page.headers['Content-Type'])
    policy = page.headers['Content-Security-Policy']
    for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
                 "base-uri 'none'", "form-action 'none'"):
        holds(f'policy: {rule}', rule in policy, policy)
    holds('policy: nothing unsafe', 'unsafe' not in policy and 'http' not in policy and '*' not in policy, policy)
    check('nosniff, no referrer', ('nosniff', 'no-referrer'),
          (page.headers['X-Content-Type-Options'], page.headers['Referrer-Policy']))
    names = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    holds('all is from here', names and not any('//' in name or name.startswith('data:') for name in names), names)
    scripts = ['page.js', 'live.js', 'words.js', 'server.js', 'passes.js']
    for name in sorted({*names, *scripts}):
        answer = s.get('/' + name)
        check(f'{name}', 200, answer.status)
        if name in ('spec', 'languages'):
            continue
        tag = {'If-None-Match': answer.headers['ETag']}
        again = s.get('/' + name, headers=tag)
        check(f'{name}: not sent twice', (304, b''), (again.status, again.body))
        check(f'{name}: another tag', 200, s.get('/' + name, headers={'If-None-Match': '"x"'}).status)
    for name in scripts:
        found = re.findall(r'innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function', s.get('/' + name).body.decode())
        check(f'{name} makes no markup of text', [], found)
    check('HEAD', 200, s.ask('HEAD', '/page.js').status)
    with Server('--disable-web-ui') as other:
        check('no page', [404, 404], [other.get(path).status for path in ('/', '/page.js')])


def check_fields(s):
    whole = s.translate(TEXT).json['translatedText']
    found = s.translate(TEXT, alignment=True).json
    check('alignment: the same text', whole, found['translatedText'])
    check('alignment: keys', ['alignment', 'translatedText'], sorted(found))
    parts = found['alignment']
    check('sentences cover the source', [[0, 20], [20, len(TEXT)]], [p['source'] for p in parts])
    check('sentences cover the translation', whole, ''.join(whole[a:b] for a, b in (p['target'] for p in parts)))
    words = {(TEXT[a:b], whole[c:d]) for p in parts for a, b, c, d in p['links']}
    holds('house is Haus', ('house', 'Haus') in words and ('small.', 'klein.') in words, words)
    odd = 'Ein \U0001f600 day. The house.'
    found = s.translate([odd], alignment=True).json
    words = {(odd[a:b], found['translatedText'][0][c:d]) for p in found['alignment'][0] for a, b, c, d in p['links']}
    holds('characters are counted, not bytes', ('house.', 'Haus.') in words, words)
    for draft in (whole, '', 'Something else.', whole * 20, '\U0001f600'):
        check(f'a draft changes nothing: {draft[:12]}', {'translatedText': whole}, s.translate(TEXT, draft=draft).json)
    check('drafts of an array', s.translate([TEXT, 'Yes.']).json, s.translate([TEXT, 'Yes.'], draft=[whole, '']).json)
    check('a form', whole, s.form('/translate', {'q': TEXT, 'source': 'en', 'target': 'de', 'draft': whole, 'alignment': 'true'}).json['translatedText'])
    check('alignment: false', ['translatedText'], sorted(s.form('/translate', {'q': 'a', 'source': 'en', 'target': 'de', 'alignment': 'false'}).json))
    check('auto', ['alignment', 'detectedLanguage', 'translatedText'], sorted(s.translate(TEXT, 'auto', alignment=True).json))
    check('white space', '  \n ', s.translate('  \n ', alignment=True).json['translatedText'])
    check('into the same language', TEXT, s.translate(TEXT, 'en', 'en', alignment=True, trace=True).json['translatedText'])
    wrong = (400, 'Invalid request: draft parameter is not as q is')
    for q, draft in ((TEXT, [whole]), ([TEXT], whole), ([TEXT], [whole, whole]), (TEXT, 5), ([TEXT], [None])):
        check(f'a draft of another kind: {type(draft).__name__}', wrong, s.translate(q, draft=draft).error)
    check('with alternatives', (400, 'Invalid request: no alignment with alternatives'),
          s.translate('a', alternatives=2, alignment=True).error)
    check('too much to align', 400, s.translate('a ' * 10001, alignment=True).status)
    check('too much to trace', 400, s.translate('a ' * 1001, trace=True).status)
    check('too many drafts', 400, s.translate(['a'] * 1001, draft=['b'] * 1001).status)


def check_strategies():
    """Whatever the server decodes with, these requests have its output."""
    for decode in ('beam:size=3', 'greedy:max_length=7', 'jacobi:window=4'):
        with Server('--decode', decode) as s:
            whole = s.translate(TEXT).json['translatedText']
            found = s.translate(TEXT, draft=whole, alignment=True, trace=True).json
            check(f'{decode}: the same text', whole, found['translatedText'])
            holds(f'{decode}: links and passes', found['alignment'][0]['links'] and found['trace'][0]['passes'], dump(found))


def check_trace(s):
    cold = s.translate('The house is very small and old.', trace=True).json
    trace, = cold['trace']
    check('trace: the tokens are the text', cold['translatedText'],
          ''.join(t['piece'] for t in trace['tokens'][:-1]).replace('\u2581', ' ').strip())
    passes = [t['pass'] for t in trace['tokens']]
    check('trace: tokens become certain in order, in passes that there are', (sorted(passes), 1, len(trace['passes'])),
          (passes, passes[0], passes[-1]))
    # how many guesses a pass tries depends on what passes cost at the moment, so several tries count; bench/page_latency.py
    # measures
    tries = [s.translate('The house is very small and old.', trace=True, draft=cold['translatedText']).json['trace'][0] for _ in range(8)]
    warm = min(tries, key=lambda t: len(t['passes']))
    holds('a draft saves passes', len(warm['passes']) < len(warm['tokens']), f"{len(warm['passes'])} of {len(warm['tokens'])}")
    accepted = {a['position'] for p in warm['passes'] for a in p if a['accepted']}
    check('trace: every token was accepted somewhere', set(range(len(warm['tokens']))), accepted)


def check_trace_of_loop():
    """What is decoded again because it repeats itself is what a trace shows; this model of nonsense does."""
    with Server('-m', 'tests/data/models/marian-relu', '--from', 'en', '--to', 'de') as s:
        found = s.translate('cats', trace=True).json
        check('loop: a trace changes nothing', s.translate('cats').json['translatedText'], found['translatedText'])
        tokens, passes = found['trace'][0]['tokens'], found['trace'][0]['passes']
        check('loop: the tokens are the text', found['translatedText'],
              ''.join(t['piece'] for t in tokens[:-1]).replace('\u2581', ' ').strip())
        check('loop: each pass of the beam makes one certain', list(range(1, len(tokens) + 1)), [t['pass'] for t in tokens])
        holds('loop: the first decoding is not among them', len(tokens) <= len(passes) <= len(tokens) + 2, len(passes))


def events_of(answer):
    found = []
    for event in answer.body.decode().split('\n\n')[:-1]:
        kind = re.match('event: (.*)\n', event)
        found.append((kind[1] if kind else '', json.loads(event.split('data: ', 1)[1])))
    return found


def check_stream(s):
    text = (TEXT + '\n\n  Good morning! ') * 30
    whole = s.translate(text).json['translatedText']
    answer = s.send('/translate/stream', {'q': text, 'source': 'auto', 'target': 'de', 'alignment': True})
    check('stream: type', (200, 'text/event-stream', 'no-store'),
          (answer.status, answer.headers['Content-Type'], answer.headers['Cache-Control']))
    events = events_of(answer)
    check('stream: the language, then sentences, then the end', ('en', 'end'),
          (events[0][1].get('detectedLanguage', {}).get('language'), events[-1][0]))
    sentences = [data for kind, data in events[1:-1]]
    check('stream: as many as there are', 90, len(sentences))
    check('stream: together they are the translation', whole, ''.join(e['translatedText'] for e in sentences))
    check('stream: and cover the text', text, ''.join(text[slice(*e['source'])] for e in sentences))
    one = sentences[1]
    words = {(text[a:b], one['translatedText'][c:d]) for a, b, c, d in one['links']}
    holds('stream: links', ('friend', 'Freund') in words, words)
    events = events_of(s.send('/translate/stream', {'q': ['Yes.', ' ', 'No.'], 'source': 'en', 'target': 'de'}))
    check('stream: texts of an array', [0, 1, 2], [data['text'] for kind, data in events[:-1]])
    check('stream: refused as elsewhere', (400, 'zz is not supported'), s.send('/translate/stream', {'q': 'a', 'source': 'zz', 'target': 'de'}).error)
    for name in ('alternatives', 'trace'):
        check(f'stream: no {name}', 400, s.send('/translate/stream', {'q': 'a', 'source': 'en', 'target': 'de', name: 1}).status)


def check_stream_limits():
    ask = {'q': (TEXT + ' ') * 4000, 'source': 'en', 'target': 'de'}
    with Server('--metrics', '--req-limit', '4', '--char-limit', '400000') as s:
        check('stream: characters', 400, s.send('/translate/stream', {**ask, 'q': 'a' * 400001}).status)
        c = s.connect()
        c.request('POST', '/translate/stream', json.dumps(ask), {'Content-Type': 'application/json'})
        first = c.getresponse()
        holds('stream: it begins', first.read(6) == b'data: ')
        c.sock.close()
        c.close()
        first.close()
        holds('stream: who vanishes has it stopped', wait_for(lambda: s.metric('libretranslate_http_requests_in_flight') == 1, 15))
        done = s.metric('pronk_sentences_total')
        holds('stream: long before its end', done < 6000, done)
        statuses = [s.send('/translate/stream', {**ask, 'q': 'a'}).status for _ in range(4)]
        check('stream: requests a minute', 429, statuses[-1])
    with Server('--timeout', '1', '-m', TINY + '/en-de.argosmodel') as s:
        check('stream: serves other models', 200, s.send('/translate/stream', {**ask, 'q': 'a'}).status)
    s = Server()
    c = s.connect()
    c.request('POST', '/translate/stream', json.dumps({**ask, 'q': (TEXT + ' ') * 200}), {'Content-Type': 'application/json'})
    answer = c.getresponse()
    s.process.terminate()
    holds('stream: what has begun is ended in order', answer.read().endswith(b'event: end\ndata: {}\n\n'))
    c.close()
    s.end()


# ---- in a browser ----

def check_typing(page):
    holds('typing settles', page.type(TEXT))
    check('typing translates', plain(TEXT), page.text())
    page.type('\n\nGood morning!', new=False)
    check('lines stay lines', plain(TEXT, '', 'Good morning!'), page.text())
    check('the mirror says what was typed', TEXT + '\n\nGood morning!', page.text('mirror'))
    same = page.run('const a = document.getElementById("source").getBoundingClientRect(), b = document.getElementById("mirror")'
                    '.getBoundingClientRect(); return Math.abs(a.height - b.height) + Math.abs(a.top - b.top)')
    holds('text and mirror lie on each other', same < 1, same)
    check('characters are counted', f"{len(TEXT) + 15} characters", page.by('count').text)
    page.put(ATTACK)
    holds('markup is text', ATTACK == page.text('mirror') and not page.run('return document.querySelectorAll("#mirror img, #output img, #output script").length'))
    check('in the translation too', (plain(ATTACK), 'Pronk: translation'), (page.text(), page.driver.title))
    page.put('\U0001f600 The house is small.')
    check('beyond 16 bits', plain('\U0001f600 The house is small.'), page.text())
    wait_for(lambda: page.text('spoken') == page.text())
    check('what is settled is spoken', page.text(), page.text('spoken'))
    page.by('clear').click()
    check('clear', ('', ''), (page.by('source').get_property('value'), page.text()))


def check_long(page):
    page.by('clear').click()
    text = '\n'.join([TEXT] * 5 + ['', TEXT + ' ' + TEXT] * 12)
    holds('a long text settles', page.put(text))
    check('a long text', plain(*text.split('\n')), page.text())
    page.run('performance.clearResourceTimings()')
    page.type(' Yes.', new=False)
    sent = page.run('return performance.getEntriesByType("resource").map(e => e.name.split("/").pop())')
    holds('a change in it is a short request', sent and set(sent) == {'translate'}, sent)
    check('and changes the end', plain(TEXT + ' ' + TEXT + ' Yes.'), page.text().split('\n')[-1])


def check_words(page):
    from selenium.webdriver.common.action_chains import ActionChains
    page.type(TEXT)
    marked = ('const of = (id, kind) => [...document.querySelectorAll(`#${id} .word.${kind}`)].map(e => e.textContent);'
              'return [of("mirror", "here"), of("mirror", "linked"), of("output", "here"), of("output", "linked")]')
    word = page.driver.find_element('xpath', '//div[@id="output"]//span[text()="Haus"]')
    ActionChains(page.driver).move_to_element(word).perform()
    check('pointing at a word of the translation', [[], ['house'], ['Haus'], []], page.run(marked))
    box = page.run('const r = [...document.querySelectorAll("#mirror .word")].find(e => e.textContent === "friend").getBoundingClientRect();'
                   'return [r.x + r.width / 2, r.y + r.height / 2]')
    actions = ActionChains(page.driver)
    actions.w3c_actions.pointer_action.move_to_location(int(box[0]), int(box[1]))
    actions.perform()
    check('pointing at a word of the text', [['friend'], [], [], ['Freund']], page.run(marked))
    page.run('const s = document.getElementById("source"); s.focus(); s.setSelectionRange(6, 6)')
    wait_for(lambda: page.run(marked)[0] == ['house'], 5)
    check('the cursor in a word', [['house'], [], [], ['Haus']], page.run(marked))
    from selenium.webdriver.common.keys import Keys
    page.by('output').send_keys(Keys.ARROW_RIGHT)
    check('arrow keys in the translation', [[], ['house'], ['Haus'], []], page.run(marked))
    check('and it is spoken', 'Haus: from house', page.text('spoken'))


def check_views(page):
    page.put('The house is small. I would like to see it.')
    page.by('others').find_element('tag name', 'summary').click()
    holds('alternatives come', wait_for(lambda: page.driver.find_elements('css selector', '#others-list button')))
    other = page.driver.find_elements('css selector', '#others-list button')[0]
    chosen = other.text
    other.click()
    holds('one is taken', chosen in page.text(), (chosen, page.text()))
    page.type(' Yes.', new=False)
    holds('and stays while other sentences change', chosen in page.text(), page.text())
    page.by('passes').find_element('tag name', 'summary').click()
    holds('passes are shown', wait_for(lambda: page.driver.find_elements('css selector', '#passes-grid td.accepted')))
    rows = page.run('return [...document.querySelectorAll("#passes-grid tr")].map(r => [...r.cells].slice(1).map(c => c.className))')
    columns = list(zip(*rows))
    check('every token becomes certain once', [1] * len(columns), [c.count('accepted') for c in columns])
    said = re.search(r'(\d+) tokens in (\d+) passes', page.by('passes-of').text)
    check('and the sum is right', (len(columns), len(rows)), (int(said[1]), int(said[2])) if said else None)
    page.run('const s = document.getElementById("source"); s.focus(); s.setSelectionRange(30, 30)')
    holds('the views follow the cursor', wait_for(lambda: 'I would like' in page.by('passes-of').text), page.by('passes-of').text)


def check_keyboard(page):
    from selenium.webdriver.common.keys import Keys
    page.put(TEXT)
    page.run('document.getElementById("output").focus()')  # the views show the first sentence from now on
    wait_for(lambda: 'The house' in page.by('passes-of').text and 'Das Haus' in page.by('others-of').text)
    page.run('document.getElementById("theme").focus()')
    controls = page.run('return [...document.querySelectorAll("button, select, textarea, input, a, summary, [tabindex]")].filter(e =>'
                        '!e.disabled && e.getClientRects().length).map((e, i) => e.dataset.number = String(i))')
    reached, unseen = [], []
    for i in range(len(controls) + 3):
        page.driver.switch_to.active_element.send_keys(Keys.TAB if i else Keys.SHIFT)
        number, outline, name = page.run(
            'const e = document.activeElement, s = getComputedStyle(e);'
            'return [e.dataset.number, s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2, e.id || e.textContent]')
        if number is None:
            break
        reached.append(number)
        if not outline:
            unseen.append(name)
    check('every control is reached by keyboard, in the order in which they stand', controls, reached[:len(controls)])
    check('and is seen to be', [], unseen)


def check_sight(page):
    page.put(TEXT)
    for view in ('others', 'passes'):
        page.run('document.getElementById(arguments[0]).open = true', view)
    wait_for(lambda: page.driver.find_elements('css selector', '#passes-grid td') and page.driver.find_elements('css selector', '#others-list button'))
    colours = {}
    for theme in ('system', 'light', 'dark'):
        check(f'theme {theme}', f'Theme: {theme}', page.by('theme').text)
        for scheme in ('light', 'dark'):
            page.prefer(scheme)
            page.run('document.querySelector("#output .word")?.classList.add("here")')
            colours[theme, scheme] = page.run('return getComputedStyle(document.body).backgroundColor')
            check(f'nothing to complain of: {theme}, {scheme}', [], page.run(ACCESSIBLE))
        page.by('theme').click()
    holds('the system decides', colours['system', 'light'] != colours['system', 'dark'], colours)
    check('or the switch', (colours['system', 'light'], colours['system', 'dark']), (colours['light', 'dark'], colours['dark', 'light']))
    page.prefer('light')
    page.run('document.getElementById("copy").style.color = "#8a8f8c"')
    holds('the checks can complain', any('id=copy' in c for c in page.run(ACCESSIBLE)))
    page.run('document.getElementById("copy").removeAttribute("style")')


def check_width(page):
    for width in (360, 320, 1200):
        page.set_width(width)
        page.put(TEXT + ' ' + 'Donaudampfschifffahrtsgesellschaftskapitänsmütze' * 3)
        wide = page.run('return [document.documentElement.scrollWidth, innerWidth]')
        holds(f'{width} pixels: nothing to scroll sideways', wide[0] <= wide[1] == width, wide)
        inside = page.run('return [...document.querySelectorAll("button, select, textarea")].filter(e => e.getClientRects().length &&'
                          'e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll")).map(e => e.id)')
        check(f'{width} pixels: all controls are there', [], inside)
    page.driver.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})


def check_copy(page):
    page.driver.execute_cdp_cmd('Browser.grantPermissions', {'permissions': ['clipboardReadWrite', 'clipboardSanitizedWrite']})
    page.put(TEXT)
    page.by('copy').click()
    wait_for(lambda: page.by('copy').text == 'Copied')
    check('copy', plain(TEXT), page.driver.execute_async_script('navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))'))


def check_languages(driver):
    """Two directions, a pair through English, a prefix, a limit: what the one model of before has not."""
    models = os.path.join(folder, 'pairs')
    make_packages(models)
    with Server('--models', models, '--url-prefix', 'lt', '--char-limit', '500') as s:
        for place in ('/lt', '/lt/'):
            page = Page(driver, s.port, place)
            holds(f'below a prefix: {place}', page.ready, page.complaints())
        check('languages to choose', ['auto', 'en', 'de'], page.run('return [...document.getElementById("from").options].map(o => o.value)'))
        page.type('The house is small and the garden is large.')
        check('detected', 'Detected: English', page.run('return document.getElementById("from").selectedOptions[0].textContent'))
        page.run('const t = document.getElementById("to"); t.value = "de"; t.dispatchEvent(new Event("change"))')
        page.settle()
        found = page.text()
        holds('swap is there', page.by('swap').is_enabled())
        page.by('swap').click()
        page.settle()
        check('swap', ('de', 'en', found), tuple(page.run('return ["from", "to", "source"].map(i => document.getElementById(i).value)')))
        page.run('const t = document.getElementById("to"); t.value = "fr"; t.dispatchEvent(new Event("change"))')
        page.settle()
        check('no way back, no swap', False, page.by('swap').is_enabled())
        check('the limit', f'{len(found)} of 500 characters', page.by('count').text)
        page.put('a' * 501, wait=False)
        wait_for(lambda: page.by('status').text, 5)
        check('an error is shown', 'Invalid request: request (501) exceeds text limit (500)', page.by('status').text)
        check('nothing else to complain of', [], [e for e in page.complaints() if 'status of 400' not in e])


def check_refused(driver):
    with Server('--req-limit', '6') as s:
        page = Page(driver, s.port)
        for i in range(9):
            page.put('The house is small. ' + 'x' * i, wait=False)
            wait_for(lambda: page.by('status').text or page.run('return document.body.dataset.settled') == 'true', 5)
        check('who types too fast is told', 'Slowdown: 6 per 1 minute', page.by('status').text)
        page.put('The house.', wait=False)
        time.sleep(1)
        tried = page.run('return performance.getEntriesByType("resource").filter(e => e.name.endsWith("/translate")).length')
        holds('and the page holds back', tried <= 9, tried)


def main():
    with Server() as s:
        for part in (check_files, check_fields, check_trace, check_stream):
            part(s)
        check_trace_of_loop()
        check_strategies()
        check_stream_limits()
        why = why_not()
        if why:
            skip('the page in Chromium', why)
            finish()
        driver = open_browser()
        try:
            page = Page(driver, s.port)
            holds('the page is ready', page.ready, page.complaints())
            for part in (check_typing, check_words, check_views, check_long, check_copy, check_keyboard, check_sight, check_width):
                part(page)
            check('the console is quiet', [], page.complaints())
            check_languages(driver)
            check_refused(driver)
        finally:
            driver.quit()
    finish()


main()
