/* trainer_help.h - a language made up for tests: a dictionary and one rule of word order, as text
 * files with a vocabulary, in a folder of their own; and trainings on it. */
#ifndef PK_TESTS_TRAINER_HELP_H
#define PK_TESTS_TRAINER_HELP_H
#include "check.h"

#include <ftw.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model_file.h"
#include "tensor/drop.h"
#include "tensor/panel.h"

enum { WORDS = 20, MOST_WORDS = 7, PATH_ROOM = 256 };

typedef struct toy { /* text to train on */
    char folder[128];
} toy;

static inline const char *toy_path(const toy *t, const char *name, char *out) {
    snprintf(out, PATH_ROOM, "%s/%s", t->folder, name);
    return out;
}

/* "ba", "be" ... in the source; "duba", "dube" ... say the same in the target */
static inline void toy_word(int word, int target, char *out) {
    static const char *const first = "bdfgk", *const second = "aeio";
    snprintf(out, 8, "%s%c%c", target ? "ru" : "", first[word / 4], second[word % 4]);
}

/* the target has each pair of words in the other order */
static inline void toy_sentence(uint64_t *seed, char *source, char *target) {
    int  word[MOST_WORDS], n;
    char text[8];
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    n = 2 + (int)((*seed >> 33) % (MOST_WORDS - 1));
    for (int i = 0; i < n; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        word[i] = (int)((*seed >> 33) % WORDS);
    }
    *source = *target = '\0';
    for (int i = 0; i < n; i++) {
        const int other = i % 2 ? i - 1 : i + 1 < n ? i + 1 : i;
        toy_word(word[i], 0, text);
        strcat(strcat(source, i ? " " : ""), text);
        toy_word(word[other], 1, text);
        strcat(strcat(target, i ? " " : ""), text);
    }
}

static inline void toy_write(const toy *t, const char *name, int n, uint64_t seed) {
    char path[PATH_ROOM], file[64], source[128], target[128];
    snprintf(file, sizeof file, "%s.source", name);
    FILE *a = fopen(toy_path(t, file, path), "w");
    snprintf(file, sizeof file, "%s.target", name);
    FILE *b = fopen(toy_path(t, file, path), "w");
    assert_true(a && b);
    for (int i = 0; i < n; i++) {
        toy_sentence(&seed, source, target);
        fprintf(a, "%s\n", source);
        fprintf(b, "%s\n", target);
    }
    fclose(a);
    fclose(b);
}

/* training text, text to validate on, and a vocabulary whose pieces are the words */
static inline void toy_open(toy *t, int lines) {
    char path[2][PATH_ROOM], out[PATH_ROOM];
    snprintf(t->folder, sizeof t->folder, "%s/pronk_toy_XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(t->folder));
    toy_write(t, "train", lines, 1);
    toy_write(t, "valid", 60, 2);
    const char *inputs[] = { toy_path(t, "train.source", path[0]),
                             toy_path(t, "train.target", path[1]) };
    ASSERT_OK(pk_vocab_train(PK_OPTIONS(pk_vocab_train_options, .inputs = inputs, .n_inputs = 2,
                                        .output = toy_path(t, "toy.spm", out), .vocab_size = 64,
                                        .no_byte_fallback = 1, .type = "bpe", .coverage = 1,
                                        .threads = 1)));
}

static inline int toy_remove_one(const char *path, const struct stat *info, int kind,
                                 struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static inline void toy_remove(const char *folder) {
    nftw(folder, toy_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void toy_close(toy *t) { toy_remove(t->folder); }

/* a recipe for a small model; `more` lines are added, and later keys win nothing: give each once */
static inline void toy_recipe(const toy *t, const char *name, const char *more) {
    char  path[PATH_ROOM];
    FILE *f = fopen(toy_path(t, name, path), "w");
    assert_non_null(f);
    fprintf(f,
            "vocab: toy.spm\n"
            "data.source: train.source\n"
            "data.target: train.target\n"
            "data.max_length: 20\n"
            "data.drop_duplicates: false\n"
            "data.cache: cache\n"
            "model.dim: 32\n"
            "model.heads: 2\n"
            "model.ffn: 64\n"
            "model.encoder_layers: 1\n"
            "model.decoder_layers: 1\n"
            "model.max_positions: 64\n"
            "device: cpu\n"
            "threads: 1\n"
            "%s",
            more);
    fclose(f);
}

/* runs a recipe to its end; reports: what was said after each update, or NULL */
static inline pk_status toy_run(const toy *t, const char *name, bool resume, int64_t updates,
                                pk_train_report *reports, pk_train_report *last) {
    char            path[PATH_ROOM];
    pk_trainer     *trainer;
    pk_train_report r = { 0 };
    if (last) *last = r;
    PK_TRY(pk_trainer_open(toy_path(t, name, path),
                           PK_OPTIONS(pk_trainer_options, .resume = resume), &trainer));
    pk_status status = PK_OK;
    while (status == PK_OK && !r.done && (updates == 0 || r.update < updates)) {
        status = pk_trainer_step(trainer, &r);
        if (reports && status == PK_OK) reports[r.update] = r;
    }
    pk_trainer_close(trainer);
    if (last) *last = r;
    return status;
}

/* ---- what a model makes of it ---- */

static inline pk_result *translate_valid(const char *model, bool score, pk_text *source,
                                         pk_text *target, size_t n) {
    pk_model      *m;
    pk_translator *t;
    pk_result     *r;
    ASSERT_OK(pk_model_open(model, NULL, &m));
    ASSERT_OK(pk_translator_open(
        m, PK_OPTIONS(pk_translator_options, .threads = 1, .one_sentence = 1, .alignment = !score),
        &t));
    if (score)
        ASSERT_OK(pk_score(t, source, target, n, NULL, &r));
    else
        ASSERT_OK(pk_translate(t, source, n, NULL, &r));
    pk_translator_close(t);
    pk_model_close(m);
    return r;
}

enum { N_NEW = 200 };

typedef struct pairs { /* sentences that no training has seen */
    char    line[2][N_NEW][128];
    pk_text side[2][N_NEW];
} pairs;

static inline void make_pairs(pairs *p, uint64_t seed) {
    for (int i = 0; i < N_NEW; i++) {
        toy_sentence(&seed, p->line[0][i], p->line[1][i]);
        for (int k = 0; k < 2; k++)
            p->side[k][i] = (pk_text){ p->line[k][i], strlen(p->line[k][i]) };
    }
}

/* the share of words that stand where they should */
static inline double words_right(const pk_result *r, const pairs *p) {
    int n = 0, right = 0;
    for (int i = 0; i < N_NEW; i++) {
        char        want[128], *save[2];
        const char *found = pk_result_text(r, (size_t)i);
        char       *copy = strdup(found);
        strcpy(want, p->line[1][i]);
        char *a = strtok_r(want, " ", &save[0]), *b = strtok_r(copy, " ", &save[1]);
        for (; a; a = strtok_r(NULL, " ", &save[0]), b = b ? strtok_r(NULL, " ", &save[1]) : NULL) {
            n++;
            right += b && strcmp(a, b) == 0;
        }
        free(copy);
    }
    return (double)right / n;
}

static inline void assert_near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.9g is not %.9g", a, b);
}

/* bits of all weights of a saved model */
static inline pk_status hash_weight(void *user, const pk_weight_spec *spec, pk_weight *w) {
    uint64_t *hash = user;
    for (int32_t row = 0; row < spec->rows; row++)
        for (int32_t col = 0; col < spec->cols; col++) {
            const float x = pk_weight_get(w, row, col);
            uint32_t    bits;
            memcpy(&bits, &x, sizeof bits);
            *hash = pk_mix(*hash + bits);
        }
    return PK_OK;
}

static inline uint64_t weights_of(const toy *t, const char *name) {
    pk_model_data m;
    char          path[PATH_ROOM];
    uint64_t      hash = 1;
    ASSERT_OK(pk_model_data_open(toy_path(t, name, path), -1, &m));
    pk_network_walk(&m.network, hash_weight, &hash);
    pk_model_data_close(&m);
    return hash;
}

#define SHORT_TRAINING         \
    "data.batch_tokens: 200\n" \
    "train.warmup: 10\n"       \
    "train.rate: 0.003\n"      \
    "save.type: f32\n"

/* the same recipe with other settings; reports of updates up to 40 */
static inline void run_with(const toy *text, const char *name, const char *const *set, size_t n,
                            pk_train_report *reports, pk_train_report *last) {
    char            path[PATH_ROOM];
    pk_trainer     *t;
    pk_train_report r = { 0 };
    ASSERT_OK(pk_trainer_open(toy_path(text, name, path),
                              PK_OPTIONS(pk_trainer_options, .set = set, .n_set = n), &t));
    while (!r.done) {
        ASSERT_OK(pk_trainer_step(t, &r));
        if (reports && r.update <= 40) reports[r.update] = r;
    }
    pk_trainer_close(t);
    *last = r;
}

#endif
