/* recipe_help.c - all that a recipe can say, for people: its keys, and the tasks there are. */
#include "recipe/recipe.h"
#include "task/task.h"

pk_status pk_recipe_text(char **out) {
    pk_buffer text = { 0 };
    PK_NEED(out);
    pk_recipe_help(&text);
    pk_buffer_add_text(&text, "Tasks, and their options:\n");
    pk_tasks_help(&text);
    const pk_status status = pk_buffer_take(&text, out, NULL);
    if (status != PK_OK) pk_buffer_free(&text);
    return status;
}
