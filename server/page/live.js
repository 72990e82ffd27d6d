/* live.js - the text as rows, and their translations as one types.
 *
 * A row is a line: what it says now (source), and the last translation that came (parts), which is of `of`. One request is on
 * its way at a time: it has the rows that changed, and what they were as drafts. What is typed meanwhile goes with the next
 * one. Long texts come sentence by sentence. */
import { stream, translate } from './server.js';
import { partsOf, showParts, targetOf } from './words.js';

const LONG = 1200;       // characters: above this, sentences are shown as they come
const AUTO_WHOLE = 3000; // characters: up to this, all of the text is looked at to detect its language
const PATIENCE = 400;    // milliseconds after which what is new need not wait for what is old

export class Live {
  /* elements: mirror and output; settings(): {source, target, api_key}; report: {answered, failed, detected} */
  constructor(mirror, output, settings, report) {
    Object.assign(this, { mirror, output, settings, report });
    this.rows = [];
    this.chosen = new Map(); // sentences whose translation was chosen by hand
    this.pause = 0;          // milliseconds between requests, where the server asked for some
    this.language = null;    // the one that was detected
  }

  makeRow(source) {
    const row = { source, of: null, parts: [], mirror: document.createElement('div'), output: document.createElement('div') };
    row.mirror.className = row.output.className = 'row';
    return row;
  }

  /* rows that are the same before and after what changed stay; those between take their new lines in order */
  setText(text) {
    const lines = text === '' ? [] : text.split('\n'), old = this.rows;
    let head = 0, tail = 0;
    if (!lines.length) this.chosen.clear();
    while (head < lines.length && head < old.length && lines[head] === old[head].source) head++;
    while (tail < lines.length - head && tail < old.length - head &&
           lines[lines.length - 1 - tail] === old[old.length - 1 - tail].source) tail++;
    const between = lines.slice(head, lines.length - tail).map((line, i) => {
      const row = head + i < old.length - tail ? old[head + i] : this.makeRow(line);
      row.source = line;
      return row;
    });
    this.rows = [...old.slice(0, head), ...between, ...old.slice(old.length - tail)];
    between.forEach(row => this.showText(row));
    if (between.length !== old.length - head - tail || !old.length) {
      this.mirror.replaceChildren(...this.rows.map(r => r.mirror));
      this.output.replaceChildren(...this.rows.map(r => r.output));
    }
    this.send();
  }

  /* everything is translated anew, after a change of languages */
  restart(keep) {
    this.abort?.abort();
    this.busy = null;
    for (const row of this.rows) {
      row.of = null;
      if (!keep) row.parts = [];
    }
    this.rows.forEach(row => /\S/.test(row.source) ? this.showRow(row) : this.setParts(row, row.source, []));
    this.send();
  }

  /* what was typed; its translation stays until there is a new one, but for that of nothing */
  showText(row) {
    row.fresh = false;
    row.mirror.textContent = row.source;
    if (!/\S/.test(row.source)) this.setParts(row, row.source, []);
    else if (row.of === row.source) this.showRow(row);
  }

  showRow(row) {
    row.fresh = row.of === row.source;
    showParts(row);
  }

  text() { return this.rows.map(row => targetOf(row.parts)).join('\n'); }
  settled() { return this.rows.every(row => row.of === row.source); }

  setParts(row, source, parts) {
    for (const part of parts) {
      const text = this.chosen.get(part.source.trim());
      if (text === undefined) continue;
      part.target = /^\s*/.exec(part.target)[0] + text + /\s*$/.exec(part.target)[0];
      part.links = [];
    }
    row.of = source;
    row.parts = parts;
    this.showRow(row);
  }

  choose(part, text) {
    this.chosen.set(part.source.trim(), text.trim());
    this.setParts(part.row, part.row.of, part.row.parts);
    this.report.answered();
  }

  /* ---- requests ---- */

  send() {
    const now = performance.now();
    if (this.busy && now - this.busy > PATIENCE) {
      this.abort.abort(); // nobody waits for that any more
      this.busy = null;
    }
    if (this.busy || this.waiting || this.settled()) return;
    const wait = (this.ended ?? -Infinity) + this.pause - now;
    if (wait > 0) {
      this.waiting = setTimeout(() => { this.waiting = null; this.send(); }, wait);
      return;
    }
    this.busy = now;
    const abort = this.abort = new AbortController();
    this.ask(abort.signal).then(() => this.finished(abort), error => this.failed(abort, error));
  }

  finished(abort) {
    if (abort !== this.abort) return;
    this.busy = null;
    this.ended = performance.now();
    this.report.answered();
    this.send();
  }

  failed(abort, error) {
    if (abort !== this.abort || error.name === 'AbortError') return;
    this.busy = null;
    this.ended = performance.now();
    this.report.failed(error);
    if (error.status !== 429 && error.status !== 503) return;
    this.pause = Math.max(1000, this.pause * 2, error.wait * 1000); // it asked for less
    this.send();
  }

  ask(signal) {
    const given = this.settings(), auto = given.source === 'auto';
    const length = this.rows.reduce((n, row) => n + row.source.length, 0);
    let rows = this.rows.filter(row => row.of !== row.source);
    if (auto && length <= AUTO_WHOLE) rows = this.rows.filter(row => /\S/.test(row.source));
    else if (auto && this.language) given.source = this.language;
    const fields = { ...given, q: rows.map(row => row.source), draft: rows.map(row => targetOf(row.parts)), alignment: true };
    const many = rows.reduce((n, row) => n + (row.of === row.source ? 0 : row.source.length), 0) > LONG;
    return many ? this.askLong(rows, fields, signal) : this.askShort(rows, fields, signal);
  }

  async askShort(rows, fields, signal) {
    const answer = await translate(fields, signal);
    this.detected(answer.detectedLanguage?.[0]);
    rows.forEach((row, i) => {
      if (row.of === fields.q[i] && row.fresh) return; // it was only looked at
      this.setParts(row, fields.q[i], partsOf(fields.q[i], answer.translatedText[i], answer.alignment[i]));
    });
  }

  async askLong(rows, fields, signal) {
    const parts = rows.map(() => []);
    await stream(fields, event => {
      this.detected(event.detectedLanguage);
      if (event.text === undefined || signal.aborted) return;
      const source = fields.q[event.text], from = Array.from(source).slice(...event.source).join('');
      const n = Array.from(event.translatedText).length;
      const links = event.links.map(([a, b, c, d]) => [a - event.source[0], b - event.source[0], c, d]);
      const one = { source: [0, Array.from(from).length], target: [0, n], links };
      parts[event.text].push(...partsOf(from, event.translatedText, [one]));
      const row = rows[event.text], whole = parts[event.text].map(p => p.source).join('') === source;
      this.setParts(row, whole ? source : null, parts[event.text]);
    }, signal);
  }

  detected(guess) {
    if (!guess) return;
    this.language = guess.language;
    this.report.detected(guess.language);
  }
}
