#!/bin/bash
# cli_test.sh - runs the program as users do and checks what comes out, where, and the exit code.
#
# PRONK: the program (default build/pronk). MODEL: a model to translate with; the checks that need
# one are skipped without it. Prints a line for each check, and at the end how many passed. The
# checks ask for form (lines, line ends, codes, messages), never for particular translations.
MODEL=${MODEL:-tests/data/models/marian-relu}
VERBS=$(sed -n 's/^    X(\([a-z]*\)).*/\1/p' cli/cli.h)
LONG=${LONG:-1000000}                # characters in the longest line
. tests/support/program.sh
input=$dir/in limit=300
unset PRONK_MODEL
mkdir "$dir/bin" && cp "$PRONK" "$dir/bin/pronk" || exit 1
alone=$dir/bin/pronk # has no model of its own

# counts NAME: exit code 0 and as many newlines out as in
counts() {
    if [ $code != 0 ]; then bad "$1" "exit code $code: $(head -1 "$dir/err")"
    else check "$1" "$(tr -dc '\n' <"$dir/in" | wc -c)" "$(tr -dc '\n' <"$dir/out" | wc -c)"; fi
}

last_byte() { tail -c 1 "$1" | od -An -tx1 | tr -d ' '; }

help_and_manual() {
    : >"$dir/in"
    run --version
    check "version" "pronk $(sed -n 's/.*PK_VERSION_TEXT "\(.*\)".*/\1/p' include/pronk.h)" \
          "$(cat "$dir/out")"
    run --help
    for verb in $VERBS; do
        grep -q "^  $verb " "$dir/out" && ok "help lists $verb" || bad "help lists $verb" "it does not"
    done
    run
    check "no arguments: exit code" 2 $code
    for verb in $VERBS; do
        run "$verb" --help
        check "$verb --help: exit code" 0 $code
        cp "$dir/out" "$dir/help"
        run help "$verb"
        cmp -s "$dir/out" "$dir/help" && ok "help $verb is $verb --help" || bad "help $verb" "differs"
        run help --man "$verb"
        cp "$dir/out" "$dir/page"
        sed -n 's/^ .. *--\([a-z0-9-]*\).*/\1/p; s/^  -., --\([a-z0-9-]*\).*/\1/p' "$dir/help" |
            sort >"$dir/in_help"
        sed -n 's/^\.It .*Fl Fl \([a-z0-9-]*\).*/\1/p' "$dir/page" | sort >"$dir/in_page"
        [ -s "$dir/in_help" ] && cmp -s "$dir/in_help" "$dir/in_page" &&
            ok "$verb: same options in help and manual" ||
            bad "$verb: options" "$(diff "$dir/in_help" "$dir/in_page" | tr '\n' ' ')"
        check "$verb: help is ASCII, 100 columns at most" 0 \
              "$(grep -v '^    ' "$dir/help" | LC_ALL=C grep -c -P '[^\x20-\x7e]|.{101}')"
        lint "$verb" "$dir/page"
    done
    run help --man
    lint pronk "$dir/out"
}

# pages refer to one another before they are installed: that one remark is no fault. The page comes
# from standard input, as mandoc takes a section from any dot in a path.
lint() {
    if ! command -v mandoc >/dev/null; then skip "manual of $1: mandoc is missing"; return; fi
    check "manual of $1 is clean" "" "$(mandoc -Tlint <"$2" | grep -v 'referenced manual not found')"
}

# the model that comes with Pronk, or one of the user's: used where none is named
own_model() {
    printf 'One two.\n' >"$dir/in"
    run translate -m "$MODEL"
    cp "$dir/out" "$dir/named"
    export PRONK_MODEL=$MODEL
    run translate
    cmp -s "$dir/out" "$dir/named" && ok "PRONK_MODEL: translate" || bad "PRONK_MODEL: translate" "$(cat "$dir/err")"
    refused "PRONK_MODEL: something else is missing" 2 "no translations" score
    refused "PRONK_MODEL: distill wants its teacher" 2 "no model" distill -i x -o y
    PRONK_MODEL=$dir/nowhere
    refused "PRONK_MODEL: there is none" 1 "$dir/nowhere" translate
    unset PRONK_MODEL
    "$PRONK" convert "$MODEL" "$dir/made.pronk" 2>/dev/null
    for folder in models share/pronk/models; do
        mkdir -p "$dir/$folder"
        mv "$dir/made.pronk" "$dir/$folder/en-de.pronk"
        "$alone" translate <"$dir/in" >"$dir/out" 2>"$dir/err"
        cmp -s "$dir/out" "$dir/named" && ok "a model in $folder" || bad "a model in $folder" "$(cat "$dir/err")"
        mv "$dir/$folder/en-de.pronk" "$dir/made.pronk"
    done
}

wrong_command_lines() {
    : >"$dir/in"
    refused "unknown verb" 2 "unknown verb 'frobnicate'" frobnicate
    refused "nearly a verb" 2 "did you mean translate?" translat
    refused "unknown option before a verb" 2 "unknown option" --frobnicate
    for verb in $VERBS; do
        refused "$verb: unknown option" 2 "unknown option '--frobnicate'" "$verb" --frobnicate
        refused "$verb: unknown letter" 2 "unknown option '-Z'" "$verb" -Z
    done
    refused "nearly an option" 2 "did you mean --threads?" translate --thread 2
    local PRONK=$alone
    refused "translate without a model" 2 "no model" translate
    refused "score without a model" 2 "no model" score -r x
    refused "bench without a model" 2 "no model" bench
    refused "option without its value" 2 "needs a value" translate -m
    refused "value for a flag" 2 "takes no value" translate --no-split=1
    refused "number out of range" 2 "from 1 to" translate -m x --threads 0
    refused "not a number" 2 "from 1 to" translate -m x --batch many
    refused "no such type" 2 "f32|f16|bf16|i8" translate -m x --type f64
    refused "unexpected operand" 2 "unexpected argument" translate -m x y
    refused "convert with one name" 2 "FOLDER MODEL" convert x
    refused "info without a model" 2 "no model" info
    refused "help of an unknown verb" 2 "no verb" help frobnicate
    refused "eval without a reference" 2 "no reference" eval x
    refused "eval, standard input twice" 2 "only one" eval -r - -
}

missing_files() {
    local no=$dir/missing
    : >"$dir/in"
    printf 'a\nb\n' >"$dir/two"
    printf 'a\n' >"$dir/one"
    refused "translate: missing model" 1 "$no" translate -m "$no"
    refused "translate: missing input" 1 "$no" translate -m "$MODEL" -i "$no"
    refused "translate: a folder as input" 1 "folder" translate -m "$MODEL" -i "$dir"
    refused "info: missing model" 1 "$no" info "$no"
    refused "info: not a model" 1 "" info "$dir/two"
    refused "convert: missing folder" 1 "$no" convert "$no" "$dir/x.pronk"
    refused "convert: not a model folder" 1 "" convert "$dir" "$dir/x.pronk"
    refused "convert: onto a folder" 1 "folder" convert "$dir" "$dir"
    [ ! -e "$dir/x.pronk" ] && ok "convert leaves nothing after a failure" ||
        bad "convert leaves nothing after a failure" "x.pronk is there"
    refused "bench: missing input" 1 "$no" bench -m "$MODEL" -i "$no"
    refused "bench: empty input" 1 "empty" bench -m "$MODEL"
    refused "score: missing translations" 1 "$no" score -m "$MODEL" -i "$dir/two" -r "$no"
    refused "score: line counts differ" 1 "has 2 lines" score -m "$MODEL" -i "$dir/two" -r "$dir/one"
    refused "eval: missing reference" 1 "$no" eval -r "$no" "$dir/two"
    refused "eval: missing hypothesis" 1 "$no" eval -r "$dir/two" "$no"
    refused "eval: line counts differ" 1 "has 1 line and" eval -r "$dir/two" "$dir/two" "$dir/one"
    refused "eval: empty reference" 1 "is empty" eval -r /dev/null "$dir/two"
}

evaluation() {
    printf 'The cat sat on the mat today.\nIt was a dog.\n' >"$dir/ref"
    printf 'The cat sat on a mat today.\nIt was the dog.\n' >"$dir/hyp"
    run eval -r "$dir/ref" "$dir/hyp"
    check "eval: exit code" 0 $code
    grep -qE '^BLEU\|nrefs:1\|.*version:.* = [0-9]+\.[0-9] [0-9./]+ \(BP = .* ref_len = 13\)$' "$dir/out" &&
        ok "eval: BLEU line" || bad "eval: BLEU line" "$(head -1 "$dir/out")"
    check "eval: chrF lines" 2 "$(grep -cE '^chrF2(\+\+)?\|.* = [0-9.]+$' "$dir/out")"
    run eval -r "$dir/ref" --json "$dir/hyp" "$dir/ref"
    check "eval --json: a line for each" 2 "$(wc -l <"$dir/out")"
    for key in name bleu chrf2 chrf2++ bleu_precisions bp ratio hyp_len ref_len trr signature; do
        check "eval --json: $key" 2 "$(grep -cF "\"$key\": " "$dir/out")"
    done
    run eval -r <(echo "a b x d e f") --head 3 --tail 4 <(echo "a b c d e f")
    check "eval --head --tail" "1-gram/4-gram precision: all = 83.3/16.7 head 3 = 66.7/0.0 tail 4 = 75.0/0.0" "$(tail -1 "$dir/out")"
    run eval -r "$dir/ref" --head 5 --json "$dir/hyp"
    check "eval --head --json" 1 "$(grep -cE '"head": \{"tokens": 5, "precisions": \[[0-9., ]+\]\}' "$dir/out")"
    refused "eval --tail 0" 2 "--tail takes a number" eval -r "$dir/ref" --tail 0 "$dir/hyp"
    run eval -r "$dir/ref" --json --bootstrap 50 "$dir/hyp" "$dir/ref"
    for key in mean ci p_value; do
        check "eval --json --bootstrap: $key" 2 "$(grep -cF "\"$key\": " "$dir/out")"
    done
    cp "$dir/hyp" "$dir/in"
    run eval -r "$dir/ref"
    cp "$dir/out" "$dir/from_stdin"
    run eval -r "$dir/ref" "$dir/hyp"
    cmp -s "$dir/out" "$dir/from_stdin" && ok "eval: standard input" || bad "eval: standard input" "differs"
    "$PRONK" eval -r "$dir/ref" "$dir/hyp" >/dev/full 2>"$dir/err"
    check "eval: full disk" 1 $?
}

translation_forms() {
    local t="translate -m $MODEL"
    : >"$dir/in"; run $t
    counts "empty input"
    check "empty input gives empty output" 0 "$(wc -c <"$dir/out")"
    printf '\n\n\n' >"$dir/in"; run $t
    counts "blank lines"
    check "blank lines stay blank" 3 "$(wc -c <"$dir/out")"
    printf 'One.\n\nTwo. Three.\n' >"$dir/in"; run $t
    counts "several sentences in a line"
    check "a blank line between" "" "$(sed -n 2p "$dir/out")"
    check "nothing on standard error" "" "$(cat "$dir/err")"
    cp "$dir/out" "$dir/first"
    run $t -i "$dir/in" -o "$dir/file"
    cmp -s "$dir/first" "$dir/file" && ok "-i and -o" || bad "-i and -o" "differs from streams"
    check "-o leaves standard output alone" 0 "$(wc -c <"$dir/out")"
    run $t -i - -o - --no-split
    counts "--no-split, - as names"
    printf '\xe2\x96\x81One \xe2\x96\x81two\n\nx y\n' >"$dir/in"; run $t --tokens
    counts "--tokens"
    grep -q $'\xe2\x96\x81' "$dir/out" && ok "--tokens: pieces come out" || bad "--tokens" "no piece in $(cat "$dir/out")"
    printf 'One.\nTwo.' >"$dir/in"; run $t
    counts "no final newline"
    [ "$(last_byte "$dir/out")" != 0a ] && ok "none is added" || bad "none is added" "there is one"
    printf 'One.\r\n\r\nTwo.\r\n' >"$dir/in"; run $t
    counts "CRLF"
    check "CRLF kept" 3 "$(grep -c $'\r$' "$dir/out")"
    printf 'a\0b\n\0\nc\n' >"$dir/in"; run $t
    counts "NUL bytes"
    printf 'good\nbad \xff\xfe\nbad \xc3\n' >"$dir/in"; run $t
    counts "invalid UTF-8"
    check "invalid UTF-8: one warning, but for loops" "1 1" "$(grep -vc 'repeats itself' "$dir/err") $(grep -c UTF-8 "$dir/err")"
    run $t --quiet
    check "invalid UTF-8: none with --quiet" "" "$(cat "$dir/err")"
}

translation_outputs() {
    local t="translate -m $MODEL --no-split" number='-?[0-9]+\.[0-9]{6}'
    printf 'One two.\nThree.\n' >"$dir/in"
    run $t --decode beam:size=4 --n-best 2
    check "--n-best: exit code" 0 $code
    check "--n-best: form" 4 "$(grep -cE "^[01] \|\|\| .* \|\|\| F0= $number \|\|\| $number$" "$dir/out")"
    run $t --decode beam:size=4 --n-best 2 --alignment --word-scores
    check "--n-best with all" 4 "$(grep -cE \
        "^[01] \|\|\| .* \|\|\| ([0-9]+-[0-9]+ ?)* ?\|\|\| WordScores=( $number)+ \|\|\| F0= $number \|\|\| $number$" "$dir/out")"
    run $t --scores
    check "--scores: form" 2 "$(grep -cE "^$number \|\|\| " "$dir/out")"
    run $t --word-scores
    check "--word-scores: form" 2 "$(grep -cE " \|\|\| WordScores=( $number)+$" "$dir/out")"
    run $t --alignment
    check "--alignment: form" 2 "$(grep -cE " \|\|\| ([0-9]+-[0-9]+ ?)*$" "$dir/out")"
    printf '\n\n' >"$dir/prefix"
    run $t
    cp "$dir/out" "$dir/plain"
    run $t --prefix "$dir/prefix"
    cmp -s "$dir/out" "$dir/plain" && ok "empty prefixes change nothing" ||
        bad "empty prefixes" "$(cat "$dir/err")"
    printf '\n' >"$dir/prefix"
    run $t --prefix "$dir/prefix"
    check "too few prefixes" "1 1 0" "$code $(grep -c 'as many' "$dir/err") $(wc -l <"$dir/out")"
    printf '\n\n\n' >"$dir/prefix"
    run $t --prefix "$dir/prefix"
    check "too many prefixes" "1 1 0" "$code $(grep -c 'as many' "$dir/err") $(wc -l <"$dir/out")"
    run $t --draft "$dir/prefix"
    check "too many drafts" "1 1 0" "$code $(grep -c 'as many' "$dir/err") $(wc -l <"$dir/out")"
    printf '\nnonsense\n' >"$dir/prefix"
    run $t --decode jacobi --draft "$dir/prefix"
    cmp -s "$dir/out" "$dir/plain" && ok "drafts change nothing" || bad "drafts" "$(cat "$dir/err")"
    run $t --decode nonsense
    check "unknown strategy: exit code" 2 $code
    run $t --decode beam:size=nonsense
    check "wrong option of a strategy: exit code" 2 $code
}

translation_trouble() {
    local t="translate -m $MODEL"
    printf 'One.\nTwo.\n' >"$dir/in"
    refused "full disk" 1 "cannot write" $t -o /dev/full
    refused "folder that is not there" 1 "cannot write" $t -o "$dir/none/x"
    cp "$dir/in" "$dir/same"
    refused "output over the input" 1 "also an input" $t -i "$dir/same" -o "$dir/same"
    cmp -s "$dir/in" "$dir/same" && ok "the input is still there" || bad "the input" "is gone"
    refused "missing model leaves the output alone" 1 "" translate -m "$dir/none" -o "$dir/same"
    cmp -s "$dir/in" "$dir/same" && ok "the output is still there" || bad "the output" "is gone"
    yes '' | head -n 300000 >"$dir/blank"
    "$PRONK" $t -i "$dir/blank" 2>"$dir/err" | head -n 1 >/dev/null
    code=${PIPESTATUS[0]}
    check "closed pipe: quiet" "" "$(cat "$dir/err")"
    case $code in 0 | 1 | 141) ok "closed pipe: exit code" ;; *) bad "closed pipe" "code $code" ;; esac
    head -c "$LONG" /dev/zero | tr '\0' a >"$dir/in"
    echo >>"$dir/in"
    run $t --decode greedy:max_length=2          # it is the input that is long
    counts "a line of $LONG characters"
    head -c "$LONG" /dev/zero | tr '\0' ' ' >"$dir/in"; run $t
    counts "a line of $LONG spaces"
}

# a program that writes a line, waits for its translation, and only then writes the next
streaming() {
    local answer n=0
    coproc STREAM { exec "$PRONK" translate -m "$MODEL" 2>"$dir/err"; }
    local in=${STREAM[1]} out=${STREAM[0]} pid=$STREAM_PID
    for line in One. Two. Three.; do
        echo "$line" >&"$in"
        IFS= read -r -t 60 answer <&"$out" && n=$((n + 1))
    done
    exec {in}>&-
    wait "$pid"
    check "a line at a time: exit code" 0 $?
    check "a line at a time: answers" 3 $n
}

# 40 MB of spaces go through a pipe; the most memory in use before and after differs little
bounded_memory() {
    local before after
    [ -r /proc/self/status ] || { skip "bounded memory: no /proc"; return; }
    if grep -q __asan_init "$PRONK"; then skip "bounded memory: freed memory is kept by the sanitizer"; return; fi
    mkfifo "$dir/fifo"
    "$PRONK" translate -m "$MODEL" <"$dir/fifo" >/dev/null 2>&1 &
    local pid=$!
    exec 9>"$dir/fifo"
    head -c 2000000 /dev/zero | tr '\0' ' ' | fold -w 1000 >&9
    before=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
    head -c 40000000 /dev/zero | tr '\0' ' ' | fold -w 1000 >&9
    after=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
    exec 9>&-
    wait $pid
    check "long stream: exit code" 0 $?
    [ -n "$after" ] && [ $((after - before)) -lt 8000 ] && ok "long stream: memory does not grow" ||
        bad "long stream: memory" "from $before to $after kB"
}

progress() {
    printf 'One.\nTwo.\n' >"$dir/in"
    if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
        skip "progress: no script(1), or no pseudo-terminals here"; return
    fi
    script -qec "$PRONK translate -m $MODEL -i $dir/in -o $dir/out" /dev/null >"$dir/seen" </dev/null
    grep -q 'lines/s' "$dir/seen" && ok "progress on a terminal" || bad "progress on a terminal" "none"
    script -qec "$PRONK translate -m $MODEL -i $dir/in -o $dir/out -q" /dev/null >"$dir/seen" </dev/null
    check "none with --quiet" "" "$(cat "$dir/seen")"
}

other_verbs() {
    printf 'One two.\nThree.\n' >"$dir/in"
    cp "$dir/in" "$dir/target"
    run score -m "$MODEL" -r "$dir/target"
    check "score: a number a line" "0 2" "$code $(grep -cE '^-?[0-9]+\.[0-9]{6}$' "$dir/out")"
    run score -m "$MODEL" -r "$dir/target" --word-scores
    check "score --word-scores" 2 "$(grep -cE ' \|\|\| WordScores=( -?[0-9.]+)+$' "$dir/out")"
    run info "$MODEL"
    check "info: exit code" 0 $code
    [ "$(wc -l <"$dir/out")" -gt 2 ] && ok "info: a table" || bad "info: a table" "$(cat "$dir/out")"
    run info --json "$MODEL"
    check "info --json: an object" "{" "$(head -1 "$dir/out")"
    run bench -m "$MODEL" --decode greedy --decode beam:size=2 --batch 1 --json
    check "bench --json: a line for each" "0 2" "$code $(wc -l <"$dir/out")"
    for key in sentences_per_second source_words_per_second target_tokens_per_second p50 p95 p99 \
               passes_per_sentence tokens_kept_per_pass peak_memory_bytes load_seconds time_share \
               bandwidth_fraction speed_to_first; do
        check "bench --json: $key" 2 "$(grep -c "\"$key\": " "$dir/out")"
    done
    run bench -m "$MODEL" --repeat 2 --limit 1
    check "bench: exit code" 0 $code
    grep -q '^target tokens/s' "$dir/out" && ok "bench: a table" || bad "bench: a table" "$(cat "$dir/err")"
    run convert "$MODEL" "$dir/made.pronk"
    check "convert: exit code" 0 $code
    run translate -m "$MODEL"
    cp "$dir/out" "$dir/folder_says"
    run translate -m "$dir/made.pronk"
    cmp -s "$dir/out" "$dir/folder_says" && ok "file translates as the folder does" ||
        bad "file translates as the folder does" "$(head -1 "$dir/err")"
}

help_and_manual
wrong_command_lines
evaluation
if [ -e "$MODEL" ]; then
    own_model
    missing_files
    translation_forms
    translation_outputs
    translation_trouble
    streaming
    bounded_memory
    progress
    other_verbs
else
    skip "what needs a model: there is none at $MODEL"
fi
summary
