#!/usr/bin/env python3
"""Fail when a name has two meanings, a fact two lists, or ARCHITECTURE.md names what is not there.

Names: what other files can see, that is every type and function called pk_..., is defined once in
src/, cli/ and include/. Lists: the names of a fact (an activation, a number type ...)
stand together in one file only; a file that has two or more of them is a second list, unless it is
allowed below with a reason. ARCHITECTURE.md: every file that it names exists, and every function of its tables of
hops is defined in the file beside it; its glossary has every word once.

usage: check_names.py [ROOT]
"""
import fnmatch
import os
import re
import sys

# fact: (its names or the best known of them, how many files list them, whether words inside longer texts
#        count as well, {file that may have some of them besides: why})
FACTS = {
    'activations': (('relu', 'gelu', 'swish'), 1, True, {}),
    'number types': (('f32', 'f16', 'bf16', 'i8'), 1, True, {
        'cli/model_verbs.c': 'which of them a verb takes',
        'cli/options_shared.h': 'which of them most verbs take',
        'src/backend/list.c': 'which of them a CPU has',
        'src/recipe/recipe.h': 'the help says what auto is'}),
    'model families': (('marian', 'mbart'), 1, False, {}),
    'strategies': (('greedy', 'beam', 'jacobi', 'pj', 'pgj', 'hgj', 'hrt', 'cmlm', 'pairs', 'gad', 'gad-self', 'blocks',
                    'lattice'), 0, False, {  # each in its own file
        'cli/study_verbs.c': 'defaults of two verbs',
        'cli/viz.c': 'its default, and one that it shows in another way',
        'server/servable.c': 'one that is another where there are drafts',
        'src/decode/blocks.c': 'the task that it needs',
        'src/task/task_gad.c': 'what the models of its two tasks are decoded with'}),
    'tasks': (('at', 'at-rl', 'hrt', 'cmlm', 'pairs', 'pairs-lr', 'gad', 'gad-self', 'markov'), 0, False, {  # as above
        'src/task/task_at.c': 'two tasks',
        'src/task/task_gad.c': 'two tasks, and what else their models can do',
        'src/task/task_hrt.c': 'what else its models can do',
        'src/task/task_pairs.c': 'three tasks'}),
    'backends': (('cpu', 'ref'), 1, False, {}),
}
ENDINGS = ('.c', '.h', '.cc', '.cu', '.cuh')
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DEFINITION = {
    'type': re.compile(r'^(?:typedef\s+)?(?:struct|enum|union)\s+(pk_\w+)\s*\{'
                       r'|^typedef\s+(?:struct|enum|union)?\s*\{[^}]*\}\s*(pk_\w+)\s*;'
                       r'|^typedef\s+[\w\s*]*?\(\*(pk_\w+)\)'
                       r'|^typedef\s+(?!struct|enum|union)[\w\s*]*?\b(pk_\w+)\s*(?:[;\[]|\((?!\*))', re.M),
    'function': re.compile(r'^(?!typedef)[A-Za-z_][\w\s*]*?\b(pk_\w+)\s*\([^;{}#]*\)\s*\{', re.M),
}


def files(root):
    for top in ('include', 'src', 'server', 'cli'):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith(ENDINGS):
                    path = os.path.join(folder, name)
                    with open(path, encoding='utf-8') as f:
                        yield os.path.relpath(path, root), f.read()


def code_and_texts(source):
    """The source without comments, texts emptied; and the texts."""
    texts = []

    def replace(m):
        if m[0][0] == '"':
            texts.append(m[0][1:-1])
            return '""'
        return ' ' if m[0][0] == '/' else "' '"
    return COMMENT_OR_TEXT.sub(replace, source), texts


def definitions(code):
    code = re.sub(r'^[ \t]*#.*(?:\\\n.*)*', '', code, flags=re.M)  # what a macro makes is not seen
    for kind, pattern in DEFINITION.items():
        for m in pattern.finditer(code):
            yield kind, next(filter(None, m.groups()))


def is_defined(code, name):
    return re.search(rf'^(?!typedef)[A-Za-z_][\w\s*]*?\b{name}\s*\([^;{{}}#]*\)\s*\{{', code, re.M)


def hops(page):
    """The rows of every table with the columns hop, file and function: number, files, functions."""
    inside = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if cells[:3] == ['hop', 'file', 'function']:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(cells[0]) <= set('-: '):
            yield cells[0], re.findall(r'`([^`]+)`', cells[1]), re.findall(r'`([^`]+)`', cells[2])


def glossary_words(page):
    """The words of the table with the columns word and meaning, in order."""
    inside = False
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split('|')[1:-1]]
        if cells == ['word', 'meaning']:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set(cells[0]) <= set('-: '):
            yield from cells[0].split(', ')


def page_complaints(root):
    """What ARCHITECTURE.md says of files and functions, and is not so."""
    try:
        with open(os.path.join(root, 'ARCHITECTURE.md'), encoding='utf-8') as f:
            page = f.read()
    except FileNotFoundError:
        return
    paths = []
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name not in ('.git', 'build')]
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    for name in sorted(set(re.findall(r'`([\w*/-]+\.(?:c|h|cc|cu|cuh|py|sh))`', page))):
        if not any(fnmatch.fnmatch('/' + path, '*/' + name) for path in paths):
            yield f'ARCHITECTURE.md: there is no {name}'
    words = [re.sub(r' \(.*', '', word) for word in glossary_words(page)]
    for word in sorted({word for word in words if words.count(word) > 1}):
        yield f'ARCHITECTURE.md: {word} is in the glossary twice'
    for hop, where, functions in hops(page):
        codes = []
        for name in where:
            path = os.path.join(root, name if name.split('/')[0] in ('cli', 'server') else 'src/' + name)
            if os.path.exists(path):
                with open(path, encoding='utf-8') as f:
                    codes.append(code_and_texts(f.read())[0])
            else:
                yield f'ARCHITECTURE.md, hop {hop}: there is no {name}'
        for function in functions:
            if not any(is_defined(code, function) for code in codes):
                yield f'ARCHITECTURE.md, hop {hop}: {function} is not defined in {", ".join(where)}'
        if not functions:
            yield f'ARCHITECTURE.md, hop {hop}: names no function'


def listed(texts, names, words):
    found = set()
    for text in texts:
        for part in re.split(r'[^\w-]+', text) if words else [text]:
            if part in names:
                found.add(part)
    return found


def complaints(root):
    seen, lists = {}, {fact: [] for fact in FACTS}
    for path, source in files(root):
        code, texts = code_and_texts(source)
        for kind, name in sorted(set(definitions(code))):
            if (kind, name) in seen:
                yield f'{path}: the {kind} {name} is defined in {seen[kind, name]} too'
            seen.setdefault((kind, name), path)
        for fact, (names, _, words, allowed) in FACTS.items():
            found = listed(texts, names, words and not path.endswith(('.cu', '.cuh')))  # assembly
            if len(found) > 1 and path not in allowed:
                lists[fact].append(f'{path} ({", ".join(sorted(found))})')
    for fact, found in lists.items():
        if len(found) > FACTS[fact][1]:
            yield f'{fact} are listed once too often: {"; ".join(found)}'


if __name__ == '__main__':
    top = sys.argv[1] if len(sys.argv) > 1 else '.'
    found = list(complaints(top)) + list(page_complaints(top))
    print('\n'.join(found) if found else 'names and lists: ok')
    sys.exit(bool(found))
