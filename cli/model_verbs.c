/* model_verbs.c - verbs that make or describe models: tables of their options.
 *
 * A verb stands behind its options; text_verbs.c says what the tables have in common. */
#include "options_shared.h"

// clang-format off
static const pk_cli_option convert_options[] = {
    CHOICE("type", type, "f32|f16|i8", "as found", "numbers to store"),
    TEXT("lexicon", 0, "FILE", lexicon, NULL,
         "of a drafter: what `pronk align -m MODEL --save FILE` wrote for its model; what drafts need of it becomes part of the file"),
    TEXT("model", 'm', "MODEL", model, NULL, "the model that the drafter is for; with --lexicon"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_convert = {
    "convert", "FOLDER MODEL", 2, 2, pk_cli_convert, convert_options, PK_CLI_NO_LIST,
    "make a .pronk file from a model folder",
    "Writes weights, configuration and vocabulary of a Hugging Face folder, a CTranslate2 folder or "
    "an .argosmodel package as one safetensors file, which is mapped when opened and translates "
    "exactly as the folder does.",
    "pronk convert opus-mt-en-de en-de.pronk --type i8\n"
    "pronk convert en-de.drafter with-lexicon.pronk -m opus-mt-en-de --lexicon en-de.align"
};

static const pk_cli_option info_options[] = {
    JSON_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_info = {
    "info", "[MODEL]", 0, 1, pk_cli_info, info_options, PK_CLI_NO_LIST,
    "describe a model",
    "Prints what a model is: its network, languages, vocabulary and where it came from. "
    "Without MODEL it is the one that is used where none is named, " OWN_MODEL ".",
    "pronk info en-de.pronk\npronk info"
};

static const pk_cli_option average_options[] = {
    FILE_OUTPUT_OPTION("no file to write: name one with -o FILE, model.pronk say", "where to write the model"),
    CHOICE("type", type, "f32|f16|i8", "as the first", "numbers to store"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_average = {
    "average", "MODEL ...", 1, SIZE_MAX, pk_cli_average, average_options, PK_CLI_NO_LIST,
    "average the weights of several models",
    "Writes a model whose weights are the means of those of models of the same shape and vocabulary, or of "
    "checkpoints of a training: the last ones together are often better than each alone. Of a checkpoint with a "
    "moving average, that counts.",
    "pronk average trained/checkpoint-*.safetensors -o model.pronk --type f16\n"
    "pronk average one.pronk two.pronk -o mean.pronk"
};

static const pk_cli_option vocab_options[] = {
    NEEDED_LIST("input", 'i', "FILE", inputs,
                "no text: give files with -i FILE, those of both languages for a joint vocabulary",
                "text to learn from, a sentence a line; plain, .gz, .xz or .zst; more files may follow, or "
                "give it several times"),
    FILE_OUTPUT_OPTION("no file to write: name one with -o FILE, joint.spm say",
                       "where to write the SentencePiece model"),
    TEXT("model", 'm', "MODEL", model, NULL,
         "extend this model's vocabulary instead: pieces for characters of the text that it lacks, "
         "and bytes for all others; the model can go on learning with it (`init` and `vocab` of a "
         "recipe)"),
    INT("size", vocab_size, PK_LEAST_VOCAB, PK_MOST_VOCAB, TEXT_OF(PK_DEFAULT_VOCAB) " without -m",
        "pieces of the vocabulary"),
    CHOICE("type", type, "unigram|bpe", "unigram", "how pieces are found"),
    FLOAT("coverage", coverage, PK_LEAST_COVERAGE, 1, TEXT_OF(PK_DEFAULT_COVERAGE),
          "share of the text's characters that get pieces of their own"),
    TEXT("characters", 0, "TEXT", characters, NULL,
         "characters that get pieces of their own also where they are rare or absent"),
    FLAG("byte-fallback", 0, byte_fallback,
         "write characters without a piece as bytes, which 256 of the pieces stand for; this is the default"),
    FLAG("no-byte-fallback", 0, no_byte_fallback, "characters without a piece are unknown; for small sizes"),
    INT("lines", lines, 1, INT64_MAX, TEXT_OF(PK_DEFAULT_VOCAB_LINES), "most lines to learn from, drawn from all alike"),
    THREADS_OPTION(TEXT_OF(PK_DEFAULT_VOCAB_THREADS),
                   "threads; the same number gives the same vocabulary on any machine"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_vocab = {
    "vocab", "[FILE ...]", 0, SIZE_MAX, pk_cli_vocab, vocab_options, PK_CLI_NO_LIST,
    "learn a vocabulary from text",
    "Trains a SentencePiece model, which cuts words into pieces. Give the text of both languages for a "
    "joint vocabulary, as most models have: source and target then share one table of embeddings.",
    "pronk vocab -i corpus.en corpus.de --size 16000 -o joint.spm"
};

static const pk_cli_option train_options[] = {
    LIST("set", 0, "KEY=VALUE", sets, NULL,
         "sets a key, whatever the recipe says; items of a list are separated by commas; may be given "
         "several times"),
    RESUME_OPTION("go on from the last checkpoint in the output folder"),
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_train = {
    "train", "RECIPE", 1, 1, pk_cli_train, train_options, PK_CLI_RECIPE,
    "train a model by a recipe",
    "A recipe is a YAML file that says what is learned from which text, by what network, how and for how "
    "long; every key is listed below. The output folder gets checkpoints, the log (log.jsonl), a plot of it "
    "(plot.svg) and at the end the finished model, model.pronk.\n"
    "Ctrl-C, or a TERM signal, saves a checkpoint and stops; --resume goes on from the last checkpoint as "
    "if nothing had happened, also after a crash.",
    "pronk train recipes/tiny.yml\n"
    "pronk train recipes/base.yml --set device=cuda --set train.minutes=14\n"
    "pronk train recipes/base.yml --resume"
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
    RESUME_OPTION("go on where an earlier call with this folder stopped"),
    LANGUAGE_OPTIONS,
    SPEED_OPTIONS,
    DEVICE_OPTION,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_drafter = {
    "drafter", "", 0, 0, pk_cli_drafter, drafter_options, PK_CLI_NO_LIST,
    "make a drafter for a model, which then translates faster",
    "The model translates the text as greedy search does, and a drafter of one layer, which shares the model's "
    "encoder, learns to guess these translations several tokens at a time: for ten minutes, unless --set "
    "train.minutes= says otherwise. With it, -d gad gives the output of greedy search token for token, in fewer passes.\n"
    "The folder keeps the translations (drafted.txt), a lexicon of them (lexicon.align), a part of which belongs to the "
    "drafter, and the recipe (recipe.yml), by which `pronk train` can go on.",
    "pronk drafter -m opus-mt-en-de -i train.en.xz -o en-de.drafter --device cuda\n"
    "pronk translate -m opus-mt-en-de --drafter en-de.drafter -d gad -i news.en"
};
// clang-format on
