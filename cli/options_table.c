/* options_table.c - the program's own options, its help verb, and the list of all verbs.
 *
 * The verbs and their options are in text_verbs.c, model_verbs.c, study_verbs.c and
 * serve_verb.c. */
#include "options_table.h"

#include <string.h>

#include "options_shared.h"

// clang-format off
static const pk_cli_option program_options[] = {
    HELP_OPTION,
    FLAG("version", 'V', version, "print the version and stop"),
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

static const pk_cli_option help_options[] = {
    FLAG("man", 0, man, "print the manual page, as source for man(1)"),
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_help = {
    "help", "[VERB]", 0, 1, pk_cli_help, help_options, PK_CLI_NO_LIST,
    "print help, of the program or of a verb",
    "Prints the same as `pronk VERB --help`.",
    "pronk help translate\npronk help --man translate | man -l -"
};
// clang-format on

#define VERB(name) &pk_cli_verb_##name,
const pk_cli_verb *const pk_cli_verbs[] = { PK_CLI_VERB_MAP(VERB) NULL };

const pk_cli_verb *pk_cli_verb_find(const char *name) {
    for (size_t i = 0; pk_cli_verbs[i]; i++)
        if (!strcmp(pk_cli_verbs[i]->name, name)) return pk_cli_verbs[i];
    return NULL;
}
