#!/bin/bash
# files_test.sh - nothing of the user's is destroyed: every verb with its output equal to each of its
# inputs, to a pipe, a link, a device, on a full disk and in a folder that cannot be written to; pipes
# where files are read; models that change while they are in use; closed standard descriptors.
#
# PRONK: the program (default build/pronk). Devices are made by mknod in a folder of our own, disks are
# small tmpfs mounts there: where that is not permitted, the checks are skipped, and said to be.
PRONK=$(realpath "${PRONK:-build/pronk}")
MODELS=$(realpath tests/data/models)
CT2=$(realpath tests/data/ct2)
DATA=$(realpath recipes/data)
. tests/support/program.sh
disk=$dir/disk
unset PRONK_MODEL
# sub-mounts are ours alone and go first, so that nothing outside is ever removed
trap 'umount "$disk" 2>/dev/null; rm -rf --one-file-system "$dir"' EXIT

# run ARGUMENT...: in $w, standard input from $w/line; leaves $dir/out, $dir/err and $code
run() {
    (cd "$w" && exec timeout -k 5 60 "$PRONK" "$@" <line >"$dir/out" 2>"$dir/err")
    code=$?
}

# ---- The files of a verb ----

make_fixture() {
    mkdir "$dir/fixture" && cp -r "$MODELS/marian-relu" "$dir/fixture/hf" && chmod -R u+w "$dir/fixture/hf" || return 1
    w=$dir/fixture
    for i in 1 2 3 4 5 6; do echo "the cat sees house $i"; done >"$w/en"
    for i in 1 2 3 4 5 6; do echo "a small dog"; done | tee "$w/de" "$w/prefix" >"$w/draft"
    echo "the cat" >"$w/line"
    printf 'cat\tKatze\n' >"$w/terms"
    head -n 400 "$DATA/tiny.train.en" >"$w/train.en"
    head -n 400 "$DATA/tiny.train.de" >"$w/train.de"
    run convert hf a.pronk && [ $code = 0 ] && cp "$w/a.pronk" "$w/b.pronk" || return 1
    run vocab -q -i train.en train.de --size 200 --no-byte-fallback -o v.spm
    [ $code = 0 ] || return 1
    run align -q -i en de --save links.model -o /dev/null
    [ $code = 0 ] || return 1
    cp -r "$CT2/int8" "$w/ct2" && cp "$CT2/en-de.argosmodel" "$w" && chmod -R u+w "$w/ct2" "$w/en-de.argosmodel" || return 1
    run align -q -i en de -o forward && run align -q -r -i en de -o reverse
    [ $code = 0 ] || return 1
    printf '%s\n' "task: at" "vocab: v.spm" "output: trained" "data.source: train.en" "data.target: train.de" \
        "data.batch_tokens: 256" "model.dim: 16" "model.heads: 2" "model.ffn: 16" "threads: 1" \
        "model.encoder_layers: 1" "model.decoder_layers: 1" "train.updates: 2" "save.every: 1" "valid.every: 0" >"$w/r.yml"
    run train -q r.yml
    run train -q r.yml --set "task=gad:block=4" --set verifier=trained --set output=drafted --set "vocab=" --set data.max_ratio=1000
    if grep -q "cannot train" "$dir/err"; then return 0; fi # a build that only translates
    [ $code = 0 ] && cp "$w/trained/model.pronk" "$w/t.pronk" && cp "$w/drafted/model.pronk" "$w/d.pronk"
    rm -rf "$w/trained" "$w/drafted"
    [ -e "$w/d.pronk" ]
}

# arguments VERB OUTPUT: sets args; a fresh copy of all files is in $w
arguments() {
    rm -rf "$dir/w" && cp -r "$dir/fixture" "$dir/w" && w=$dir/w
    case $1 in
        translate) args=(translate -m a.pronk -m hf -i en --prefix prefix --draft draft -d jacobi -o "$2") ;;
        translate-ct2) args=(translate -m ct2 -i en -o "$2") ;;
        translate-drafter) args=(translate -m t.pronk --drafter d.pronk -d gad -i en -o "$2") ;;
        viz-drafter) args=(viz -m t.pronk --drafter d.pronk -d gad -o "$2") ;;
        score) args=(score -m a.pronk -m hf -i en -r de -o "$2") ;;
        distill) args=(distill -m a.pronk -m hf -i en -r de --resume -d beam:size=4,max_length=8 -q -o "$2") ;;
        viz) args=(viz -m a.pronk -o "$2") ;;
        convert) args=(convert -q a.pronk "$2") ;;
        convert-folder) args=(convert -q hf "$2") ;;
        convert-ct2) args=(convert -q ct2 "$2") ;;
        convert-package) args=(convert -q en-de.argosmodel "$2") ;;
        average) args=(average -q a.pronk b.pronk -o "$2") ;;
        vocab) args=(vocab -q -i train.en train.de --size 200 --no-byte-fallback -o "$2") ;;
        align) args=(align -q --load links.model -i en de -o "$2") ;;
        align-links) args=(align -q --pharaoh --symmetrise union -i forward reverse -o "$2") ;;
        detect) args=(detect -i en -o "$2") ;;
        align-save) args=(align -q --vocab v.spm -i en de --save "$2" -o links) ;;
        align-table) args=(align -q -i en de --table "$2" -o links) ;;
    esac
}
LINES_OUT="translate translate-ct2 score distill align align-links detect"
WHOLE="viz convert convert-folder convert-ct2 convert-package average vocab align-save align-table"

inputs_of() {
    case $1 in
        translate) echo "en prefix draft a.pronk hf/config.json hf/source.spm hf/vocab.json hf/model.safetensors" ;;
        translate-ct2) echo "en ct2/config.json ct2/model.bin ct2/sentencepiece.model ct2/source_vocabulary.json" ;;
        translate-drafter) echo "en t.pronk d.pronk" ;;
        viz-drafter) echo "line t.pronk d.pronk" ;;
        score) echo "en de a.pronk hf/config.json hf/target.spm" ;;
        distill) echo "en de a.pronk hf/config.json hf/model.safetensors" ;;
        viz) echo "line a.pronk" ;;
        convert) echo "a.pronk" ;;
        convert-folder) echo "hf/config.json hf/model.safetensors hf/source.spm hf/target.spm hf/vocab.json" ;;
        convert-ct2) echo "ct2/config.json ct2/model.bin ct2/sentencepiece.model ct2/target_vocabulary.json" ;;
        convert-package) echo "en-de.argosmodel" ;;
        average) echo "a.pronk b.pronk" ;;
        vocab) echo "train.en train.de" ;;
        align) echo "en de links.model" ;;
        align-links) echo "forward reverse" ;;
        detect) echo "en" ;;
        align-save) echo "en de v.spm" ;;
        align-table) echo "en de" ;;
    esac
}

# everything in $w, but for times
state() { (cd "$w" && find . -printf '%p %y %m %n %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 cksum); }

# refused NAME TEXT: fails with a line that holds TEXT, and $w is as it was
refused() {
    local before
    before=$(state)
    run "${args[@]}"
    case $code in 1 | 2) ;; *) bad "$1" "exit code $code: $(head -1 "$dir/err")"; return ;; esac
    if ! grep -qE -- "$2" "$dir/err"; then bad "$1" "no '$2' in: $(cat "$dir/err")"
    elif [ "$before" != "$(state)" ]; then bad "$1" "files changed: $(diff <(echo "$before") <(state) | head -4)"
    else ok "$1"; fi
}

outputs_that_are_inputs() {
    local verb input with_drafter="translate-drafter viz-drafter"
    if [ ! -e "$dir/fixture/d.pronk" ]; then skip "drafters: this build does not train"; with_drafter=; fi
    for verb in $LINES_OUT $WHOLE $with_drafter; do
        for input in $(inputs_of "$verb"); do
            arguments "$verb" "$input"
            refused "$verb onto $input" "also an? (input|model)"
            arguments "$verb" link
            ln -s "$input" "$w/link"
            refused "$verb onto a link to $input" "also an? (input|model)"
            arguments "$verb" hard
            ln "$w/$input" "$w/hard"
            refused "$verb onto a hard link to $input" "also an? (input|model)"
        done
    done
}

# what is appended to a file that is read can be found out; `> file` is the shell's doing
standard_output_is_an_input() {
    local verb input
    while read -r verb input args; do
        rm -rf "$dir/w" && cp -r "$dir/fixture" "$dir/w" && w=$dir/w
        local before
        before=$(state)
        (cd "$w" && timeout 60 "$PRONK" "$verb" $args <line >>"$input" 2>"$dir/err")
        code=$?
        check "$verb appended to $input: exit code" 1 $code
        grep -q "also an input" "$dir/err" && ok "$verb appended to $input" || bad "$verb appended to $input" "$(cat "$dir/err")"
        [ "$before" = "$(state)" ] && ok "$verb appended to $input: unchanged" || bad "$verb appended to $input" "it changed"
    done <<END
translate en -m a.pronk -i en
translate draft -m a.pronk -i en --draft draft
translate prefix -m a.pronk -i en --prefix prefix
translate terms -m a.pronk -i en --glossary terms
translate a.pronk -m a.pronk -i en
translate hf/config.json -m hf -i en
score de -m a.pronk -i en -r de
viz a.pronk -m a.pronk
viz line -m a.pronk
eval de -r de en
eval en -r de en
info a.pronk a.pronk
info hf/vocab.json hf
bench en -m a.pronk -i en
bench draft -m a.pronk -i en --draft draft
bench a.pronk -m a.pronk -i en
END
}

# `-o f < f`
output_is_standard_input() {
    arguments translate out
    args=(translate -m a.pronk -o line)
    refused "translate onto standard input" "also an input"
    args=(score -m a.pronk -r line -o line)
    refused "score onto standard input" "also an input"
}

# a file has room for one output
two_outputs_in_a_file() {
    local text="also (an input|another output)"
    arguments align one
    echo old >"$w/one"
    ln -s one "$w/link"
    args=(align -q -i en de -o one --save one)
    refused "align: links and model in a file" "$text"
    args=(align -q -i en de -o link --table one)
    refused "align: links and table in a file, by a link" "$text"
    args=(align -q -i en de -o links --save one --table link)
    refused "align: model and table in a file" "$text"
    rm "$w/one"
    args=(align -q -i en de -o one --save ./one)
    refused "align: links and model in a new file" "$text"
    args=(align -q -i en de -o links --save link --table one)
    refused "align: model and table in a new file" "$text"
}

# what each verb writes where nothing is in the way
make_expected() {
    mkdir "$dir/expected"
    for verb in $LINES_OUT $WHOLE; do
        arguments "$verb" out
        run "${args[@]}"
        [ $code = 0 ] && [ -s "$w/out" ] && ok "$verb: a new file" || bad "$verb: a new file" "$(cat "$dir/err")"
        cp "$w/out" "$dir/expected/$verb"
        check "$verb: nothing beside it" "" "$(cd "$w" && ls -A | grep part)"
    done
}

same_as_expected() { cmp -s "$dir/expected/$2" "$3" && ok "$1" || bad "$1" "not what is written to a file: $(head -1 "$dir/err")"; }

pipes_and_devices() {
    local verb made=0
    for verb in $LINES_OUT $WHOLE; do
        arguments "$verb" pipe
        args=("${args[@]/--resume/-q}")
        mkfifo "$w/pipe"
        (sleep 0.3; exec timeout 30 cat "$w/pipe") >"$dir/got" &
        run "${args[@]}"
        check "$verb into a pipe: exit code" 0 $code
        if [ $code != 0 ]; then timeout 1 sh -c "echo >'$w/pipe'"; fi
        wait $!
        [ -p "$w/pipe" ] && ok "$verb into a pipe: it is still there" || bad "$verb into a pipe" "it is none any more"
        same_as_expected "$verb into a pipe" "$verb" "$dir/got"

        arguments "$verb" node
        args=("${args[@]/--resume/-q}")
        if mknod "$w/node" c 1 3 2>/dev/null && true >"$w/node"; then
            run "${args[@]}"
            check "$verb into a device: exit code" 0 $code
            [ -c "$w/node" ] && ok "$verb into a device: it is still there" || bad "$verb into a device" "it is none any more"
            rm "$w/node"
            mknod "$w/node" c 1 7
            run "${args[@]}"
            check "$verb into a full device: exit code" 1 $code
            grep -q "cannot write" "$dir/err" && ok "$verb into a full device" || bad "$verb into a full device" "$(cat "$dir/err")"
            [ -c "$w/node" ] && ok "$verb into a full device: it is still there" || bad "$verb into a full device" "it is none any more"
        else
            skip "$verb into a device: mknod is not permitted here"
        fi
    done
}

links() {
    local verb
    for verb in $LINES_OUT $WHOLE; do
        arguments "$verb" link
        mkdir "$w/sub"
        [ "$verb" = distill ] && : >"$w/sub/real" || echo old >"$w/sub/real"
        chmod 640 "$w/sub/real"
        ln -s sub/step "$w/link"
        ln -s real "$w/sub/step"
        run "${args[@]}"
        check "$verb through a link: exit code" 0 $code
        check "$verb through a link: the links stay" "sub/step real" "$(readlink "$w/link") $(readlink "$w/sub/step")"
        same_as_expected "$verb through a link" "$verb" "$w/sub/real"
        check "$verb through a link: the mode stays" 640 "$(stat -c %a "$w/sub/real")"
        check "$verb through a link: nothing beside" "real step" "$(ls -A "$w/sub" | xargs)"

        arguments "$verb" link
        mkdir "$w/sub"
        ln -s sub/new "$w/link"
        run "${args[@]}"
        check "$verb through a link to nothing: exit code" 0 $code
        same_as_expected "$verb through a link to nothing" "$verb" "$w/sub/new"
        [ -L "$w/link" ] && ok "$verb through a link to nothing: it stays" || bad "$verb through a link to nothing" "it is gone"

        arguments "$verb" hf
        refused "$verb onto a folder" "[Ii]s a (folder|directory)"
    done
}

# a disk of our own that is full: what was there stays, and nothing is left beside it
full_disk() {
    local verb before
    mkdir -p "$disk"
    if ! mount -t tmpfs -o size=64k none "$disk" 2>/dev/null; then
        for verb in $LINES_OUT $WHOLE; do skip "$verb on a full disk: mounting is not permitted here"; done
        return
    fi
    echo old >"$disk/old"
    dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null
    for verb in $LINES_OUT; do # they grow in place: a new file
        arguments "$verb" "$disk/new"
        run "${args[@]}"
        check "$verb on a full disk: exit code" 1 $code
        grep -q "cannot write.*space" "$dir/err" && ok "$verb on a full disk" || bad "$verb on a full disk" "$(cat "$dir/err")"
        rm -f "$disk/new"
    done
    for verb in $WHOLE; do
        arguments "$verb" "$disk/old"
        run "${args[@]}"
        check "$verb on a full disk: exit code" 1 $code
        grep -q "cannot write.*space" "$dir/err" && ok "$verb on a full disk" || bad "$verb on a full disk" "$(cat "$dir/err")"
        check "$verb on a full disk: what was there stays" old "$(cat "$disk/old")"
        check "$verb on a full disk: nothing beside" "filler old" "$(ls -A "$disk" | xargs)"
    done
    umount "$disk"
}

# root may write anywhere: for it a disk that is mounted for reading only
read_only_folder() {
    local verb
    mkdir -p "$disk"
    if [ "$(id -u)" != 0 ]; then
        echo old >"$disk/old"
        chmod 555 "$disk"
    elif ! { mount -t tmpfs -o size=64k none "$disk" && echo old >"$disk/old" && mount -o remount,ro "$disk"; } 2>/dev/null; then
        umount "$disk" 2>/dev/null
        for verb in $LINES_OUT $WHOLE; do skip "$verb in a read-only folder: mounting is not permitted here"; done
        return
    fi
    for verb in $LINES_OUT $WHOLE; do
        arguments "$verb" "$disk/new"
        refused "$verb in a read-only folder" "cannot write"
    done
    for verb in $WHOLE; do
        arguments "$verb" "$disk/old"
        refused "$verb over a file of a read-only folder" "cannot write"
        check "$verb in a read-only folder: what was there stays" "old old" "$(cat "$disk/old") $(ls -A "$disk")"
    done
    umount "$disk" 2>/dev/null || chmod 755 "$disk"
}

# a verb that fails leaves what its output held
failures() {
    while IFS='|' read -r name text command; do
        arguments none
        printf 'old\nhalf a line' >"$w/out"
        head -c 1000 /dev/zero >"$w/zeros"
        head -n 3 "$w/en" >"$w/short"
        read -ra args <<<"$command"
        refused "$name leaves its output" "$text"
    done <<END
translate: no prefix|none|translate -m a.pronk -i en --prefix none -o out
translate: no glossary|none|translate -m a.pronk -i en --glossary none -o out
translate: no terms|line 1 of the glossary|translate -m a.pronk -i en --glossary en -o out
translate: no subtitles|SubRip|translate -m a.pronk -i en --format srt -o out
translate: no draft|none|translate -m a.pronk -i en --draft none -o out
translate: prefixes of another number|lines|translate -m a.pronk -i en --prefix short -o out
translate: no input|none|translate -m a.pronk -i none -o out
translate: not a model|zeros|translate -m zeros -i en -o out
translate: the second is no model|zeros|translate -m a.pronk -m zeros -i en -o out
translate: no such strategy|nonsense|translate -m a.pronk -i en -d nonsense -o out
score: no reference|none|score -m a.pronk -i en -r none -o out
score: lines differ|lines|score -m a.pronk -i en -r short -o out
score: not a model|zeros|score -m zeros -i en -r de -o out
distill: no reference|none|distill -m a.pronk -i en -r none --resume -o out
distill: reference of another length|lines|distill -m a.pronk -i en -r short --resume -o out
distill: not the same work|already|distill -m a.pronk -i en -o out
viz: no such strategy|nonsense|viz -m a.pronk -d nonsense -o out
viz: not a model|zeros|viz -m zeros -o out
convert: not a model|zeros|convert zeros out
align: no text|none|align -q -i en none -o out
align: not a model|zeros|align -q --load zeros -i en de -o out
average: not a model|zeros|average a.pronk zeros -o out
vocab: larger than the text|200|vocab -q -i short --size 20000 -o out
vocab: no text|none|vocab -q -i none -o out
END
    # found out in the call, when all files are open
    arguments none
    echo old >"$w/out"
    for i in $(seq 1 2000); do printf 'word '; done >"$w/line"
    args=(viz -m a.pronk -o out)
    refused "viz: a sentence that is too long leaves its output" "longer"
    # a resumed output that is longer than its source is not cut before that is known
    arguments none
    cat "$w/en" "$w/en" >"$w/out"
    printf 'half a line' >>"$w/out"
    args=(distill -m a.pronk -i en --resume -o out)
    refused "distill: not the beginning of this work" "not the beginning"
    # a name that is taken beside the output is nobody else's to write to
    arguments convert out
    echo mine >"$w/precious"
    (cd "$w" && exec sh -c 'ln -s precious out.$$.part; ln -s precious out.$$-0.part; exec "$0" convert -q a.pronk out' "$PRONK") 2>"$dir/err"
    check "a link where the temporary file would be: not followed" mine "$(cat "$w/precious")"
    same_as_expected "a link where the temporary file would be" convert "$w/out"
    # protected by its mode, in a folder that is not
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 755 "$dir"; then
        arguments convert out
        echo old >"$w/out"
        chmod 444 "$w/out"
        chown -R 65534:65534 "$w"
        (cd "$w" && timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$PRONK" "${args[@]}") 2>"$dir/err"
        check "a file that may not be written is not replaced" "1 old" "$? $(cat "$w/out")"
    else
        skip "a file that may not be written: there is nobody to become"
    fi
}

# ---- Training ----

training() {
    rm -rf "$dir/w" && cp -r "$dir/fixture" "$dir/w" && w=$dir/w
    args=(train r.yml)
    run "${args[@]}"
    if grep -q "cannot train" "$dir/err"; then skip "training: $(cat "$dir/err")"; return; fi
    check "train: exit code" 0 $code
    rm -rf "$dir/trained" && cp -r "$w/trained" "$dir/trained"
    for input in checkpoint-2.safetensors checkpoint-1.safetensors; do
        args=(average -q trained/checkpoint-1.safetensors trained/checkpoint-2.safetensors -o "trained/$input")
        refused "average onto trained/$input" "also an input"
    done
    args=(average -q trained/checkpoint-1.safetensors -o v.spm)
    refused "average onto the vocabulary of a checkpoint" "also an input"
    for name in model.pronk best.pronk valid.pronk; do
        cp "$w/a.pronk" "$w/trained/$name"
        rm -f "$w"/trained/checkpoint-*
        args=(train r.yml --set "init=trained/$name" --set vocab= --set data.max_length=20)
        refused "train from the $name that it would write" "also an input"
    done
    for name in log.jsonl plot.svg; do
        rm -rf "$w/trained" && mkdir "$w/trained" && cp "$w/v.spm" "$w/trained/$name"
        args=(train r.yml --set "vocab=trained/$name")
        refused "train with a vocabulary called $name in its folder" "also an input"
        rm -rf "$w/trained" && mkdir "$w/trained" && cp "$w/train.en" "$w/trained/$name"
        args=(train r.yml --set "data.source=trained/$name")
        refused "train with text called $name in its folder" "also an input"
        rm -rf "$w/trained" && mkdir "$w/trained" && cp "$w/r.yml" "$w/trained/$name"
        args=(train "trained/$name" --set output=trained --set vocab=v.spm --set data.source=train.en --set data.target=train.de)
        refused "train with a recipe called $name in its folder" "also an input"
    done
    # a report written through a link, and one that fails: a pipe would wait for its reader
    rm -rf "$w/trained" && mkdir "$w/trained"
    ln -s ../elsewhere.svg "$w/trained/plot.svg"
    run train r.yml
    check "train: a plot through a link" "0 yes" "$code $([ -L "$w/trained/plot.svg" ] && [ -s "$w/elsewhere.svg" ] && echo yes)"
}

# `pronk drafter` writes several files in a folder: none is lost, and what fails leaves none
drafter_folder() {
    local how=(--threads 1 --set train.updates=2 --set train.minutes=0 --set data.max_ratio=1000)
    if [ ! -e "$dir/fixture/t.pronk" ]; then skip "drafter: this build does not train"; return; fi
    while IFS='|' read -r name before text command; do
        arguments none
        cp "$w/train.en" "$w/text"
        (cd "$w" && mkdir trained full && cp t.pronk trained/model.pronk && eval "$before")
        read -ra args <<<"drafter -q $command"
        args+=("${how[@]}")
        refused "drafter: $name" "$text"
    done <<END
into the folder of its model||input|-m trained -i text -o trained
a model called as the drafter|cp t.pronk full/model.pronk|input|-m full/model.pronk -i text -o full
a model called as the recipe|cp t.pronk full/recipe.yml|input|-m full/recipe.yml -i text -o full
text called as the translations|mv text full/drafted.txt|input|-m t.pronk -i full/drafted.txt -o full
text called as the recipe|mv text full/recipe.yml|input|-m t.pronk -i full/recipe.yml -o full
text called as the log, by a link|ln -s ../text full/log.jsonl|input|-m t.pronk -i text -o full
a test called as the recipe|mv text full/recipe.yml|input|-m t.pronk -i train.en --test full/recipe.yml -o full
a test called as the log|mv text full/log.jsonl|input|-m t.pronk -i train.en --test full/log.jsonl -o full
a test called as the drafter|mv text full/model.pronk|input|-m t.pronk -i train.en --test full/model.pronk -o full
resumed, a test called as the plot|mv text full/plot.svg|input|-m t.pronk -i train.en --test full/plot.svg -o full --resume
a recipe of somebody|echo mine >full/recipe.yml|there already|-m t.pronk -i text -o full
translations of somebody|echo mine >full/drafted.txt|there already|-m t.pronk -i text -o full
a lexicon of somebody|echo mine >full/lexicon.align|there already|-m t.pronk -i text -o full
somebody's file beside the drafter|echo mine >full/new.pronk|there already|-m t.pronk -i text -o full
text called as the lexicon|mv text full/lexicon.align|input|-m t.pronk -i full/lexicon.align -o full
a pipe called as the translations|mkfifo full/drafted.txt|not a regular file|-m t.pronk -i text -o full --resume
a pipe called as the recipe|mkfifo full/recipe.yml|not a regular file|-m t.pronk -i text -o full --resume
a pipe as text|mkfifo p|not a regular file|-m t.pronk -i p -o new
no such text||none|-m t.pronk -i none -o new
no such test||none|-m t.pronk -i text --test none -o new
no such model||none|-m none -i text -o new
a file as folder||Not a directory|-m t.pronk -i text -o de
END
    arguments none
    cp "$w/train.en" "$w/text"
    (cd "$w" && timeout 60 "$PRONK" drafter -q -m t.pronk -i train.en --test text -o new "${how[@]}" <line >>text 2>"$dir/err")
    check "drafter appended to its test" "1 also" "$? $(grep -o also "$dir/err")"
    cmp -s "$w/text" "$w/train.en" && ok "drafter appended to its test: unchanged" || bad "drafter appended to its test" "it changed"
    if [ -d "$disk" ] && mount -t tmpfs -o size=64k none "$disk" 2>/dev/null; then
        mount -o remount,ro "$disk"
        args=(drafter -q -m t.pronk -i text -o "$disk/new" "${how[@]}")
        refused "drafter in a read-only folder" "cannot|[Rr]ead-only"
        mount -o remount,rw "$disk"
        dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null
        args=(drafter -q -m t.pronk -i text -o "$disk/new" "${how[@]}")
        refused "drafter on a full disk" "space"
        umount "$disk"
    else
        skip "drafter on a full disk, in a read-only folder: mounting is not permitted here"
    fi
    # a signal ends it in every stage, the last one too
    arguments none
    run drafter -q -m t.pronk -i train.en -o new "${how[@]}"
    check "drafter: exit code" "0 " "$code $(head -1 "$dir/err")"
    mkfifo "$w/silent"
    (cd "$w" && exec timeout -k 10 3 "$PRONK" drafter -q -m t.pronk -i train.en --test silent -o new --resume "${how[@]}") >"$dir/out" 2>"$dir/err"
    check "drafter: TERM while it waits for its test" 124 $?
}

# ---- Pipes where a file is wanted ----

# no_wait NAME ARGUMENT...: says that it is no regular file, at once
no_wait() {
    local name=$1
    shift
    (cd "$w" && timeout -k 2 10 "$PRONK" "$@" <line >"$dir/out" 2>"$dir/err")
    code=$?
    if [ $code != 1 ] && [ $code != 2 ]; then bad "$name" "exit code $code: $(head -1 "$dir/err")"
    elif grep -qE "not a (regular file|model)" "$dir/err"; then ok "$name"
    else bad "$name" "$(cat "$dir/err")"; fi
}

pipes_as_files() {
    arguments none
    mkfifo "$w/pipe"
    for verb in translate "score -i en -r de" "bench -i en" viz "distill -i en -o out"; do no_wait "$verb: a pipe as model" $verb -m pipe; done
    no_wait "info: a pipe as model" info pipe
    no_wait "convert: a pipe as model" convert pipe out
    no_wait "average: a pipe as model" average pipe -o out
    mkfifo "$w/pipe.safetensors"
    no_wait "average: a pipe as checkpoint" average pipe.safetensors -o out
    no_wait "vocab: a pipe as text" vocab -i pipe -o out
    mkfifo "$w/pipe.argosmodel"
    no_wait "info: a pipe as package" info pipe.argosmodel
    for verb in translate "bench -i en" viz; do no_wait "$verb: a pipe as drafter" $verb -m a.pronk --drafter pipe -d gad; done
    no_wait "drafter: a pipe as model" drafter -m pipe -i en -o new
    no_wait "align: a pipe as model" align --load pipe -i en de -o out
    no_wait "align: a pipe as vocabulary" align --vocab pipe -i en de -o out
    no_wait "train: a pipe as recipe" train pipe
    no_wait "train: a pipe as verifier" train r.yml --set task=gad --set verifier=pipe --set vocab=
    no_wait "train: a pipe as data.alignment" train r.yml --set task=markov --set data.alignment=pipe
    for key in vocab vocab_target init data.source data.target valid.source valid.target; do
        no_wait "train: a pipe as $key" train r.yml --set "$key=pipe" --set model.tie=none \
            --set valid.every=1 $(case $key in valid.source) echo --set valid.target=train.de ;; valid.target) echo --set valid.source=train.en ;; esac)
    done
    for file in $(cd "$w/hf" && ls config.json generation_config.json tokenizer_config.json model.safetensors source.spm target.spm vocab.json 2>/dev/null); do
        rm -rf "$w/hf" && cp -r "$dir/fixture/hf" "$w/hf"
        rm "$w/hf/$file" && mkfifo "$w/hf/$file"
        no_wait "a folder whose $file is a pipe" info hf
    done
    for file in config.json model.bin sentencepiece.model source_vocabulary.json target_vocabulary.json; do
        rm -rf "$w/ct2" && cp -r "$dir/fixture/ct2" "$w/ct2"
        rm "$w/ct2/$file" && mkfifo "$w/ct2/$file"
        no_wait "a CTranslate2 folder whose $file is a pipe" info ct2
    done
    if [ -d "$dir/trained" ]; then
        rm -rf "$w/trained" && cp -r "$dir/trained" "$w/trained"
        rm "$w"/trained/checkpoint-* "$w"/trained/log.jsonl
        mkfifo "$w/trained/checkpoint-2.safetensors"
        no_wait "train --resume: a pipe as checkpoint" train r.yml --resume
        rm "$w"/trained/checkpoint-*
        mkfifo "$w/trained/log.jsonl"
        (cd "$w" && timeout -k 2 20 "$PRONK" train r.yml -q <line >"$dir/out" 2>"$dir/err")
        check "train: a pipe as log" 2 $?
    fi
    # text may come from a pipe
    (cat "$w/en" >"$w/pipe") &
    run translate -m a.pronk -i pipe
    wait $!
    check "translate: a pipe as text" "0 6" "$code $(wc -l <"$dir/out")"
    (cat "$w/en" >"$w/pipe") &
    run distill -m a.pronk -q -i pipe -o out
    wait $!
    check "distill: a pipe as text" "0 6" "$code $(wc -l <"$w/out")"
}

# ---- A model that changes while it is in use ----

# changed HOW COMMAND: a line, then COMMAND on $w/a.pronk, then another line; leaves $code, $answers
changed() {
    arguments none
    coproc STREAM { cd "$w" && exec timeout -k 5 60 "$PRONK" translate -m a.pronk -m hf 2>"$dir/err"; }
    local in=${STREAM[1]} out=${STREAM[0]} pid=$STREAM_PID answer
    answers=
    echo "the cat" >&"$in"
    IFS= read -r -t 60 answer <&"$out" && answers=$answer
    (cd "$w" && eval "$1")
    echo "the cat" >&"$in"
    IFS= read -r -t 60 answer <&"$out" && answers="$answers|$answer"
    exec {in}>&-
    wait "$pid"
    code=$?
}

models_that_change() {
    local first
    changed true
    first=${answers%%|*}
    check "a model that stays" "0 $first|$first" "$code $answers"
    for how in ': >a.pronk' 'truncate -s 20000 a.pronk' 'head -c 400000 /dev/urandom >a.pronk' \
               'cp hf/model.safetensors a.pronk' 'echo more >>a.pronk' 'printf x | dd of=a.pronk conv=notrunc bs=1 seek=9000 2>/dev/null'; do
        changed "$how"
        check "$how: fails, and no other answer" "1 $first" "$code $answers"
        check "$how: one line" "1 1" "$(wc -l <"$dir/err") $(grep -c 'rename' "$dir/err")"
    done
    for how in 'head -c 400000 /dev/urandom >new; mv new a.pronk' 'rm a.pronk' 'mv a.pronk other' 'chmod 600 a.pronk' 'ln a.pronk c'; do
        changed "$how"
        check "$how: goes on" "0 $first|$first" "$code $answers"
    done
    # in the middle of a call: caught by the check behind it, or by the signal
    arguments none
    for i in $(seq 1 4000); do cat "$w/en"; done >"$w/long"
    for after in 0.05 0.2 0.4; do
        cp "$dir/fixture/a.pronk" "$w/a.pronk"
        (cd "$w" && exec timeout -k 5 60 "$PRONK" translate -m a.pronk -i long -o out --threads 2 2>"$dir/err") &
        sleep $after
        : >"$w/a.pronk"
        wait $!
        code=$?
        if [ $code = 0 ]; then skip "cut off after $after s: it was done before"; continue; fi
        check "cut off after $after s: ends with a line" "1 1" "$code $(wc -l <"$dir/err")"
    done
}

# ---- Closed standard descriptors ----

closed_descriptors() {
    arguments none
    printf 'bad \xff\xfe\ngood\n' >"$w/odd"
    run translate -m a.pronk -i odd -o expected
    (cd "$w" && timeout 60 "$PRONK" translate -m a.pronk -i odd -o out 2>&-)
    check "stderr closed: exit code" 0 $?
    cmp -s "$w/expected" "$w/out" && ok "stderr closed: no warning in the output" || bad "stderr closed" "$(head -c 200 "$w/out")"
    (cd "$w" && timeout 60 "$PRONK" translate -m a.pronk -i odd -o out2 <&- >&- 2>&-)
    check "all closed: exit code" 0 $?
    cmp -s "$w/expected" "$w/out2" && ok "all closed: only lines in the output" || bad "all closed" "$(head -c 200 "$w/out2")"
    (cd "$w" && timeout 60 "$PRONK" translate -m a.pronk -i en >&- 2>"$dir/err")
    check "stdout closed: exit code" "1 1" "$? $(grep -c 'standard output' "$dir/err")"
    (cd "$w" && timeout 60 "$PRONK" translate -m a.pronk <&- >"$dir/out" 2>"$dir/err")
    check "stdin closed: exit code" "1 1" "$? $(grep -c 'standard input' "$dir/err")"
    (cd "$w" && timeout 60 "$PRONK" info a.pronk >&- 2>"$dir/err")
    check "stdout closed: info" "1 1" "$? $(grep -c 'standard output' "$dir/err")"
    (cd "$w" && timeout 60 "$PRONK" nonsense <&- >&- 2>&-)
    check "all closed: a wrong command line" 2 $?
    [ -d "$dir/trained" ] || { skip "closed descriptors: training"; return; }
    (cd "$w" && timeout 60 "$PRONK" train r.yml --set log.every=1 <&- >&- 2>&-)
    python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$w/trained/log.jsonl" &&
        ok "all closed: the log of a training is JSON" || bad "all closed: the log" "$(head -c 200 "$w/trained/log.jsonl")"
}

if make_fixture; then
    make_expected
    outputs_that_are_inputs
    standard_output_is_an_input
    output_is_standard_input
    two_outputs_in_a_file
    pipes_and_devices
    links
    full_disk
    read_only_folder
    failures
    training
    drafter_folder
    pipes_as_files
    models_that_change
    closed_descriptors
else
    bad "files to try it with" "$(cat "$dir/err")"
fi
summary
