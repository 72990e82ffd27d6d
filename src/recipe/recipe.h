/* recipe.h - every setting of a training, listed once.
 *
 * A recipe is a YAML file of these keys; `--set key=value` overrides one. Reading, range checks,
 * `pronk train --help`, docs and the copy kept in each checkpoint all come from this list. */
#ifndef PK_RECIPE_RECIPE_H
#define PK_RECIPE_RECIPE_H
/* aligned by hand, to be read as a table */
// clang-format off
#include "base/options.h"

/* Choices that are the recipe's own, each with its word. */
#define PK_NORM_MAP(X)      X(PK_NORM_POST, "post") X(PK_NORM_PRE, "pre")
#define PK_POSITIONS_MAP(X) X(PK_POSITIONS_SINUSOIDAL, "sinusoidal") X(PK_POSITIONS_LEARNED, "learned")
#define PK_TIE_MAP(X)       X(PK_TIE_ALL, "all") X(PK_TIE_DECODER, "decoder") X(PK_TIE_NONE, "none")
#define PK_FALL_MAP(X)      X(PK_INVERSE_SQRT, "inverse-sqrt") X(PK_LINEAR_FALL, "linear") X(PK_COSINE, "cosine") \
                            X(PK_CONSTANT, "constant")
#define PK_METRIC_MAP(X)    X(PK_METRIC_LOSS, "loss") X(PK_METRIC_BLEU, "bleu")
typedef enum pk_recipe_norm { PK_NORM_MAP(PK_CHOICE_CONSTANT) } pk_recipe_norm;
typedef enum pk_recipe_positions { PK_POSITIONS_MAP(PK_CHOICE_CONSTANT) } pk_recipe_positions;
typedef enum pk_recipe_tie { PK_TIE_MAP(PK_CHOICE_CONSTANT) } pk_recipe_tie;
typedef enum pk_fall { PK_FALL_MAP(PK_CHOICE_CONSTANT) } pk_fall;
typedef enum pk_recipe_metric { PK_METRIC_MAP(PK_CHOICE_CONSTANT) } pk_recipe_metric;

/* X(kind, resume, field, key, default, lowest, highest, choices, help)
 * kind:   those of base/options.h. Relative paths are read as absolute ones. A CHOICE is a constant
 *         of the enum whose words are named; where `lowest` is not 0, its bits are the words that may
 *         be chosen.
 * resume: FIXED keys may not differ when a training goes on, FREE ones may */
#define PK_RECIPE_MAP(X) \
    X(TEXT,   FIXED, task,             "task",                "at", 0, 0, NULL, "what is learned: a task of the list at the end; with options, name:key=value,...") \
    X(PATH,   FREE,  output,           "output",              "", 0, 0, NULL, "folder for checkpoints, log, plot and the finished model") \
    X(TEXT,   FREE,  device,           "device",              "cpu", 0, 0, NULL, "where to compute: cpu, cuda, cuda:N, ref") \
    X(LONG,   FREE,  threads,          "threads",             0, 0, 1024, NULL, "threads on the cpu; 0: one per core") \
    X(CHOICE, FREE,  type,             "type",                PK_CHOICE_AUTO, 1 << PK_F32 | 1 << PK_BF16, 0, number_types, "numbers to compute with; auto: bf16 on a GPU, f32 elsewhere; weights are kept in f32") \
    X(LONG,   FIXED, seed,             "seed",                1, 0, 9e15, NULL, "of all randomness") \
    X(PATH,   FIXED, vocab,            "vocab",               "", 0, 0, NULL, "SentencePiece model of both languages, made by `pronk vocab`; with init: the model's own (the default), or one that `pronk vocab -m` made of it") \
    X(PATH,   FIXED, target_vocab,     "vocab_target",        "", 0, 0, NULL, "SentencePiece model of the target language, where it is another") \
    X(TEXT,   FIXED, source_language,  "from",                "", 0, 0, NULL, "language of the source, an ISO code; for the finished model and the language check") \
    X(TEXT,   FIXED, target_language,  "to",                  "", 0, 0, NULL, "language of the target") \
    X(PATH,   FIXED, init,             "init",                "", 0, 0, NULL, "model to go on from (.pronk file, folder of a training, or Hugging Face folder); its shape and vocabulary count") \
    X(PATH,   FIXED, verifier,         "verifier",            "", 0, 0, NULL, "for task gad: model to train a drafter for; its encoder, tables and vocabulary are shared and stay as they are, model.decoder_layers of its layers go on learning") \
    X(TEXTS,  FIXED, freeze,           "freeze",              NULL, 0, 0, NULL, "weights that stay as they are: names, * matches anything (encoder.*); text_tokens: rows of all but the task's tokens") \
    X(PATHS,  FIXED, source,           "data.source",         NULL, 0, 0, NULL, "source text, a sentence a line; plain, .gz, .xz or .zst; one file or several") \
    X(PATHS,  FIXED, target,           "data.target",         NULL, 0, 0, NULL, "its translations, line by line") \
    X(NUMBERS, FIXED, weight,          "data.weight",         NULL, 0, 1e6, NULL, "how often each corpus is seen in an epoch, 1 each unless given; 0.5: half of it, 2: twice") \
    X(TEXTS,  FIXED, change,           "data.change",         NULL, 0, 0, NULL, "how each corpus is changed as it is read; a corpus may be listed again under another change; the words are at the end") \
    X(TEXTS,  FIXED, data_to,          "data.to",             NULL, 0, 0, NULL, "target language of each corpus, for a model of several: a tag such as >>de<< then stands before each source") \
    X(PATH,   FREE,  cache,            "data.cache",          "", 0, 0, NULL, "folder for encoded text; default: output/cache") \
    X(LONG,   FIXED, max_length,       "data.max_length",     200, 1, 4096, NULL, "longest sentence in tokens, either side; longer pairs are left out") \
    X(DOUBLE, FIXED, max_ratio,        "data.max_ratio",      4, 1, 1000, NULL, "most tokens of one side for one of the other, in pairs of more than 10 tokens") \
    X(FLAG,   FIXED, drop_duplicates,  "data.drop_duplicates", 1, 0, 0, NULL, "leave out pairs seen before") \
    X(FLAG,   FIXED, check_language,   "data.check_language", 0, 0, 0, NULL, "leave out pairs whose script or stop words say another language (needs from and to)") \
    X(DOUBLE, FIXED, sampling,         "data.sampling",       0, 0, 1, NULL, "subword regularisation: smoothing of sampled segmentations (0.1 to 0.5), 0: none") \
    X(LONG,   FIXED, batch_tokens,     "data.batch_tokens",   4096, 16, 1 << 24, NULL, "most source tokens, and most target tokens, of a batch") \
    X(PATH,   FIXED, alignment,        "data.alignment",      "", 0, 0, NULL, "alignment model of pieces, saved by `pronk align --vocab`, for tasks whose models have candidates; default: learned from data.source and data.target") \
    X(LONG,   FIXED, dim,              "model.dim",           512, 8, 8192, NULL, "width") \
    X(LONG,   FIXED, encoder_layers,   "model.encoder_layers", 6, 1, 100, NULL, "layers") \
    X(LONG,   FIXED, decoder_layers,   "model.decoder_layers", 6, 1, 100, NULL, "layers") \
    X(LONG,   FIXED, heads,            "model.heads",         8, 1, 128, NULL, "attention heads") \
    X(LONG,   FIXED, ffn,              "model.ffn",           2048, 8, 65536, NULL, "width of the feed-forward blocks") \
    X(LONG,   FIXED, decoder_ffn,      "model.decoder_ffn",   0, 0, 65536, NULL, "the same in the decoder, where it differs; 0: as model.ffn") \
    X(CHOICE, FIXED, act,              "model.act",           PK_RELU, 0, 0, activations, "activation") \
    X(CHOICE, FIXED, norm,             "model.norm",          PK_NORM_POST, 0, 0, norms, "where norms stand: after each block, or before (deep stacks)") \
    X(CHOICE, FIXED, positions,        "model.positions",     PK_POSITIONS_SINUSOIDAL, 0, 0, positions, "how positions are encoded") \
    X(CHOICE, FIXED, tie,              "model.tie",           PK_TIE_ALL, 0, 0, ties, "one table for both embeddings and output; for the decoder's two; or three tables") \
    X(FLAG,   FIXED, output_bias,      "model.output_bias",   0, 0, 0, NULL, "learn a bias for every output token") \
    X(LONG,   FIXED, max_positions,    "model.max_positions", 512, 8, 65536, NULL, "longest sentence the model will ever take, end symbol included") \
    X(LONG,   FREE,  updates,          "train.updates",       100000, 0, 1e12, NULL, "stop after so many updates; 0: no limit") \
    X(DOUBLE, FREE,  minutes,          "train.minutes",       0, 0, 1e7, NULL, "stop after so many minutes of training; 0: no limit") \
    X(LONG,   FIXED, accumulate,       "train.accumulate",    1, 1, 65536, NULL, "batches whose gradients make one update") \
    X(DOUBLE, FREE,  rate,             "train.rate",          7e-4, 0, 1, NULL, "highest learning rate") \
    X(LONG,   FREE,  warmup,           "train.warmup",        4000, 0, 1e9, NULL, "updates until the rate is at its highest, in a straight line") \
    X(CHOICE, FREE,  schedule,         "train.schedule",      PK_INVERSE_SQRT, 0, 0, falls, "how the rate falls then") \
    X(DOUBLE, FREE,  final_rate,       "train.final_rate",    0.02, 0, 1, NULL, "where it ends, as a share of the highest (linear, cosine, cool-down)") \
    X(DOUBLE, FREE,  cooldown,         "train.cooldown",      0, 0, 1, NULL, "last share of the training over which the rate also falls in a straight line (needs a limit)") \
    X(DOUBLE, FREE,  beta1,            "train.beta1",         0.9, 0, 0.99999, NULL, "Adam's") \
    X(DOUBLE, FREE,  beta2,            "train.beta2",         0.98, 0, 0.999999, NULL, "Adam's") \
    X(DOUBLE, FREE,  epsilon,          "train.epsilon",       1e-8, 1e-12, 1, NULL, "Adam's") \
    X(DOUBLE, FREE,  weight_decay,     "train.weight_decay",  0, 0, 1, NULL, "decoupled weight decay") \
    X(DOUBLE, FREE,  clip,             "train.clip",          1, 0, 1e9, NULL, "longest gradient; 0: any") \
    X(DOUBLE, FREE,  smoothing,        "train.label_smoothing", 0.1, 0, 0.99, NULL, "share of each label that goes to all tokens alike") \
    X(DOUBLE, FREE,  dropout,          "train.dropout",       0.1, 0, 0.99, NULL, "of embeddings and of what each block adds") \
    X(DOUBLE, FREE,  attention_dropout, "train.attention_dropout", 0, 0, 0.99, NULL, "of attention probabilities") \
    X(DOUBLE, FREE,  activation_dropout, "train.activation_dropout", 0, 0, 0.99, NULL, "inside feed-forward blocks") \
    X(DOUBLE, FIXED, average,          "train.average",       0, 0, 0.999999, NULL, "moving average of the weights, which is then validated and saved: its memory (0.9995 say); 0: none") \
    X(PATH,   FREE,  valid_source,     "valid.source",        "", 0, 0, NULL, "text to validate on") \
    X(PATH,   FREE,  valid_target,     "valid.target",        "", 0, 0, NULL, "its translations") \
    X(LONG,   FREE,  valid_every,      "valid.every",         0, 0, 1e12, NULL, "updates between validations; 0: only at the end") \
    X(FLAG,   FREE,  valid_bleu,       "valid.bleu",          1, 0, 0, NULL, "also translate it and measure BLEU and chrF") \
    X(TEXT,   FREE,  valid_decode,     "valid.decode",        "",   0, 0, NULL, "how to translate it; empty: as the task's models are decoded") \
    X(CHOICE, FREE,  valid_metric,     "valid.metric",        PK_METRIC_LOSS, 0, 0, metrics, "by which the best checkpoint is chosen") \
    X(LONG,   FREE,  patience,         "valid.patience",      0, 0, 1e6, NULL, "stop after so many validations without a better one; 0: never") \
    X(LONG,   FREE,  save_every,       "save.every",          1000, 0, 1e12, NULL, "updates between checkpoints; 0: only at the end") \
    X(LONG,   FREE,  save_keep,        "save.keep",           3, 1, 1000, NULL, "checkpoints to keep") \
    X(CHOICE, FREE,  save_type,        "save.type",           PK_F16, (1 << PK_N_STORED_DTYPES) - 1, 0, number_types, "numbers of the finished model") \
    X(LONG,   FREE,  log_every,        "log.every",           100, 1, 1e9, NULL, "updates between lines of the log")

#define PK_RECIPE_TYPE_TEXT    char *
#define PK_RECIPE_TYPE_TEXTS   pk_texts
#define PK_RECIPE_TYPE_PATH    char *
#define PK_RECIPE_TYPE_PATHS   pk_texts
#define PK_RECIPE_TYPE_NUMBERS pk_texts
#define PK_RECIPE_TYPE_LONG    int64_t
#define PK_RECIPE_TYPE_DOUBLE  double
#define PK_RECIPE_TYPE_CHOICE  int32_t
#define PK_RECIPE_TYPE_FLAG    bool
#define PK_RECIPE_FIELD(kind, resume, field, key, normal, lowest, highest, choices, help) PK_RECIPE_TYPE_##kind field;
typedef struct pk_recipe { PK_RECIPE_MAP(PK_RECIPE_FIELD) } pk_recipe;

/* Reads a YAML file (nested maps, or dotted keys), then applies the `set` list ("key=value");
 * relative paths count from the recipe's folder (those of `set` from the current one). In the list,
 * items of a list are separated by commas, and of a key given twice the last one counts. Unknown
 * keys, values out of range and keys given twice in the file fail, naming key, line and what is
 * allowed. path NULL: only the list. */
pk_status pk_recipe_read(const char *path, const char *const *set, size_t n_set, pk_recipe *out);
void      pk_recipe_free(pk_recipe *r);                     /* accepts a zeroed one */
/* whether a training can begin with it: nothing is missing, and settings fit each other */
pk_status pk_recipe_check(const pk_recipe *r);
void      pk_recipe_write(const pk_recipe *r, pk_buffer *yaml);      /* every key; reads back the same */
/* whether going on from one with the other makes sense: names the first FIXED key that differs. Of
 * paths only the last part counts, so that a training may move. */
pk_status pk_recipe_compatible(const pk_recipe *before, const pk_recipe *now);
void      pk_recipe_help(pk_buffer *out);                   /* one paragraph a key: for --help, man page and docs */
#endif
