#!/bin/bash
# make_everyday_test.sh - synthetic everyday text: the same each time, what is copied is the same on both sides, and
# nothing of the test set is in it.
. tests/support/program.sh

printf 'Tom sees the dog.\nIn 1998 we had a house.\nHello!\nThe red house\n' >"$dir/s.en"
printf 'Tom sieht den Hund.\n1998 hatten wir ein Haus.\nHallo!\nDas rote Haus\n' >"$dir/s.de"
printf 'dog\nhouse\nred\nunused\n' >"$dir/w.en"
printf 'Hund\nHaus\nrote\nunbenutzt\n' >"$dir/w.de"
make() { python3 recipes/data/make_everyday.py "$dir/s.en" "$dir/s.de" "$dir/w.en" "$dir/w.de" 3000 "$dir/$1.en" "$dir/$1.de"; }
make a && make b
cmp -s "$dir/a.en" "$dir/b.en" && cmp -s "$dir/a.de" "$dir/b.de" && ok "the same each time" || bad "the same each time" ""
check "as many lines as asked for" "3000 3000" "$(wc -l <"$dir/a.en") $(wc -l <"$dir/a.de")"
check "nothing of the test set" 0 "$(grep -v '^# ' tests/data/everyday.tsv | cut -f2 | grep -cxFf - "$dir/a.en")"
check "addresses are copied" "$(grep -o '[a-z0-9.]*@[a-z.]*' "$dir/a.en" | md5sum)" "$(grep -o '[a-z0-9.]*@[a-z.]*' "$dir/a.de" | md5sum)"
[ "$(grep -c '@' "$dir/a.en")" -gt 50 ] && ok "there are some" || bad "there are some" ""
check "a word the sentences lack is left out" 0 "$(grep -c unused "$dir/a.en")"

summary
