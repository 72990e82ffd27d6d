#!/bin/bash
# ct2_test.sh - CTranslate2 folders and .argosmodel packages through the program: translated with, described,
# converted; hostile ones get one line. PRONK: the program (default build/pronk).
DATA=tests/data/ct2
. tests/support/program.sh
input=$dir/in
unset PRONK_MODEL

printf '%s\n' "the cat sees every house" "good morning" "" "rain again" >"$dir/in"

# what a model is given as, it is converted to; both translate alike, with its own beam search too
for model in opennmt int8 float16 v1 v3 marian en-de.argosmodel; do
    for decode in greedy beam; do
        run translate -q -m $DATA/$model -d $decode:max_length=20
        check "$model, $decode: exit code" 0 $code
        check "$model, $decode: lines" 4 "$(wc -l <"$dir/out")"
        mv "$dir/out" "$dir/folder.$decode"
    done
    run convert -q $DATA/$model "$dir/m.pronk"
    check "$model: converted" 0 $code
    for decode in greedy beam; do
        run translate -q -m "$dir/m.pronk" -d $decode:max_length=20
        check "$model, $decode: file and folder" "$(cat "$dir/folder.$decode")" "$(cat "$dir/out")"
    done
done

run info $DATA/int8
check "info: type" i8 "$(awk '$1 == "type" { print $2 }' "$dir/out")"
check "info: format" ctranslate2 "$(awk '$1 == "provenance.format" { print $2 }' "$dir/out")"
run info $DATA/en-de.argosmodel
check "info: languages" "en de" "$(awk '/_language/ { printf "%s%s", n++ ? " " : "", $2 }' "$dir/out")"
run convert -q $DATA/opennmt "$dir/i8.pronk" --type i8 && run info "$dir/i8.pronk"
check "convert: another type" i8 "$(awk '$1 == "type" { print $2 }' "$dir/out")"
run translate -q -m $DATA/en-de.argosmodel --from en --to de
check "a package knows its languages" 0 $code
refused "a package of other languages" 2 "translates into 'de', not into 'fr'" translate -m $DATA/en-de.argosmodel --to fr

# nothing that is read is written
cp -r $DATA/opennmt "$dir/folder" && cp $DATA/en-de.argosmodel "$dir/p.argosmodel"
for file in model.bin config.json source_vocabulary.json sentencepiece.model; do
    refused "convert onto $file" 2 "$file" convert "$dir/folder" "$dir/folder/$file"
    cmp -s "$dir/folder/$file" $DATA/opennmt/$file && ok "$file stays" || bad "$file stays" "it was changed"
done
refused "convert onto the package" 2 "p.argosmodel" convert "$dir/p.argosmodel" "$dir/p.argosmodel"
cmp -s "$dir/p.argosmodel" $DATA/en-de.argosmodel && ok "the package stays" || bad "the package stays" "it was changed"

# ensembles must read the source alike
echo '{"add_source_eos":true}' >"$dir/folder/config.json"
refused "an ensemble of two conventions" 1 "begins or ends sentences in another way" \
    translate -m $DATA/opennmt -m "$dir/folder"

# damaged and hostile ones
head -c 20000 $DATA/opennmt/model.bin >"$dir/folder/model.bin"
refused "a model.bin cut short" 1 "folder/model.bin: cut short" translate -m "$dir/folder"
head -c 20000 $DATA/en-de.argosmodel >"$dir/p.argosmodel"
refused "a package cut short" 1 "p.argosmodel: zip archive without its directory" translate -m "$dir/p.argosmodel"
rm "$dir/folder/sentencepiece.model"
refused "no SentencePiece model" 1 "put source.spm and target.spm, or sentencepiece.model, into this folder" \
    translate -m "$dir/folder"
mkfifo "$dir/pipe.argosmodel"
refused "a pipe" 1 "not a model" translate -m "$dir/pipe.argosmodel"

summary
