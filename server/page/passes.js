/* passes.js - how a sentence was decoded: a column for each token, a row for each pass. */

const readable = piece => piece.replace(/^\u2581/, '\u00b7').replaceAll('\u2581', ' ');

function cell(kind, text, title) {
  const td = document.createElement('td');
  td.className = kind;
  td.textContent = text;
  if (title) td.title = title;
  return td;
}

/* what a pass says about a position: the token that became certain, one that is right too early, or a wrong one */
function cellOf(token, position, pass, ask) {
  if (token.pass && token.pass < pass) return cell('certain', readable(token.piece), `certain since pass ${token.pass}`);
  if (token.pass === pass) return cell('accepted', readable(token.piece), `certain in pass ${pass}`);
  if (!ask || ask.best === null) return cell('', '');
  const right = ask.best === token.piece;
  return cell(right ? 'early' : 'wrong', readable(ask.best), right ? 'right, but what comes before was not certain' : 'a wrong guess');
}

function rowOf(trace, pass) {
  const row = document.createElement('tr'), head = document.createElement('th');
  head.scope = 'row';
  head.textContent = `pass ${pass}`;
  row.append(head);
  const asks = new Map(trace.passes[pass - 1].map(a => [a.position, a]));
  trace.tokens.forEach((token, i) => row.append(cellOf(token, i, pass, asks.get(i))));
  return row;
}

export function summary(trace) {
  const n = trace.tokens.length, passes = trace.passes.length;
  return `${n} tokens in ${passes} ${passes === 1 ? 'pass' : 'passes'} of the decoder; one by one it would take ${n}.`;
}

export function draw(trace, element) {
  const table = document.createElement('table');
  for (let pass = 1; pass <= trace.passes.length; pass++) table.append(rowOf(trace, pass));
  element.replaceChildren(table);
}
