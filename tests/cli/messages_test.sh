#!/bin/bash
# messages_test.sh - what the program says: words that fit their numbers, each path once, hints that
# help, on the right stream, and nothing left on the terminal; and that README's examples do what it says.
#
# PRONK: the program (default build/pronk). Checks that need the model of Pronk's own, a terminal or
# a compiler are skipped, and counted, without it.
MODEL=tests/data/models/marian-relu
OWN=models/en-de.pronk
. tests/support/program.sh
unset PRONK_MODEL
mkdir "$dir/bin" && cp "$PRONK" "$dir/bin/pronk" || exit 1

# says NAME CODE TEXT ARGUMENT...: that exit code, one line on standard error with TEXT in it
says() {
    local name=$1 expected=$2 text=$3
    shift 3
    timeout 120 "$PRONK" "$@" </dev/null >"$dir/out" 2>"$dir/err"
    local code=$?
    if [ $code != "$expected" ]; then bad "$name" "exit code $code, not $expected: $(head -1 "$dir/err")"
    elif [ "$(wc -l <"$dir/err")" != 1 ]; then bad "$name" "$(wc -l <"$dir/err") lines on standard error"
    elif ! grep -qF -- "$text" "$dir/err"; then bad "$name" "no '$text' in: $(cat "$dir/err")"
    else ok "$name"; fi
}

numbers() {
    printf 'a\n' >"$dir/one"
    printf 'a\nb\n' >"$dir/two"
    says "score: 1 line" 1 "has 1 line and" score -m $MODEL -i "$dir/one" -r "$dir/two"
    says "score: 2 lines" 1 "has 2 lines and" score -m $MODEL -i "$dir/two" -r "$dir/one"
    says "eval: 1 line" 1 "has 1 line and" eval -r "$dir/two" "$dir/one"
    says "translate: 1 line" 1 "has 1 line, the input 2" translate -m $MODEL -i "$dir/two" --prefix "$dir/one"
    says "average: 1 model" 0 "mean of 1 model," average $MODEL -o "$dir/mean.pronk"
    says "average: 2 models" 0 "mean of 2 models," average $MODEL $MODEL -o "$dir/mean.pronk"
    says "distill: 1 line" 1 "has 1 line and" distill -m $MODEL -d beam:size=2 -i "$dir/two" -r "$dir/one" \
        --n-best 2 -o "$dir/distilled"
    "$PRONK" bench -m $MODEL -i "$dir/one" >"$dir/out" 2>&1
    check "bench: 1 line" "1 line," "$(head -1 "$dir/out" | cut -d' ' -f1,2)"
}

# the program and the library state one limit each
limits() {
    says "--batch" 2 "from 1 to 4096" translate -m $MODEL --batch 4097
    says "--batch-tokens" 2 "from 1 to 1048576" translate -m $MODEL --batch-tokens 1048577
    says "--n-best" 2 "from 1 to 32" translate -m $MODEL --n-best 33
    says "--max-input" 2 "from 8 to" translate -m $MODEL --max-input 7
    says "--size" 2 "from 8 to 1048576" vocab -i "$dir/one" -o "$dir/x" --size 7
    says "--coverage" 2 "from 0.9 to 1" vocab -i "$dir/one" -o "$dir/x" --coverage 0.5
    for limit in "--batch 4096" "--batch-tokens 1048576" "--max-input 8"; do
        echo one | "$PRONK" translate -m $MODEL $limit >"$dir/out" 2>"$dir/err"
        check "$limit" 0 $?
    done
}

# every path once, and it is there
paths() {
    cp -r $MODEL "$dir/folder"
    for file in config.json vocab.json source.spm target.spm model.safetensors generation_config.json; do
        echo garbage >"$dir/folder/$file"
        says "$file is garbage" 1 "$dir/folder" info "$dir/folder"
        check "$file: its folder once" 1 "$(grep -o "$dir/folder" "$dir/err" | wc -l)"
        rm "$dir/folder/$file"
        cp "$MODEL/$file" "$dir/folder/"
    done
    head -c 3000 "$dir/mean.pronk" >"$dir/cut.pronk"
    for verb in "info $dir/cut.pronk" "average $dir/cut.pronk -o $dir/x" "translate -m $dir/cut.pronk" \
                "convert $dir/cut.pronk $dir/x"; do
        says "${verb%% *}: a file cut short" 1 "$dir/cut.pronk" $verb
        check "${verb%% *}: its path once" 1 "$(grep -o "$dir/cut.pronk" "$dir/err" | wc -l)"
    done
}

hints() {
    says "translate FILE" 2 "-i a.en" translate -m $MODEL a.en
    says "a drafter for a strategy that uses none" 2 "beam uses no drafter" translate -m $MODEL -d beam --drafter $MODEL
    says "a drafter that is not there" 1 "no/such/model" translate -m $MODEL --drafter no/such/model
    says "score FILE" 2 "-i a.en" score -m $MODEL -r x a.en
    says "bench FILE" 2 "-i a.en" bench -m $MODEL a.en
    says "unknown target language" 2 "it knows: " translate -m tests/data/models/marian-multi --to xx
    grep -q 'fr' "$dir/err" && ok "the known ones are listed" || bad "the known ones" "$(cat "$dir/err")"
    says "mBART: unknown language" 2 "xx; it knows: " translate -m tests/data/models/mbart-relu --from en --to xx
    says "mBART: unknown source" 2 "xx; it knows: " translate -m tests/data/models/mbart-relu --from xx --to de
}

describing() {
    "$PRONK" info $MODEL >"$dir/out"
    check "info: the family has a name" "marian" "$(awk '$1 == "config.family" { print $2 }' "$dir/out")"
    check "info: what it was trained for" "at" "$(awk '$1 == "tasks" { print $2 }' "$dir/out")"
    check "info: so has the activation" "relu" "$(awk '$1 == "config.act" { print $2 }' "$dir/out")"
    check "info: and when beams stop" "" "$(awk '$1 == "config.early_stopping" { print $2 }' "$dir/out" | tr -d 'a-z')"
    "$PRONK" info --json $MODEL >"$dir/out"
    grep -q '"act": "relu"' "$dir/out" && ok "info --json: names" || bad "info --json: names" "$(grep act "$dir/out")"
    PRONK_MODEL=$MODEL "$PRONK" info >"$dir/out" 2>"$dir/err"
    check "info: the default model" "0 marian" "$? $(awk '$1 == "family" { print $2 }' "$dir/out")"
    local PRONK=$dir/bin/pronk
    says "info: none named, none installed" 2 "no model" info
}

# a prefix line belongs to the sentences of its line, and an error names the line, in any chunk
prefixes() {
    yes '' | head -n 2100 >"$dir/in"
    cp "$dir/in" "$dir/prefix"
    echo 'The cat. A dog.' >>"$dir/in"
    echo 'Das. Ein. Der' >>"$dir/prefix"
    says "too many sentences in a prefix" 2 "text 2101: the prefix has 3 sentences and the text 2" \
        translate -m $MODEL -i "$dir/in" --prefix "$dir/prefix" -o "$dir/translated"
    echo 'The cat. A dog.' >"$dir/in"
    echo 'Das haus. Ein hund' >"$dir/prefix"
    "$PRONK" translate -m $MODEL -i "$dir/in" --prefix "$dir/prefix" >"$dir/out" 2>"$dir/err"
    check "a prefix of two sentences" "1 1" "$(grep -c '^Das haus\.' "$dir/out") $(grep -c ' Ein hund' "$dir/out")"
}

# what the terminal shows when a signal ends the program: the line is cleared
terminal() {
    if ! script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
        skip "the terminal: no script(1), or no pseudo-terminals here"; return
    fi
    [ -e $OWN ] || { skip "the terminal: $OWN is not there"; return; }
    head -c 400000 /dev/zero | tr '\0' a >"$dir/long" # takes a while to read, and longer to translate
    for signal in INT TERM; do
        rm -f "$dir/pid" "$dir/seen"
        script -qec "echo \$\$ >$dir/pid; exec env --default-signal=INT $PRONK translate -m $OWN -i $dir/long -o $dir/out" "$dir/seen" \
            >/dev/null </dev/null &
        local shell=$!
        for i in $(seq 200); do
            grep -q 'reading' "$dir/seen" 2>/dev/null && break
            sleep 0.1
        done
        grep -q 'reading' "$dir/seen" && ok "reading a long line is shown" || bad "reading a long line" "not shown"
        kill -s $signal "$(cat "$dir/pid")"
        timeout 20 tail --pid=$shell -f /dev/null || { bad "SIG$signal" "it goes on"; kill -s KILL "$(cat "$dir/pid")"; }
        wait $shell
        grep -v '^Script' "$dir/seen" | tr -d '\n' | sed 's/Session terminated.*//' | tail -c 4 | od -An -tx1 | tr -d ' \n' >"$dir/last"
        check "SIG$signal clears the line" "0d1b5b4b" "$(cat "$dir/last")"
    done
}

# standard output is for data
streams() {
    "$PRONK" vocab -i recipes/data/tiny.train.en recipes/data/tiny.train.de --size 500 -o "$dir/v.spm" -q
    "$PRONK" train recipes/tiny.yml --set "output=$dir/trained" --set "vocab=$dir/v.spm" --set train.updates=2 \
        --set valid.source= --set valid.target= >"$dir/out" 2>"$dir/err" </dev/null
    check "train: exit code" 0 $?
    check "train: nothing on standard output" "" "$(cat "$dir/out")"
    grep -q '^done: 2 updates' "$dir/err" && ok "train: what it says is on standard error" || bad "train" "$(tail -3 "$dir/err")"
}

# README's example in C compiles by the line that stands there, against an installed Pronk, and works
example_in_c() {
    [ -e $OWN ] || { skip "the example in C: $OWN is not there"; return; }
    command -v cc >/dev/null && command -v pkg-config >/dev/null || { skip "the example in C: no compiler"; return; }
    local build; build=$(dirname "$PRONK")
    [ -e "$build/man/pronk.1" ] || { skip "the example in C: nothing to install, \`make man\` was not run"; return; }
    # -o: what was built is installed, and nothing is built anew
    make -s -o all -o man install PREFIX="$dir/usr" BUILD="$build" >"$dir/log" 2>&1 || { bad "make install" "$(tail -3 "$dir/log")"; return; }
    awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >"$dir/example.c"
    local line; line=$(grep '^cc example.c ' README.md)
    [ -n "$line" ] && ok "README has the compile line" || bad "README" "no line that compiles example.c"
    cp $OWN "$dir/en-de.pronk"
    (cd "$dir" && PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig bash -c "${line%%#*}") >"$dir/log" 2>&1 &&
        ok "it compiles" || bad "it compiles" "$(cat "$dir/log")"
    (cd "$dir" && LD_LIBRARY_PATH=$dir/usr/lib ./example) >"$dir/out" 2>"$dir/err"
    check "it translates" "0 1" "$? $(grep -c 'Guten Morgen' "$dir/out")"
}

# README's picture of jacobi shows what it is for: passes that decide several tokens
example_of_viz() {
    [ -e $OWN ] || { skip "the example of viz: $OWN is not there"; return; }
    local line; line=$(grep -m1 'pronk viz ' README.md | sed 's/  *#.*//; s/-o page.html/--format json/; s#^build/pronk#"$PRONK"#')
    eval "$line" >"$dir/out" 2>"$dir/err"
    check "viz: exit code" 0 $?
    local passes tokens
    passes=$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["passes"]))' <"$dir/out")
    tokens=$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["tokens"]))' <"$dir/out")
    [ "${passes:-99}" -le $((${tokens:-0} * 2 / 3)) ] && ok "viz: $tokens tokens in $passes passes" ||
        bad "viz" "$tokens tokens in $passes passes: $line"
}

numbers
limits
paths
hints
describing
prefixes
terminal
streams
example_in_c
example_of_viz
summary
