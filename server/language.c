/* language.c - codes and names of languages; the names are ICU's. */
#include "language.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unicode/uldnames.h>
#include <unicode/uloc.h>
#include <unicode/ustring.h>

static const struct {
    const char *code, *outside, *icu;
} special[] = {
    { "pb", "pt-BR", "pt_BR" },
    { "zh", "zh-Hans", "zh" },
    { "zt", "zh-Hant", "zh_Hant" },
};
enum { N_SPECIAL = sizeof special / sizeof *special };

void pk_language_code(const char *text, char out[PK_CODE_ROOM]) {
    size_t n = 0;
    for (; text[n] && n + 1 < PK_CODE_ROOM; n++) out[n] = (char)tolower((unsigned char)text[n]);
    out[n] = '\0';
    for (size_t i = 0; i < N_SPECIAL; i++)
        if (!strcasecmp(out, special[i].outside)) strcpy(out, special[i].code);
}

const char *pk_language_outside(const char *code) {
    for (size_t i = 0; i < N_SPECIAL; i++)
        if (!strcmp(code, special[i].code)) return special[i].outside;
    return code;
}

static const char *icu_code(const char *code) {
    for (size_t i = 0; i < N_SPECIAL; i++)
        if (!strcmp(code, special[i].code)) return special[i].icu;
    return code;
}

void pk_language_name(const char *code, const char *locale, char out[PK_NAME_ROOM]) {
    UDisplayContext      kind[] = { UDISPCTX_CAPITALIZATION_FOR_UI_LIST_OR_MENU };
    UErrorCode           status = U_ZERO_ERROR;
    UChar                wide[PK_NAME_ROOM];
    ULocaleDisplayNames *names = uldn_openForContext(locale, kind, 1, &status);
    uldn_localeDisplayName(names, icu_code(code), wide, PK_NAME_ROOM, &status);
    u_strToUTF8(out, PK_NAME_ROOM, NULL, wide, -1, &status);
    if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING)
        snprintf(out, PK_NAME_ROOM, "%s", code);
    uldn_close(names);
}

bool pk_language_exists(const char *code) {
    char         name[PK_NAME_ROOM];
    const size_t n = strlen(code);
    if (n < 2 || n > 3) return false;
    pk_language_name(code, "en", name);
    return strcasecmp(name, code) != 0;
}

/* the last two words side by side that are languages: "opus-mt-en-de" is no Maltese to English */
bool pk_language_pair_of(const char *name, char from[PK_CODE_ROOM], char to[PK_CODE_ROOM]) {
    char last[PK_CODE_ROOM] = "";
    bool found = false;
    while (*name) {
        const size_t n = strcspn(name, "-_. ");
        char         word[PK_CODE_ROOM] = "";
        if (n > 0 && n < PK_CODE_ROOM) {
            char copy[PK_CODE_ROOM];
            snprintf(copy, sizeof copy, "%.*s", (int)n, name);
            pk_language_code(copy, word);
        }
        if (!pk_language_exists(word)) word[0] = '\0';
        if (*word && *last) {
            strcpy(from, last);
            strcpy(to, word);
            found = true;
        }
        strcpy(last, word);
        name += n + (name[n] != '\0');
    }
    return found;
}

/* weights are not looked at: clients list the best first */
void pk_language_accepted(const char *header, char out[PK_CODE_ROOM]) {
    while (header && *header) {
        char         copy[PK_CODE_ROOM];
        const size_t n = strcspn(header, ",;-_ ");
        snprintf(copy, sizeof copy, "%.*s", (int)(n < sizeof copy ? n : sizeof copy - 1), header);
        pk_language_code(copy, out);
        if (pk_language_exists(out)) return;
        header += strcspn(header, ",");
        header += strspn(header, ", ");
    }
    strcpy(out, "en");
}
