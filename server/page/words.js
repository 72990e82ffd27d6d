/* words.js - text on both sides as words that know each other.
 *
 * A row is a line of the text and its translation, in parts: a sentence each, with the white space around it. Ranges from
 * the server count characters; here they are positions in strings. Text goes into the page as text, never as markup. */

/* where each character begins in the string; null: everywhere where it is counted */
function positions(text) {
  if (!/[\ud800-\udbff]/.test(text)) return null;
  const at = [0];
  for (const character of text) at.push(at[at.length - 1] + character.length);
  return at;
}

/* the parts of a row from the answer's translation and alignment */
export function partsOf(source, target, sentences) {
  const from = positions(source), to = positions(target);
  const a = n => from ? from[n] : n, b = n => to ? to[n] : n;
  return sentences.map(s => {
    const [begin, end] = s.source.map(a), [first, last] = s.target.map(b);
    return {
      source: source.slice(begin, end), target: target.slice(first, last),
      links: s.links.map(([w, x, y, z]) => [a(w) - begin, b(y) - first]),
    };
  });
}

export const targetOf = parts => parts.map(p => p.target).join('');

/* adds the text to the element as words, and returns them by where they begin; partners are filled in later */
function addWords(element, text, part) {
  const words = new Map();
  let at = 0;
  for (const found of text.matchAll(/\S+/gu)) {
    if (found.index > at) element.append(text.slice(at, found.index));
    const word = document.createElement('span');
    word.className = 'word';
    word.textContent = found[0];
    word.partners = [];
    word.owner = part;
    element.append(word);
    words.set(found.index, word);
    at = found.index + found[0].length;
  }
  if (at < text.length) element.append(text.slice(at));
  return words;
}

/* both sides of a row anew; where its text is newer than its translation, the text has no words yet */
export function showParts(row) {
  row.mirror.replaceChildren();
  row.output.replaceChildren();
  for (const part of row.parts) {
    const own = row.fresh ? addWords(row.mirror, part.source, part) : new Map();
    const other = addWords(row.output, part.target, part);
    part.row = row;
    part.words = [...other.values()];
    for (const [from, to] of part.links) {
      const a = own.get(from), b = other.get(to);
      if (a && b) a.partners.push(b), b.partners.push(a);
    }
  }
  if (!row.fresh) row.mirror.textContent = row.source;
}

let shown = [];
/* marks a word and its partners; null: none */
export function mark(word) {
  for (const element of shown) element.classList.remove('here', 'linked');
  shown = word ? [word, ...word.partners] : [];
  for (const element of shown) element.classList.add(element === word ? 'here' : 'linked');
}

export const wordAt = (x, y, within) =>
  document.elementsFromPoint(x, y).find(e => e.classList.contains('word') && within.contains(e)) || null;

/* the word of the mirrored row that the position lies in or just behind */
export function wordAtPosition(row, position) {
  let at = 0;
  for (const node of row.mirror.childNodes) {
    const end = at + node.textContent.length;
    if (position >= at && position <= end && node.partners) return node;
    at = end;
  }
  return null;
}
