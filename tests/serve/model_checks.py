"""A folder of models: pivots, opening, closing, looking again."""
import os
import shutil
import signal
import zipfile

from serving import TINY, Server, check, folder, holds, pronk, wait_for


def other_languages(path, source, target):
    """Pronk's own model, said to be for another pair."""
    own = open('models/en-de.pronk', 'rb').read()
    for name, old, new in (('source', 'en', source), ('target', 'de', target)):
        said = '\\"%s_language\\":\\"%s\\"'
        own = own.replace((said % (name, old)).encode(), (said % (name, new)).encode(), 1)
    open(path, 'wb').write(own)


def check_memory():
    """Whatever is opened in whatever order, the bound holds."""
    models = os.path.join(folder, 'three')
    os.mkdir(models)
    pairs = (('en', 'fr'), ('en', 'it'), ('es', 'en'))
    for source, target in pairs:
        other_languages(f'{models}/{source}-{target}.pronk', source, target)
    mib = 1 << 20
    with Server('--models', models, '--metrics') as s:
        none = s.metric('process_resident_memory_bytes')
        s.translate('Hello.', *pairs[0])
        one = s.metric('process_resident_memory_bytes')
    bound = int((none + 1.8 * (one - none)) // mib)
    with Server('--models', models, '--metrics', '--memory', str(bound)) as s:
        def look(*pair):
            status = s.translate('Hello.', *pair).status
            return status, s.metric('pronk_models_open'), s.metric('process_resident_memory_bytes') <= bound * mib
        check('one at a time within --memory', [(200, 1, True)] * 9, [look(*pairs[i % 3]) for i in range(9)])
        check('two halves of a way, one after the other', (200, 1, True), look('es', 'fr'))


def check_models():
    models = os.path.join(folder, 'models')
    os.mkdir(models)
    shutil.copy(TINY + '/en-de.argosmodel', models + '/translate-en_de-1_9.argosmodel')
    shutil.copytree(TINY + '/opennmt', models + '/ct2-fr-en')
    pronk('convert', '-q', TINY + '/int8', models + '/es-en.pronk')
    os.mkdir(models + '/en-it')
    open(models + '/en-it/model.bin', 'w').write('nothing')
    open(models + '/notes.txt', 'w').write('nothing')
    with zipfile.ZipFile(TINY + '/en-de.argosmodel') as package:  # as LibreTranslate keeps it
        package.extractall(folder)
    shutil.move(folder + '/translate-en_de-1_0', models + '/en_sv')
    with Server('--models', models, '--idle', '1', '--metrics') as s:
        check('languages', {'en': ['de', 'en', 'it', 'sv'], 'fr': ['de', 'en', 'fr', 'it', 'sv'], 'de': ['de'],
                            'it': ['it'], 'es': ['de', 'en', 'es', 'it', 'sv'], 'sv': ['sv']},
              {l['code']: l['targets'] for l in s.get('/languages').json})
        check('English first, then by name', ['en', 'fr', 'de', 'it', 'es', 'sv'],
              [l['code'] for l in s.get('/languages').json])
        check('nothing is open yet', 0, s.metric('pronk_models_open'))
        text = 'the cat sees every house'
        middle = pronk('translate', '-q', '--retry-loops', '-m', models + '/ct2-fr-en', text=text).stdout
        last = pronk('translate', '-q', '--retry-loops', '-m', models + '/translate-en_de-1_9.argosmodel', text=middle).stdout
        check('through English', last, s.translate(text, 'fr', 'de').json['translatedText'])
        check('two are open', 2, s.metric('pronk_models_open'))
        check('a model that is broken', (500, 'Cannot translate text: the model cannot be opened'),
              s.translate('a', 'en', 'it').error)
        check('the others go on', 200, s.translate(text, 'es', 'en').status)
        check('a package that is unpacked', last, s.translate(middle, 'en', 'sv').json['translatedText'])
        holds('idle ones are closed', wait_for(lambda: s.metric('pronk_models_open') == 0, 10))
        check('and opened again', last, s.translate(text, 'fr', 'de').json['translatedText'])
        shutil.rmtree(models + '/en-it')
        shutil.copy(TINY + '/en-de.argosmodel', models + '/nl-de.argosmodel')
        shutil.copy(models + '/es-en.pronk', models + '/en-nl.pronk')
        s.process.send_signal(signal.SIGHUP)
        holds('models are found anew', wait_for(lambda: ('es' in [l['code'] for l in s.get('/languages').json]) and
                                                'it' not in [l['code'] for l in s.get('/languages').json], 5))
        check('a name that is not quite right', 200, s.translate(text, 'nl', 'de').status)
        check('and the old ones serve', last, s.translate(text, 'fr', 'de').json['translatedText'])
    with Server('--models', models, '--load-only', 'en,fr') as s:
        check('only some', ['en', 'fr'], [l['code'] for l in s.get('/languages').json])
    with Server('--models', models, '--memory', '1') as s:
        check('no memory', (503, 'Cannot translate text: the server is out of memory for now'),
              s.translate('a', 'fr', 'en').error)
    os.mkdir(folder + '/empty')
    check('an empty folder', 1, pronk('serve', '--models', folder + '/empty').returncode)
    check('no folder', 1, pronk('serve', '--models', '/nowhere').returncode)
    check('no model', 1, pronk('serve', '-m', '/nowhere').returncode)
