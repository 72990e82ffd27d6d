/* detect_codes.c - regions are cut off, old and other codes become the usual ones.
 *
 * LibreTranslate's own two codes are among them: pb is pt-BR, zt is Chinese in traditional
 * characters. Only there the part behind the first dash means something. */
#include "detect/detect_codes.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 7 };
#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef struct code_pair {
    const char *one, *other;
} code_pair;

static const code_pair   other_names[] = { { "pb", "pt" },  { "iw", "he" },  { "in", "id" },
                                           { "fil", "tl" }, { "no", "nb" },  { "nob", "nb" },
                                           { "nno", "nn" }, { "cmn", "zh" }, { "sh", "sr" } };
static const code_pair   relatives[] = { { "zh", "zt" }, { "nb", "nn" } };
static const char *const traditional[] = { "hant", "tw", "hk", "mo" };

static uint64_t key_of(const char *code) {
    uint64_t key = 0;
    for (size_t i = 0; i < LONGEST && code[i]; i++) key |= (uint64_t)(uint8_t)code[i] << 8 * i;
    return key;
}

/* what stands behind "zh" says how it is written: zh-Hant, zh_TW, zh-Hant-HK */
static uint64_t key_of_chinese(const char *behind) {
    for (size_t i = 0; *behind && i < COUNT(traditional); i++) {
        const size_t n = strlen(traditional[i]);
        if (strncasecmp(behind + 1, traditional[i], n) == 0 && strcspn(behind + 1, "-_.@") == n)
            return key_of("zt");
    }
    return key_of("zh");
}

uint64_t pk_code_key(const char *code) {
    const size_t n = strcspn(code, "-_.@");
    char         name[LONGEST + 1] = "";
    if (n == 0 || n > LONGEST) return 0;
    for (size_t i = 0; i < n; i++)
        name[i] = (char)(code[i] >= 'A' && code[i] <= 'Z' ? code[i] | 32 : code[i]);
    if (strcmp(name, "zh") == 0) return key_of_chinese(code + n);
    for (size_t i = 0; i < COUNT(other_names); i++)
        if (strcmp(name, other_names[i].one) == 0) return key_of(other_names[i].other);
    return key_of(name);
}

uint64_t pk_code_relative(uint64_t key) {
    for (size_t i = 0; i < COUNT(relatives); i++) {
        if (key == key_of(relatives[i].one)) return key_of(relatives[i].other);
        if (key == key_of(relatives[i].other)) return key_of(relatives[i].one);
    }
    return 0;
}
