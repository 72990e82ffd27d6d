"""LibreTranslate's API and DeepL's: good, odd and wrong requests."""
import urllib.parse

from serving import FORM, check, holds, pronk

MISSING = 'Invalid request: missing {} parameter'
BROKEN = 'The browser (or proxy) sent a request that this server could not understand.'


def multipart(fields):
    parts = ''.join(f'--XX\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items())
    return (parts + '--XX--\r\n').encode(), 'multipart/form-data; boundary=XX'


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
    unsure = [{'confidence': 0.0, 'language': 'en'}]
    check('emoji, detected', {'translatedText': ['\U0001f600'], 'detectedLanguage': unsure},
          s.translate(['\U0001f600'], 'auto').json)
    found = s.form('/translate', {**fields, 'q': 'One.\r\nTwo.\r\n'}).json['translatedText']
    check('form lines', 1, found.count('\n'))
    check('a zero in a text', 200, s.translate('a\0b').status)


def check_detected(s):
    found = s.translate('The house is small and the garden is large.', 'auto').json
    check('auto: keys', ['detectedLanguage', 'translatedText'], sorted(found))
    check('auto: language', 'en', found['detectedLanguage']['language'])
    found = s.translate(['The house is small.', 'This is the garden.'], 'auto').json
    check('auto of an array', ['en', 'en'], [d['language'] for d in found['detectedLanguage']])
    check('detect', 'en', s.form('/detect', {'q': 'This is the garden of the house.'}).json[0]['language'])
    check('detect an array', 'en', 
          s.send('/detect', {'q': ['This is the garden.', 'And the house.']}).json[0]['language'])
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
    check('alternatives: null', number, s.translate('a', alternatives=None).error)
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
        check(f'q is {q}', (400, 'Invalid request: q parameter is not a string or an array of strings'),
              s.translate(q).error)
    check('an unknown source', (400, 'zz is not supported'), s.translate(source='ZZ').error)
    check('an unknown target', (400, 'zz is not supported'), s.translate(target='zz').error)
    check('a target of another kind', (400, '5 is not supported'), s.translate(target=5).error)
    check('an alias', (400, 'zt is not supported'), s.translate(target='zh-Hant').error)
    check('no way', (400, 'English (en) is not available as a target language from German (de)'),
          s.translate(source='de', target='en').error)
    check('xml', (400, 'xml format is not supported'), s.translate(format='xml').error)
    for body in (b'', b'{', b'{"q": "\xff"}', b'{"q": "\\ud800"}', b'nonsense', b'[' * 5000):
        check(f'broken JSON {body[:12]}', (400, BROKEN), s.ask('POST', '/translate', body, 'application/json').error)
    for body in (b'[]', b'"q"', b'1'):
        check(f'JSON {body}', (400, 'Invalid JSON format'), s.ask('POST', '/translate', body, 'application/json').error)
    check('broken multipart', (400, BROKEN), s.ask('POST', '/translate', b'x', 'multipart/form-data; boundary=y').error)
    check('a body of another kind', (400, MISSING.format('q')), s.ask('POST', '/translate', b'q=x', 'text/plain').error)
    check('a form that is not UTF-8', 200, s.ask('POST', '/translate', b'q=%FF%FE&source=en&target=de',
                                                 FORM).status)
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
    check('languages with a body', 200, s.ask('GET', '/languages', 'api_key=x', FORM).status)
    languages = {'source': {'code': 'auto', 'name': 'Auto Detect'}, 'target': {'code': 'de', 'name': 'German'}}
    check('settings', {'apiKeys': False, 'charLimit': -1, 'filesTranslation': False, 'frontendTimeout': 500,
                       'keyRequired': False, 'language': languages, 'suggestions': False,
                       'supportedFilesFormat': []}, s.get('/frontend/settings').json)
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
    check('spec: names in a language', ['lang'], [p['name'] for p in spec['paths']['/languages']['get']['parameters']])
    for path, methods in spec['paths'].items():
        for method in methods:
            holds(f'spec: {method} {path} is there', s.ask(method.upper(), path, '').status not in (404, 405))
    check('no metrics', 404, s.get('/metrics').status)
    holds('a page', b'<html' in s.get('/').body)


def check_deepl(s):
    key = {'Authorization': 'DeepL-Auth-Key k'}
    plain = s.translate('Hello, world!').json['translatedText']
    check('deepl', [{'detected_source_language': 'EN', 'text': plain, 'billed_characters': 13}],
          s.deepl(['Hello, world!'], source_lang='EN', headers=key).json['translations'])
    found = s.ask('POST', '/v2/translate', 'text=Hello%2C+world!&text=Hello%2C+world!&target_lang=de',
                  FORM).json
    check('deepl: a form of several texts', [plain] * 2, [t['text'] for t in found['translations']])
    check('deepl: no text', (400, "Parameter 'text' not specified."), s.deepl([]).error)
    check('deepl: no target', (400, "Parameter 'target_lang' not specified."), s.deepl(target=None).error)
    check('deepl: another target', 400, s.deepl(target='FR').status)
    check('deepl: tags', (400, "Value for 'tag_handling' not supported."),
          s.deepl(tag_handling='svg').error)
    check('deepl: formality', 400, s.deepl(formality='more').status)
    check('deepl: sources', ['EN'], [l['language'] for l in s.get('/v2/languages').json])
    check('deepl: targets', ['DE'], [l['language'] for l in s.get('/v2/languages?type=target').json])
    check('deepl: usage', 39, s.get('/v2/usage').json['character_count'])
