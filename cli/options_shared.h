/* options_shared.h - how a line of an options table is written, and the options of several verbs.
 *
 * An option that several verbs share is a macro here, so that it reads the same everywhere.
 * Included by the tables alone: text_verbs.c, model_verbs.c, study_verbs.c, serve_verb.c,
 * options_table.c. */
#ifndef PK_CLI_OPTIONS_SHARED_H
#define PK_CLI_OPTIONS_SHARED_H
#include "options_table.h"

/* One macro for each kind of option. Columns: name, letter, argument, kind, field of pk_cli,
 * lowest, highest, choices, default, message where it is missing, help. NEEDED: the option must be
 * given. */
#define AT(field) offsetof(pk_cli, field)
#define FLAG(name, letter, field, help) \
    { name, letter, NULL, PK_CLI_FLAG, AT(field), 0, 0, NULL, NULL, NULL, help }
#define INT(name, field, lowest, highest, normal, help) \
    { name, 0, "N", PK_CLI_INT, AT(field), lowest, highest, NULL, normal, NULL, help }
#define TEXT(name, letter, argument, field, normal, help) \
    { name, letter, argument, PK_CLI_TEXT, AT(field), 0, 0, NULL, normal, NULL, help }
#define NEEDED(name, letter, argument, field, missing, help) \
    { name, letter, argument, PK_CLI_TEXT, AT(field), 0, 0, NULL, NULL, missing, help }
#define CHOICE(name, field, choices, normal, help) \
    { name, 0, choices, PK_CLI_CHOICE, AT(field), 0, 0, choices, normal, NULL, help }
#define LIST(name, letter, argument, field, normal, help) \
    { name, letter, argument, PK_CLI_LIST, AT(field), 0, 0, NULL, normal, NULL, help }
#define NEEDED_LIST(name, letter, argument, field, missing, help) \
    { name, letter, argument, PK_CLI_LIST, AT(field), 0, 0, NULL, NULL, missing, help }
#define CASES(name, letter, argument, field, normal, help) \
    { name, letter, argument, PK_CLI_CASES, AT(field), 0, 0, NULL, normal, NULL, help }
#define FLOAT(name_, field, from, to, normal_, help_)                                             \
    {                                                                                             \
        .name = name_, .argument = "X", .kind = PK_CLI_FLOAT, .offset = AT(field), .least = from, \
        .most = to, .normal = normal_, .help = help_                                              \
    }
#define END \
    { .name = NULL }

/* limits and defaults are the library's; a default of the CPU and one of GPUs, as help says them */
#define TEXT_OF(number)       TEXT_OF_IT(number)
#define TEXT_OF_IT(number)    #number
#define CPU_AND_GPU(cpu, gpu) TEXT_OF(cpu) ", on a GPU " TEXT_OF(gpu)

#define NO_MODEL                                                                    \
    "no model: give one with -m MODEL, a .pronk file (made by `pronk convert`), a " \
    "MarianMT or mBART-50 folder as downloaded from Hugging Face, a CTranslate2 "   \
    "folder or an .argosmodel package"
#define MODEL_HELP                                                                      \
    "a .pronk file, the output folder of a training, a MarianMT or mBART-50 folder as " \
    "downloaded from Hugging Face, a CTranslate2 folder, or an .argosmodel package"
#define MODELS_HELP                                                                               \
    MODEL_HELP "; several decode together, if they have one vocabulary: their log-probabilities " \
               "are averaged"
/* the model of verbs that were given none: cli/default_model.c */
#define OWN_MODEL "Pronk's own, English to German"
#define MODEL_OPTION \
    { "model", 'm', "MODEL", PK_CLI_TEXT, AT(model), 0, 0, NULL, OWN_MODEL, NO_MODEL, MODEL_HELP }
#define BENCH_MODEL_OPTION                                                              \
    {                                                                                   \
        "model", 'm', "MODEL", PK_CLI_TEXT, AT(model), 0, 0, NULL, OWN_MODEL, NO_MODEL, \
            MODEL_HELP "; give several to compare: each serves every -d behind it"      \
    }
#define MODELS_OPTION \
    { "model", 'm', "MODEL", PK_CLI_LIST, AT(models), 0, 0, NULL, OWN_MODEL, NO_MODEL, MODELS_HELP }
#define TEACHERS_OPTION NEEDED_LIST("model", 'm', "MODEL", models, NO_MODEL, MODELS_HELP)
#define LANGUAGE_OPTIONS                                                                        \
    TEXT("from", 0, "LANG", from, NULL, "language of the input, for models that know several"), \
        TEXT("to", 0, "LANG", to, NULL, "language to translate to, for models that know several")
#define DECODE_HELP                                                                  \
    "how to search: a strategy with its options, name[:key=value,...], for example " \
    "beam:size=4,rules=hf"
#define DECODE_OPTION(normal) TEXT("decode", 'd', "SPEC", decode, normal, DECODE_HELP)
#define TYPE_OPTION                                      \
    CHOICE("type", type, "f32|f16|bf16|i8", "as stored", \
           "numbers to compute with; f16 and bf16 need a GPU")
/* more: what a verb adds to the help of these, or "" */
#define LEXICON_OPTIONS(more)                                                               \
    TEXT("lexicon", 0, "FILE", lexicon, NULL,                                               \
         "what `pronk align -m MODEL --save FILE` wrote: for shortlists, for drafts (gad, " \
         "and jacobi with init=lexicon) and for alignments" more),                          \
        FLAG("shortlist", 0, shortlist,                                                     \
             "choose from likely translations of the source's pieces and from common ones " \
             "alone: faster on a CPU" more)
#define DRAFTER_OPTION(more)                   \
    TEXT("drafter", 0, "MODEL", drafter, NULL, \
         "a drafter for the model, for strategies that check its guesses (gad)" more)
#define DEVICE_OPTION                                                                             \
    TEXT("device", 0, "DEVICE", device, "cpu",                                                    \
         "where to compute: cpu; cuda, cuda:1 or cuda:0,1 (one or several GPUs); ref (naive and " \
         "slow, the truth for tests)")
#define THREADS_OPTION(normal, help) INT("threads", threads, 1, PK_MOST_THREADS, normal, help)
#define ALL_THREADS_OPTION           THREADS_OPTION("one per core", "threads in all")
#define SPEED_OPTIONS                                                                              \
    ALL_THREADS_OPTION,                                                                            \
        INT("workers", workers, 1, PK_MOST_THREADS, "chosen by batch",                             \
            "sentences are shared out to so many workers, which share the threads"),               \
        INT("batch", batch, 1, PK_MOST_BATCH, CPU_AND_GPU(PK_DEFAULT_BATCH, PK_DEFAULT_BATCH_GPU), \
            "sentences that a worker decodes together"),                                           \
        INT("batch-tokens", batch_tokens, 1, PK_MOST_BATCH_TOKENS,                                 \
            CPU_AND_GPU(PK_DEFAULT_BATCH_TOKENS, PK_DEFAULT_BATCH_TOKENS_GPU),                     \
            "most source tokens in a batch")
#define COMPUTING_OPTIONS TYPE_OPTION, SPEED_OPTIONS, DEVICE_OPTION
#define MAX_INPUT_OPTION                                                            \
    INT("max-input", max_input, PK_LEAST_MAX_INPUT, INT32_MAX, "the model's limit", \
        "longest sentence in tokens; a longer one is translated in parts, never cut")
#define MAX_INPUT_SKIP_OPTION                                                       \
    INT("max-input", max_input, PK_LEAST_MAX_INPUT, INT32_MAX, "the model's limit", \
        "longest sentence in tokens; a longer one gives an empty line and is counted")
#define REPLACE_UNKNOWNS_HELP \
    "put the piece of the source that the model looked at most in place of an unknown token"
#define QUIET_OPTION FLAG("quiet", 'q', quiet, "no progress and no warnings on standard error")
#define JSON_OPTION  FLAG("json", 0, json, "print JSON, for programs")
#define HELP_OPTION  FLAG("help", 'h', help, "print this help and stop")
#define OUTPUT_OPTION \
    TEXT("output", 'o', "FILE", output, "standard output", "where to write; - is standard output")
/* where there is no default */
#define FILE_OUTPUT_OPTION(missing, help) NEEDED("output", 'o', "FILE", output, missing, help)
#define RESUME_OPTION(help)               FLAG("resume", 0, resume, help)
#define INPUT_OPTION(help)                TEXT("input", 'i', "FILE", input, "standard input", help)
#endif
