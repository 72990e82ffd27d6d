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

/* the target says each pair of words the other way round */
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
                                        .type = "bpe", .coverage = 1, .threads = 1)));
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
#endif
