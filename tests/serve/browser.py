"""Chromium for the checks of the page: opened with a server of its own, and what is asked of it again and again."""
import json
import os
import shutil

from serving import wait_for

CHROMIUM = os.environ.get('CHROMIUM', shutil.which('chromium') or shutil.which('chromium-browser') or '')


def why_not():
    """What is missing; None: nothing."""
    if not CHROMIUM:
        return 'no chromium'
    if not shutil.which('chromedriver'):
        return 'no chromedriver'
    try:
        import selenium  # noqa: F401
    except ImportError:
        return 'no selenium for Python'
    return None


def open_browser(width=1200, height=900, dark=False):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
                 '--disable-background-networking', f'--window-size={width},{height}', '--lang=en'):
        options.add_argument(word)
    if dark:
        options.add_argument('--force-dark-mode')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(service=Service(shutil.which('chromedriver')), options=options)


class Page:
    """The page of a server in a browser; errors collects what the console complains of."""

    def __init__(self, driver, port, prefix=''):
        self.driver, self.errors = driver, []
        driver.get(f'http://127.0.0.1:{port}{prefix}')
        self.ready = wait_for(lambda: self.run('return document.body.dataset.ready') == 'true', 20)

    def run(self, script, *words):
        return self.driver.execute_script(script, *words)

    def by(self, name):
        return self.driver.find_element('id', name)

    def text(self, name='output'):
        """As it is shown, a line for each row."""
        return self.run('const e = document.getElementById(arguments[0]), rows = [...e.querySelectorAll(".row")];'
                        'return rows.length ? rows.map(r => r.textContent).join("\\n") : e.textContent', name)

    def settle(self, seconds=20):
        return wait_for(lambda: self.run('return document.body.dataset.settled') == 'true', seconds)

    def type(self, text, new=True):
        if new:
            self.run('const s = document.getElementById("source"); s.value = ""; s.dispatchEvent(new Event("input")); s.focus()')
        self.by('source').send_keys(text)
        return self.settle()

    def put(self, text, wait=True):
        """All at once, as pasting does."""
        self.run('const s = document.getElementById("source"); s.focus(); s.value = arguments[0];'
                 's.setSelectionRange(s.value.length, s.value.length); s.dispatchEvent(new Event("input"))', text)
        return self.settle() if wait else None

    def complaints(self):
        self.errors += [entry['message'] for entry in self.driver.get_log('browser')]
        return self.errors

    def set_width(self, width):
        """The width of the window in CSS pixels, whatever the smallest window of the system is."""
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride',
                                    {'width': width, 'height': 800, 'deviceScaleFactor': 1, 'mobile': False})

    def prefer(self, scheme):
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})


def dump(value):
    return json.dumps(value, ensure_ascii=False)[:300]
