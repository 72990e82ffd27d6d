/* filter.c - judges sentence pairs, remembers those seen, and reports.
 *
 * Invariant: a verdict depends on the pair and the settings alone, but for duplicates, where the
 * first of equal pairs stays. */
#include "data/filter.h"

#include "base/hash.h"
#include "text/utf8.h"

static bool is_blank(pk_text text) {
    for (size_t at = 0; at < text.size;) {
        int32_t code_point;
        at += pk_utf8_next(text.data + at, text.size - at, &code_point);
        if (!pk_utf8_is_space(code_point)) return false;
    }
    return true;
}

/* the verdict of the language check of one side */
static pk_filter_verdict look(const pk_language_check *check, pk_text text) {
    if (!check) return PK_PAIR_KEPT;
    switch (pk_language_check_text(check, text.data, text.size)) {
    case PK_LOOKS_OTHER_SCRIPT: return PK_PAIR_SCRIPT;
    case PK_LOOKS_OTHER_LANGUAGE: return PK_PAIR_LANGUAGE;
    case PK_LOOKS_RIGHT: break;
    }
    return PK_PAIR_KEPT;
}

pk_filter_verdict pk_filter_text(const pk_filter *f, pk_text source, pk_text target) {
    /* no piece is nearly so long: spares segmenting what is not a sentence at all */
    enum { BYTES_PER_TOKEN = 256 };
    const size_t most = (size_t)f->max_length * BYTES_PER_TOKEN;
    if (!pk_utf8_valid(source.data, source.size) || !pk_utf8_valid(target.data, target.size))
        return PK_PAIR_INVALID;
    if (is_blank(source) || is_blank(target)) return PK_PAIR_EMPTY;
    if (source.size > most || target.size > most) return PK_PAIR_LENGTH;
    const pk_filter_verdict verdict = look(f->source, source);
    return verdict != PK_PAIR_KEPT ? verdict : look(f->target, target);
}

pk_filter_verdict pk_filter_lengths(const pk_filter *f, size_t n_source, size_t n_target) {
    enum { SHORT = 10 }; /* between short sentences a high ratio says little */
    const size_t more = n_source > n_target ? n_source : n_target;
    const size_t less = n_source + n_target - more;
    if (less == 0) return PK_PAIR_EMPTY;
    if (more > (size_t)f->max_length) return PK_PAIR_LENGTH;
    if (f->max_ratio >= 1 && more > SHORT && (double)more > f->max_ratio * (double)less)
        return PK_PAIR_RATIO;
    return PK_PAIR_KEPT;
}

uint64_t pk_pair_hash(pk_text source, pk_text target) {
    const uint64_t both[2] = { pk_hash(source.data, source.size),
                               pk_hash(target.data, target.size) };
    const uint64_t hash = pk_hash(both, sizeof both);
    return hash ? hash : 1;
}

/* the slot where the hash is, or where it would go */
static size_t slot_of(const pk_seen *s, uint64_t hash) {
    size_t at = hash & s->mask;
    while (s->hash[at] && s->hash[at] != hash) at = (at + 1) & s->mask;
    return at;
}

/* at most half full, so that searches stay short */
static pk_status make_room(pk_seen *s) {
    enum { FEWEST = 1 << 12 };
    if (s->hash && 2 * s->n <= s->mask) return PK_OK;
    pk_seen bigger = { .mask = s->hash ? 2 * s->mask + 1 : FEWEST - 1, .n = s->n };
    PK_TRY(PK_TAKE(&bigger.hash, bigger.mask + 1));
    for (size_t i = 0; s->hash && i <= s->mask; i++)
        if (s->hash[i]) bigger.hash[slot_of(&bigger, s->hash[i])] = s->hash[i];
    pk_seen_free(s);
    *s = bigger;
    return PK_OK;
}

pk_status pk_seen_add(pk_seen *s, uint64_t hash, bool *before) {
    PK_TRY(make_room(s));
    uint64_t *slot = &s->hash[slot_of(s, hash)];
    *before = *slot != 0;
    if (*before) return PK_OK;
    *slot = hash;
    s->n++;
    return PK_OK;
}

void pk_seen_free(pk_seen *s) {
    pk_memory_give(s->hash);
    *s = (pk_seen){ 0 };
}

uint64_t pk_filter_read(const pk_filter_counts *c) {
    uint64_t n = 0;
    for (int i = 0; i < PK_N_FILTER_VERDICTS; i++) n += c->n[i];
    return n;
}

const char *pk_filter_verdict_text(pk_filter_verdict v) {
#define TEXT(name, text) text,
    static const char *const reason[] = { PK_FILTER_VERDICT_MAP(TEXT) };
#undef TEXT
    return v < PK_N_FILTER_VERDICTS ? reason[v] : "?";
}

static double percent(uint64_t part, uint64_t whole) {
    return whole ? 100 * (double)part / (double)whole : 0;
}

void pk_filter_report(const pk_filter_counts *c, const char *name, pk_buffer *out) {
    const uint64_t read = pk_filter_read(c), kept = c->n[PK_PAIR_KEPT];
    const double   each = kept ? 1 / (double)kept : 0;
    pk_buffer_print(out, "%s\n", name);
    pk_buffer_print(out, "  %12llu pairs read\n", (unsigned long long)read);
    for (int i = 0; i < PK_N_FILTER_VERDICTS; i++)
        if (c->n[i] || i == PK_PAIR_KEPT)
            pk_buffer_print(out, "  %12llu %s%s (%.2f %%)\n", (unsigned long long)c->n[i],
                            i == PK_PAIR_KEPT ? "" : "left out: ",
                            pk_filter_verdict_text((pk_filter_verdict)i), percent(c->n[i], read));
    pk_buffer_print(out, "  %12llu source tokens (%.1f a sentence)\n",
                    (unsigned long long)c->source_tokens, (double)c->source_tokens * each);
    pk_buffer_print(out, "  %12llu target tokens (%.1f a sentence)\n",
                    (unsigned long long)c->target_tokens, (double)c->target_tokens * each);
}
