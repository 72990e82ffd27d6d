/* text_verbs.c - verbs that read text and write a line for each line: tables of their options.
 *
 * A verb stands behind its options. What several verbs have in common is in options_shared.h; the
 * order in which help lists the verbs is that of PK_CLI_VERB_MAP (cli.h). */
#include "options_shared.h"

// clang-format off
static const pk_cli_option translate_options[] = {
    MODELS_OPTION,
    INPUT_OPTION("what to translate, UTF-8 text; - is standard input"),
    OUTPUT_OPTION,
    LANGUAGE_OPTIONS,
    DECODE_OPTION("greedy"),
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
    DRAFTER_OPTION(""),
    LEXICON_OPTIONS(""),
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
    COMPUTING_OPTIONS,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_translate = {
    "translate", "", 0, 0, pk_cli_translate, translate_options, PK_CLI_STRATEGIES,
    "translate text, line by line",
    "Reads lines and writes one translated line for each, in order. A line may hold several "
    "sentences. Blank lines, line ends and a missing last newline are kept.\n"
    "Input is translated as it arrives: a program may write a line and wait for its translation. "
    "Memory does not grow with the length of the input.",
    "pronk translate -m en-de.pronk -i news.en -o news.de\n"
    "pronk translate -m en-de.pronk --decode beam:size=4 --n-best 4 --no-split -i news.en"
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
    COMPUTING_OPTIONS,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_score = {
    "score", "", 0, 0, pk_cli_score, score_options, PK_CLI_NO_LIST,
    "give the log-probability of translations",
    "Prints one natural logarithm a line: the probability that the model gives to the whole "
    "translation, end of sentence included. Both files must have the same number of lines.",
    "pronk score -m en-de.pronk -i news.en -r news.de"
};

static const pk_cli_option distill_options[] = {
    TEACHERS_OPTION,
    NEEDED("input", 'i', "FILE", input,
           "nothing to translate: give it with -i FILE, one sentence a line",
           "source sentences, one a line; plain, .gz, .xz or .zst"),
    FILE_OUTPUT_OPTION("nowhere to write: give a file with -o FILE",
                       "their translations, line by line; a file that is there already is only touched with --resume"),
    RESUME_OPTION("go on with an output that is half done: its whole lines are kept and not translated again"),
    LANGUAGE_OPTIONS,
    DECODE_OPTION("beam:size=4"),
    TEXT("reference", 'r', "FILE", reference, NULL,
         "the corpus's own translations, one for each line: of the N best the one most like them is "
         "written (by chrF2 of the sentence; sequence-level interpolation)"),
    INT("n-best", n_best, 2, PK_MOST_N_BEST, "4, with --reference",
        "how many the reference chooses from; the beam must be as wide"),
    MAX_INPUT_SKIP_OPTION,
    COMPUTING_OPTIONS,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_distill = {
    "distill", "", 0, 0, pk_cli_distill, distill_options, PK_CLI_STRATEGIES,
    "translate a corpus with teachers, to train a student on",
    "Writes one line for each line of the source, which is taken as one sentence. Lines that are "
    "blank or too long give an empty line, so that both files stay aligned; they are counted and "
    "reported at the end.\n"
    "Work that was interrupted goes on with --resume and the same options. Memory does not grow "
    "with the corpus. Several teachers of one vocabulary decode together.",
    "pronk distill -m teacher.pronk -i train.en.gz -o train.distilled.de\n"
    "pronk distill -m a.pronk -m b.pronk -i train.en -o train.distilled.de --device cuda --resume\n"
    "pronk distill -m teacher.pronk -i train.en -r train.de --n-best 4 -o train.distilled.de"
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
    THREADS_OPTION("one per core", "threads; the result is the same with any number"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_align = {
    "align", "[TARGET]", 0, 1, pk_cli_align, align_options, PK_CLI_NO_LIST,
    "align the words of sentences and their translations",
    "Learns which words translate which from the pairs themselves, as fast_align does with -d -o -v (IBM model "
    "2 with a diagonal prior, a null word, an optimised tension and variational Bayes), and writes the links of "
    "each pair in Pharaoh's format: `0-0 1-2`. A pair with an empty side gives an empty line and is counted.\n"
    "Pairs are kept in memory as numbers of words; how much memory training takes is said before it begins. "
    "With --load pairs are aligned as they come and memory does not grow with the text.",
    "pronk align -i pairs.txt -o forward.pharaoh\n"
    "pronk align -i train.en.xz train.de.xz --symmetrise grow-diag-final-and --save en-de.align -o out\n"
    "pronk align --load en-de.align -i new.en new.de\n"
    "pronk align --pharaoh -i forward.pharaoh reverse.pharaoh --symmetrise intersect"
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

const pk_cli_verb pk_cli_verb_detect = {
    "detect", "", 0, 0, pk_cli_detect, detect_options, PK_CLI_NO_LIST,
    "tell which language each line is in",
    "Writes a line for each line of input: the code of its language, a tab, and how sure that is, 0 to 100: of "
    "the lines with 90, about 90 % are right. A line without words gets 0 and the first language. Needs no "
    "model.\n"
    "The fewer languages there are to choose from, the better short lines are told apart.",
    "echo \"Guten Morgen\" | pronk detect\n"
    "pronk detect --languages en,de,fr -i mixed.txt -o mixed.languages"
};
// clang-format on
