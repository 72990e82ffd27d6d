/* nat_candidates.c - how many tokens of reference translations are among the K best that a network of
 * task nat has for their own positions: what look-ups are compared with (candidates.c).
 *
 *   make build/bench/nat_candidates
 *   build/bench/nat_candidates MODEL.pronk TEST.source TEST.target
 *
 * One sentence at a time on the CPU, with all its threads. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/list.h"
#include "base/memory.h"
#include "base/text_reader.h"
#include "engine/model.h"
#include "session/session.h"

enum { MOST_K = 128, MOST_LENGTH = 256 };
static const int32_t ks[] = { 1, 8, 16, 32, 64, 128 };
enum { N_KS = sizeof ks / sizeof *ks };

typedef struct counts {
    double sentences, tokens, found[N_KS], too_long;
} counts;

static void must(pk_status status) {
    if (status == PK_OK) return;
    fprintf(stderr, "nat_candidates: %s\n", pk_last_error());
    exit(1);
}

static pk_session *open_session(const pk_model *m, pk_backend *on) {
    static const pk_session_limits limits = { .sentences = 1,
                                              .source_tokens = MOST_LENGTH,
                                              .source_length = MOST_LENGTH,
                                              .encode_tokens = MOST_LENGTH,
                                              .hypotheses = 1,
                                              .asks = MOST_LENGTH,
                                              .slots = MOST_LENGTH,
                                              .path = 1,
                                              .top_k = MOST_K,
                                              .listed = MOST_LENGTH * (1 + PK_MAX_SUPPRESSED) };
    pk_session                    *s;
    must(pk_backend_open("cpu", (int32_t)sysconf(_SC_NPROCESSORS_ONLN), PK_F32, on));
    must(pk_session_open(&m->data.network, on, &limits, &s));
    return s;
}

/* every position is asked, from the start symbol alone; the end symbol is no candidate */
static void count(pk_session *s, const pk_config *c, const pk_ids *source, const pk_ids *target,
                  counts *all) {
    static pk_ask    ask[MOST_LENGTH + 1];
    static pk_answer answer[MOST_LENGTH + 1];
    pk_pass          p = { .room = MOST_LENGTH, .ask = ask, .answer = answer };
    int32_t          id;
    must(pk_session_encode(s, &(pk_sentence_tokens){ source->id, (int32_t)source->n }, 1, &id));
    for (int32_t t = 0; t < (int32_t)target->n; t++)
        pk_ask_add(
            &p,
            (pk_ask){ .token = c->start, .pos = t, .top_k = MOST_K, .ban = &c->eos, .n_ban = 1 });
    must(pk_session_decode(s, &(pk_request){ id, &p }, 1));
    for (int32_t t = 0; t < p.n; t++) {
        int32_t at = 0;
        while (at < MOST_K && answer[t + 1].top[at].token != target->id[t]) at++;
        for (int k = 0; k < N_KS; k++) all->found[k] += at < ks[k];
    }
    pk_session_forget(s, id);
    all->sentences++;
    all->tokens += p.n;
}

/* false at the end of either text; the source gets the end symbol that models read */
static bool next_pair(const pk_model *m, pk_text_reader *const text[2], pk_ids id[2]) {
    const char *line[2];
    size_t      size[2];
    for (int side = 0; side < 2; side++) {
        must(pk_text_reader_next(text[side], &line[side], &size[side]));
        id[side].n = 0;
    }
    if (!line[0] || !line[1]) return false;
    must(pk_vocab_encode_source(m->vocab, line[0], size[0], &id[0], NULL));
    must(pk_ids_add(&id[0], m->data.network.config.eos));
    must(pk_vocab_encode_target(m->vocab, line[1], size[1], &id[1]));
    return true;
}

int main(int argc, char **argv) {
    pk_model       *m;
    pk_backend      on;
    pk_text_reader *text[2];
    pk_ids          id[2] = { { 0 } };
    counts          all = { 0 };
    if (argc != 4) return fprintf(stderr, "usage: nat_candidates MODEL SOURCE TARGET\n"), 2;
    must(pk_model_open(argv[1], NULL, &m));
    must(pk_model_check_task(m, &pk_strategy_nat));
    for (int side = 0; side < 2; side++) must(pk_text_reader_open(argv[2 + side], &text[side]));
    pk_session *s = open_session(m, &on);
    while (next_pair(m, text, id)) {
        const bool fits = id[0].n <= MOST_LENGTH && id[1].n < MOST_LENGTH;
        all.too_long += !fits;
        if (fits && id[1].n) count(s, &m->data.network.config, &id[0], &id[1], &all);
    }
    printf("%.0f sentences, %.1f target tokens each; %.0f were too long\n     K\n", all.sentences,
           all.tokens / all.sentences, all.too_long);
    for (int k = 0; k < N_KS; k++) printf("%6d %6.2f%%\n", ks[k], 100 * all.found[k] / all.tokens);
    pk_session_close(s);
    pk_backend_close(&on);
    for (int side = 0; side < 2; side++) pk_text_reader_close(text[side]), pk_ids_free(&id[side]);
    pk_model_close(m);
    return 0;
}
