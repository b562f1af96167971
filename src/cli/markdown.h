/* cli/markdown.h: commands and settings as Markdown, from the tables that --help is made from. */
#ifndef MICA_CLI_MARKDOWN_H
#define MICA_CLI_MARKDOWN_H

#include <stdbool.h>

/* Prints the text of docs/cli.md if page is "commands", or the generated part of docs/tasks/TASK.md if it is a task's
 * name. False for other names. */
bool cli_print_markdown(const char *page);

#endif
