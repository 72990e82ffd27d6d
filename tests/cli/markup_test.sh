#!/bin/bash
# markup_test.sh - `pronk translate` with --format, --glossary, --protect and --retry-loops, through the model that comes
# with Pronk. tests/data/markup.tsv holds 200 fragments with a tag around one word and what it should enclose.
#
# PRONK: the program (default build/pronk).
PRONK=${PRONK:-build/pronk}
MODEL=models/en-de.pronk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

ok() { passed=$((passed + 1)); echo "ok      $1"; }
bad() { failed=$((failed + 1)); echo "FAILED  $1: $2"; }
html() { printf '%s' "$1" | "$PRONK" translate -q -m $MODEL --format html; }
# has NAME TEXT PART: the text has the part
has() { case $2 in *"$3"*) ok "$1" ;; *) bad "$1" "no '$3' in '$2'" ;; esac; }
is() { [ "$2" = "$3" ] && ok "$1" || bad "$1" "'$2', not '$3'"; }

if found=$(python3 tools/check_markup.py "$PRONK" -m $MODEL --least 190); then
    ok "$found"
else
    bad "tags enclose their words" "$found"
fi

# what Mastodon sends: paragraphs, line breaks, mentions and hashtags as links
mention='<span class="h-card"><a href="https://m.example/@bob" class="u-url mention">@<span>bob</span></a></span>'
tag='<a href="https://m.example/tags/cats" class="mention hashtag" rel="tag">#<span>cats</span></a>'
link='<a href="https://www.example.org/a/very/long" rel="nofollow"><span class="invisible">https://www.</span><span class="ellipsis">example.org/a/very</span><span class="invisible">/long</span></a>'
post=$(html "<p>$mention I have two $tag at home.<br />The weather is fine today.</p><p>Please read $link before you go.</p>")
has "a mention stays" "$post" "$mention"
has "a hashtag stays" "$post" "$tag"
has "a link stays" "$post" "$link"
has "lines are lines" "$post" '.<br />'

is "words are those of plain text" "$(html '<p>The <b>old</b> <i>house</i> is very beautiful.</p>' | sed 's/<[^>]*>//g')" \
    "$(echo 'The old house is very beautiful.' | "$PRONK" translate -q -m $MODEL)"
is "script, comment and code are untouched" \
    "$(html '<!-- Good morning --><script>if (a < b) alert("Good morning");</script><pre><code>good morning</code></pre>')" \
    '<!-- Good morning --><script>if (a < b) alert("Good morning");</script><pre><code>good morning</code></pre>'
has "what was escaped stays escaped" "$(html 'The sign &lt;b&gt; is a tag.')" '&lt;b&gt;'
has "white space stays" "$(html "<ul>
  <li>Good morning.</li>
</ul>")" '<ul>
  <li>Guten Morgen'

spans=$(echo 'Visit https://example.org/a?b=c, mail bob@example.org, %1$s has {count} files in `src/`.' |
    "$PRONK" translate -q -m $MODEL --protect-usual)
for span in 'https://example.org/a?b=c' bob@example.org '%1$s' '{count}' '`src/`'; do has "span $span" "$spans" "$span"; done
has "a pattern of one's own" "$(echo 'The part AB-12x is broken.' | "$PRONK" translate -q -m $MODEL --protect 'AB-\w+')" AB-12x

printf 'house\tGem\xc3\xa4uer\ngarden fence\tLattenzaun\n' >"$work/terms.tsv"
terms=$(echo 'The houses have a garden fence.' | "$PRONK" translate -q -m $MODEL --glossary "$work/terms.tsv")
has "a term, though inflected" "$terms" $'Gem\xc3\xa4uer'
has "a term of two words" "$terms" Lattenzaun
echo 'no tab' >"$work/wrong.tsv"
has "a wrong glossary has one line of error" \
    "$(echo x | "$PRONK" translate -m $MODEL --glossary "$work/wrong.tsv" 2>&1)" 'line 1 of the glossary'

printf '\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:03,000\r\nI have never seen\r\nsuch a beautiful\r\n\r\n2\r\n00:00:03,500 --> 00:00:05,000 X1:0\r\n<i>garden in my life.</i>\r\n' >"$work/a.srt"
"$PRONK" translate -q -m $MODEL --format srt -i "$work/a.srt" -o "$work/b.srt"
is "numbers, times, BOM and line ends of subtitles stay" "$(LC_ALL=C grep -cP '^(\xef\xbb\xbf)?1\r$|^2\r$|-->.*\r$|^\r$' "$work/b.srt")" 5
is "a tag around a cue stays around it" "$(grep -c '^<i>.*</i>.$' "$work/b.srt")" 1
has "what is no subtitle is refused" "$(echo hello | "$PRONK" translate -m $MODEL --format srt 2>&1)" 'no SubRip'
has "WebVTT keeps notes and settings" "$(printf 'WEBVTT\n\nNOTE good morning\n\n00:01.000 --> 00:02.000 line:0\nGood morning.\n' |
    "$PRONK" translate -q -m $MODEL --format vtt)" $'NOTE good morning\n\n00:01.000 --> 00:02.000 line:0\nGuten Morgen'

is "loops are retried, and other text is not" "$(echo 'The house is small.' | "$PRONK" translate -m $MODEL --retry-loops 2>&1)" \
    "$(echo 'The house is small.' | "$PRONK" translate -q -m $MODEL)"
LOOPS=tests/data/ct2/en-de.argosmodel # repeats itself
has "a loop is reported" "$(echo 'good morning' | "$PRONK" translate -m $LOOPS 2>&1 >/dev/null)" 'of 1 sentence repeats itself'
has "a loop is decoded again" "$(echo 'good morning' | "$PRONK" translate -m $LOOPS --retry-loops 2>&1 >/dev/null)" \
    'decoded again, 0 still do so'
has "what does not go together is refused" "$(echo x | "$PRONK" translate -m $MODEL --format html --n-best 2 2>&1)" 'for lines'

# a megabyte of nested tags: linear, or it would take hours
python3 -c "print('<b>' * 170000 + 'Good morning.' + '</b>' * 170000, end='')" >"$work/deep.html"
timeout 60 "$PRONK" translate -q -m $MODEL --format html -i "$work/deep.html" -o "$work/deep.out"
is "a megabyte of nested tags" "$(grep -o '</b>' "$work/deep.out" | wc -l)" 170000

echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
