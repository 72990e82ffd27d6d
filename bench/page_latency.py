#!/usr/bin/env python3
"""The page of `pronk serve`: milliseconds from a key stroke to the new text, and passes of the decoder that drafts save.

A paragraph of 80 words stands in the page; then someone types, at its end or in its middle, a stroke every 120 ms. In
Chromium the time is from the input event to the frame in which the translation of exactly that text is shown. The same
requests are sent again with `trace`, and passes are counted: with the output of the stroke before as the draft, where only
sentences that changed are decoded (the others are in the cache), and anew, all sentences, as greedy search decodes them (a pass
for each token) and as jacobi does without a draft. Sentences of one request share passes, so both the passes of the longest
sentence and the sum over sentences are given.

usage: page_latency.py [--pronk build/pronk] [--model MODEL] [--no-browser] [--pause MS]
Needs chromium, chromedriver and selenium, or --no-browser: then the time is that of the requests alone."""
import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'tests', 'serve'))

PARAGRAPH = (
    'The old bridge across the river was closed last winter, because the ice had damaged two of its pillars. Engineers from the '
    'city now say that it will open again in the spring, although some of the work cannot begin before the water is warmer. Until '
    'then, most people take the ferry, which leaves every twenty minutes. It is slow and often full, but nobody seems to '
    'mind. Children wave from the boat, and the captain waves back at them.')
AT_END = ' When the bridge is open again, many of them will miss it.'
IN_MIDDLE = ' together with two experts from another country'


def strokes():
    """(name, texts after each stroke, the text before)."""
    middle = PARAGRAPH.index('Engineers') + len('Engineers')
    yield 'at the end', [PARAGRAPH + AT_END[:i + 1] for i in range(len(AT_END))]
    yield 'in the middle', [PARAGRAPH[:middle] + IN_MIDDLE[:i + 1] + PARAGRAPH[middle:] for i in range(len(IN_MIDDLE))]


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def report(name, times, cpu):
    print(f'{name}: {len(times)} strokes, median {share(times, .5):.0f} ms, p95 {share(times, .95):.0f} ms, longest {max(times):.0f} ms; '
          f'of CPU time, a stroke: {cpu}')


def server_seconds(server):
    """CPU time of the server so far."""
    with open(f'/proc/{server.process.pid}/stat', encoding='ascii') as f:
        return sum(map(int, f.read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def page_seconds(driver):
    """CPU time of the page's main thread so far."""
    found = driver.execute_cdp_cmd('Performance.getMetrics', {})['metrics']
    return next(m['value'] for m in found if m['name'] == 'TaskDuration')


STROKE = '''
const [text, done] = arguments, source = document.getElementById('source'), begin = performance.now();
source.value = text;
document.body.dataset.settled = false;
source.dispatchEvent(new Event('input'));
const look = () => document.body.dataset.settled === 'true'
  ? requestAnimationFrame(() => done(performance.now() - begin)) : setTimeout(look, 1);
look();
'''


def in_browser(server, pause):
    from browser import Page, open_browser
    driver = open_browser()
    driver.set_script_timeout(30)
    try:
        for name, texts in strokes():
            page = Page(driver, server.port)
            page.put(PARAGRAPH)
            driver.execute_cdp_cmd('Performance.enable', {'timeDomain': 'threadTicks'})
            times, cpu, own = [], server_seconds(server), page_seconds(driver)
            for text in texts:
                begin = time.monotonic()
                times.append(driver.execute_async_script(STROKE, text))
                time.sleep(max(0, pause / 1000 - (time.monotonic() - begin)))
            n = len(times) / 1000
            report(f'in Chromium, typing {name}', times, f'server {(server_seconds(server) - cpu) / n:.1f} ms, the page\'s '
                   f'main thread {(page_seconds(driver) - own) / n:.1f} ms')
            driver.execute_cdp_cmd('Performance.disable', {})
    finally:
        driver.quit()


def by_requests(server, pause):
    for name, texts in strokes():
        draft, times = server.translate(PARAGRAPH, alignment=True).json['translatedText'], []
        cpu = server_seconds(server)
        for text in texts:
            begin = time.monotonic()
            draft = server.translate(text, alignment=True, draft=draft).json['translatedText']
            times.append(1000 * (time.monotonic() - begin))
            time.sleep(max(0, pause / 1000 - (time.monotonic() - begin)))
        report(f'requests, typing {name}', times, f'server {1000 * (server_seconds(server) - cpu) / len(times):.1f} ms')


def sentences(server, text, **more):
    """[(source, tokens, passes)] and the whole translation."""
    answer = server.translate(text, trace=True, alignment=True, **more).json
    found = [(text[slice(*s['source'])], len(t['tokens']), len(t['passes'])) for s, t in zip(answer['alignment'], answer['trace'])]
    return found, answer['translatedText']


def count_passes(server, _):
    for name, texts in strokes():
        known, draft = sentences(server, PARAGRAPH)
        cached = {s[0].strip() for s in known}
        sums = {'greedy': [0, 0], 'jacobi': [0, 0], 'live': [0, 0]}
        for text in texts:
            anew, whole = sentences(server, text)
            live, output = sentences(server, text, draft=draft)
            assert whole == output, 'a draft changed the output'
            changed = [s for s in live if s[0].strip() not in cached]
            for key, passes in (('greedy', [s[1] for s in anew]), ('jacobi', [s[2] for s in anew]), ('live', [s[2] for s in changed])):
                sums[key][0] += max(passes, default=0)
                sums[key][1] += sum(passes)
            cached |= {s[0].strip() for s in live}
            draft = output
        n = len(texts)
        print(f'passes a stroke, typing {name}: ' + '; '.join(
            f'{key} {longest / n:.1f} (over all sentences {total / n:.1f})' for key, (longest, total) in sums.items()))
        live = sums['live']
        print('  fewer than ' + ' and '.join(f'{key}: {sums[key][0] / live[0]:.1f} x ({sums[key][1] / live[1]:.1f} x)'
                                             for key in ('greedy', 'jacobi')))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--pronk', default='build/pronk')
    options.add_argument('--model')
    options.add_argument('--no-browser', action='store_true')
    options.add_argument('--pause', type=float, default=120, help='milliseconds from stroke to stroke')
    o = options.parse_args()
    os.environ['PRONK'] = o.pronk
    from serving import Server
    words = len(PARAGRAPH.split())
    print(f'a paragraph of {words} words; {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}')
    for measure in (by_requests, *([] if o.no_browser else [in_browser]), count_passes):
        with Server(*(['-m', o.model] if o.model else [])) as server:  # of its own: what others sent would be in the cache
            server.translate(PARAGRAPH, alignment=True)  # models are opened on first use
            measure(server, o.pause)
    print(f'load average at the end {os.getloadavg()[0]:.1f}')


main()
