"""Asks known-item questions and judges the answers: at which rank is the document that the question was made from?

    relevance.py TREE QUESTIONS SEED ADDRESS TOKEN [RECOLL_CONFIGURATION]

Questions are made from the files below TREE: QUESTIONS of each kind, as far as there are so many. SEED chooses them.
Weights are tuned with seed 7 and judged with another.
Each has one answer: no document with another text has the same name or title, the same sentence, or all of the telling
words. A document with the same text as the expected one is right too. Prints one row per kind: how often the right
document is first, among the first ten, and the mean of the inverse ranks, for Strongroom and for recoll.
"""

import base64
import collections
import hashlib
import html
import http.client
import json
import os
import random
import re
import subprocess
import sys
import urllib.parse

FIRST = 10
BASE64 = re.compile(r'[A-Za-z0-9+/]{12,}={0,2}')
WORD = re.compile(r'[^\W_]{2,}')
TITLE = re.compile(r'<title>(.*?)</title>', re.I | re.S)
TAGS = re.compile(r'<!--.*?-->|<(script|style|noscript)\b.*?</\1>|<[^>]*>', re.I | re.S)


class Document:
    def __init__(self, tree, path):
        self.path = os.path.relpath(path, tree)
        with open(path, encoding='utf-8', errors='replace') as file:
            source = file.read(200_000)
        title = TITLE.search(source) if path.endswith('.html') else None
        self.title = html.unescape(title[1]) if title else ''
        self.text = html.unescape(TAGS.sub(' ', source)) if path.endswith('.html') else source
        self.words = [word.lower() for word in WORD.findall(self.text)]
        self.all = ' ' + ' '.join(self.words) + ' '
        self.same = hashlib.sha256(self.all.encode()).digest()
        name = os.path.basename(path).split('-', 1)[-1].rsplit('.', 1)[0]
        self.name_words = WORD.findall(re.sub(r'[._-]', ' ', name))
        self.title_words = WORD.findall(self.title)[:8]


def read(tree):
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            if name.endswith(('.html', '.txt', '.md', '.rst')):
                yield Document(tree, os.path.join(folder, name))


def typo(random, word):
    """Swaps, drops or doubles a letter after the first one."""
    places = [at for at in range(1, len(word) - 1) if word[at:at + 2].isalpha() and word[at] != word[at + 1]]
    at = random.choice(places or [1])
    return random.choice([
        word[:at] + word[at + 1] + word[at] + word[at + 2:],
        word[:at] + word[at + 1:],
        word[:at] + word[at] + word[at:],
    ])


def questions(documents, many, seed):
    """Yields kind, question and expected document."""
    chosen = random.Random(seed)
    frequency = collections.Counter(word for document in documents for word in set(document.words))
    names = collections.Counter(' '.join(document.name_words).lower() for document in documents)
    titles = collections.Counter(' '.join(document.title_words).lower() for document in documents)
    holders = collections.defaultdict(list)
    for document in documents:
        for word in set(document.words):
            holders[word].append(document)
    shuffled = [document for document in documents if len(document.words) >= 40]
    chosen.shuffle(shuffled)

    def is_only_in(document, words, fits):
        rarest = min((word.lower() for word in words), key=lambda word: frequency[word])
        return all(other.same == document.same for other in holders[rarest] if fits(other))

    def telling(document, count):
        words = sorted(set(document.words), key=lambda word: (frequency[word], word))
        words = [word for word in words if 4 <= len(word) <= 16][:count * 3]
        return chosen.sample(words, count) if len(words) >= count else []

    def name(document):
        words = document.name_words
        return ' '.join(words) if len(words) >= 2 and names[' '.join(words).lower()] == 1 else ''

    def title(document):
        words = ' '.join(document.title_words)
        return words if len(document.title_words) >= 3 and titles[words.lower()] == 1 else ''

    def mistyped(document):
        words = title(document).split()
        long = [at for at, word in enumerate(words) if len(word) >= 6 and word[:3].isalpha()]
        if not long:
            return ''
        at = chosen.choice(long)
        words[at] = typo(chosen, words[at])
        return ' '.join(words)

    def sentence(document):
        lines = re.split(r'[.!?]\s', re.sub(r'\s+', ' ', document.text))
        lines = [line for line in lines if 8 <= len(line.split()) <= 20]
        words = WORD.findall(chosen.choice(lines))[:8] if lines else []
        text = ' ' + ' '.join(words).lower() + ' '
        return ' '.join(words) if words and is_only_in(document, words, lambda other: text in other.all) else ''

    def filtered(document):
        words = telling(document, 3)
        fits = lambda other: all(f' {word} ' in other.all for word in words)
        is_one = words and is_only_in(document, words, fits)
        return f"{' '.join(words)} ext:{document.path.rsplit('.', 1)[-1]}" if is_one else ''

    def compound(document):
        present = set(document.words)
        ends = [word for word in sorted(present) if len(word) >= 12 and frequency[word] <= 3]
        for word in ends:
            for length in range(6, len(word) - 4):
                if frequency[word[-length:]] >= 2 and word[-length:] not in present and frequency[word[:-length]] >= 1:
                    rare = telling(document, 1)
                    fits = lambda other: has(other, word[-length:])
                    is_one = rare and rare[0] != word and is_only_in(document, rare, fits)
                    return f'{word[-length:]} {rare[0]}' if is_one else ''
        return ''

    def has(document, end):
        return any(word.endswith(end) for word in document.words)

    german = lambda document: '/german/' in f'/{document.path}'
    kinds = [('name', name, None), ('title', title, None), ('title with a typo', mistyped, None),
             ('words of a sentence', sentence, None), ('three telling words and a filter', filtered, None),
             ('words of a German sentence', sentence, german), ('end of a German compound', compound, german)]
    for kind, make, admits in kinds:
        made = 0
        for document in shuffled:
            if made == many:
                break
            if admits and not admits(document):
                continue
            question = make(document)
            if question:
                made += 1
                yield kind, question, document


class Strongroom:
    def __init__(self, address, token):
        self.connection, self.token = http.client.HTTPConnection(address), token

    def ask(self, question):
        path = f'/api/v1/search?limit={FIRST}&passages=false&q={urllib.parse.quote(question)}'
        self.connection.request('GET', path, headers={'Authorization': f'Bearer {self.token}'})
        answer = self.connection.getresponse()
        body = json.loads(answer.read())
        return [item['path'].removeprefix('Documents/') for item in body['items']]


class Recoll:
    def __init__(self, configuration, tree):
        self.configuration, self.tree = configuration, os.path.abspath(tree)

    def ask(self, question):
        # Prints the address of each document in base 64, after two lines about the query.
        command = ['recollq', '-c', self.configuration, '-n', str(FIRST), '-F', 'url', '-q', question]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        lines = [line.strip() for line in found.splitlines()]
        urls = [base64.b64decode(line).decode(errors='replace') for line in lines if BASE64.fullmatch(line)]
        return [os.path.relpath(urllib.parse.unquote(url.removeprefix('file://')), self.tree) for url in urls]


def judge(engine, asked, same):
    first = ten = inverse = 0
    for question, expected in asked:
        ranks = [rank for rank, path in enumerate(engine.ask(question)) if same.get(path) == expected.same]
        if ranks:
            first += ranks[0] == 0
            ten += 1
            inverse += 1 / (ranks[0] + 1)
        elif os.environ.get('RELEVANCE_MISSES'):
            print(f'missed by {type(engine).__name__}: {question!r} for {expected.path}', file=sys.stderr)
    return [f'{100 * count / len(asked):.1f}' for count in (first, ten)] + [f'{inverse / len(asked):.3f}']


def main():
    tree, many, seed, address, token, *rest = sys.argv[1:]
    documents = list(read(tree))
    same = {document.path: document.same for document in documents}
    engines = [Strongroom(address, token)] + ([Recoll(rest[0], tree)] if rest else [])
    by_kind = collections.defaultdict(list)
    for kind, question, document in questions(documents, int(many), int(seed)):
        by_kind[kind].append((question, document))
    by_kind['all'] = [asked for kind in list(by_kind) for asked in by_kind[kind]]
    heads = ['questions', 'number'] + [f'{type(engine).__name__}: {what}' for engine in engines
                                       for what in ('first, %', 'in ten, %', 'mean inverse rank')]
    print('| ' + ' | '.join(heads) + ' |\n|' + '---|' * len(heads))
    for kind, asked in by_kind.items():
        if asked:
            cells = [cell for engine in engines for cell in judge(engine, asked, same)]
            print('| ' + ' | '.join([kind, str(len(asked)), *cells]) + ' |')


main()
