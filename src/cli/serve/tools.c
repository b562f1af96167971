/* Fields of a request about function calls: whether the answer has no call, must call a given function, must call any
 * function, or may call functions if the model chooses to. */
#include "cli/serve/calls.h"
#include "cli/serve/reading.h"

#include <stdlib.h>
#include <string.h>

static const char any_object[] = "{\"type\":\"object\"}";

/* Checks that every tool is a function with a name. */
static bool check_tools(serve_reading *r) {
  const int count = cJSON_IsArray(r->tools) ? cJSON_GetArraySize(r->tools) : 0;
  const cJSON *tool;
  if (count < 1 || count > SERVE_MOST_TOOLS)
    return serve_refuse(r->problem, 400, "missing_field", "\"tools\" must be a list of 1 to %d functions",
                        SERVE_MOST_TOOLS);
  cJSON_ArrayForEach(tool, r->tools) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tool, "function"), "name");
    if (!cJSON_IsString(name) || !*name->valuestring)
      return serve_refuse(r->problem, 400, "invalid_value",
                          "each of \"tools\" must be {\"type\": \"function\", \"function\": {\"name\": ...}}");
  }
  return true;
}

/* Sets a schema by which the answer consists of arguments for this function. */
static bool ask_one(serve_reading *r, const cJSON *function) {
  const cJSON *schema = cJSON_GetObjectItemCaseSensitive(function, "parameters");
  r->asked->function = cJSON_GetObjectItemCaseSensitive(function, "name")->valuestring;
  if (cJSON_IsObject(schema)) return serve_set_schema(r, schema);
  free(r->asked->schema);
  return (r->asked->schema = strdup(any_object)) || serve_refuse_memory(r);
}

/* Makes the schema {"type": "object", "properties": {"name": {"const": NAME}, "arguments": SCHEMA}, ...} */
static cJSON *call_schema(const cJSON *function) {
  const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(function, "parameters");
  cJSON *schema = cJSON_Parse("{\"type\":\"object\",\"properties\":{\"name\":{}},\"required\":[\"name\",\"arguments\"],"
                              "\"additionalProperties\":false}");
  cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
  cJSON *name = cJSON_GetObjectItemCaseSensitive(properties, "name");
  cJSON *arguments = cJSON_IsObject(parameters) ? cJSON_Duplicate(parameters, true) : cJSON_Parse(any_object);
  const char *text = cJSON_GetObjectItemCaseSensitive(function, "name")->valuestring;
  if (name && arguments && cJSON_AddStringToObject(name, "const", text) &&
      cJSON_AddItemToObject(properties, "arguments", arguments))
    return schema;
  cJSON_Delete(arguments);
  cJSON_Delete(schema);
  return NULL;
}

/* Sets a schema by which the answer is a call of any one of the functions. */
static bool ask_any(serve_reading *r) {
  cJSON *root = cJSON_CreateObject(), *list = root ? cJSON_AddArrayToObject(root, "anyOf") : NULL;
  bool good = list != NULL;
  const cJSON *tool;
  cJSON_ArrayForEach(tool, r->tools) {
    cJSON *one = good ? call_schema(cJSON_GetObjectItemCaseSensitive(tool, "function")) : NULL;
    good = one && cJSON_AddItemToArray(list, one);
    if (one && !good) cJSON_Delete(one);
  }
  good = good ? serve_set_schema(r, root) : serve_refuse_memory(r);
  cJSON_Delete(root);
  r->asked->tools = r->tools;
  return good;
}

bool serve_choose_function(serve_reading *r, bool *listed) {
  const cJSON *choice = r->tool_choice;
  const char *word = cJSON_IsString(choice) ? choice->valuestring : choice ? "" : r->tools ? "auto" : "none";
  *listed = r->tools && strcmp(word, "none") != 0;
  if (!strcmp(word, "none")) return true;
  serve_name_field(r, "tools");
  if (!check_tools(r)) return false;
  serve_name_field(r, "tool_choice");
  const cJSON *named = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(choice, "function"), "name");
  const cJSON *function = serve_tool_find(r->tools, cJSON_IsString(named) ? named->valuestring : NULL);
  const bool automatic = !strcmp(word, "auto"), required = !strcmp(word, "required");
  if (!automatic && !required && !function)
    return serve_refuse(r->problem, 400, "invalid_value",
                        "\"tool_choice\" must be \"none\", \"auto\", \"required\" or one of the tools: {\"type\": "
                        "\"function\", \"function\": {\"name\": ...}}");
  r->problem->field[0] = '\0';
  if (automatic) {
    r->asked->tools = r->tools;
    return true;
  }
  if (required && cJSON_GetArraySize(r->tools) > 1) return ask_any(r);
  if (required) function = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(r->tools, 0), "function");
  return ask_one(r, function);
}
