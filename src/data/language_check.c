/* language_check.c - scripts from ICU, stop words from the lists below.
 *
 * A list has the words that make up a third or so of running text in its language. Lists overlap
 * ("in" is English, German and Italian), which does no harm: such a word counts for each. Single
 * Latin letters are left out: in technical text they are names and formats (%d, -l). A word is
 * looked up by the hash of its small letters; the table says for which languages it counts.
 * Invariant: a language that is not listed is never judged by words: its text would have no words
 * of its own list, but some of related languages' lists. */
#include "data/language_check.h"

#include <stdbool.h>
#include <string.h>

#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/uscript.h>

#include "base/hash.h"
#include "text/utf8.h"

typedef struct stop_words {
    const char *code, *words; /* small letters, one space between words */
} stop_words;

// clang-format off
static const stop_words list[] = {
    { "en", "the of and to in is that for it was on are as with his they be at one have this from or had by not but "
            "what all were we when your can said there use an each which she do how their if will up other about out "
            "many then them these so some her would has been who its you he my our no" },
    { "de", "der die das und in zu den von mit sich des auf für ist im dem nicht ein eine als auch es an werden aus "
            "er hat dass daß sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder "
            "aber vor zur bis mehr durch man sein wurde wir ich ihr du was wenn kann diese dieser dieses keine sehr "
            "hier eines" },
    { "fr", "de la le et les des en un une du dans que est pour qui au par sur plus ne se pas ce il sont avec ont "
            "son cette aux ou été elle nous vous je leur être mais comme on tout sa ses ces même fait si où lui deux "
            "bien sans peut cet très qu" },
    { "es", "de la que el en los del se las por un para con no una su al es lo como más pero sus le ya fue este ha "
            "sí porque esta son entre cuando muy sin sobre ser también me hasta hay donde quien desde todo nos "
            "durante todos uno les ni contra otros ese eso había ante ellos esto" },
    { "it", "di che è la il un per in una mi sono ho non ma lo ha le si ti con cosa se io come da ci no questo qui "
            "hai sei del bene tu sì me più al mio perché lei solo te era gli tutto della così mia ne questa fare "
            "quando ora fatto essere mai chi alla dei nel delle degli anche dal nella stato" },
    { "pt", "de que do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu sua "
            "ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos "
            "ter seus quem nas me esse eles estão você tinha foram essa num nem" },
    { "nl", "de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om hem dan zou "
            "of wat mijn men dit zo door over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft hebben "
            "deze want nog zal me zij nu ge geen omdat iets worden toch al waren veel meer doen wordt kan we" },
    { "sv", "och det att en jag hon som han på den med var sig för så till är men ett om hade de av icke mig du "
            "henne då sin nu har inte hans honom skulle hennes där min man ej vid kunde något från ut när efter upp "
            "vi dem vara vad över än dig kan sina här ha mot alla under någon eller allt mycket" },
    { "da", "og jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde "
            "ham hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne "
            "ind når være dog noget ville jo deres efter ned skulle denne end dette mit også" },
    { "pl", "nie na się do to że jest jak po co ale za od tak jego już go przez tylko był mnie dla te przy czy było "
            "być ich ten ze jej może mu ja tym który by które jestem są pan tego tu oraz również jako która nas mi "
            "jeszcze ma kiedy gdy tej też ją pod bardzo" },
    { "cs", "se na je že to do ve pro za by ale si jsem po jako podle není jsou který jeho byl tak jen bude však "
            "nebo aby co už při od až mezi také jak které která být může ze bylo ještě jsme již než proto kde ten "
            "tento toho mi mě tím když pod" },
    { "ro", "de și în la cu care nu pe din că să un este mai pentru ce sunt se au fost ca fi dar al ale lui după am "
            "prin sau său era sa are cel ei iar dintre fără între mă îi cum asta doar tot poate acest această "
            "aceasta când foarte le ar eu vă noi fie ai" },
    { "hu", "az és hogy nem is egy ez meg csak de már még el ha azt van mint volt ki fel mi ő én amely vagy ezt "
            "minden után le nagy lehet kell ami igen most itt így úgy hanem sem pedig voltak lesz olyan azonban "
            "akkor aki ezek volna mert nincs között nagyon" },
    { "fi", "ja on ei se että hän oli joka en mutta ole kun niin kuin myös ovat sen mitä hänen jos tai minä ne vain "
            "nyt olen olla minun sitä tämä sinä voi mukaan jo ollut sekä tässä vielä hänet he me te siitä siellä "
            "tämän kanssa ennen jälkeen koska niitä joita" },
    { "ru", "и в не на я что он с как это по но а из у за от о так же для то все она его к мы бы ты вы был было или "
            "если ее только мне меня еще есть они уже до при были их когда где этот чтобы быть может нет во со очень" },
    { "uk", "і в не на я що він з як це по але а із у за від про так же для то всі вона його до ми би ти ви був було "
            "або якщо її тільки мені мене ще є вони вже при були їх коли де цей щоб бути може ні та й зі дуже також" },
};
// clang-format on
enum { N_LISTED = sizeof list / sizeof *list, SLOTS = 4096, MOST_SCRIPTS = 8 };

struct pk_language_check {
    int         n_scripts; /* 0: any */
    UScriptCode script[MOST_SCRIPTS];
    int         own; /* in the list; -1: not there */
    uint64_t    hash[SLOTS];
    uint32_t    languages[SLOTS]; /* bit i: list[i] has the word; 0: a free slot */
};

/* the hash of a word, letter by letter; 0 is no word */
static uint64_t add_letter(uint64_t hash, int32_t letter) {
    return pk_mix(hash ^ (uint64_t)letter);
}

/* the slot where the word is, or where it would go; the table is far from full */
static size_t slot_of(const pk_language_check *c, uint64_t hash) {
    size_t at = hash % SLOTS;
    while (c->languages[at] && c->hash[at] != hash) at = (at + 1) % SLOTS;
    return at;
}

/* enters all words of one list into the table */
static void add_words(pk_language_check *c, int language) {
    const char *text = list[language].words;
    uint64_t    hash = 0;
    for (size_t left = strlen(text) + 1, n; left; left -= n, text += n) {
        int32_t letter = ' ';
        n = left > 1 ? pk_utf8_next(text, left - 1, &letter) : 1;
        if (letter != ' ') {
            hash = add_letter(hash, letter);
            continue;
        }
        const size_t at = slot_of(c, hash);
        c->hash[at] = hash;
        c->languages[at] |= (uint32_t)1 << language;
        hash = 0;
    }
}

/* ICU names one script for each language; these are written in two. */
static bool two_scripts(const char *code) {
    static const char *const both[] = { "sr", "uz", "kk", "az" };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++)
        if (strcmp(both[i], code) == 0) return true;
    return false;
}

/* the scripts that the language is written in, from ICU; none where ICU does not know it */
static void find_scripts(pk_language_check *c, const char *code) {
    UErrorCode error = U_ZERO_ERROR;
    if (!code[0]) return;
    const int n = uscript_getCode(code, c->script, MOST_SCRIPTS - 2, &error);
    c->n_scripts = U_SUCCESS(error) ? n : 0;
    if (!two_scripts(code)) return;
    c->script[c->n_scripts++] = USCRIPT_LATIN;
    c->script[c->n_scripts++] = USCRIPT_CYRILLIC;
}

pk_status pk_language_check_open(const char *language, pk_language_check **out) {
    pk_language_check *c;
    char               code[16] = "";
    UErrorCode         error = U_ZERO_ERROR;
    *out = NULL;
    PK_TRY(PK_TAKE(&c, 1));
    uloc_getLanguage(language, code, sizeof code, &error);
    if (U_FAILURE(error) || error == U_STRING_NOT_TERMINATED_WARNING) code[0] = '\0';
    find_scripts(c, code);
    c->own = -1;
    for (int i = 0; i < N_LISTED; i++) {
        if (strcmp(list[i].code, code) == 0) c->own = i;
        add_words(c, i);
    }
    *out = c;
    return PK_OK;
}

void pk_language_check_close(pk_language_check *c) { pk_memory_give(c); }

/* what was counted in a text */
typedef struct signs {
    int right, wrong;    /* letters of scripts that fit, and of others */
    int words[N_LISTED]; /* stop words of each language */
} signs;

/* digits, punctuation and the like belong to no script and are not counted */
static void count_letter(const pk_language_check *c, int32_t letter, signs *s) {
    UErrorCode        error = U_ZERO_ERROR;
    const UScriptCode script = letter < 0x80 ? USCRIPT_LATIN : uscript_getScript(letter, &error);
    if (script == USCRIPT_COMMON || script == USCRIPT_INHERITED || U_FAILURE(error)) return;
    for (int i = 0; i < c->n_scripts; i++)
        if (c->script[i] == script) {
            s->right++;
            return;
        }
    s->wrong++;
}

static void count_word(const pk_language_check *c, uint64_t hash, signs *s) {
    uint32_t languages = c->languages[slot_of(c, hash)];
    for (; languages; languages &= languages - 1) s->words[__builtin_ctz(languages)]++;
}

/* one pass over the text: counts letters by script and stop words by language */
static void look(const pk_language_check *c, const char *text, size_t size, signs *s) {
    uint64_t hash = 0, before = 0; /* of the word so far (0: none), and of the one before */
    for (size_t at = 0; at < size;) {
        int32_t letter;
        at += pk_utf8_next(text + at, size - at, &letter);
        const bool is_letter =
            letter < 0x80 ? (letter | 32) >= 'a' && (letter | 32) <= 'z' : u_isalpha(letter) != 0;
        if (is_letter) {
            count_letter(c, letter, s);
            hash = add_letter(hash, letter < 0x80 ? letter | 32 : u_tolower(letter));
        }
        if (hash && (!is_letter || at == size)) {
            if (hash != before) count_word(c, hash, s); /* "na, na, na" is one word */
            before = hash;
            hash = 0;
        }
    }
}

/* Only clear cases are refused. Words: at least 3, and more than twice as many (and one) of another
 * language as of the right one. */
pk_looks pk_language_check_text(const pk_language_check *c, const char *text, size_t size) {
    enum { FEWEST_LETTERS = 5, FEWEST_WORDS = 3 };
    signs s = { 0 };
    look(c, text, size, &s);
    if (c->n_scripts && s.wrong >= FEWEST_LETTERS && s.wrong > s.right)
        return PK_LOOKS_OTHER_SCRIPT;
    if (c->own < 0) return PK_LOOKS_RIGHT;
    for (int i = 0; i < N_LISTED; i++)
        if (s.words[i] >= FEWEST_WORDS && s.words[i] > 2 * s.words[c->own] + 1)
            return PK_LOOKS_OTHER_LANGUAGE;
    return PK_LOOKS_RIGHT;
}
