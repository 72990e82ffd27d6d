"""HTML and glossaries over HTTP: as `pronk translate` does them, for LibreTranslate's clients (Mastodon) and DeepL's."""
import json
import os
import re
import shutil
import time

from serving import SMALL, TINY, Server, check, finish, folder, holds, pronk, wait_for

# posts as Mastodon sends them: paragraphs, line breaks, mentions and hashtags as links, addresses cut into pieces
MENTION = ('<span class="h-card" translate="no"><a href="https://mastodon.social/@Gargron" class="u-url mention">'
           '@<span>Gargron</span></a></span>')
HASHTAG = ('<a href="https://mastodon.social/tags/SmallHouse" class="mention hashtag" rel="tag">'
           '#<span>SmallHouse</span></a>')
ADDRESS = ('<a href="https://example.org/a/long/address?x=1&amp;y=2" rel="nofollow noopener" target="_blank">'
           '<span class="invisible">https://</span><span class="ellipsis">example.org/a/long/addr</span>'
           '<span class="invisible">ess?x=1&amp;y=2</span></a>')
POSTS = [f'<p>{MENTION} The house is small, and I like it very much {HASHTAG}</p><p>Read more about it here:<br />{ADDRESS}</p>',
         f'<p>Good morning, my friends!<br>We are going to the river today with {MENTION}.</p>',
         f'<p>{HASHTAG} {HASHTAG}</p>',
         'A quiet day :blobcat:',
         '']


def tags(html):
    return sorted(re.findall(r'<[^>]*>', html))


def check_posts(s):
    answer = s.translate(POSTS, 'auto', 'de', format='html').json
    found = answer['translatedText']
    check('posts: as many', len(POSTS), len(found))
    check('posts: a language for each', ['en'] * len(POSTS), [one['language'] for one in answer['detectedLanguage']])
    for i, (post, text) in enumerate(zip(POSTS, found)):
        check(f'post {i}: its tags', tags(post), tags(text))
        for what, name in ((MENTION, 'mentions'), (HASHTAG, 'hashtags'), (ADDRESS, 'addresses')):
            check(f'post {i}: {name} are untouched', post.count(what), text.count(what))
    holds('posts are translated', 'Haus' in found[0] and 'Morgen' in found[1], found)
    check('posts: nothing to translate', POSTS[2], found[2])
    check('posts: one alone', found[0], s.translate(POSTS[0], format='html').json['translatedText'])
    check('posts: each as by pronk translate', found[:2],
          [pronk('translate', '-q', '--format', 'html', text=one).stdout for one in POSTS[:2]])
    check('one post in a form', found[1], s.form('/translate', {'q': POSTS[1], 'source': 'en', 'target': 'de',
                                                                'format': 'html'}).json['translatedText'])


def check_html(s):
    text = '<p>The <b>house</b> is small.</p><!-- a &amp; b --><pre>  x</pre><script>if (a < b) c();</script>'
    html = s.translate(text, format='html').json['translatedText']
    check('html', '<p>Das <b>Haus</b> ist klein.</p>', html[:html.index('<!--')])
    check('html: the rest is as it was', text[text.index('<!--'):text.index('<pre>')], html[html.index('<!--'):html.index('<pre>')])
    check('html: scripts', text[text.index('<script>'):], html[html.index('<script>'):])

    found = s.translate(['<i>Good morning.</i>'], format='html', alternatives=2).json
    holds('html: alternatives have the tags', found['alternatives'][0] and
          all(tags(a) == ['</i>', '<i>'] for a in found['alternatives'][0]), found)
    check('html with a draft, which is passed over', html, s.translate(text, format='html', draft='x').json['translatedText'])
    for name in ('alignment', 'trace'):
        check(f'html with {name}', (400, f'Invalid request: no {name} with html or a glossary'),
              s.translate(text, format='html', **{name: True}).error)
    check('html in a stream', (400, 'html format is not supported'),
          s.send('/translate/stream', {'q': text, 'source': 'en', 'target': 'de', 'format': 'html'}).error)
    check('html that is not closed', 200, s.translate('<p <b', format='html').status)


def check_glossary(s):
    text = 'The house is small, and the houses are old.'
    plain = s.translate(text).json['translatedText']
    for given in ({'house': 'Gemäuer'}, 'house\tGemäuer\n'):
        found = s.translate(text, glossary=given).json['translatedText']
        check('terms of the request', (2, 0), (found.count('Gemäuer'), plain.count('Gemäuer')))
    found = s.translate([text, f'<b>{text}</b>'], glossary={'house': 'Gemäuer'}, format='html').json['translatedText']
    check('terms and tags', ([2, 2], ['</b>', '<b>']), ([one.count('Gemäuer') for one in found], tags(found[1])))
    check('terms that the operator named', 2,
          s.translate(text, glossary_id='old').json['translatedText'].count('Gemäuer'))
    check('terms in a form', 2, s.form('/translate', {'q': text, 'source': 'en', 'target': 'de',
                                                      'glossary_id': 'old'}).json['translatedText'].count('Gemäuer'))
    check('the next request has none', plain, s.translate(text).json['translatedText'])
    for name in ('new', '../old', os.path.join(folder, 'old.tsv'), 5):
        check(f'no glossary {name}', (404, 'Glossary not found'), s.translate(text, glossary_id=name).error)
    check('two glossaries', 400, s.translate(text, glossary_id='old', glossary={'a': 'b'}).status)
    for wrong in ({'a': 5}, {'a\tb': 'c'}, {'a': 'b\nc\td'}, ['a'], 7, {'': 'x'}):
        check(f'glossary {wrong}', (400, 'Invalid request: glossary parameter is no object of terms'),
              s.translate(text, glossary=wrong).error)
    check('lines without a tab', 400, s.translate(text, glossary='house').status)
    check('a glossary that is too large', (400, 'Invalid request: glossary is for at most 65536 bytes'),
          s.translate(text, glossary={f'term {i}': 'x' * 50 for i in range(2000)}).error)
    check('a glossary in a stream', (400, 'Invalid request: no glossary in a stream'),
          s.send('/translate/stream', {'q': text, 'source': 'en', 'target': 'de', 'glossary_id': 'old'}).error)


def check_deepl(s):
    for kind in ('html', 'xml'):
        check(f'deepl: {kind}', ['Das <b>Haus</b> ist klein.'], [
            one['text'] for one in s.deepl(['The <b>house</b> is small.'], tag_handling=kind).json['translations']])
    check('deepl: tags that are empty', 1,
          s.deepl(['The <x id="1"/> house.'], tag_handling='xml').json['translations'][0]['text'].count('<x id="1"/>'))
    check('deepl: a glossary', 1, s.deepl(['The house.'], source_lang='EN', glossary_id='old').json
          ['translations'][0]['text'].count('Gemäuer'))
    check('deepl: no such glossary', (404, 'Glossary not found'), s.deepl(glossary_id='new').error)
    check('deepl: tags to pass over', 400, s.deepl(tag_handling='xml', ignore_tags=['a']).status)


def check_hostile(s):
    """Time and memory: half of each and a whole of it take a time that is in proportion."""
    n = 142857
    for name, make in (('nested', lambda k: '<b>' * k + '</b>' * k), ('never closed', lambda k: '<b>' * (2 * k)),
                       ('with words', lambda k: '<b>Good morning. ' * (k // 256) + '</b>' * (k // 256)), ('angles', lambda k: '<' * (7 * k))):
        seconds = []
        for size in (n // 2, n):
            begin = time.monotonic()
            answer = s.translate(make(size), format='html')
            seconds.append(time.monotonic() - begin)
            check(f'tags {name}: status', 200, answer.status)
        holds(f'tags {name}: in linear time', seconds[1] < 6 * seconds[0] + 1, seconds)
    check('too much html', (413, 'Invalid request: html is for at most 2097152 bytes'),
          s.translate('<b>' * 700000, format='html').error)
    check('and the server lives', 200, s.translate('<b>x</b>', format='html').status)


def check_busy():
    """Clients that vanish, deadlines and the bound of the queue are those of plain text."""
    long = '<p>' + ' '.join(f'The <b>house</b> number {i} in {{x}} the old street is not as small as the others.' for i in range(4000)) + '</p>'
    with Server('--metrics', '--queue', '5000', '--timeout', '1') as s:
        s.translate('<b>x</b>', format='html')
        check('html that takes too long', (503, 'Cannot translate text: it took too long'),
              s.translate([long] * 3, format='html').error)
    with Server('--char-limit', '20') as s:
        check('tags count as characters', (400, 'Invalid request: request (21) exceeds text limit (20)'),
              s.translate('<b>Good morning.</b> ', format='html').error)
    with Server(*SMALL, '--metrics') as s:
        s.translate('good morning')
        check('loops are counted', (1, 1), (s.metric('pronk_loops_total'), s.metric('pronk_loops_mended_total')))
    with Server('--metrics', '--queue', '100') as s:
        c = s.connect()
        body = json.dumps({'q': [long] * 3, 'source': 'en', 'target': 'de', 'format': 'html'})
        c.request('POST', '/translate', body, {'Content-Type': 'application/json'})
        holds('html is being translated', wait_for(lambda: s.metric('pronk_sentences_total') > 10, 20))
        check('too much waits', 429, s.translate('<b>Good morning.</b>' * 3, format='html').status)
        c.close()
        holds('who vanished has it stopped', wait_for(
            lambda: s.translate('<b>Good morning.</b>', format='html').status == 200, 3))


def check_pivot():
    models = os.path.join(folder, 'pivot')
    os.mkdir(models)
    shutil.copy(TINY + '/en-de.argosmodel', models + '/translate-en_de-1_9.argosmodel')
    shutil.copytree(TINY + '/opennmt', models + '/ct2-fr-en')
    html = '<p>the <b>cat</b> sees <a href="x">every house</a> {name}</p>'
    with Server('--models', models) as s:
        middle = pronk('translate', '-q', '--retry-loops', '--format', 'html', '-m', models + '/ct2-fr-en', text=html).stdout
        last = pronk('translate', '-q', '--retry-loops', '--format', 'html', '-m', models + '/translate-en_de-1_9.argosmodel',
                     text=middle).stdout
        found = s.translate(html, 'fr', 'de', format='html').json['translatedText']
        check('html through English', last, found)
        check('html through English: tags', (tags(html), 1), (tags(found), found.count('{name}')))
        check('no glossary through English', (400, 'Invalid request: no glossary for a pair that goes through English'),
              s.translate('cat', 'fr', 'de', glossary={'cat': 'x'}).error)


def check_start():
    for spec in ('old', '=x', f'old={folder}/nowhere.tsv', f'old={folder}/wrong.tsv'):
        found = pronk('serve', *SMALL, '--glossary', spec)
        check(f'--glossary {spec[:8]}', (1, True), (found.returncode, '--glossary' in found.stderr))


def check_markup():
    with open(os.path.join(folder, 'old.tsv'), 'w', encoding='utf-8') as file:
        file.write('house\tGemäuer\n')
    with open(os.path.join(folder, 'wrong.tsv'), 'w', encoding='utf-8') as file:
        file.write('house\tHaus\nno tab\n')
    with Server('--glossary', f'old={folder}/old.tsv') as s:
        for part in (check_posts, check_html, check_glossary, check_deepl, check_hostile):
            part(s)
    with Server(env={'LT_GLOSSARY': f'old={folder}/old.tsv'}) as s:
        check('a variable names glossaries', 200, s.translate(glossary_id='old').status)
    check_busy()
    check_pivot()
    check_start()


if __name__ == '__main__':
    check_markup()
    finish()
