/* verb_stubs.h - the tables of all verbs, with verbs that do nothing. */
#ifndef PK_TESTS_VERB_STUBS_H
#define PK_TESTS_VERB_STUBS_H
#include "../../cli/model_verbs.c"
#include "../../cli/options_table.c"
#include "../../cli/serve_verb.c"
#include "../../cli/study_verbs.c"
#include "../../cli/text_verbs.c"

#define VERB_STUB(name)            \
    int pk_cli_##name(pk_cli *c) { \
        (void)c;                   \
        return 0;                  \
    }
PK_CLI_VERB_MAP(VERB_STUB)
#endif
