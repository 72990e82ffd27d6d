/* pronk.h - neural machine translation: the whole public interface.
 *
 *   pk_model *m; pk_translator *t; pk_result *r;
 *   if (pk_model_open("en-de.pronk", NULL, &m) ||
 *       pk_translator_open(m, NULL, &t) ||
 *       pk_translate(t, &(pk_text){ "Hello.", 6 }, 1, NULL, &r))
 *       fprintf(stderr, "%s\n", pk_last_error());
 *   printf("%s\n", pk_result_text(r, 0));
 *
 * Rules.  A function that can fail returns pk_status; results come through the last argument.
 *         What you open you close; close and free accept NULL. Inputs are borrowed for the call.
 *         A pk_model never changes once open and may be shared by threads. A pk_translator may be
 *         called by many threads at once: its own worker threads serve all calls together. A thread
 *         that waits in pk_translate or pk_score does their work itself while nothing else is going on.
 *         Options: NULL or zero means default, but `size` must be set: PK_OPTIONS(type, .field =
 *         value) does, and writes the struct where it is needed. A wrong size is PK_ARGUMENT, and
 *         so is NULL for an argument that is needed; what returns no status answers NULL with 0,
 *         "" or nothing. The library never exits, aborts or prints. */
#ifndef PRONK_H
#define PRONK_H
/* aligned by hand, to be read as tables */
// clang-format off
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifndef PK_API
#define PK_API __attribute__((visibility("default")))
#endif

#define PK_VERSION 100                          /* major * 10000 + minor * 100 + patch */
#define PK_VERSION_TEXT "0.1.0"
PK_API uint32_t pk_version(void);               /* of the library that was linked */

#define PK_OPTIONS(type, ...) (&(type){ .size = sizeof(type), __VA_ARGS__ })

/* ---- Failure ---- */
#define PK_STATUS_MAP(X)                                          \
    X(OK,           0, "no error")                                \
    X(NO_MEMORY,   -1, "out of memory")                           \
    X(IO,          -2, "file could not be read or written")       \
    X(FORMAT,      -3, "not a valid model or vocabulary file")    \
    X(ARGUMENT,    -4, "an argument is out of range")             \
    X(UNSUPPORTED, -5, "this model or device cannot do that")     \
    X(DEVICE,      -6, "the device failed")                       \
    X(CANCELLED,   -7, "cancelled by the caller")                 \
    X(BUSY,        -8, "too much is waiting already")             \
    X(LATE,        -9, "the deadline has passed")
#define PK_STATUS_ENUM(name, code, text) PK_##name = code,
typedef enum pk_status { PK_STATUS_MAP(PK_STATUS_ENUM) } pk_status;
PK_API const char *pk_status_text(pk_status s);
PK_API const char *pk_last_error(void);         /* one line on the last failure in this thread */
PK_API void        pk_free(void *memory);       /* what a function below says is the caller's */

/* ---- Limits and defaults of options; the program's own come from here ---- */
#define PK_MOST_THREADS              1024
#define PK_MOST_BATCH                4096
#define PK_MOST_BATCH_TOKENS         1048576
#define PK_MOST_N_BEST               32         /* hypotheses; also the widest beam */
#define PK_LEAST_MAX_INPUT           8          /* tokens */
#define PK_DEFAULT_BATCH             32
#define PK_DEFAULT_BATCH_GPU         128
#define PK_DEFAULT_BATCH_TOKENS      4096
#define PK_DEFAULT_BATCH_TOKENS_GPU  32768
#define PK_LEAST_VOCAB               8          /* pieces */
#define PK_MOST_VOCAB                1048576
#define PK_DEFAULT_VOCAB             16000
#define PK_DEFAULT_VOCAB_LINES       1000000
#define PK_DEFAULT_VOCAB_THREADS     16
#define PK_LEAST_COVERAGE            0.9
#define PK_DEFAULT_COVERAGE          0.9995
#define PK_MOST_RESAMPLES            1000000
#define PK_DEFAULT_EVAL_SEED         12345

/* ---- Files: no output may be one of the files that are read for it: PK_ARGUMENT ---- */
/* Writes a whole file as all functions below do. A regular file is written beside and renamed over
   what was there, whose mode is kept, and symbolic links are followed; a pipe or a device is
   written in place. What was there stays when this fails. */
PK_API pk_status   pk_file_write(const char *path, const void *data, size_t size);

/* ---- Model: weights, vocabulary and configuration; read-only, shareable ---- */
typedef struct pk_model pk_model;
typedef struct pk_model_options {
    size_t      size;                           /* sizeof this struct, so that it can grow */
    const char *type;                           /* compute in "f32" or "i8", on a GPU also "f16" or
                                                   "bf16"; default: as stored */
} pk_model_options;
/* path: a .pronk file (mapped: replace it by rename, never in place; calls fail with PK_IO once it was
   written to), the output folder of a training (its model.pronk), a Hugging Face folder (MarianMT or
   mBART-50) as downloaded, a CTranslate2 folder with its SentencePiece models, or an .argosmodel package */
PK_API pk_status pk_model_open(const char *path, const pk_model_options *opt, pk_model **out);
PK_API void      pk_model_close(pk_model *m);
PK_API pk_status pk_model_describe(const pk_model *m, char **json);     /* caller frees with pk_free */
/* the names of tokens, as pieces; "?" when there is no such token; owned by the model */
PK_API const char *pk_model_target_token(const pk_model *m, int32_t id);
PK_API const char *pk_model_source_token(const pk_model *m, int32_t id);
/* the SentencePiece model that cuts source text, or target text (target: 1); owned by the model */
PK_API pk_status pk_model_sentencepiece(const pk_model *m, int32_t target, const void **data, size_t *size);
/* 1: the file of this device and inode (stat(2)) is one that the model was read from */
PK_API int32_t   pk_model_reads(const pk_model *m, uint64_t device, uint64_t inode);
typedef struct pk_convert_options {
    size_t      size;
    const char *type;                           /* store as "f32", "f16" or "i8"; default: as found */
    const char     *lexicon;                    /* of a drafter: what pk_align() saved of its model's pieces; what drafts
                                                   need of it becomes part of the file */
    const pk_model *model;                      /* the model that the drafter is for; with lexicon */
} pk_convert_options;
PK_API pk_status pk_model_convert(const char *from, const char *to, const pk_convert_options *opt);

/* ---- Translator: workers, batching and a decoding strategy over one model ---- */
typedef struct pk_text { const char *data; size_t size; } pk_text;        /* borrowed UTF-8 */
typedef struct pk_translator pk_translator;
typedef struct pk_translator_options {
    size_t      size;
    const char *decode;                         /* "greedy" (default), "beam:size=4,rules=hf" ... */
    const char *from, *to;                      /* languages, for models that know several */
    const char *device;                         /* "cpu" (default), "cuda", "cuda:1", "cuda:0,1"; "ref" */
    int32_t     threads;                        /* in all; default: one per core */
    int32_t     workers;                        /* sessions that share them; default: chosen by batch */
    int32_t     batch;                          /* sentences a worker decodes at a time */
    int32_t     batch_tokens;                   /* most source tokens of those */
    int32_t     one_sentence;                   /* 1: each text is one sentence; 0: split texts */
    int32_t     n_best;                         /* hypotheses kept per sentence; default 1 */
    int32_t     alignment;                      /* 1: also give word alignments */
    int32_t     scores;                         /* 1: also give scores (beam search always does) */
    int32_t     max_input;                      /* longest sentence in tokens; default: the model's */
    int32_t     skip_long;                      /* 1: a text with a longer sentence gives "" and is counted;
                                                   0: such a sentence is translated in parts */
    const pk_model *const *ensemble;            /* more models of the same vocabulary, beside the first: */
    size_t      n_ensemble;                     /*   their log-probabilities are averaged */
    int32_t     replace_unknowns;               /* 1: in the text, the source piece most looked at in place
                                                   of an unknown token; ids and scores stay */
    const pk_model *drafter;                    /* for strategies that check the guesses of a smaller model,
                                                   which has the same vocabulary or adds to it (gad) */
    int64_t     max_waiting;                    /* sentences that wait for a worker, above which pk_submit says
                                                   PK_BUSY (a call that finds none waiting is taken); 0: any */
    int64_t     cache_bytes;                    /* finished sentences are kept in so much memory, and are not
                                                   decoded again; 0: none */
    const char *lexicon;                        /* what pk_align() saved, of the model's pieces (its model): for
                                                   shortlists, for drafts (gad, and jacobi with init=lexicon) and,
                                                   with alignment, for links instead of attention */
    int32_t     shortlist;                      /* 1: a translation is made of likely translations of its source's
                                                   pieces, and of common ones; needs a lexicon, or a model with one */
    int32_t     retry_loops;                    /* 1: a sentence whose output repeats itself or does not end is decoded
                                                   again by beam search that repeats no four tokens; only counted
                                                   for models that cannot be decoded so */
} pk_translator_options;
PK_API pk_status pk_translator_open(const pk_model *m, const pk_translator_options *opt,
                                    pk_translator **out);
PK_API void      pk_translator_close(pk_translator *t);

/* ---- Glossary: terms and their translations; read-only, shareable ---- */
typedef struct pk_glossary pk_glossary;
/* tsv: lines of `source term TAB target term`, UTF-8; a wrong line is PK_ARGUMENT with its number */
PK_API pk_status pk_glossary_open(pk_text tsv, pk_glossary **out);
PK_API void      pk_glossary_close(pk_glossary *g);
PK_API size_t    pk_glossary_count(const pk_glossary *g);       /* terms */

/* ---- One call: many texts in, as many results out, in order ---- */
typedef struct pk_result pk_result;

typedef struct pk_trace_ask {                   /* one position sent through the decoder */
    int32_t position;                           /* of the output token that it predicts, from 0 */
    int32_t token;                              /* fed: known or guessed, or a mask */
    int32_t best;                               /* the model's own choice for the position; -1: not asked */
    float   log_prob;                           /* of that; a logit where `scored` is 0 */
    int32_t parent;                             /* ask of this pass that it follows; -1: what was kept */
    int32_t kept;                               /* 1: stays part of what is known */
    int32_t fed_at;                             /* where the fed token stands: before `position`, or there (a
                                                   mask), or further back; -1: the start symbol */
    int32_t scored;                             /* 1: log_prob is one; so it is where scores are on, but for a
                                                   drafter's */
} pk_trace_ask;
typedef struct pk_trace_step {                  /* of a lattice: edges to the candidates of one position */
    int32_t        position;
    int32_t        n_from, n_to;                /* candidates of the position before, and of this one */
    const int32_t *from, *to;                   /* tokens; the end symbol is one where it may come */
    const float   *score;                       /* (n_from, n_to) log-probabilities */
} pk_trace_step;
typedef struct pk_trace_pass {                  /* one pass over one sentence */
    size_t              text, sentence;         /* which text of the call, which sentence of it */
    int32_t             probe;                  /* 1: only finds a length (see docs/decoding.md, pj) */
    int32_t             done;                   /* 1: the last pass of this decoding */
    int32_t             n;
    const pk_trace_ask *ask;                    /* valid during the callback */
    int32_t             model;                  /* the network that it ran on: 0 the model, 1 its drafter */
    int32_t              n_steps;               /* of a lattice, from the first position on; n is 0 then */
    const pk_trace_step *step;                  /* valid during the callback */
    /* A sentence may be decoded again: where its output loops (retry_loops), or where others needed its memory. The
       last decoding that is kept is the one that is returned. */
    int32_t              decoding;              /* of this sentence, from 0; a later pass never has a lower one */
    int32_t              kept;                  /* with done: 1 unless an earlier decoding's output is better */
} pk_trace_pass;

typedef struct pk_call_options {
    size_t         size;
    const pk_text *prefix;                      /* one per text: its translation begins so; may be empty.
                                                   Where the text has several sentences the prefix is
                                                   split as well: its first sentence is for the first of
                                                   the text, and so on; it may not have more */
    const pk_text *draft;                       /* one per text: a guess at its translation; may be empty.
                                                   Strategies that check guesses get done sooner with it */
    /* called after every pass for each sentence in it, by one thread at a time; for visualisers */
    void         (*trace)(void *user, const pk_trace_pass *pass);
    /* called now and then from the calling thread; a value other than 0 cancels the call. While texts are
       still being read, which takes long only for long texts, sentences_in_all is 0 */
    int          (*progress)(void *user, size_t sentences_done, size_t sentences_in_all);
    void          *user;
    size_t         number;                      /* of the first text, for messages such as "text 7: ...";
                                                   0: they count from 1, and name no text if there is one */
    uint64_t       client;                      /* calls of one client take turns as one with those of others;
                                                   0: a client of its own */
    double         deadline;                    /* seconds from now: later the call ends with PK_LATE; 0: none */
    int32_t        tokens;                      /* 1: texts, prefixes, drafts and targets are the names of tokens
                                                   (pieces) with spaces between them, and so are results; each
                                                   text is one sentence, not longer than the model reads */
    /* for pk_submit: called once when the call has ended, from any thread that had to do with it; it must not
       wait. pk_call_end can be called from then on without waiting for a translation */
    void         (*done)(void *user);
    /* Text as people send it: docs/text.md. Any of these needs a translator with alignment = 1, goes without
       prefix, draft, trace and tokens, and gives results without alignments. Usual spans (addresses, placeholders of
       programs, code) then come out as they are */
    const char        *format;                  /* "text" (default), "html", "srt" or "vtt" */
    const pk_glossary *glossary;                /* terms to use; needed until the call has ended */
    const char *const *protect;                 /* patterns, ICU's regular expressions: what they match comes out */
    size_t             n_protect;               /*   as it is */
    int32_t            protect_usual;           /* 1: usual spans also where none of the above is given */
} pk_call_options;
PK_API pk_status   pk_translate(pk_translator *t, const pk_text *text, size_t n,
                                const pk_call_options *opt, pk_result **out);
/* the log-probability of each given translation (forced decoding) */
PK_API pk_status   pk_score(pk_translator *t, const pk_text *source, const pk_text *target, size_t n,
                            const pk_call_options *opt, pk_result **out);
/* Calls that do not wait. Any number of threads may submit, translate and score at once: the sentences of
   all calls share passes, and every result is bitwise what it is alone. */
typedef struct pk_call pk_call;
/* as pk_translate, but returns when the texts are read, which are then no longer needed; PK_BUSY: see
   max_waiting. *out is set before `done` is called. What pk_translate does in several rounds (sentences that
   lost a span are tried again) is one call here too: it is refused at once or not at all */
PK_API pk_status   pk_submit(pk_translator *t, const pk_text *text, size_t n, const pk_call_options *opt,
                             pk_call **out);
/* the call ends soon, with PK_CANCELLED unless it has ended already; from any thread, before pk_call_end */
PK_API void        pk_call_cancel(pk_call *c);
/* waits until the call has ended, gives its result, and frees it in any case; not from a callback. Every call
   must be ended before its translator is closed */
PK_API pk_status   pk_call_end(pk_call *c, pk_result **out);
PK_API void        pk_result_free(pk_result *r);
PK_API size_t      pk_result_count(const pk_result *r);
PK_API const char *pk_result_text(const pk_result *r, size_t i);          /* best hypothesis; owned by r */
PK_API float       pk_result_score(const pk_result *r, size_t i);         /* its score; see docs/decoding.md */
PK_API int32_t     pk_result_hypotheses(const pk_result *r, size_t i);    /* how many there are, best first */

typedef struct pk_link {                        /* a piece of the output and what it looked at most, in bytes */
    size_t source_begin, source_size;           /* of the text */
    size_t target_begin, target_size;           /* of the hypothesis */
} pk_link;
typedef struct pk_hypothesis_view {             /* one hypothesis; pointers are owned by the result */
    const char    *text;
    size_t         text_size;
    float          score;                       /* as the strategy ranks it */
    float          log_prob;                    /* sum of token log-probabilities, end included */
    int32_t        n_tokens;                    /* end symbol included */
    const int32_t *token;                       /* ids */
    const float   *token_log_prob;
    const char    *alignment;                   /* "0-0 1-2 ...", words source-target; or NULL */
    const pk_link *link;                        /* with alignment: one for each piece, in order */
    size_t         n_links;
} pk_hypothesis_view;
PK_API pk_status   pk_result_hypothesis(const pk_result *r, size_t i, int32_t rank,
                                        pk_hypothesis_view *out);
/* how many of its tokens are the unknown one */
PK_API int32_t     pk_result_unknowns(const pk_result *r, size_t i, int32_t rank);

/* ---- What a translator has done so far; for bench and metrics ---- */
#define PK_MODULE_MAP(X) \
    X(ENCODER, "encoder") X(SELF, "self-attention") X(CROSS, "cross-attention") X(FFN, "ffn") \
    X(OUTPUT, "output") X(STRATEGY, "strategy") X(OTHER, "other")
#define PK_MODULE_ENUM(name, text) PK_MODULE_##name,
typedef enum pk_module { PK_MODULE_MAP(PK_MODULE_ENUM) PK_N_MODULES } pk_module;
typedef struct pk_stats {
    uint64_t texts, sentences, source_tokens, target_tokens;
    uint64_t passes, asks;                      /* decoder passes; positions sent through the decoder */
    uint64_t sentence_passes;                   /* passes, counted once for each sentence in them */
    uint64_t probe_passes;                      /* of those, not counted: they only found a length */
    uint64_t decoder_weight_bytes;              /* read by one decoder pass */
    uint64_t device_bytes;                      /* memory taken on GPUs */
    uint64_t repaired, wrapped;                 /* texts with invalid UTF-8; sentences over the limit */
    uint64_t skipped;                           /* texts left empty, see skip_long */
    double   seconds[PK_N_MODULES];             /* summed over workers */
    uint64_t draft_passes;                      /* of passes: those on a drafter */
    uint64_t draft_weight_bytes;                /* read by one pass on a drafter */
    uint64_t flops, draft_flops;                /* floating-point operations of products, counted from shapes,
                                                   encoder included; of those: a drafter's */
    double   pass_seconds, draft_seconds;       /* in decoder passes, summed over workers; of those: on a drafter */
    uint64_t waiting;                           /* sentences that wait for a worker now */
    uint64_t cached;                            /* sentences that were found, see cache_bytes; not in `sentences` */
    uint64_t sentence_drafts;                   /* of sentence_passes: those on a drafter */
    uint64_t looped, mended;                    /* sentences whose output repeats itself or does not end; of those:
                                                   decoded again with an output that does not, see retry_loops */
    uint64_t spans, spans_lost;                 /* protected; of those: lost by the model and put in by alignment */
} pk_stats;
PK_API void        pk_translator_stats(const pk_translator *t, pk_stats *out);

/* ---- Sentences: where a text is cut before it is translated ---- */
typedef struct pk_span {                        /* bytes of a text; spans cover it in order, without a gap */
    size_t  begin, size;
    int32_t sentence;                           /* 1: it is translated; 0: white space, which is copied */
} pk_span;
/* language: a code such as "en"; NULL: not known. The text must be UTF-8; caller frees *out with pk_free */
PK_API pk_status   pk_text_split(pk_text text, const char *language, pk_span **out, size_t *n);

/* ---- Lists, for --help and documentation ---- */
/* writes the list of decoding strategies and their options as text; caller frees */
PK_API pk_status   pk_strategies_describe(char **text);

/* ---- Training: a recipe (YAML, see docs/training.md) becomes a model ---- */
typedef struct pk_trainer pk_trainer;
typedef struct pk_trainer_options {
    size_t             size;
    const char *const *set;                     /* "key=value": wins over the recipe's */
    size_t             n_set;
    int32_t            resume;                  /* 1: go on from the last checkpoint in the output folder */
    /* called while data is prepared, with what is being done and how much of it is done (0 to 1);
       a value other than 0 cancels */
    int              (*progress)(void *user, const char *what, double share);
    void              *user;
} pk_trainer_options;
typedef struct pk_train_report {                /* after an update */
    int64_t update, updates;                    /* so far; in all (0: no limit by updates) */
    double  share;                              /* of the whole training that is done, 0 to 1; by time or
                                                   updates, whichever ends first */
    double  epoch, loss, nll, accuracy;         /* since the last report that said logged, per token:
                                                   smoothed loss, plain loss, share that was right */
    double  gradient, rate;                     /* norm of the last gradient; learning rate */
    double  tokens_per_second;                  /* source and target */
    double  seconds, seconds_left;              /* trained so far, resumed ones included; estimated */
    int64_t skipped;                            /* updates with a gradient that was not finite */
    int32_t logged, validated, saved, done;     /* what happened in this step */
    double  valid_loss, valid_bleu, valid_chrf; /* of the last validation; NaN where there was none */
} pk_train_report;
PK_API pk_status   pk_trainer_open(const char *recipe, const pk_trainer_options *opt, pk_trainer **out);
/* one update; with done = 1 the training is over and the finished model is OUTPUT/model.pronk */
PK_API pk_status   pk_trainer_step(pk_trainer *t, pk_train_report *out);
/* what data was read and dropped, parameters, memory: lines for people; owned by t */
PK_API const char *pk_trainer_report_text(const pk_trainer *t);
PK_API const char *pk_trainer_output(const pk_trainer *t);      /* the output folder; owned by t */
PK_API pk_status   pk_trainer_save(pk_trainer *t);      /* a checkpoint now */
/* which of the processes of an mpirun this is, from 0; alone: 0. Only one of them should print messages */
PK_API int32_t     pk_trainer_rank(const pk_trainer *t);
PK_API void        pk_trainer_close(pk_trainer *t);
/* every key of a recipe with its default, what it may be and what it does; caller frees */
PK_API pk_status   pk_recipe_text(char **out);
/* the mean of the weights of n models of the same shape and vocabulary, written to `out`: .pronk files, folders, or
   checkpoints of a training (.safetensors); type: "f32", "f16", "i8", or NULL: as the first */
PK_API pk_status   pk_model_average(const char *const *paths, size_t n, const char *out, const char *type);

/* ---- Vocabularies: text becomes a SentencePiece model ---- */
typedef struct pk_vocab_train_report {          /* of the lines that were learned from */
    uint64_t lines;
    uint64_t characters, covered;               /* but for white space and control characters; of those,
                                                   how many have a piece of their own */
    uint64_t kinds, kinds_covered;              /* the same, each character counted once */
    uint64_t pieces;                            /* of the model */
} pk_vocab_train_report;
typedef struct pk_vocab_train_options {
    size_t             size;
    const char *const *inputs;                  /* files, a sentence a line; plain, .gz, .xz or .zst */
    size_t             n_inputs;
    const char        *output;                  /* the model; appears when it is whole */
    int32_t            vocab_size;              /* pieces, <unk> (0), <s> (1) and </s> (2) among them */
    const char        *type;                    /* "unigram" (default) or "bpe" */
    double             coverage;                /* share of characters that get a piece */
    int64_t            max_lines;               /* to learn from, drawn from all lines alike; -1: all */
    int32_t            byte_fallback;           /* 1: characters without a piece become bytes, not <unk>: so
                                                   they do in any case, unless no_byte_fallback is set */
    int32_t            threads;                 /* the default is the same on any machine: their
                                                   number moves the last digits of the result */
    uint64_t           seed;                    /* of the draw */
    /* called now and then while text is read, which happens twice; lines_in_all is 0 while they are
       being counted; a value other than 0 cancels */
    int              (*progress)(void *user, size_t lines_done, size_t lines_in_all);
    void              *user;
    int32_t            no_byte_fallback;        /* 1: no bytes (they are 256 pieces), <unk> instead */
    const char        *characters;              /* these get a piece of their own, also where rare or absent */
    pk_vocab_train_report *report;              /* filled in at the end; may be NULL */
    /* A SentencePiece model to extend (pk_model_sentencepiece has a model's): no pieces are learned, but characters of
       the text and of `characters` that it lacks get one, and bytes stand for all others. Old pieces keep their ids, so
       a model can go on learning with it. vocab_size must be 0, and type is the old one's. */
    const void        *extend;
    size_t             extend_size;
} pk_vocab_train_options;
PK_API pk_status pk_vocab_train(const pk_vocab_train_options *o);

/* ---- Distillation: text as one or several models translate it, to train another on ---- */
typedef struct pk_distill_report {
    uint64_t lines, resumed, all;               /* written; of those, found there; in the source, 0: unknown */
    uint64_t empty, too_long, untranslated;     /* sources whose line is empty: they were blank, had too many
                                                   tokens, or the models had nothing to say */
    uint64_t repaired;                          /* sources with invalid UTF-8 */
    uint64_t source_tokens, target_tokens;
    uint64_t unknown;                           /* lines in which a model wanted the unknown token: decoded
                                                   again without it */
} pk_distill_report;
typedef struct pk_distill_options {
    size_t                       size;
    const pk_translator_options *translator;    /* how to decode, and more models; each line is one
                                                   sentence, too long ones are skipped and the unknown
                                                   token is not written in any case */
    const char                  *reference;     /* a file with a translation for each line: of n_best
                                                   hypotheses the one most like it (chrF2) is written */
    int32_t                      resume;        /* 1: go on behind the whole lines that target has */
    /* called now and then; a value other than 0 cancels */
    int                        (*progress)(void *user, const pk_distill_report *so_far);
    void                        *user;
} pk_distill_options;
/* source: plain, .gz, .xz or .zst; target: plain, line by line; out may be NULL, and counts also when
   this fails */
PK_API pk_status pk_distill(const pk_model *m, const char *source, const char *target,
                            const pk_distill_options *opt, pk_distill_report *out);

/* ---- Word alignment: fast_align's model (see docs/alignment.md) ---- */
typedef struct pk_align_report {
    uint64_t pairs;                             /* so far */
    uint64_t empty, too_long;                   /* pairs whose line is empty: a side has no words, or more
                                                   than 10,000 */
    uint64_t words[2], vocabulary[2];           /* source, target: all and different ones; trained on */
    uint64_t links;
    double   tension[2], cross_entropy[2];      /* forward, reverse: of the model; bits a word of this text;
                                                   0 for a direction that was not asked for */
    uint64_t memory;                            /* bytes that training takes; known before it begins */
} pk_align_report;
typedef struct pk_align_options {
    size_t      size;
    const char *source, *target;                /* files of as many lines, or target NULL and lines of `source |||
                                                   target`; plain, .gz, .xz or .zst */
    const char *vocab;                          /* a SentencePiece model: align its pieces; default: words, as
                                                   white space separates them */
    const char *load;                           /* a saved model: nothing is trained */
    const char *save, *table;                   /* files for the model and for its lexical tables, as text */
    int32_t     reverse;                        /* 1: target words generate source words */
    const char *symmetrise;                     /* "grow-diag-final-and" ...: both directions, made one */
    int32_t     iterations;                     /* default 5 */
    int32_t     threads;                        /* default: one per core; the result is the same with any */
    /* gets the links of all pairs in order, whole lines at a time (may be NULL); a value other than 0
       cancels */
    int       (*write)(void *user, const char *lines, size_t size);
    /* called now and then from the calling thread, with what is being done and how much of it is done
       (0 to 1, negative: not known); a value other than 0 cancels */
    int       (*progress)(void *user, const char *what, double share, const pk_align_report *so_far);
    void       *user;
    const pk_model *model;                      /* instead of vocab: align the pieces that this model reads and
                                                   writes; what is saved then is a lexicon for it */
} pk_align_options;
/* learns from the pairs, or loads, and aligns them; out may be NULL */
PK_API pk_status   pk_align(const pk_align_options *opt, pk_align_report *out);
/* alignments that are there already, one Pharaoh file for each direction, made one */
PK_API pk_status   pk_align_symmetrise_files(const char *forward, const char *reverse, const char *method,
                                             int (*write)(void *user, const char *lines, size_t size),
                                             void *user);
typedef struct pk_aligner pk_aligner;           /* a saved model, for one pair at a time */
PK_API pk_status   pk_aligner_open(const char *path, pk_aligner **out);
/* links "0-0 1-2 ...", owned by the aligner until the next call; one thread at a time */
PK_API pk_status   pk_aligner_align(pk_aligner *a, pk_text source, pk_text target, const char **links);
PK_API void        pk_aligner_close(pk_aligner *a);

/* ---- Detection: which language a text is in (see docs/detection.md) ---- */
#define PK_MOST_DETECTED 256                    /* languages to choose from */
#define PK_DETECT_BYTES  65536                  /* of a text that are looked at: the first */
typedef struct pk_detected {
    const char *language;                       /* as the caller wrote it; without a list: the library's own code */
    double      confidence;                     /* 0 to 100: of those said with 90, 90 % are right; all of a text
                                                   together are at most 100 */
} pk_detected;
typedef struct pk_detect_options {
    size_t             size;
    const char *const *languages;               /* codes to choose from ("de", "pt-BR", "zh_CN"); NULL: all that
                                                   are known. One that is not known is never found */
    size_t             n_languages;
} pk_detect_options;
/* The languages of a text, best first, those with 0 among them; n: how many were written to `out`, at most
   `room`. Nothing in a text makes this fail: bytes that are no UTF-8 are passed over, and one without words
   (empty, digits, emoji) gets 0 for all. Any number of threads may call. */
PK_API pk_status pk_detect(pk_text text, const pk_detect_options *opt, pk_detected *out, size_t room,
                           size_t *n);

/* ---- Evaluation: the figures of sacreBLEU, to the last digit ---- */
typedef struct pk_eval_options {
    size_t      size;
    const char *tokenize;                       /* "13a" (default), "none", "char", "intl", "zh" */
    int32_t     lowercase;
    int32_t     bootstrap;                      /* resamples for confidence intervals; 0: none */
    uint64_t    seed;
    int32_t     head, tail;                     /* so many tokens at the ends of every line, by themselves; 0: not */
} pk_eval_options;
typedef struct pk_eval_scores {
    double bleu, precision[4], brevity_penalty, ratio;
    int64_t hypothesis_length, reference_length;
    double chrf2, chrf2pp;
    double repetition;                          /* % of tokens equal to the one before */
    double bleu_mean, bleu_interval;            /* bootstrap: mean and half-width, 95 % */
    double chrf2_mean, chrf2_interval, chrf2pp_mean, chrf2pp_interval;
    double p_bleu, p_chrf2, p_chrf2pp;          /* paired bootstrap against the first system */
    double head_precision[4], tail_precision[4];/* % of the n-grams there that the whole reference line has */
} pk_eval_scores;
/* systems: n_systems times n_lines texts, the first is the baseline for p; out: one per system */
PK_API pk_status pk_evaluate(const pk_text *reference, const pk_text *const *systems, size_t n_systems,
                             size_t n_lines, const pk_eval_options *opt, pk_eval_scores *out);
PK_API pk_status pk_eval_signature(const pk_eval_options *opt, const char *metric, char **text);

#ifdef __cplusplus
}
#endif
#endif
