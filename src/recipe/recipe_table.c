/* recipe_table.c - the list of recipe.h as a table of options. */
#include "recipe/recipe_parts.h"
#include "tensor/types.h"

// clang-format off
static const char *const number_types[] = { PK_DTYPE_MAP(PK_CHOICE_WORD) NULL };
static const char *const activations[] = { PK_ACT_MAP(PK_CHOICE_WORD) NULL };
static const char *const norms[] = { PK_NORM_MAP(PK_CHOICE_WORD) NULL };
static const char *const positions[] = { PK_POSITIONS_MAP(PK_CHOICE_WORD) NULL };
static const char *const ties[] = { PK_TIE_MAP(PK_CHOICE_WORD) NULL };
static const char *const falls[] = { PK_FALL_MAP(PK_CHOICE_WORD) NULL };
static const char *const metrics[] = { PK_METRIC_MAP(PK_CHOICE_WORD) NULL };

/* what the columns default, lowest and highest of the list are, kind by kind */
#define TEXT_(normal_, lowest_, highest_)    .text = normal_
#define NUMBER_(normal_, lowest_, highest_)  .normal = normal_, .lowest = lowest_, .highest = highest_
#define CHOICE_(normal_, lowest_, highest_)  .normal = normal_, .only = lowest_
#define VALUES_TEXT    TEXT_
#define VALUES_PATH    TEXT_
#define VALUES_TEXTS   TEXT_
#define VALUES_PATHS   TEXT_
#define VALUES_NUMBERS(normal_, lowest_, highest_) .lowest = lowest_, .highest = highest_
#define VALUES_LONG    NUMBER_
#define VALUES_DOUBLE  NUMBER_
#define VALUES_FLAG    NUMBER_
#define VALUES_CHOICE  CHOICE_
#define KEY(kind_, resume, field, key, normal_, lowest_, highest_, choices_, help_)      \
    { .name = key, .help = help_, .kind = PK_OPTION_##kind_, .choices = choices_,        \
      VALUES_##kind_(normal_, lowest_, highest_), .offset = offsetof(pk_recipe, field) },
const pk_option pk_recipe_keys[] = { PK_RECIPE_MAP(KEY) { .name = NULL } };

#define RESUME_FIXED true
#define RESUME_FREE  false
#define FIXED(kind, resume, ...) RESUME_##resume,
static const bool fixed[] = { PK_RECIPE_MAP(FIXED) };
// clang-format on

bool pk_recipe_is_fixed(const pk_option *key) { return fixed[key - pk_recipe_keys]; }
