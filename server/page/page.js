/* page.js - the controls of the page: languages, panes, copying, themes, and the two views below. */
import { Live } from './live.js';
import { draw, summary } from './passes.js';
import { get, translate } from './server.js';
import { mark, wordAt, wordAtPosition } from './words.js';

const by = id => document.getElementById(id);
const source = by('source'), output = by('output'), from = by('from'), to = by('to'), status = by('status');
const settings = () => ({ source: from.value, target: to.value, ...(by('key').value ? { api_key: by('key').value } : {}) });
const remembered = name => { try { return localStorage.getItem(name); } catch { return null; } };
const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* a private window */ } };
let languages = [], limit = -1, active = null;

const live = new Live(by('mirror'), output, settings, {
  answered() {
    say('');
    by('copy').disabled = live.text().trim() === '';
    document.body.dataset.settled = live.settled();
    later('views', 250, showViews);
    later('speak', 900, () => { by('spoken').textContent = live.text(); });
  },
  failed(error) { say(error.status ? error.message : 'The server cannot be reached', true); },
  detected(code) { showDetected(code); },
});

function say(text, bad = false) {
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle('bad', bad);
}

const timers = new Map();
/* does it when nothing of that name has come up for a while */
function later(name, milliseconds, what) {
  clearTimeout(timers.get(name));
  timers.set(name, setTimeout(what, milliseconds));
}

/* ---- text ---- */

function typed() {
  const text = source.value, n = Array.from(text).length;
  document.body.dataset.settled = false;
  by('count').textContent = limit > 0 ? `${n} of ${limit} characters` : `${n} ${n === 1 ? 'character' : 'characters'}`;
  by('count').classList.toggle('over', limit > 0 && n > limit);
  by('clear').disabled = text === '';
  live.setText(text);
  if (live.settled()) live.report.answered();
  atCaret();
}

/* keep: what is shown stays until there is something new */
function restart(keep) {
  document.body.dataset.settled = false;
  live.restart(keep);
}

/* the row of the cursor, and where in it the cursor is */
function caret() {
  let at = source.selectionStart;
  for (const row of live.rows) {
    if (at <= row.source.length) return [row, at];
    at -= row.source.length + 1;
  }
  return [null, 0];
}

function atCaret() {
  const [row, at] = caret(), word = row?.fresh ? wordAtPosition(row, at) : null;
  if (document.activeElement === source) mark(word);
  if (word) setActive(word.owner);
}

function setActive(part) {
  if (active === part) return;
  active = part;
  later('views', 250, showViews);
}

source.addEventListener('input', typed);
document.addEventListener('selectionchange', atCaret);
by('clear').addEventListener('click', () => { source.value = ''; typed(); source.focus(); });
by('key').addEventListener('change', () => restart(true));

/* ---- words ---- */

for (const [element, within] of [[source, by('mirror')], [output, output]]) {
  element.addEventListener('mousemove', event => mark(wordAt(event.clientX, event.clientY, within)));
  element.addEventListener('mouseleave', () => mark(null));
}
output.addEventListener('click', event => {
  if (event.target.owner) enter(event.target);
});

let current = null;
function enter(word) {
  current = word;
  mark(word);
  setActive(word.owner);
  clearTimeout(timers.get('speak')); // the word is what is of interest now
  const partners = word.partners.map(p => p.textContent).join(' ');
  by('spoken').textContent = partners ? `${word.textContent}: from ${partners}` : word.textContent;
}
output.addEventListener('focus', () => {
  const words = output.querySelectorAll('.word');
  if (words.length && !output.contains(current)) enter(words[0]);
  else if (current) enter(current);
});
output.addEventListener('blur', () => mark(null));
output.addEventListener('keydown', event => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const words = [...output.querySelectorAll('.word')], at = words.indexOf(current);
  if (event.key === 'Enter' && active) by('others').open = true;
  if (!step || !words[at + step]) return;
  event.preventDefault();
  enter(words[at + step]);
});

/* ---- languages ---- */

const nameOf = code => languages.find(l => l.code === code)?.name ?? code;
const targetsOf = code => languages.find(l => l.code === code)?.targets.filter(t => t !== code) ?? [];
const sourceCode = () => from.value === 'auto' ? live.language : from.value;

function fill(select, codes, chosen) {
  select.replaceChildren(...codes.map(code => new Option(code === 'auto' ? 'Detect language' : nameOf(code), code)));
  if (codes.includes(chosen)) select.value = chosen;
}

function showTargets() {
  const code = sourceCode();
  const all = [...new Set(languages.flatMap(l => l.targets.filter(t => t !== l.code)))];
  fill(to, code && targetsOf(code).length ? targetsOf(code) : all, to.value);
  output.lang = to.value;
  source.lang = code ?? '';
  by('swap').disabled = !code || !targetsOf(to.value).includes(code);
}

function showDetected(code) {
  const option = from.querySelector('option[value="auto"]');
  const text = `Detected: ${nameOf(code)}`;
  if (from.value !== 'auto' || option.textContent === text) return;
  option.textContent = text;
  by('swap').disabled = !targetsOf(to.value).includes(code);
  source.lang = code;
}

from.addEventListener('change', () => {
  from.querySelector('option[value="auto"]').textContent = 'Detect language';
  showTargets();
  restart(false);
});
to.addEventListener('change', () => { showTargets(); restart(false); });
by('swap').addEventListener('click', () => {
  const text = live.text(), old = sourceCode(), now = to.value;
  from.value = now;
  showTargets();
  to.value = old;
  showTargets();
  source.value = text;
  restart(false);
  typed();
});

/* ---- copying, themes ---- */

async function copy() {
  try {
    await navigator.clipboard.writeText(live.text());
  } catch { /* only https and this machine have a clipboard */
    getSelection().selectAllChildren(output);
    document.execCommand('copy');
    getSelection().removeAllRanges();
  }
  by('copy').textContent = 'Copied';
  later('copied', 1500, () => { by('copy').textContent = 'Copy'; });
}
by('copy').addEventListener('click', copy);

const themes = ['system', 'light', 'dark'];
function setTheme(name) {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  by('theme').textContent = `Theme: ${name}`;
  remember('theme', name);
}
by('theme').addEventListener('click', () => {
  const now = document.documentElement.dataset.theme ?? 'system';
  setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
});

/* ---- the views of the sentence that the cursor is in ---- */

const currentPart = () => {
  const all = live.rows.flatMap(row => row.parts).filter(part => /\S/.test(part.source));
  return all.includes(active) ? active : all[0] ?? null;
};

function showOthers(part, answer) {
  const texts = [...new Set([answer.translatedText, ...answer.alternatives, part.target])].filter(text => text !== part.target);
  by('others-of').textContent = texts.length ? `For “${part.target.trim()}”` : 'There is no other.';
  by('others-list').replaceChildren(...texts.map(text => {
    const item = document.createElement('li'), button = document.createElement('button');
    button.type = 'button';
    button.textContent = text.trim();
    button.addEventListener('click', () => { live.choose(part, text); output.focus(); });
    item.append(button);
    return item;
  }));
}

function showPasses(part, answer) {
  const trace = answer.trace[0];
  by('passes-of').textContent = trace ? `“${part.source.trim()}”: ${summary(trace)}` : '';
  if (trace) draw(trace, by('passes-grid'));
}

/* the last one that was asked for is shown, whatever comes back first */
async function showView(view, wanted, show) {
  const part = currentPart(), key = part ? [part.source, part.target, to.value].join('\n') : null;
  if (!view.open || view.shown === key) return;
  view.shown = key;
  if (!part) return;
  try {
    const answer = await translate({ ...settings(), source: sourceCode() ?? 'auto', q: part.source, ...wanted });
    if (view.shown === key) show(part, answer);
  } catch (error) {
    if (view.shown === key) view.shown = undefined;
    say(error.message, true);
  }
}

function showViews() {
  showView(by('others'), { alternatives: 3 }, showOthers);
  showView(by('passes'), { trace: true }, showPasses);
}
for (const id of ['others', 'passes']) by(id).addEventListener('toggle', showViews);

/* ---- begin ---- */

async function begin() {
  setTheme(themes.includes(remembered('theme')) ? remembered('theme') : 'system');
  const [list, about] = await Promise.all([get('languages'), get('frontend/settings')]);
  languages = list;
  limit = about.charLimit;
  by('key-row').hidden = !about.apiKeys;
  const sources = languages.filter(l => targetsOf(l.code).length).map(l => l.code);
  fill(from, ['auto', ...sources], sources.length === 1 ? sources[0] : 'auto');
  const wanted = about.language.target.code;
  showTargets();
  if ([...to.options].some(o => o.value === wanted)) to.value = wanted;
  showTargets();
  document.body.dataset.ready = true;
  typed();
}
begin().catch(error => say(error.status ? error.message : 'The server cannot be reached', true));
