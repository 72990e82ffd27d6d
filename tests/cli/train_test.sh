#!/bin/bash
# train_test.sh - `pronk vocab`, `pronk train` and `pronk average` as users run them: refusals, a
# training of seconds, kill -9 and --resume, signals, means of checkpoints, the plot in a browser.
#
# PRONK: the program (default build/pronk). DEVICE: who trains (default cpu). CHROMIUM: the browser;
# without one the checks that need it are skipped, and said to be.
PRONK=${PRONK:-build/pronk}
DEVICE=${DEVICE:-cpu}
CHROMIUM=${CHROMIUM-$(command -v chromium || command -v chromium-browser)}
DATA=recipes/data
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
passed=0 failed=0 skipped=0

ok()   { passed=$((passed + 1)); echo "ok      $1"; }
bad()  { failed=$((failed + 1)); echo "FAILED  $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "SKIPPED $1"; }

# run ARGUMENT...: leaves $dir/out, $dir/err and $code
run() {
    timeout 120 "$PRONK" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
}

# refused NAME CODE TEXT ARGUMENT...: that exit code, one line on stderr with TEXT, no output
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    run "$@"
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected: $(head -1 "$dir/err")"
    elif [ "$(wc -l <"$dir/err")" != 1 ]; then bad "$name" "$(wc -l <"$dir/err") lines of errors"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    elif [ -s "$dir/out" ]; then bad "$name" "there is output"
    else ok "$name"; fi
}

# worked NAME: the last run did, or what it said
worked() { if [ $code = 0 ]; then ok "$1"; else bad "$1" "exit code $code: $(head -1 "$dir/err")"; fi; }

# training FOLDER SETTING...: what `pronk train` is given for a small training in that folder
training() {
    arguments=(train recipes/tiny.yml --set "output=$dir/$1" --set "vocab=$dir/v.spm" --set "device=$DEVICE"
               --set threads=2 --set data.cache="$dir/cache" --set train.schedule=constant --set save.every=10
               --set save.keep=100 --set log.every=5 --set valid.every=0 --set data.batch_tokens=512)
    shift
    for setting; do arguments+=(--set "$setting"); done
}

recipes_are_checked() {
    refused "no recipe" 2 "it takes RECIPE" train
    refused "no such recipe" 1 "nowhere.yml" train nowhere.yml
    printf 'task: at\ntrain:\n  rats: 1\n' >"$dir/r.yml"
    refused "unknown key" 2 "r.yml, line 3: there is no key 'train.rats'; did you mean train.rate?" train "$dir/r.yml"
    printf 'model.norm: middle\n' >"$dir/r.yml"
    refused "impossible choice" 2 "line 1: model.norm takes one of post|pre, not 'middle'" train "$dir/r.yml"
    printf 'seed: 1\nseed: 2\n' >"$dir/r.yml"
    refused "a key twice" 2 "line 2: seed is given twice, first in line 1" train "$dir/r.yml"
    printf 'seed: [1\n' >"$dir/r.yml"
    refused "no YAML" 1 "this is not valid YAML" train "$dir/r.yml"
    head -c 3000 /dev/urandom >"$dir/r.yml"
    run train "$dir/r.yml"
    [ $code = 1 ] && [ "$(wc -l <"$dir/err")" = 1 ] && ok "any bytes" || bad "any bytes" "exit code $code"
    printf 'task: at\n' >"$dir/r.yml"
    refused "nothing to train on" 2 "give output" train "$dir/r.yml"
    refused "unknown key in --set" 2 "--set: there is no key 'sed'; did you mean seed?" train "$dir/r.yml" --set sed=1
    refused "--set without a value" 2 "write key=value" train "$dir/r.yml" --set seed
    refused "value out of range" 2 "train.rate takes a number from 0 to 1, not '7'" train "$dir/r.yml" --set train.rate=7
    refused "no vocabulary file" 1 "nowhere.spm" train recipes/tiny.yml --set "output=$dir/x" --set vocab=nowhere.spm
    [ "$("$PRONK" train --help | grep -c '^  [a-z_.]*: ')" -gt 60 ] && ok "help lists the keys" || bad "help lists the keys" ""
}

# what a validation or the end would need is missed at the beginning, before the first update
needs_are_checked_first() {
    local at=(--set "vocab=$dir/v.spm" --set "output=$dir/needs" --set "data.cache=$dir/cache" --set "device=$DEVICE" -q)
    refused "valid.decode of another task" 1 "hrt needs a model trained with task hrt" train recipes/tiny.yml "${at[@]}" --set valid.decode=hrt
    refused "valid.decode of no model" 2 "no decoding strategy" train recipes/tiny.yml "${at[@]}" --set valid.decode=nonsense
    refused "valid.decode with a drafter" 2 "needs a drafter" train recipes/tiny.yml "${at[@]}" --set valid.decode=gad
    refused "an alignment that nobody reads" 2 "data.alignment is for" train recipes/tiny.yml "${at[@]}" --set "data.alignment=$dir/v.spm"
    [ -s "$dir/needs/log.jsonl" ] && bad "refused before the first update" "$(head -1 "$dir/needs/log.jsonl")" || ok "refused before the first update"
}

vocabularies() {
    local size="--size 500"
    refused "vocab: no text" 2 "no text" vocab -o "$dir/v.spm"
    refused "vocab: no output" 2 "no file to write" vocab -i "$DATA/tiny.train.en"
    refused "vocab: no such text" 1 "nowhere" vocab -i nowhere -o "$dir/v.spm" -q
    refused "vocab: no number" 2 "--size takes a number" vocab -i x -o "$dir/v.spm" --size big
    refused "vocab: no share" 2 "--coverage takes a number from 0.9 to 1" vocab -i x -o "$dir/v.spm" --coverage 2
    run vocab -q -i "$DATA/tiny.train.en" "$DATA/tiny.train.de" $size -o "$dir/v.spm"
    worked "vocab: several files behind one -i"
    [ -s "$dir/out$dir/err" ] && bad "vocab: quiet" "it says something" || ok "vocab: quiet"
    run vocab -q -i "$DATA/tiny.train.en" -i "$DATA/tiny.train.de" $size -o "$dir/w.spm"
    worked "vocab: several -i"
    cmp -s "$dir/v.spm" "$dir/w.spm" && ok "vocab: both are the same" || bad "vocab: both are the same" "they differ"
    run vocab -q -i "$DATA/tiny.train.en" $size --type bpe -o "$dir/w.spm"
    worked "vocab: bpe"
    run vocab -q -m models/en-de.pronk -i "$DATA/tiny.train.en" --characters "€@" -o "$dir/extended.spm"
    worked "vocab: a model's own, extended"
    refused "vocab: extended, and a size" 2 "leave its size out" \
        vocab -q -m models/en-de.pronk -i "$DATA/tiny.train.en" --size 500 -o "$dir/never.spm"
    refused "vocab: too small for bytes" 2 "256 bytes and its characters need 296" \
        vocab -q -i "$DATA/tiny.train.en" --size 250 -o "$dir/never.spm"
    refused "vocab: bytes or none" 2 "give one of them" \
        vocab -q -i "$DATA/tiny.train.en" --byte-fallback --no-byte-fallback -o "$dir/never.spm"
    run vocab -i "$DATA/tiny.train.en" "$DATA/tiny.train.de" --size 250 --no-byte-fallback -o "$dir/w.spm"
    worked "vocab: no bytes"
    grep -q "99\.[0-9]* % of the text's characters have pieces .* unknown" "$dir/err" && ok "vocab: what is covered" ||
        bad "vocab: what is covered" "$(cat "$dir/err")"
    run vocab -i "$DATA/tiny.train.en" --size 400 --coverage 1 --characters '{}' -o "$dir/w.spm"
    grep -q "100.0000 % of the text's characters have pieces of their own" "$dir/err" && grep -q '{' "$dir/w.spm" &&
        ok "vocab: all is covered" || bad "vocab: all is covered" "$(cat "$dir/err")"
    run vocab -q -i "$DATA/tiny.train.en" --size 100000 -o "$dir/never.spm"
    [ $code != 0 ] && [ ! -e "$dir/never.spm" ] && ok "vocab: too large for the text" || bad "vocab: too large for the text" "$code"
}

# what a text without new characters, or without any, does to a model's vocabulary
nothing_to_extend() {
    local model=models/en-de.pronk pieces name
    pieces=$("$PRONK" info $model | sed -n 's/^config.source_vocab *//p')
    printf 'The house is small.\n' >"$dir/known"
    printf 'The house is small. \xe1\x88\x80\n' >"$dir/unknown"
    : >"$dir/empty"
    printf '\n\n\n' >"$dir/blank"
    printf ' \n\t\n\xc2\xa0\n' >"$dir/spaces"
    run vocab -m $model -i "$dir/known" -o "$dir/known.spm"
    worked "vocab: extended by nothing"
    grep -q "known.spm: $pieces pieces" "$dir/err" && ok "vocab: as many pieces" || bad "vocab: as many pieces" "$(cat "$dir/err")"
    run vocab -m $model -i "$dir/unknown" --coverage 1 -o "$dir/unknown.spm"
    grep -q "unknown.spm: $((pieces + 1)) pieces" "$dir/err" && ok "vocab: one more" || bad "vocab: one more" "$(cat "$dir/err")"
    for name in empty blank spaces; do
        refused "vocab: extended by a text that is $name" 1 "$name: no text" vocab -m $model -i "$dir/$name" -o "$dir/never.spm"
        refused "vocab: learned from a text that is $name" 1 "$name: no text" vocab -i "$dir/$name" -o "$dir/never.spm"
    done
    [ -e "$dir/never.spm" ] && bad "vocab: nothing is written" "there is a file" || ok "vocab: nothing is written"
}

# whether there is a device to train with; a build in the making may have none
can_train() {
    training probe train.updates=1
    run "${arguments[@]}"
    if grep -q "cannot train" "$dir/err"; then skip "training: $(cat "$dir/err")"; return 1; fi
    worked "one update"
}

# checks a log: JSON in every line, updates that rise, the last line done; prints the losses
losses() {
    python3 - "$1" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
updates = [line['update'] for line in lines]
assert updates == sorted(set(updates)) and lines[-1].get('done'), updates
for line in lines:
    if 'loss' in line:
        print(line['update'], line['loss'], line['nll'], line['gradient'])
END
}

a_training() {
    training one train.updates=40 valid.every=20
    run "${arguments[@]}"
    worked "a training"
    grep -q "2700 pairs read" "$dir/err" && ok "says what was read" || bad "says what was read" "$(head -3 "$dir/err")"
    [ "$(grep -c '^update [0-9]* .*tokens/s' "$dir/err")" = 8 ] && ok "a line for each line of the log" ||
        bad "a line for each line of the log" "$(grep -c '^update' "$dir/err")"
    [ "$(grep -c 'validation: loss .* BLEU .* chrF' "$dir/err")" = 2 ] && ok "validations" || bad "validations" "$(tail -3 "$dir/err")"
    losses "$dir/one/log.jsonl" >"$dir/losses" 2>"$dir/why" && [ "$(wc -l <"$dir/losses")" = 8 ] && ok "log.jsonl" ||
        bad "log.jsonl" "$(tail -1 "$dir/why")"
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/one/plot.svg" 2>"$dir/why" && ok "plot.svg" ||
        bad "plot.svg" "$(tail -1 "$dir/why")"
    echo "The small dog sees a red house." | "$PRONK" translate -q -m "$dir/one/model.pronk" >"$dir/out" 2>"$dir/err"
    [ $? = 0 ] && [ "$(wc -l <"$dir/out")" = 1 ] && cp "$dir/out" "$dir/same" && ok "the model translates" || bad "the model translates" "$(cat "$dir/err")"
    "$PRONK" info "$dir/one/model.pronk" >"$dir/out" 2>&1 && ok "the model has a description" || bad "info" "$(cat "$dir/out")"
    echo "The small dog sees a red house." | "$PRONK" translate -q -m "$dir/one" 2>"$dir/err" | cmp -s - "$dir/same" &&
        ok "the folder stands for its model" || bad "the folder stands for its model" "$(cat "$dir/err")"
    training child train.updates=1 init="$dir/one"
    run "${arguments[@]}" -q
    worked "init: the folder of a training"
    training one train.updates=40 valid.every=20
    refused "a checkpoint as a model" 1 "pronk average" translate -m "$(ls "$dir"/one/checkpoint-*.safetensors | head -1)" -i /dev/null
    refused "a folder that is taken" 2 "go on with --resume" "${arguments[@]}"
    refused "another shape" 2 "model.ffn was 128 and is 256 now" "${arguments[@]}" --resume --set model.ffn=256
    training one train.updates=50 valid.every=20
    run "${arguments[@]}" --resume -q
    worked "going on for longer"
    [ -s "$dir/out" ] || [ -s "$dir/err" ] && bad "quiet" "it says something" || ok "quiet"
    losses "$dir/one/log.jsonl" >"$dir/again" 2>"$dir/why"
    [ "$(head -8 "$dir/again")" = "$(cat "$dir/losses")" ] && [ "$(wc -l <"$dir/again")" = 10 ] && ok "the log goes on" ||
        bad "the log goes on" "$(cat "$dir/why" "$dir/again" | tail -3)"
}

# start FOLDER: a training without end, in the background; waits for a checkpoint
start() {
    training "$1" train.updates=1000000
    env --default-signal=INT "$PRONK" "${arguments[@]}" >"$dir/out" 2>"$dir/err" </dev/null &
    job=$!
    for _ in $(seq 300); do
        newest "$1" >/dev/null && return 0
        kill -0 $job 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# newest FOLDER: the update of the newest checkpoint there
newest() {
    ls "$dir/$1" 2>/dev/null | sed -n 's/^checkpoint-\([0-9]*\)\.safetensors$/\1/p' | sort -n | tail -1 | grep .
}

# same_weights A B: the tensors of two checkpoints, byte for byte
same_weights() {
    python3 - "$1" "$2" 2>"$dir/why" <<'END'
import json, sys
def tensors(path):
    data = open(path, 'rb').read()
    n = int.from_bytes(data[:8], 'little')
    header = json.loads(data[8:8 + n])
    header.pop('__metadata__')
    return {k: data[8 + n + v['data_offsets'][0]:8 + n + v['data_offsets'][1]] for k, v in header.items()
            if not k.startswith('padding')}
a, b = tensors(sys.argv[1]), tensors(sys.argv[2])
assert a.keys() == b.keys() and a, 'other tensors'
differ = [k for k in a if a[k] != b[k]]
assert not differ, differ[:3]
END
}

killed_and_resumed() {
    start killed || { bad "kill -9" "no checkpoint appeared: $(cat "$dir/err")"; return; }
    kill -9 $job
    wait $job 2>/dev/null
    local last
    last=$(newest killed)
    training killed train.updates=$((last + 15))
    run "${arguments[@]}" --resume
    worked "going on after kill -9"
    training straight train.updates=$((last + 15))
    run "${arguments[@]}"
    worked "the same without a stop"
    losses "$dir/killed/log.jsonl" >"$dir/a" 2>"$dir/why" && losses "$dir/straight/log.jsonl" >"$dir/b" 2>"$dir/why"
    cmp -s "$dir/a" "$dir/b" && ok "the same losses" || bad "the same losses" "$(cat "$dir/why"; diff "$dir/a" "$dir/b" | head -3)"
    same_weights "$dir/killed/checkpoint-$((last + 15)).safetensors" "$dir/straight/checkpoint-$((last + 15)).safetensors" &&
        ok "the same weights, bit by bit" || bad "the same weights, bit by bit" "$(tail -1 "$dir/why")"
    # a checkpoint that is cut off is left alone, and the one before it counts
    truncate -s 1000 "$dir/killed/checkpoint-$((last + 15)).safetensors"
    training killed train.updates=$((last + 20))
    run "${arguments[@]}" --resume
    worked "going on past a damaged checkpoint"
}

signals() {
    for signal in INT TERM; do
        start "stop$signal" || { bad "$signal" "no checkpoint appeared: $(cat "$dir/err")"; continue; }
        kill -$signal $job
        wait $job
        code=$?
        [ $code = 1 ] && ok "$signal: exit code" || bad "$signal: exit code" "$code"
        grep -q "stopped after update [0-9]* with a checkpoint; go on with: pronk train recipes/tiny.yml .*--resume" "$dir/err" &&
            ok "$signal: says how to go on" || bad "$signal: says how to go on" "$(cat "$dir/err")"
        local at
        at=$(sed -n 's/.*after update \([0-9]*\) .*/\1/p' "$dir/err")
        [ -s "$dir/stop$signal/checkpoint-$at.safetensors" ] && ok "$signal: saves a checkpoint" ||
            bad "$signal: saves a checkpoint" "$(ls "$dir/stop$signal")"
        training "stop$signal" train.updates=$((at + 1))
        run "${arguments[@]}" --resume
        worked "$signal: goes on"
    done
}

# one training in a folder at a time; who only reads there is not kept out
a_folder_in_use() {
    start busy || { bad "a folder in use" "no checkpoint appeared: $(cat "$dir/err")"; return; }
    local with
    for with in "" --resume; do
        timeout 60 "$PRONK" "${arguments[@]}" $with >"$dir/second.out" 2>"$dir/second.err" </dev/null
        code=$?
        [ $code = 1 ] && [ "$(wc -l <"$dir/second.err")" = 1 ] && [ ! -s "$dir/second.out" ] &&
            grep -qF "$dir/busy: another training is at work in this folder" "$dir/second.err" &&
            ok "a folder in use: refused${with:+ with $with}" ||
            bad "a folder in use: refused${with:+ with $with}" "exit code $code: $(head -1 "$dir/second.err")"
    done
    "$PRONK" average "$dir/busy/checkpoint-$(newest busy).safetensors" -o "$dir/busy.pronk" 2>"$dir/second.err" >&2 &&
        ok "a folder in use: average" || bad "a folder in use: average" "$(cat "$dir/second.err")"
    local before=$(newest busy)
    for _ in $(seq 300); do [ "$(newest busy)" -gt "$before" ] && break; sleep 0.1; done
    [ "$(newest busy)" -gt "$before" ] && ok "a folder in use: the first goes on" || bad "a folder in use: the first goes on" ""
    kill -9 $job
    wait $job 2>/dev/null
    training busy train.updates=$(($(newest busy) + 1))
    run "${arguments[@]}" --resume
    worked "a folder in use: free when its training is killed"
}

# stops NAME: TERM ends the training $job, which is still preparing, in seconds
stops() {
    sleep 1
    kill -0 $job 2>/dev/null || { bad "$1" "it did not wait: $(cat "$dir/err")"; return; }
    kill -TERM $job
    for _ in $(seq 100); do kill -0 $job 2>/dev/null || break; sleep 0.1; done
    kill -0 $job 2>/dev/null && { bad "$1" "it goes on"; kill -9 $job; wait $job 2>/dev/null; return; }
    wait $job
    code=$?
    [ $code = 1 ] && [ "$(cat "$dir/err")" = "pronk train: stopped before the first update" ] && ok "$1" ||
        bad "$1" "exit code $code: $(cat "$dir/err")"
}

# TERM while data is prepared: also where nothing can be asked meanwhile
stopped_while_preparing() {
    local holder
    mkdir "$dir/locked"
    training waits data.cache="$dir/locked"
    exec 9<"$dir/locked"
    flock 9
    "$PRONK" "${arguments[@]}" >"$dir/out" 2>"$dir/err" </dev/null 9<&- &
    job=$!
    stops "TERM: while another prepares the same text"
    exec 9<&-
    # a lease lets whoever opens the file wait until its holder gives it up
    cp "$DATA/tiny.train.en" "$dir/leased.en"
    python3 - "$dir/leased.en" >"$dir/lease" 2>&1 <<'END' &
import fcntl, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
f = open(sys.argv[1], 'rb+')
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
time.sleep(60)
END
    holder=$!
    for _ in $(seq 50); do [ -s "$dir/lease" ] && break; sleep 0.1; done
    if grep -q held "$dir/lease"; then
        training waits data.cache="$dir/other" data.source="$dir/leased.en"
        "$PRONK" "${arguments[@]}" >"$dir/out" 2>"$dir/err" </dev/null &
        job=$!
        stops "TERM: while a file does not open"
    else
        skip "TERM while a file does not open: no leases here ($(tail -1 "$dir/lease"))"
    fi
    kill $holder 2>/dev/null
    wait $holder 2>/dev/null
}

averages() {
    local list=("$dir"/one/checkpoint-*.safetensors)
    refused "average: no models" 2 "it takes MODEL" average -o "$dir/mean.pronk"
    refused "average: no output" 2 "no file to write" average "${list[0]}"
    refused "average: no such model" 1 "nowhere" average nowhere -o "$dir/mean.pronk"
    refused "average: no checkpoint" 1 "neither a model nor a checkpoint" average \
        tests/data/models/marian-relu/model.safetensors -o "$dir/mean.pronk"
    run average "${list[@]}" -o "$dir/mean.pronk" --type f32
    worked "average: checkpoints"
    run average "$dir/mean.pronk" "$dir/one/model.pronk" -o "$dir/mean2.pronk" --type i8
    worked "average: models"
    echo "The small dog sees a red house." | "$PRONK" translate -q -m "$dir/mean2.pronk" >"$dir/out" 2>"$dir/err"
    [ $? = 0 ] && [ "$(wc -l <"$dir/out")" = 1 ] && ok "average: translates" || bad "average: translates" "$(cat "$dir/err")"
    "$PRONK" info --json "$dir/mean.pronk" | grep -q averaged && ok "average: says so" || bad "average: says so" ""
    training other train.updates=1 model.ffn=64
    run "${arguments[@]}" -q
    refused "average: other shapes" 2 "they differ in encoder_ffn" average "$dir/one/model.pronk" "$dir/other/model.pronk" \
        -o "$dir/never.pronk"
    [ ! -e "$dir/never.pronk" ] && ok "average: nothing half-written" || bad "average: nothing half-written" ""
}

browser() {
    local shot="$dir/shot.png" common="--headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir=$dir/profile"
    if [ -z "$CHROMIUM" ]; then skip "plot in a browser: no chromium here (apt-get install chromium)"; return; fi
    echo '<!DOCTYPE html><title>blank</title>' >"$dir/blank.html"
    timeout 60 "$CHROMIUM" $common --window-size=900,560 --screenshot="$shot" "file://$dir/blank.html" >/dev/null 2>&1
    local blank
    blank=$(stat -c %s "$shot" 2>/dev/null || echo 0)
    if [ "$blank" = 0 ]; then skip "plot in a browser: $CHROMIUM does not start here"; return; fi
    timeout 60 "$CHROMIUM" $common --enable-logging=stderr --window-size=900,560 --screenshot="$shot" \
        "file://$dir/one/plot.svg" >/dev/null 2>"$dir/err"
    [ "$(stat -c %s "$shot")" -gt $((2 * blank)) ] && ok "plot in a browser: is drawn" ||
        bad "plot in a browser: is drawn" "$(stat -c %s "$shot") bytes, an empty page has $blank"
    grep -q CONSOLE "$dir/err" && bad "plot in a browser: no message" "$(grep -m1 CONSOLE "$dir/err")" ||
        ok "plot in a browser: no message"
}

recipes_are_checked
vocabularies
nothing_to_extend
if can_train; then
    needs_are_checked_first
    a_training
    killed_and_resumed
    signals
    a_folder_in_use
    stopped_while_preparing
    averages
    browser
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
