/* page_accessible.js - what is wrong with the page for those who do not see it, or not well: a list of complaints.
 * Names of controls, contrast of text as it is computed, the language, live regions, sizes of what is pressed. */
const complaints = [];
const visible = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
const described = e => `<${e.tagName.toLowerCase()}${e.id ? ' id=' + e.id : ''}${e.className ? ' class=' + e.className : ''}>`;

function nameOf(e) {
  if (e.getAttribute('aria-label')) return e.getAttribute('aria-label');
  if (e.labels?.length) return [...e.labels].map(l => l.textContent).join(' ').trim();
  if (e.tagName === 'INPUT' || e.tagName === 'SELECT' || e.tagName === 'TEXTAREA') return '';
  return e.textContent.trim();
}
for (const e of document.querySelectorAll('button, select, textarea, input, a, summary, [tabindex]')) {
  if (!visible(e)) continue;
  if (!nameOf(e)) complaints.push(`no name: ${described(e)}`);
  if (e.tabIndex < 0 && !e.disabled) complaints.push(`not reached by keyboard: ${described(e)}`);
  const box = e.getBoundingClientRect();
  if (e.tagName !== 'A' && (box.height < 24 || box.width < 24)) complaints.push(`smaller than 24 pixels: ${described(e)}`);
}
for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) complaints.push(`no alt: ${described(e)}`);
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
if (new Set(ids).size !== ids.length) complaints.push('an id twice');
for (const e of document.querySelectorAll('[aria-describedby], [aria-labelledby], label[for]')) {
  const id = e.getAttribute('aria-describedby') || e.getAttribute('aria-labelledby') || e.htmlFor;
  if (!document.getElementById(id)) complaints.push(`nothing has the id ${id}`);
}
if (!document.documentElement.lang) complaints.push('the page has no language');
if (!document.title) complaints.push('the page has no title');
if (document.querySelectorAll('h1').length !== 1) complaints.push('not one heading');
if (!document.querySelector('main')) complaints.push('no main part');
if (!document.querySelector('[aria-live="polite"]') || !document.querySelector('[role="status"]')) complaints.push('no live region');

/* ---- contrast ---- */

/* [red, green, blue, alpha] of any CSS colour, by drawing it */
const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
function pixel(colour) {
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3])).concat(1);
function behind(e) {
  const own = e ? pixel(getComputedStyle(e).backgroundColor) : [255, 255, 255, 1];
  return own[3] >= 1 || !e ? own : over(own, behind(e.parentElement));
}
function luminance(colour) {
  const [r, g, b] = colour.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(front, back) {
  const [a, b] = [luminance(over(front, back)), luminance(back)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}
const seen = e => visible(e) && !e.closest('[aria-hidden="true"], .unseen, :disabled, head, noscript, option');
const texts = [...document.querySelectorAll('body *')].filter(e => seen(e) &&
  ([...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.value));
let checked = 0;
for (const e of texts) {
  const back = behind(e), ratio = contrast(pixel(getComputedStyle(e).color), back);
  checked++;
  if (ratio < 4.5) complaints.push(`contrast ${ratio.toFixed(2)}: ${described(e)} ${e.textContent.slice(0, 20)}`);
  if (e.placeholder && contrast(pixel(getComputedStyle(e, '::placeholder').color), back) < 4.5) complaints.push('contrast of the placeholder');
}
if (checked < 8) complaints.push(`only ${checked} texts were looked at`);
return complaints;
