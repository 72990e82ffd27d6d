/* closest.c - sentence-level chrF2 of one text after the other against one reference. */
#include "metric/closest.h"

/* The reference is decoded once for all texts that are compared with it. */
pk_status pk_closest_begin(pk_closest *c, pk_text reference) {
    return pk_points_read(&c->reference, reference);
}

pk_status pk_closest_score(pk_closest *c, pk_text text, double *score) {
    int32_t count[PK_CHRF_COUNTS];
    double  sum[PK_CHRF_COUNTS];
    PK_TRY(pk_points_read(&c->hypothesis, text));
    PK_TRY(pk_chrf_count(&c->reference, &c->hypothesis, &c->table, &c->words, count));
    for (int i = 0; i < PK_CHRF_COUNTS; i++) sum[i] = count[i];
    *score = pk_chrf_score(sum, PK_CHRF_CHARS, false);
    return PK_OK;
}

void pk_closest_free(pk_closest *c) {
    pk_points_free(&c->reference);
    pk_points_free(&c->hypothesis);
    pk_ngram_free(&c->table);
    pk_ids_free(&c->words.reference);
    pk_ids_free(&c->words.hypothesis);
    *c = (pk_closest){ 0 };
}
