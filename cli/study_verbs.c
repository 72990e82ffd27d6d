/* study_verbs.c - verbs that measure or show what translating does: tables of their options.
 *
 * A verb stands behind its options; text_verbs.c says what the tables have in common. */
#include "options_shared.h"

// clang-format off
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

const pk_cli_verb pk_cli_verb_eval = {
    "eval", "[HYP ...]", 0, SIZE_MAX, pk_cli_eval, eval_options, PK_CLI_NO_LIST,
    "compare translations with a reference: BLEU, chrF2, chrF2++",
    "Prints the figures of sacreBLEU, with its signature, and the token repetition rate (TRR), "
    "the percentage of tokens equal to the one before. "
    "Without HYP, or where it is -, translations come from standard input.",
    "pronk eval -r news.de output.de\n"
    "pronk eval -r news.de --bootstrap 1000 greedy.de beam.de\n"
    "pronk eval -r news.de --head 5 --tail 5 output.de"
};

static const pk_cli_option bench_options[] = {
    BENCH_MODEL_OPTION,
    INPUT_OPTION("sentences to translate, one a line; - is standard input"),
    LANGUAGE_OPTIONS,
    CASES("decode", 'd', "SPEC", cases, "greedy",
          DECODE_HELP "; give it several times to compare, each against the first, with the last -m before it"),
    DRAFTER_OPTION("; serves every -d behind it, where \"\" is none"),
    LEXICON_OPTIONS("; serves every -d behind it"),
    LIST("draft", 0, "FILE", drafts, NULL,
         "a line for each line of input: a guess at its translation, for strategies that check guesses; "
         "give it several times for one with each --decode, where \"\" is none"),
    FLAG("interleave", 0, interleave,
         "keep all cases open and give each line (larger batches: each 8 batches of lines) to every one in "
         "turn, so that ratios hold on a busy machine; peak memory is then that of all together"),
    FLAG("each-line", 0, each_line,
         "with --json and --batch 1: also the seconds of every line, the fewest of all repetitions"),
    INT("limit", limit, 1, INT64_MAX, "all", "only the first N lines"),
    INT("repeat", repeat, 1, 1000, "1", "translate all N times; speeds are those of the median"),
    INT("warm-up", warm_up, 0, 1000000, "10", "lines translated beforehand and not counted"),
    COMPUTING_OPTIONS,
    JSON_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_bench = {
    "bench", "", 0, 0, pk_cli_bench, bench_options, PK_CLI_STRATEGIES,
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
    "pronk bench --interleave -i news.en -m large.pronk -d greedy -d beam -m small.pronk -d greedy"
};

static const pk_cli_option viz_options[] = {
    MODEL_OPTION,
    OUTPUT_OPTION,
    CHOICE("format", format, "html|svg|json|dot", "html",
           "a page, a picture, or data for programs and for Graphviz"),
    LANGUAGE_OPTIONS,
    DECODE_OPTION("jacobi"),
    TEXT("draft", 0, "TEXT", draft, NULL,
         "a guess at the translation, for strategies that check guesses"),
    DRAFTER_OPTION(""),
    LEXICON_OPTIONS(""),
    TYPE_OPTION,
    ALL_THREADS_OPTION,
    DEVICE_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_viz = {
    "viz", "[SENTENCE]", 0, 1, pk_cli_viz, viz_options, PK_CLI_STRATEGIES,
    "show how a sentence is decoded, pass by pass",
    "Translates one sentence, the first line of standard input if none is given, and writes a page "
    "that shows which tokens became certain in which pass, how probable they were, and which "
    "tokens had to wait for which others.\n"
    "The page needs no network and no other files. SVG is the picture alone; JSON holds all asks of "
    "all passes, with the network and the positions of each pass; DOT is the dependency graph.",
    "pronk viz -m en-de.pronk -o page.html \"The house is small.\"\n"
    "pronk viz -m en-de.pronk --decode pj --format dot \"Hello.\" | dot -Tpng -o graph.png"
};
// clang-format on
