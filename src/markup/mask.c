/* mask.c - placeholders in place of kept spans.
 *
 * The order of schemes is by how often the bundled model brought a placeholder through in place of
 * a word of newstest2019: see docs/text.md. Numbers that the text has itself are not used. */
#include "markup/mask.h"

#include <ctype.h>
#include <string.h>

typedef struct scheme {
    const char *prefix;
    uint32_t    start, step;
} scheme;
static const scheme schemes[PK_N_SCHEMES] = {
    { "%", 1, 1 }, { "X", 1, 1 }, { "A", 1, 1 }, { "", 7101, 13 }
};

static bool is_digit(char c) { return isdigit((unsigned char)c) != 0; }
static bool in_word(char c) { return isalnum((unsigned char)c) || (c & 0x80); }

/* digits at the beginning of the text as a number; one that is too large is no placeholder's */
static size_t read_number(const char *text, size_t size, uint32_t *number) {
    enum { MOST_DIGITS = 8 };
    size_t n = 0;
    *number = 0;
    for (; n < size && is_digit(text[n]); n++)
        if (n < MOST_DIGITS) *number = *number * 10 + (uint32_t)(text[n] - '0');
    if (n > MOST_DIGITS) *number = UINT32_MAX;
    return n;
}

/* the prefix and its number at the beginning of the text; 0: they are not there */
static size_t read_one(const scheme *s, const char *text, size_t size, uint32_t *number) {
    const size_t prefix = strlen(s->prefix);
    if (size <= prefix || memcmp(text, s->prefix, prefix) != 0) return 0;
    const size_t digits = read_number(text + prefix, size - prefix, number);
    return digits ? prefix + digits : 0;
}

/* behind all numbers that stand in the text with this prefix */
static uint32_t free_start(const scheme *s, const char *text, size_t size) {
    enum { MOST = 1000000 };
    uint32_t start = s->start, number;
    for (size_t at = 0; at < size;) {
        const size_t n = read_one(s, text + at, size - at, &number);
        if (n && number >= start && number < MOST) start = number + 1;
        at += n ? n : 1;
    }
    return start;
}

/* line ends are white space like any other, unless they end sentences */
static void add_plain(const pk_passage *p, size_t begin, size_t end, pk_buffer *out) {
    const size_t at = out->size;
    pk_buffer_add(out, p->text.data + begin, end - begin);
    for (size_t i = at; !p->lines && !out->failed && i < out->size; i++)
        if (strchr("\t\n\v\f\r", out->data[i]) && out->data[i]) out->data[i] = ' ';
}

static size_t first_kept(const pk_passage *p, size_t byte) {
    size_t low = 0, high = p->n_kept;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->kept[middle].begin < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

pk_status pk_mask_make(const pk_passage *p, size_t begin, size_t size, int32_t number,
                       pk_mask *out) {
    static const scheme letter = { "X", 0, 0 };
    const scheme       *s = number < 0 ? &letter : &schemes[number];
    const size_t        end = begin + size, first = first_kept(p, begin), last = first_kept(p, end);
    size_t              at = begin;
    *out = (pk_mask){ .begin = begin, .first = first, .n = last - first, .scheme = number };
    PK_TRY(PK_TAKE(&out->kept, out->n));
    if (number >= 0) out->start = free_start(s, p->text.data + begin, size);
    for (size_t k = 0; k < out->n; k++) {
        const pk_kept *kept = &p->kept[first + k];
        add_plain(p, at, kept->begin, &out->text);
        out->kept[k].begin = out->text.size;
        pk_buffer_add_text(&out->text, s->prefix);
        if (number >= 0) pk_buffer_print(&out->text, "%u", out->start + (uint32_t)k * s->step);
        out->kept[k].size = out->text.size - out->kept[k].begin;
        at = kept->begin + kept->size;
    }
    add_plain(p, at, end, &out->text);
    return pk_buffer_status(&out->text);
}

void pk_mask_free(pk_mask *m) {
    pk_buffer_free(&m->text);
    pk_memory_give(m->kept);
    *m = (pk_mask){ 0 };
}

size_t pk_mask_origin(const pk_mask *m, const pk_passage *p, size_t byte, bool behind) {
    size_t low = 0, high = m->n; /* low: placeholders that begin at or before the byte */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->kept[middle].begin <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return m->begin + byte;
    const pk_kept *masked = &m->kept[low - 1], *kept = &p->kept[m->first + low - 1];
    const size_t   end = masked->begin + masked->size;
    if (byte >= end) return kept->begin + kept->size + (byte - end);
    return behind && byte > masked->begin ? kept->begin + kept->size : kept->begin;
}

bool pk_mask_find(const pk_mask *m, const char *text, size_t size, size_t *at, pk_found *out) {
    if (m->scheme < 0 || !m->n) return false;
    const scheme *s = &schemes[m->scheme];
    uint32_t      number;
    while (*at < size) {
        const size_t   from = *at;
        const bool     inside = s->prefix[0] != '%' && from > 0 && in_word(text[from - 1]);
        const size_t   n = inside ? 0 : read_one(s, text + from, size - from, &number);
        const uint32_t past = n ? number - m->start : 0;
        *at += n ? n : 1;
        if (!n || number < m->start || past % s->step || past / s->step >= m->n) continue;
        *out = (pk_found){ from, n, (int32_t)(m->first + past / s->step) };
        return true;
    }
    return false;
}

static pk_status has_pieces(const pk_vocab *v, int32_t unk, const char *text, bool *has) {
    pk_ids    id = { 0 };
    pk_status status = pk_vocab_encode_source(v, text, strlen(text), &id, NULL);
    if (status == PK_OK) status = pk_vocab_encode_target(v, text, strlen(text), &id);
    for (size_t i = 0; i < id.n; i++) *has &= id.id[i] != unk;
    pk_ids_free(&id);
    return status;
}

pk_status pk_mask_schemes(const pk_vocab *v, int32_t unk, int32_t *list, size_t *n) {
    *n = 0;
    for (int32_t i = 0; i < PK_N_SCHEMES; i++) {
        char sample[16] = "";
        bool has = true;
        strcat(sample, schemes[i].prefix);
        strcat(sample, "1234567890");
        PK_TRY(has_pieces(v, unk, sample, &has));
        if (has) list[(*n)++] = i;
    }
    if (!*n) list[(*n)++] = 0;
    return PK_OK;
}
