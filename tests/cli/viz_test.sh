#!/bin/bash
# viz_test.sh - `pronk viz` as users run it: every strategy and format, hostile sentences, refusals,
# and the page in a real browser.
#
# PRONK: the program (default build/pronk). MODEL: a model to translate with. CHROMIUM: the browser;
# without one the checks that need it are skipped, and said to be. The model of the tests has random
# weights, so checks ask for form, never for particular translations.
MODEL=${MODEL:-tests/data/models/marian-relu}
CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser)}
REAL=${PRONK_SHARED:-../shared}/models/en-de-base-hf
SIXTY="Parallel decoding of existing translation models promises several tokens in one pass, but how many
of them the model gets right before their turn depends on the sentence, on names such as Washington or
Microsoft Corporation, and on the patience of whoever is looking at the picture of it all tonight."
. tests/support/program.sh
HOSTILE='</title><script>"&\'"'"'<img src=x>'
# what the browser found, as attributes of the body
MEASURE='var found = document.body.dataset, frame = document.querySelector(".scroll") || document.body;
found.width = document.documentElement.scrollWidth <= innerWidth;
found.frame = frame.scrollWidth > frame.clientWidth;
found.cells = document.querySelectorAll(".cell").length;'

# run ARGUMENT...: leaves $dir/out, $dir/err and $code
run() {
    timeout 120 "$PRONK" viz "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
}

# refused NAME CODE TEXT ARGUMENT...: that exit code, one line on stderr with TEXT, no output
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    rm -f "$dir/never"
    run -o "$dir/never" "$@"
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected"
    elif [ "$(wc -l <"$dir/err")" != 1 ]; then bad "$name" "$(wc -l <"$dir/err") lines of errors"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    elif [ -s "$dir/out" ] || [ -e "$dir/never" ]; then bad "$name" "there is output"
    else ok "$name"; fi
}

# well_formed NAME FORMAT: $dir/out can be read by who reads that format
well_formed() {
    if [ $code != 0 ]; then bad "$1" "exit code $code: $(head -1 "$dir/err")"; return; fi
    case $2 in
        json) python3 -m json.tool "$dir/out" >/dev/null 2>"$dir/why" ;;
        svg) python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/out" 2>"$dir/why" ;;
        html) python3 - "$dir/out" 2>"$dir/why" <<'END'
import html.parser, sys
class Check(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.scripts = [], 0
    def handle_starttag(self, tag, attrs):
        assert tag not in ('script', 'img', 'iframe'), tag
        assert not any(name.startswith('on') for name, _ in attrs), attrs
        if tag not in ('meta', 'link'):
            self.open.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
text = open(sys.argv[1], encoding='utf-8').read()
check = Check()
check.feed(text)
assert not check.open, check.open
assert 'http:' not in text and 'https:' not in text, 'something from elsewhere'
END
            ;;
        dot) if command -v dot >/dev/null; then dot -Tsvg "$dir/out" >/dev/null 2>"$dir/why"
             else head -1 "$dir/out" | grep -q '^digraph' && tail -1 "$dir/out" | grep -qx '}'; fi ;;
    esac
    if [ $? = 0 ]; then ok "$1"; else bad "$1" "$(tail -1 "$dir/why")"; fi
}

refusals() {
    mkdir "$dir/bin" && cp "$PRONK" "$dir/bin/pronk" # has no model of its own
    PRONK_MODEL='' PRONK=$dir/bin/pronk refused "no model" 2 "no model" "x"
    refused "no such model" 1 "nowhere" -m nowhere "x"
    refused "unknown option" 2 "unknown option '--colour'" -m "$MODEL" --colour red "x"
    refused "unknown format" 2 "--format takes html|svg|json|dot" -m "$MODEL" --format png "x"
    refused "unknown strategy" 2 "nonsense" -m "$MODEL" --decode nonsense "x"
    refused "bad option of a strategy" 2 "block" -m "$MODEL" --decode pgj:block=0 "x"
    refused "empty sentence" 2 "the sentence is empty" -m "$MODEL" ""
    refused "blank sentence" 2 "the sentence is empty" -m "$MODEL" "   "
    refused "empty standard input" 2 "the sentence is empty" -m "$MODEL"
    refused "a drafter for a strategy that uses none" 2 "jacobi uses no drafter" -m "$MODEL" --drafter "$MODEL" "x"
    refused "no such drafter" 1 "nowhere" -m "$MODEL" --drafter nowhere "x"
    refused "two sentences" 2 "unexpected argument" -m "$MODEL" "one" "two"
}

strategies_and_formats() {
    for decode in greedy beam:size=3 pj pgj:block=3 hgj:block=3 jacobi jacobi:window=4,init=pad; do
        for format in html svg json dot; do
            run -m "$MODEL" --decode "$decode" --format $format "The house is small."
            well_formed "$decode as $format" $format
        done
    done
    for format in html svg json dot; do
        run -m "$MODEL" --format $format "$HOSTILE"
        well_formed "hostile sentence as $format" $format
        run -m "$MODEL" --format $format "$(printf 'a\377\001b')"
        well_formed "bytes that are no text as $format" $format
    done
    run -m "$MODEL" --type i8 --format json "The house is small."
    well_formed "int8" json
    run -m "$MODEL" -o "$dir/page" "x"
    [ $code = 0 ] && [ -s "$dir/page" ] && [ ! -s "$dir/out" ] && ok "-o" || bad "-o" "$(cat "$dir/err")"
    "$PRONK" viz -m "$MODEL" --format json >"$dir/out" 2>"$dir/err" < <(printf 'first line\nsecond line\n')
    grep -q '"sentence": "first line"' "$dir/out" && ok "standard input" || bad "standard input" "$(cat "$dir/err")"
}

# the translation is the one translate gives, and every token became certain in some pass
agreement() {
    local text="The house is small."
    for decode in greedy pj jacobi:window=8,init=pad beam:size=2; do
        run -m "$MODEL" --decode "$decode" --format json "$text"
        echo "$text" | "$PRONK" translate -q -m "$MODEL" --decode "$decode" --no-split >"$dir/said"
        python3 - "$dir/out" "$dir/said" 2>"$dir/why" <<'END'
import json, sys
viz = json.load(open(sys.argv[1]))
said = open(sys.argv[2], encoding='utf-8').read().rstrip('\n')
assert viz['translation'] == said, (viz['translation'], said)
assert viz['tokens'] and viz['passes']
fixed = [t['pass'] for t in viz['tokens']]
assert all(1 <= p <= len(viz['passes']) for p in fixed) and fixed == sorted(fixed), fixed
assert all(0 <= t['probability'] <= 1 for t in viz['tokens'])
assert all(i < j and fixed[i] < fixed[j] for i, j in viz['edges'])
for one in viz['passes']:
    assert one['network'] == 'model', one['network']
    assert one['fills'] == sorted({a['position'] for a in one['asks'] if a['best'] is not None}), one['fills']
assert {p for one in viz['passes'] for p in one['fills']} >= set(range(len(fixed)))
END
        if [ $? = 0 ]; then ok "as translate says: $decode"; else bad "as translate says: $decode" "$(tail -1 "$dir/why")"; fi
    done
    # a model that knows several languages: the language is fed, not chosen
    if [ -e tests/data/models/mbart-relu ]; then
        run -m tests/data/models/mbart-relu --from en_XX --to de_DE --decode pj --format json "$text"
        python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))["tokens"]
assert t[0]["piece"] != "de_DE" and all(x["pass"] > 0 for x in t)' "$dir/out" 2>/dev/null &&
            ok "language tokens are left out" || bad "language tokens are left out" "$(head -c 300 "$dir/out")"
    else skip "language tokens: no tests/data/models/mbart-relu"; fi
    # a perfect draft: all in one pass or little more, where padding needs many
    local draft
    draft=$(echo "$text" | "$PRONK" translate -q -m "$MODEL" --decode greedy --no-split)
    run -m "$MODEL" --decode jacobi:window=16,init=draft --draft "$draft" --format json "$text"
    well_formed "with a draft" json
}

# browse WIDTH PAGE: screenshot to $dir/shot.png, what the browser says to $dir/err, the document
# after a measuring script to $dir/dom
browse() {
    local common="--headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir=$dir/profile"
    rm -f "$dir/shot.png"
    timeout 60 "$CHROMIUM" $common --enable-logging=stderr --window-size="$1,800" \
        --screenshot="$dir/shot.png" "file://$2" >/dev/null 2>"$dir/err"
    { cat "$2"; echo "<script>$MEASURE</script>"; } >"$dir/measured.html"
    timeout 60 "$CHROMIUM" $common --window-size="$1,800" --dump-dom "file://$dir/measured.html" \
        >"$dir/dom" 2>/dev/null
}

bytes() { stat -c %s "$1" 2>/dev/null || echo 0; }

# in_browser NAME WIDTH FRAME PAGE: renders, is not blank, says nothing, fits; FRAME: scrolls or not
in_browser() {
    browse "$2" "$4"
    if [ "$(bytes "$dir/shot.png")" -gt $((2 * blank)) ]; then ok "$1: is drawn"
    else bad "$1: is drawn" "$(bytes "$dir/shot.png") bytes, an empty page has $blank"; fi
    if grep -q CONSOLE "$dir/err"; then bad "$1: no console message" "$(grep -m1 CONSOLE "$dir/err")"
    else ok "$1: no console message"; fi
    if grep -q '<body[^>]*data-width="true"' "$dir/dom"; then ok "$1: fits the window"
    else bad "$1: fits the window" "$(grep -o '<body[^>]*>' "$dir/dom")"; fi
    if grep -q "<body[^>]*data-frame=\"$3\"" "$dir/dom"; then ok "$1: frame scrolls: $3"
    else bad "$1: frame scrolls: $3" "$(grep -o '<body[^>]*>' "$dir/dom")"; fi
    grep -q '<body[^>]*data-cells="0"' "$dir/dom" && bad "$1: has cells" "none" || ok "$1: has cells"
}

pages() {
    run -m "$MODEL" --decode greedy:max_length=5 -o "$dir/short.html" "Hi."
    run -m "$MODEL" --decode jacobi:window=8,init=pad,min_length=39,max_length=39 -o "$dir/long.html" \
        "A sentence with more words."
    run -m "$MODEL" -o "$dir/hostile.html" "$HOSTILE"
    if [ -e "$REAL" ]; then run -m "$REAL" --decode pj -o "$dir/real.html" "$SIXTY"; fi
    if [ -z "$CHROMIUM" ]; then
        skip "page in a browser, short, long and hostile sentence: no chromium here (apt-get install chromium)"
        return
    fi
    echo '<!DOCTYPE html><title>blank</title>' >"$dir/blank.html"
    browse 1200 "$dir/blank.html"
    blank=$(bytes "$dir/shot.png")
    if [ "$blank" = 0 ]; then
        skip "page in a browser, short, long and hostile sentence: $CHROMIUM does not start here"
        return
    fi
    in_browser "short page" 1200 false "$dir/short.html"
    in_browser "long page" 1200 true "$dir/long.html"
    in_browser "long page, narrow window" 600 true "$dir/long.html"
    if [ -e "$REAL" ]; then in_browser "page of a real model, 60 tokens and more" 1200 true "$dir/real.html"
    else skip "page of a real model, 60 tokens and more: there is none at $REAL"; fi
    browse 1200 "$dir/hostile.html"
    [ "$(grep -c '<script' "$dir/dom")" = 1 ] && ! grep -q '<img' "$dir/dom" && ok "hostile page: nothing but text" ||
        bad "hostile page: nothing but text" "$(grep -c '<script' "$dir/dom") scripts"
}

refusals
if [ -e "$MODEL" ]; then
    strategies_and_formats
    agreement
    pages
else
    skip "what needs a model: there is none at $MODEL"
fi
summary
