/* options_table.c - every verb and every option of the program, once.
 *
 * Options that several verbs share are written as macros, so that they read the same everywhere.
 * The order here is the order in help. */
#include "options_table.h"

#include <string.h>

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
#define TYPE_OPTION                                      \
    CHOICE("type", type, "f32|f16|bf16|i8", "as stored", \
           "numbers to compute with; f16 and bf16 need a GPU")
#define LEXICON_HELP                                                                              \
    "what `pronk align -m MODEL --save FILE` wrote: for shortlists, for drafts (jacobi and gad, " \
    "init=lexicon) and for alignments"
#define SHORTLIST_HELP                                                                           \
    "choose from likely translations of the source's pieces and from common ones alone: faster " \
    "on a CPU"
#define LEXICON_OPTIONS                                      \
    TEXT("lexicon", 0, "FILE", lexicon, NULL, LEXICON_HELP), \
        FLAG("shortlist", 0, shortlist, SHORTLIST_HELP)
#define DRAFTER_HELP "a drafter for the model, for strategies that check its guesses (gad)"
#define DEVICE_OPTION                                                                             \
    TEXT("device", 0, "DEVICE", device, "cpu",                                                    \
         "where to compute: cpu; cuda, cuda:1 or cuda:0,1 (one or several GPUs); ref (naive and " \
         "slow, the truth for tests)")
#define THREADS_OPTION INT("threads", threads, 1, PK_MOST_THREADS, "one per core", "threads in all")
#define SPEED_OPTIONS                                                                              \
    THREADS_OPTION,                                                                                \
        INT("workers", workers, 1, PK_MOST_THREADS, "chosen by batch",                             \
            "sentences are shared out to so many workers, which share the threads"),               \
        INT("batch", batch, 1, PK_MOST_BATCH, CPU_AND_GPU(PK_DEFAULT_BATCH, PK_DEFAULT_BATCH_GPU), \
            "sentences that a worker decodes together"),                                           \
        INT("batch-tokens", batch_tokens, 1, PK_MOST_BATCH_TOKENS,                                 \
            CPU_AND_GPU(PK_DEFAULT_BATCH_TOKENS, PK_DEFAULT_BATCH_TOKENS_GPU),                     \
            "most source tokens in a batch")
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
#define INPUT_OPTION(help) TEXT("input", 'i', "FILE", input, "standard input", help)

// clang-format off
static const pk_cli_option program_options[] = {
    HELP_OPTION,
    FLAG("version", 'V', version, "print the version and stop"),
    END
};

static const pk_cli_option translate_options[] = {
    MODELS_OPTION,
    INPUT_OPTION("what to translate, UTF-8 text; - is standard input"),
    OUTPUT_OPTION,
    LANGUAGE_OPTIONS,
    TEXT("decode", 'd', "SPEC", decode, "greedy", DECODE_HELP),
    FLAG("no-split", 0, no_split,
         "take each line as one sentence instead of looking for sentences"),
    FLAG("tokens", 0, tokens,
         "lines are the names of tokens (pieces) with spaces between them, in and out, prefixes and drafts "
         "too; each line is one sentence"),
    TEXT("prefix", 0, "FILE", prefix, NULL,
         "a line for each line of input: its translation begins so, sentence by sentence where there are "
         "several; may be empty"),
    TEXT("draft", 0, "FILE", draft, NULL,
         "a line for each line of input: a guess at its translation, for strategies that check guesses"),
    TEXT("drafter", 0, "MODEL", drafter, NULL, DRAFTER_HELP),
    LEXICON_OPTIONS,
    MAX_INPUT_OPTION,
    INT("n-best", n_best, 1, PK_MOST_N_BEST, "only the best",
        "print the N best translations of each line as "
        "`number ||| text ||| F0= log-probability ||| score`"),
    FLAG("scores", 0, scores, "print `score ||| text`"),
    FLAG("word-scores", 0, word_scores,
         "also print `||| WordScores=` and the log-probability of each token, end included"),
    FLAG("replace-unknowns", 0, replace_unknowns, REPLACE_UNKNOWNS_HELP),
    FLAG("alignment", 0, alignment, "also print `|||` and word alignments, source-target: 0-0 1-2"),
    CHOICE("format", text_format, "text|html|srt|vtt", "text",
           "what the input is; HTML and subtitles (SubRip, WebVTT) are read whole, and tags, times and the like "
           "stay as they are"),
    TEXT("glossary", 0, "FILE", glossary, NULL,
         "terms to use: lines of a source term, a tab and a target term"),
    LIST("protect", 0, "REGEX", protect, NULL,
         "what matches comes out as it is (ICU's regular expressions); may be given several times"),
    FLAG("protect-usual", 0, protect_usual,
         "addresses, @names, #tags, %s, {name}, <x/>, code and the like come out as they are; a glossary, a "
         "pattern, HTML and subtitles do this too"),
    FLAG("retry-loops", 0, retry_loops,
         "decode a sentence again, with beam search and without repeating four tokens, where the output repeats "
         "itself or does not end"),
    TYPE_OPTION,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option convert_options[] = {
    CHOICE("type", type, "f32|f16|i8", "as found", "numbers to store"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option info_options[] = {
    JSON_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option score_options[] = {
    MODELS_OPTION,
    INPUT_OPTION("source sentences, one a line; - is standard input"),
    NEEDED("reference", 'r', "FILE", reference,
           "no translations to score: give them with -r FILE, one a line",
           "translations to score, one for each source line"),
    OUTPUT_OPTION,
    LANGUAGE_OPTIONS,
    FLAG("word-scores", 0, word_scores,
         "also print `||| WordScores=` and the log-probability of each token, end included"),
    TYPE_OPTION,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option eval_options[] = {
    NEEDED("reference", 'r', "FILE", reference,
           "no reference: give it with -r FILE, one sentence a line",
           "reference translations, one a line"),
    CHOICE("tokenize", tokenize, "13a|none|char|intl|zh", "13a", "tokenizer for BLEU"),
    FLAG("lowercase", 0, lowercase, "ignore case"),
    INT("bootstrap", bootstrap, 1, PK_MOST_RESAMPLES, "none",
        "resamples for 95 % confidence intervals, and for the significance of the difference "
        "to the first HYP"),
    INT("seed", seed, 1, INT64_MAX, TEXT_OF(PK_DEFAULT_EVAL_SEED), "seed of the bootstrap"),
    INT("head", head, 1, INT32_MAX, "none",
        "also the 1- and 4-gram precision of the first so many tokens of each line alone, against "
        "the whole reference"),
    INT("tail", tail, 1, INT32_MAX, "none", "the same of the last so many tokens"),
    JSON_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option distill_options[] = {
    TEACHERS_OPTION,
    NEEDED("input", 'i', "FILE", input,
           "nothing to translate: give it with -i FILE, one sentence a line",
           "source sentences, one a line; plain, .gz, .xz or .zst"),
    NEEDED("output", 'o', "FILE", output,
           "nowhere to write: give a file with -o FILE",
           "their translations, line by line; a file that is there already is only touched with --resume"),
    FLAG("resume", 0, resume,
         "go on with an output that is half done: its whole lines are kept and not translated again"),
    LANGUAGE_OPTIONS,
    TEXT("decode", 'd', "SPEC", decode, "beam:size=4", DECODE_HELP),
    TEXT("reference", 'r', "FILE", reference, NULL,
         "the corpus's own translations, one for each line: of the N best the one most like them is "
         "written (by chrF2 of the sentence; sequence-level interpolation)"),
    INT("n-best", n_best, 2, PK_MOST_N_BEST, "4, with --reference",
        "how many the reference chooses from; the beam must be as wide"),
    MAX_INPUT_SKIP_OPTION,
    TYPE_OPTION,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option bench_options[] = {
    BENCH_MODEL_OPTION,
    INPUT_OPTION("sentences to translate, one a line; - is standard input"),
    LANGUAGE_OPTIONS,
    CASES("decode", 'd', "SPEC", cases, "greedy",
          DECODE_HELP "; give it several times to compare, each against the first, with the last -m before it"),
    TEXT("drafter", 0, "MODEL", drafter, NULL,
         DRAFTER_HELP "; serves every -d behind it, where \"\" is none"),
    TEXT("lexicon", 0, "FILE", lexicon, NULL, LEXICON_HELP "; serves every -d behind it"),
    FLAG("shortlist", 0, shortlist, SHORTLIST_HELP "; serves every -d behind it"),
    LIST("draft", 0, "FILE", drafts, NULL,
         "a line for each line of input: a guess at its translation, for strategies that check guesses; "
         "give it several times for one with each --decode, where \"\" is none"),
    FLAG("interleave", 0, interleave,
         "keep all cases open and give each line (larger batches: each 8 batches of lines) to every one in "
         "turn, so that ratios hold on a busy machine; peak memory is then that of all together"),
    INT("limit", limit, 1, INT64_MAX, "all", "only the first N lines"),
    INT("repeat", repeat, 1, 1000, "1", "translate all N times; speeds are those of the median"),
    INT("warm-up", warm_up, 0, 1000000, "10", "lines translated beforehand and not counted"),
    TYPE_OPTION,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    JSON_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option viz_options[] = {
    MODEL_OPTION,
    OUTPUT_OPTION,
    CHOICE("format", format, "html|svg|json|dot", "html",
           "a page, a picture, or data for programs and for Graphviz"),
    LANGUAGE_OPTIONS,
    TEXT("decode", 'd', "SPEC", decode, "jacobi", DECODE_HELP),
    TEXT("draft", 0, "TEXT", draft, NULL,
         "a guess at the translation, for strategies that check guesses"),
    TEXT("drafter", 0, "MODEL", drafter, NULL, DRAFTER_HELP),
    LEXICON_OPTIONS,
    TYPE_OPTION,
    THREADS_OPTION,
    DEVICE_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option train_options[] = {
    LIST("set", 0, "KEY=VALUE", sets, NULL,
         "sets a key, whatever the recipe says; items of a list are separated by commas; may be given "
         "several times"),
    FLAG("resume", 0, resume, "go on from the last checkpoint in the output folder"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option serve_options[] = {
    TEXT("models", 0, "DIR", serve.models, "Pronk's own model alone",
         "serve every model of a folder: .pronk files, MarianMT and CTranslate2 folders, .argosmodel packages; pairs that "
         "are missing go through English"),
    TEXT("model", 'm', "MODEL", model, OWN_MODEL, "serve one model: " MODEL_HELP),
    LANGUAGE_OPTIONS,
    TEXT("host", 0, "ADDRESS", serve.host, PK_DEFAULT_HOST, "address to listen on; 0.0.0.0 or :: is every one"),
    INT("port", serve.port, 0, 65535, "5000", "port to listen on; 0: any that is free"),
    TEXT("decode", 'd', "SPEC", decode, "greedy", DECODE_HELP),
    TEXT("load-only", 0, "LANGS", serve.load_only, "all", "serve only these languages: en,de,fr"),
    INT("char-limit", serve.char_limit, -1, INT32_MAX, "-1", "most characters of a text; -1: any number"),
    INT("req-limit", serve.req_limit, -1, INT32_MAX, "-1",
        "most requests a minute of one client; a batch of N texts counts as N; -1: any number"),
    INT("req-flood-threshold", serve.flood_threshold, -1, INT32_MAX, "-1",
        "ban an address that broke --req-limit so often; one time is forgiven every ten minutes; -1: never"),
    INT("batch-limit", serve.batch_limit, -1, INT32_MAX, "-1", "most texts of a request; -1: any number"),
    INT("alternatives-limit", serve.alternatives_limit, -1, INT32_MAX, "-1",
        "most alternatives of a translation; -1: 15, which is the most in any case"),
    FLAG("api-keys", 0, serve.api_keys, "look up API keys, which have limits of their own; a wrong one is refused"),
    TEXT("api-keys-db-path", 0, "FILE", serve.keys_path, PK_DEFAULT_KEYS, "where they are, a SQLite file as LibreTranslate has it"),
    TEXT("require-api-key-origin", 0, "PATTERN", serve.key_origin, NULL,
         "refuse requests without a key, unless their Origin begins with this regular expression"),
    TEXT("get-api-key-link", 0, "URL", serve.key_link, NULL, "where people get a key, for the message that says so"),
    TEXT("key", 0, "KEY", serve.key, "a random one", "for `keys add`: the key"),
    TEXT("url-prefix", 0, "PATH", serve.url_prefix, NULL, "serve everything below this path"),
    FLAG("disable-web-ui", 0, serve.disable_web_ui, "no page at /"),
    FLAG("disable-files-translation", 0, serve.disable_files_translation, "for LibreTranslate's sake: files are never translated here"),
    TEXT("glossary", 0, "NAME=FILE,...", serve.glossaries, NULL,
         "glossaries that requests may name: a source term, a tab and a target term a line"),
    TEXT("translation-cache", 0, "MIB", serve.translation_cache, "off",
         "keep finished sentences of each model in so much memory and do not decode them again; all: 64"),
    FLAG("ssl", 0, serve.ssl, "serve HTTPS"),
    TEXT("ssl-cert", 0, "FILE", serve.certificate, NULL, "the certificate for that, and those above it, as PEM"),
    TEXT("ssl-key", 0, "FILE", serve.private_key, NULL, "its private key, as PEM"),
    FLAG("metrics", 0, serve.metrics, "counters for Prometheus at /metrics"),
    TEXT("metrics-auth-token", 0, "TOKEN", serve.metrics_token, "none", "they need `Authorization: Bearer TOKEN`"),
    TEXT("trusted-proxy", 0, "NETS", serve.trusted_proxy, "none",
         "believe X-Forwarded-For where it comes from these addresses: 127.0.0.1,10.0.0.0/8"),
    INT("queue", serve.queue, 1, INT32_MAX, "5000", "sentences that may wait for a model; more are refused with status 429"),
    INT("timeout", serve.timeout, 1, 86400, "120", "seconds that a translation may take"),
    INT("idle", serve.idle, 0, INT32_MAX, "600", "seconds after which a model that nobody uses is closed; 0: never"),
    INT("memory", serve.memory, 0, INT32_MAX, "0", "MiB in all, above which models are closed for others; 0: 80 % of what there is"),
    INT("connections", serve.connections, 16, 100000, "4096", "most connections at a time"),
    FLAG("replace-unknowns", 0, replace_unknowns, REPLACE_UNKNOWNS_HELP),
    FLAG("access-log", 0, serve.access_log, "a line on standard error for each request, without texts and keys"),
    TYPE_OPTION,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option drafter_options[] = {
    NEEDED("model", 'm', "MODEL", model, NO_MODEL, MODEL_HELP),
    NEEDED("input", 'i', "FILE", input,
           "no text: give source sentences with -i FILE, one a line",
           "source sentences for the model to translate, one a line; plain, .gz, .xz or .zst"),
    NEEDED("output", 'o', "FOLDER", output, "nowhere to write: give a folder with -o FOLDER",
           "folder for the translations, the recipe and the training; its model.pronk is the drafter"),
    TEXT("test", 0, "FILE", test, NULL,
         "sentences to measure it on in the end, one a line: how many tokens a pass of the model brings"),
    LIST("set", 0, "KEY=VALUE", sets, NULL,
         "sets a key of the recipe, see `pronk train --help`; may be given several times"),
    FLAG("resume", 0, resume, "go on where an earlier call with this folder stopped"),
    LANGUAGE_OPTIONS,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option vocab_options[] = {
    NEEDED_LIST("input", 'i', "FILE", inputs,
                "no text: give files with -i FILE, those of both languages for a joint vocabulary",
                "text to learn from, a sentence a line; plain, .gz, .xz or .zst; more files may follow, or "
                "give it several times"),
    NEEDED("output", 'o', "FILE", output, "no file to write: name one with -o FILE, joint.spm say",
           "where to write the SentencePiece model"),
    INT("size", vocab_size, PK_LEAST_VOCAB, PK_MOST_VOCAB, TEXT_OF(PK_DEFAULT_VOCAB), "pieces of the vocabulary"),
    CHOICE("type", type, "unigram|bpe", "unigram", "how pieces are found"),
    FLOAT("coverage", coverage, PK_LEAST_COVERAGE, 1, TEXT_OF(PK_DEFAULT_COVERAGE),
          "share of the text's characters that get pieces of their own"),
    TEXT("characters", 0, "TEXT", characters, NULL,
         "characters that get pieces of their own also where they are rare or absent"),
    FLAG("byte-fallback", 0, byte_fallback,
         "write characters without a piece as bytes, which 256 of the pieces stand for; this is the default"),
    FLAG("no-byte-fallback", 0, no_byte_fallback, "characters without a piece are unknown; for small sizes"),
    INT("lines", lines, 1, INT64_MAX, TEXT_OF(PK_DEFAULT_VOCAB_LINES), "most lines to learn from, drawn from all alike"),
    INT("threads", threads, 1, PK_MOST_THREADS, TEXT_OF(PK_DEFAULT_VOCAB_THREADS),
        "threads; the same number gives the same vocabulary on any machine"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option average_options[] = {
    NEEDED("output", 'o', "FILE", output, "no file to write: name one with -o FILE, model.pronk say",
           "where to write the model"),
    CHOICE("type", type, "f32|f16|i8", "as the first", "numbers to store"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

/* too wide for the column of arguments */
#define METHODS(or) "intersect" or "union" or "grow-diag" or "grow-diag-final" or "grow-diag-final-and"
static const pk_cli_option align_options[] = {
    INPUT_OPTION("pairs, `source ||| target` a line, or source sentences where a file of target sentences "
                 "follows; plain, .gz, .xz or .zst; - is standard input"),
    TEXT("output", 'o', "FILE", output, "standard output",
         "links, source-target counted from 0, a line for each pair; - is standard output"),
    FLAG("reverse", 'r', reverse, "target words generate source words; links are still source-target"),
    { "symmetrise", 0, "METHOD", PK_CLI_CHOICE, AT(symmetrise), 0, 0, METHODS("|"), NULL, NULL,
      "train both directions and make one set of links of theirs, by METHOD: " METHODS(", ") },
    FLAG("pharaoh", 0, pharaoh,
         "the two files hold links, forward and reverse: only symmetrise them"),
    TEXT("vocab", 0, "FILE", vocab, "words, as white space separates them",
         "a SentencePiece model: align its pieces"),
    TEXT("model", 'm', "MODEL", model, NULL,
         "align the pieces that this model reads and writes; what --save writes is then a lexicon for it"),
    TEXT("save", 0, "FILE", save, NULL, "where to write the model, to align other text with"),
    TEXT("load", 0, "FILE", load, NULL, "align with a saved model; nothing is trained"),
    TEXT("table", 0, "FILE", lexical_table, NULL,
         "where to write the lexical table as text: given word, generated word, natural logarithm of its "
         "probability, for all within e^-4 of the best"),
    INT("iterations", iterations, 1, 1000, "5", "of EM, as fast_align counts them: the last one aligns"),
    INT("threads", threads, 1, PK_MOST_THREADS, "one per core", "threads; the result is the same with any number"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

static const pk_cli_option detect_options[] = {
    INPUT_OPTION("UTF-8 text, line by line; - is standard input"),
    OUTPUT_OPTION,
    TEXT("languages", 0, "CODES", languages, "all that are known",
         "codes to choose from, with commas between them: en,de,pt-BR"),
    FLAG("all", 0, all, "for each line all languages, best first, a line each, and then a blank line"),
    HELP_OPTION,
    END
};

static const pk_cli_option help_options[] = {
    FLAG("man", 0, man, "print the manual page, as source for man(1)"),
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_program = {
    "pronk", "VERB [OPTION ...]", 0, 0, NULL, program_options, PK_CLI_NO_LIST,
    "neural machine translation",
    "Pronk translates text on the CPU or on a GPU, with models people already have or with new "
    "ones that it trains.\n"
    "A MODEL is a .pronk file, the output folder of a training, a MarianMT (OPUS-MT) or mBART-50 "
    "folder as downloaded from Hugging Face, a CTranslate2 folder with its SentencePiece models, or an "
    ".argosmodel package.",
    "echo \"Hello, world.\" | pronk translate -m opus-mt-en-de\n"
    "pronk convert opus-mt-en-de en-de.pronk --type i8\n"
    "pronk train recipes/tiny.yml\n"
    "pronk help translate"
};

const pk_cli_verb pk_cli_verbs[] = {
    { "translate", "", 0, 0, pk_cli_translate, translate_options, PK_CLI_STRATEGIES,
      "translate text, line by line",
      "Reads lines and writes one translated line for each, in order. A line may hold several "
      "sentences. Blank lines, line ends and a missing last newline are kept.\n"
      "Input is translated as it arrives: a program may write a line and wait for its translation. "
      "Memory does not grow with the length of the input.",
      "pronk translate -m en-de.pronk -i news.en -o news.de\n"
      "pronk translate -m en-de.pronk --decode beam:size=4 --n-best 4 --no-split -i news.en" },
    { "convert", "FOLDER MODEL", 2, 2, pk_cli_convert, convert_options, PK_CLI_NO_LIST,
      "make a .pronk file from a model folder",
      "Writes weights, configuration and vocabulary of a Hugging Face folder, a CTranslate2 folder or "
      "an .argosmodel package as one safetensors file, which is mapped when opened and translates "
      "exactly as the folder does.",
      "pronk convert opus-mt-en-de en-de.pronk --type i8" },
    { "info", "[MODEL]", 0, 1, pk_cli_info, info_options, PK_CLI_NO_LIST,
      "describe a model",
      "Prints what a model is: its network, languages, vocabulary and where it came from. "
      "Without MODEL it is the one that is used where none is named, " OWN_MODEL ".",
      "pronk info en-de.pronk\npronk info" },
    { "score", "", 0, 0, pk_cli_score, score_options, PK_CLI_NO_LIST,
      "give the log-probability of translations",
      "Prints one natural logarithm a line: the probability that the model gives to the whole "
      "translation, end of sentence included. Both files must have the same number of lines.",
      "pronk score -m en-de.pronk -i news.en -r news.de" },
    { "eval", "[HYP ...]", 0, SIZE_MAX, pk_cli_eval, eval_options, PK_CLI_NO_LIST,
      "compare translations with a reference: BLEU, chrF2, chrF2++",
      "Prints the figures of sacreBLEU, with its signature, and the token repetition rate (TRR), "
      "the percentage of tokens equal to the one before. "
      "Without HYP, or where it is -, translations come from standard input.",
      "pronk eval -r news.de output.de\n"
      "pronk eval -r news.de --bootstrap 1000 greedy.de beam.de\n"
      "pronk eval -r news.de --head 5 --tail 5 output.de" },
    { "distill", "", 0, 0, pk_cli_distill, distill_options, PK_CLI_STRATEGIES,
      "translate a corpus with teachers, to train a student on",
      "Writes one line for each line of the source, which is taken as one sentence. Lines that are "
      "blank or too long give an empty line, so that both files stay aligned; they are counted and "
      "reported at the end.\n"
      "Work that was interrupted goes on with --resume and the same options. Memory does not grow "
      "with the corpus. Several teachers of one vocabulary decode together.",
      "pronk distill -m teacher.pronk -i train.en.gz -o train.distilled.de\n"
      "pronk distill -m a.pronk -m b.pronk -i train.en -o train.distilled.de --device cuda --resume\n"
      "pronk distill -m teacher.pronk -i train.en -r train.de --n-best 4 -o train.distilled.de" },
    { "bench", "", 0, 0, pk_cli_bench, bench_options, PK_CLI_STRATEGIES,
      "measure speed, latency and where the time goes",
      "Each line is taken as one sentence. With --batch 1 every line is a call of its own, and its "
      "latency is the time of that call. With larger batches all lines are given in one call, and "
      "the latency of a sentence is the time from that call to the report that it is done.\n"
      "Bandwidth is the rate at which decoder passes read weights, against what the machine reads "
      "in a plain sweep over 256 MB with the same number of threads; weights that stay in the "
      "caches can bring it above 100 %. "
      "Shares of time are summed over workers.\n"
      "Each case has a process of its own: peak memory and load time are that case's alone. Load time is "
      "that of a file which is in the system's memory already.\n"
      "Of cases with different models only the speed is compared: lines as in the first are counted where the "
      "model is the first's.\n"
      "Floating-point operations are those of all products that a sentence needs, 2 m n k for (m, k) times (k, n), in "
      "the encoder, the decoder, both attentions and the output layer; they are counted from shapes, whatever the "
      "numbers' type. Seconds in passes are summed over workers and do not contain the encoder.\n"
      "Passes are those of the decoder that a sentence took part in; probes only found out what a "
      "method presumes (pj: the length) and are not counted among them. "
      "A strategy that remembers the document (jacobi) knows the lines of the warm-up and of earlier repetitions.",
      "pronk bench -m en-de.pronk -i news.en --batch 1 --decode greedy --decode beam:size=4\n"
      "pronk bench --interleave -i news.en -m large.pronk -d greedy -d beam -m small.pronk -d greedy" },
    { "viz", "[SENTENCE]", 0, 1, pk_cli_viz, viz_options, PK_CLI_STRATEGIES,
      "show how a sentence is decoded, pass by pass",
      "Translates one sentence, the first line of standard input if none is given, and writes a page "
      "that shows which tokens became certain in which pass, how probable they were, and which "
      "tokens had to wait for which others.\n"
      "The page needs no network and no other files. SVG is the picture alone; JSON holds all asks of "
      "all passes, with the network and the positions of each pass; DOT is the dependency graph.",
      "pronk viz -m en-de.pronk -o page.html \"The house is small.\"\n"
      "pronk viz -m en-de.pronk --decode pj --format dot \"Hello.\" | dot -Tpng -o graph.png" },
    { "vocab", "[FILE ...]", 0, SIZE_MAX, pk_cli_vocab, vocab_options, PK_CLI_NO_LIST,
      "learn a vocabulary from text",
      "Trains a SentencePiece model, which cuts words into pieces. Give the text of both languages for a "
      "joint vocabulary, as most models have: source and target then share one table of embeddings.",
      "pronk vocab -i corpus.en corpus.de --size 16000 -o joint.spm" },
    { "train", "RECIPE", 1, 1, pk_cli_train, train_options, PK_CLI_RECIPE,
      "train a model by a recipe",
      "A recipe is a YAML file that says what is learned from which text, by what network, how and for how "
      "long; every key is listed below. The output folder gets checkpoints, the log (log.jsonl), a plot of it "
      "(plot.svg) and at the end the finished model, model.pronk.\n"
      "Ctrl-C, or a TERM signal, saves a checkpoint and stops; --resume goes on from the last checkpoint as "
      "if nothing had happened, also after a crash.",
      "pronk train recipes/tiny.yml\n"
      "pronk train recipes/base.yml --set device=cuda --set train.minutes=14\n"
      "pronk train recipes/base.yml --resume" },
    { "serve", "[keys add [LIMIT]|remove KEY|list]", 0, 3, pk_cli_serve, serve_options, PK_CLI_STRATEGIES,
      "serve translations over HTTP, with LibreTranslate's API and DeepL's",
      "Answers /translate, /detect, /languages and the other requests of LibreTranslate 1.9.6, and those of DeepL's API "
      "version 2. Sentences of all clients are decoded together, greedily unless --decode says otherwise; where alternatives are asked "
      "for, by beam search. Models are opened on first use.\n"
      "Every option is also a variable of the environment, as LibreTranslate has them: LT_PORT for --port, LT_API_KEYS=true for "
      "--api-keys; options win.\n"
      "SIGTERM: what was accepted is answered, then the server ends. SIGHUP: models and keys are read again.\n"
      "`keys` manages API keys: `add` prints a new one, which may make LIMIT requests a minute (default: --req-limit) with "
      "--char-limit characters each.",
      "pronk serve\n"
      "pronk serve --models /srv/models --host 0.0.0.0 --req-limit 60 --char-limit 5000\n"
      "pronk serve keys add 120 --api-keys-db-path /srv/keys.db\n"
      "curl -d q=Hello -d source=en -d target=de http://127.0.0.1:5000/translate",
      .environment = "LT_" },
    { "drafter", "", 0, 0, pk_cli_drafter, drafter_options, PK_CLI_NO_LIST,
      "make a drafter for a model, which then translates faster",
      "The model translates the text as greedy search does, and a drafter of one layer, which shares the model's "
      "encoder, learns to guess these translations several tokens at a time: for ten minutes, unless --set "
      "train.minutes= says otherwise. With it, -d gad gives the output of greedy search token for token, in fewer passes.\n"
      "The folder keeps the translations (drafted.txt) and the recipe (recipe.yml), by which `pronk train` can go on.",
      "pronk drafter -m opus-mt-en-de -i train.en.xz -o en-de.drafter --device cuda\n"
      "pronk translate -m opus-mt-en-de --drafter en-de.drafter -d gad -i news.en" },
    { "average", "MODEL ...", 1, SIZE_MAX, pk_cli_average, average_options, PK_CLI_NO_LIST,
      "average the weights of several models",
      "Writes a model whose weights are the means of those of models of the same shape and vocabulary, or of "
      "checkpoints of a training: the last ones together are often better than each alone. Of a checkpoint with a "
      "moving average, that counts.",
      "pronk average trained/checkpoint-*.safetensors -o model.pronk --type f16\n"
      "pronk average one.pronk two.pronk -o mean.pronk" },
    { "align", "[TARGET]", 0, 1, pk_cli_align, align_options, PK_CLI_NO_LIST,
      "align the words of sentences and their translations",
      "Learns which words translate which from the pairs themselves, as fast_align does with -d -o -v (IBM model "
      "2 with a diagonal prior, a null word, an optimised tension and variational Bayes), and writes the links of "
      "each pair in Pharaoh's format: `0-0 1-2`. A pair with an empty side gives an empty line and is counted.\n"
      "Pairs are kept in memory as numbers of words; how much memory training takes is said before it begins. "
      "With --load pairs are aligned as they come and memory does not grow with the text.",
      "pronk align -i pairs.txt -o forward.pharaoh\n"
      "pronk align -i train.en.xz train.de.xz --symmetrise grow-diag-final-and --save en-de.align -o links\n"
      "pronk align --load en-de.align -i new.en new.de\n"
      "pronk align --pharaoh -i forward.pharaoh reverse.pharaoh --symmetrise intersect" },
    { "detect", "", 0, 0, pk_cli_detect, detect_options, PK_CLI_NO_LIST,
      "tell which language each line is in",
      "Writes a line for each line of input: the code of its language, a tab, and how sure that is, 0 to 100: of "
      "the lines with 90, about 90 % are right. A line without words gets 0 and the first language. Needs no "
      "model.\n"
      "The fewer languages there are to choose from, the better short lines are told apart.",
      "echo \"Guten Morgen\" | pronk detect\n"
      "pronk detect --languages en,de,fr -i mixed.txt -o mixed.languages" },
    { "help", "[VERB]", 0, 1, pk_cli_help, help_options, PK_CLI_NO_LIST,
      "print help, of the program or of a verb",
      "Prints the same as `pronk VERB --help`.",
      "pronk help translate\npronk help --man translate | man -l -" },
    { .name = NULL }
};
// clang-format on

const pk_cli_verb *pk_cli_verb_find(const char *name) {
    for (const pk_cli_verb *verb = pk_cli_verbs; verb->name; verb++)
        if (!strcmp(verb->name, name)) return verb;
    return NULL;
}
