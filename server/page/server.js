/* server.js - requests to the server this page came from: one at a time for what is typed, with pauses where it asks for them. */
const address = name => new URL(name, import.meta.url);

export class Refused extends Error {
  constructor(status, message, wait) {
    super(message);
    this.status = status;
    this.wait = wait;
  }
}

async function check(response) {
  if (response.ok) return response;
  let message = `The server answered with status ${response.status}`;
  try { message = (await response.json()).error || message; } catch { /* no JSON: a proxy's answer */ }
  throw new Refused(response.status, message, Number(response.headers.get('Retry-After')) || 0);
}

const post = (name, fields, signal) =>
  fetch(address(name), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(fields), signal }).then(check);

export const get = name => fetch(address(name)).then(check).then(r => r.json());
export const translate = (fields, signal) => post('translate', fields, signal).then(r => r.json());

/* calls `take` with the data of each event, in order */
export async function stream(fields, take, signal) {
  const reader = (await post('translate/stream', fields, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = '';;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const data = JSON.parse(event.slice(event.indexOf('data: ') + 6));
      if (event.startsWith('event: error')) throw new Refused(503, data.error, 0);
      take(data);
    }
  }
}
