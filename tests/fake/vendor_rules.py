# SPDX-License-Identifier: MIT
"""vendor_rules.py: what the vendors of models refuse, each in its own words.

Written from the vendors' documents, the types of their client libraries (openai 7.57, @anthropic-ai/sdk
1.12, @google/genai 3.1) and the refusals that people have reported; it shares nothing with the tables in
engine/vendor. refusal(wire, body, vendor) is None, or {status, type, message, code?, param?} for
the first rule that the request breaks. vendor "local" is a server of llama.cpp's kind behind
openai_chat. vendor_server.py answers by it.
"""

import base64
import json
import re

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
KEY = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")
SUBSCHEMAS = ("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
              "unevaluatedProperties")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
MAPS = ("properties", "patternProperties", "$defs", "dependentSchemas")
NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
          "maxContains")
TEXTS = ("$schema", "$id", "$ref", "$anchor", "title", "description", "format", "pattern", "$comment")


class Refused(Exception):
    def __init__(self, message, kind="invalid_request_error", **more):
        super().__init__(message)
        self.said = dict(status=400, type=kind, message=message, **more)


def want(condition, message, **more):
    if not condition:
        raise Refused(message, **more)


def only(doc, keys, message, **more):
    for key in doc:
        want(key in keys, message.format(key), **more)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# ---- schemas ----

def draft_2020(schema, at="schema"):
    """Where it is no JSON Schema of draft 2020-12; None: it is one."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return at
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if any(one not in TYPES for one in types) or len(set(types)) < len(types) or schema.get("type") == []:
        return at + ".type"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required) or \
            len(set(required)) < len(required):
        return at + ".required"
    for keys, fits in ((NUMBERS, is_number), (COUNTS, lambda v: is_number(v) and v >= 0 and int(v) == v),
                       (TEXTS, lambda v: isinstance(v, str)), (("enum",), lambda v: isinstance(v, list)),
                       (("uniqueItems", "deprecated", "readOnly"), lambda v: isinstance(v, bool)),
                       (MAPS, lambda v: isinstance(v, dict)),
                       (LISTS, lambda v: isinstance(v, list) and v)):
        for key in keys:
            if key in schema and not fits(schema[key]):
                return f"{at}.{key}"
    if "pattern" in schema and not compiles(schema["pattern"]):
        return at + ".pattern"
    if "$ref" in schema and schema["$ref"].startswith("#/$defs/") is False and schema["$ref"] != "#" and \
            not schema["$ref"].startswith("#/"):
        return at + ".$ref"
    for place, one in below(schema):
        wrong = draft_2020(one, f"{at}.{place}")
        if wrong:
            return wrong
    return None


def compiles(pattern):
    try:
        re.compile(pattern)
        return True
    except re.error:
        return False


def below(schema):
    """Each schema within, and where."""
    for key in SUBSCHEMAS + ("items",):
        if key in schema:
            yield key, schema[key]
    for key in LISTS:
        for i, one in enumerate(schema.get(key, [])):
            yield f"{key}[{i}]", one
    for key in MAPS:
        for name, one in schema.get(key, {}).items():
            yield f"{key}.{name}", one


def every(schema, at=()):
    if isinstance(schema, dict):
        yield at, schema
        for place, one in below(schema):
            yield from every(one, at + (place,))


def refs_resolve(schema):
    for _, one in every(schema):
        ref = one.get("$ref")
        if ref is None:
            continue
        found = schema
        for part in ref.lstrip("#").strip("/").split("/") if ref != "#" else []:
            found = found.get(part) if isinstance(found, dict) else None
        if found is None:
            return ref
    return None


def has_type(schema, name):
    kind = schema.get("type")
    return kind == name or isinstance(kind, list) and name in kind


def openai_schema(schema, name, param, strict):
    def bad(why):
        raise Refused(f"Invalid schema for function '{name}': {why}", param=param, code="invalid_function_parameters")

    if not isinstance(schema, dict) or schema.get("type") != "object":
        bad(f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type') if isinstance(schema, dict) else None}\"'.")
    if any(word in schema for word in ("oneOf", "anyOf", "allOf", "enum", "not")):
        bad("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.")
    wrong = draft_2020(schema)
    if wrong:
        bad(f"{wrong} is not valid under any of the given schemas.")
    if not isinstance(schema.get("properties", {}), dict):
        bad("properties is not an object")
    missing = refs_resolve(schema)
    if missing:
        bad(f"reference can only point to definitions defined at the top level of the schema: {missing}")
    for at, one in every(schema):
        if has_type(one, "array") and "items" not in one and "prefixItems" not in one:
            bad(f"In context={at}, array schema missing items.")
        if isinstance(one.get("items"), list):
            bad(f"In context={at}, {one['items']} is not of type 'object', 'boolean'.")
    if strict:
        openai_strict(schema, bad)


STRICT_OPENAI = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref",
                 "$defs", "description", "title", "pattern", "format", "multipleOf", "maximum", "minimum",
                 "exclusiveMaximum", "exclusiveMinimum", "minItems", "maxItems"}
STRICT_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def openai_strict(schema, bad):
    properties = values = letters = 0
    for at, one in every(schema):
        for word in one:
            if word not in STRICT_OPENAI:
                bad(f"In context={at}, '{word}' is not permitted.")
        if not any(word in one for word in ("type", "anyOf", "$ref", "enum", "const")):
            bad(f"In context={at}, schema must have a 'type' key.")
        if one.get("format", "date") not in STRICT_FORMATS:
            bad(f"In context={at}, '{one['format']}' is not a valid format.")
        if has_type(one, "object"):
            if one.get("additionalProperties") is not False:
                bad(f"In context={at}, 'additionalProperties' is required to be supplied and to be false.")
            if sorted(one.get("required", [])) != sorted(one.get("properties", {})):
                bad(f"In context={at}, 'required' is required to be supplied and to be an array including every key in "
                    "properties.")
        names = one.get("properties", {})
        properties, values = properties + len(names), values + len(one.get("enum", []))
        letters += sum(map(len, names)) + sum(len(value) for value in one.get("enum", []) if isinstance(value, str))
        if sum(place.startswith("properties.") for place in at) > 10:
            bad("schema has more than 10 levels of nesting.")
    if properties > 5000 or values > 1000 or letters > 120000:
        bad("schema exceeds the size that is allowed.")


STRICT_ANTHROPIC = STRICT_OPENAI - {"multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum",
                                    "maxItems"} | {"allOf", "default", "definitions"}
STRICT_ANTHROPIC_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}


def anthropic_schema(tool, at):
    schema = tool.get("input_schema")
    at = f"{at}.custom.input_schema"
    want(isinstance(schema, dict), f"{at}: Input should be a valid dictionary")
    want(schema.get("type") == "object", f"{at}.type: Input should be 'object'")
    want(not any(word in schema for word in ("oneOf", "allOf", "anyOf")),
         f"{at}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    want(isinstance(schema.get("properties", {}), dict), f"{at}.properties: Input should be a valid dictionary")
    want(all(KEY.match(key) for key in schema.get("properties", {})),
         f"{at}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")
    wrong = draft_2020(schema)
    want(not wrong, f"{at}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
                    f"(https://json-schema.org/draft/2020-12). Learn more about tool use. [{wrong}]")
    want(not refs_resolve(schema), f"{at}: JSON schema is invalid: {refs_resolve(schema)}")
    if tool.get("strict"):
        for where, one in every(schema):
            for word in one:
                want(word in STRICT_ANTHROPIC, f"{at}: For '{one.get('type')}' type, property '{word}' is not supported")
            if has_type(one, "object"):
                want(one.get("additionalProperties") is False,
                     f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false")
            want(one.get("minItems", 0) in (0, 1), f"{at}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")
            want(one.get("format", "date") in STRICT_ANTHROPIC_FORMATS, f"{at}: format is not supported {where}")
            want(any(word in one for word in ("type", "anyOf", "allOf", "$ref", "enum", "const")),
                 f"{at}: Schema type is required {where}")


def optional_parameters(schema):
    return sum(len(set(one.get("properties", {})) - set(one.get("required", []))) for _, one in every(schema))


GEMINI_FIELDS = {"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties",
                 "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf",
                 "propertyOrdering", "default", "items", "minimum", "maximum"}
GEMINI_TYPES = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
GEMINI_FORMATS = {"STRING": {"enum", "date-time"}, "NUMBER": {"float", "double"}, "INTEGER": {"int32", "int64"}}


def gemini_fields(schema, at):
    """`parameters`: a message of protocol buffers, which knows these members alone."""
    for key in schema:
        want(key in GEMINI_FIELDS, f"Invalid JSON payload received. Unknown name \"{key}\" at '{at}': Cannot find field.",
             kind="INVALID_ARGUMENT")
    kind = schema.get("type")
    want(not isinstance(kind, list), f"Invalid JSON payload received. Unknown name \"type\" at '{at}': Proto field is not "
                                     "repeating, cannot start list.", kind="INVALID_ARGUMENT")
    want(kind is None or isinstance(kind, str) and kind.upper() in GEMINI_TYPES,
         f"Invalid value at '{at}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), \"{kind}\"",
         kind="INVALID_ARGUMENT")
    kind = (kind or "").upper()
    want(kind or schema.get("anyOf"), f"* {at}.type: must be specified", kind="INVALID_ARGUMENT")
    want(kind != "ARRAY" or "items" in schema, f"* {at}.items: missing field.", kind="INVALID_ARGUMENT")
    want(kind != "OBJECT" or schema.get("properties"), f"* {at}.properties: should be non-empty for OBJECT type",
         kind="INVALID_ARGUMENT")
    for i, key in enumerate(schema.get("required", [])):
        want(key in schema.get("properties", {}), f"* {at}.required[{i}]: property is not defined", kind="INVALID_ARGUMENT")
    if "enum" in schema:
        want(kind == "STRING", f"* {at}.enum: only allowed for STRING type", kind="INVALID_ARGUMENT")
        want(schema["enum"] and all(isinstance(value, str) and value for value in schema["enum"]),
             f"Invalid value at '{at}.enum[0]' (TYPE_STRING)", kind="INVALID_ARGUMENT")
    want("format" not in schema or schema["format"] in GEMINI_FORMATS.get(kind, ()),
         f"* {at}.format: only 'enum' and 'date-time' are supported for STRING type", kind="INVALID_ARGUMENT")
    for key, one in schema.get("properties", {}).items():
        want(re.match(r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$", key), f"* {at}.properties: invalid name '{key}'",
             kind="INVALID_ARGUMENT")
        gemini_fields(one, f"{at}.properties[{key}]")
    if "items" in schema:
        gemini_fields(schema["items"], f"{at}.items")
    for i, one in enumerate(schema.get("anyOf", [])):
        gemini_fields(one, f"{at}.any_of[{i}]")


def gemini_json_schema(schema, at):
    want(isinstance(schema, dict) and schema.get("type") == "object", f"* {at}: schema should be of type object",
         kind="INVALID_ARGUMENT")
    want(not any(word in schema for word in ("anyOf", "oneOf", "allOf", "not")), f"* {at}: only properties at the top",
         kind="INVALID_ARGUMENT")
    wrong = draft_2020(schema) or refs_resolve(schema)
    want(not wrong, f"* {at}: not a JSON Schema: {wrong}", kind="INVALID_ARGUMENT")
    for place, one in every(schema):
        where = ".".join((at,) + place)
        want(not has_type(one, "array") or "items" in one or "prefixItems" in one, f"* {where}.items: missing field.",
             kind="INVALID_ARGUMENT")
        for key in one.get("required", []):
            want(key in one.get("properties", {}), f"* {where}.required: property '{key}' is not defined",
                 kind="INVALID_ARGUMENT")
        for key in one.get("properties", {}):
            want(re.match(r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$", key), f"* {where}.properties: invalid name '{key}'",
                 kind="INVALID_ARGUMENT")


# ---- what all have ----

def is_image(media_type, data, kinds, most):
    try:
        size = len(base64.b64decode(data, validate=True))
    except ValueError:
        return "not base64"
    if media_type not in kinds:
        return f"media type {media_type}"
    return "too large" if size > most else None


def object_text(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def unique(names):
    return len(set(names)) == len(names)


# ---- Anthropic Messages ----

ANTHROPIC_BODY = {"model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "thinking",
                  "output_config", "metadata", "stop_sequences", "service_tier", "cache_control", "container",
                  "inference_geo", "context_management", "mcp_servers"}
ANTHROPIC_BLOCKS = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
ANTHROPIC_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}


def anthropic_text(text, at):
    want(isinstance(text, str), f"{at}.text: Input should be a valid string")
    want(text, "messages: text content blocks must be non-empty")
    want(text.strip(), "messages: text content blocks must contain non-whitespace text")


def anthropic_image(block, at):
    source = block.get("source", {})
    if source.get("type") == "base64":
        wrong = is_image(source.get("media_type"), source.get("data", ""), ANTHROPIC_IMAGES, 5 << 20)
        want(not wrong, f"{at}.image.source.base64: {wrong}")


def anthropic_block(block, role, at, signed):
    kind = block.get("type")
    if kind not in ANTHROPIC_BLOCKS:
        want(role == "assistant", f"{at}.type: Input tag '{kind}' found using 'type' does not match any of the expected tags")
        return
    only(block, ANTHROPIC_BLOCKS[kind], f"{at}.{kind}.{{}}: Extra inputs are not permitted")
    want(kind not in ("tool_use", "thinking", "redacted_thinking") or role == "assistant",
         f"{at}: `{kind}` blocks can only be in `assistant` messages")
    want(kind not in ("tool_result", "image") or role == "user", f"{at}: `{kind}` blocks can only be in `user` messages")
    if kind == "text" and not (role == "assistant" and signed):
        anthropic_text(block.get("text"), at)
    if kind == "image":
        anthropic_image(block, at)
    if kind == "thinking":
        want(block.get("signature"), f"{at}.thinking.signature: Field required")
    if kind == "tool_use":
        want(re.match(r"^[a-zA-Z0-9_-]{1,64}$", block.get("id", "")),
             f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        want(re.match(r"^[a-zA-Z0-9_-]{1,128}$", block.get("name", "")),
             f"{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        want(isinstance(block.get("input"), dict), f"{at}.tool_use.input: Input should be a valid dictionary")
    if kind == "tool_result":
        anthropic_result(block, at)


def anthropic_result(block, at):
    content = block.get("content", "")
    want(re.match(r"^[a-zA-Z0-9_-]+$", block.get("tool_use_id", "")),
         f"{at}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    want(content or not block.get("is_error"), f"{at}.tool_result: content cannot be empty if `is_error` is true")
    for k, part in enumerate(content if isinstance(content, list) else []):
        want(part.get("type") in ("text", "image"), f"{at}.tool_result.content.{k}: unexpected type")
        if part["type"] == "image":
            anthropic_image(part, f"{at}.tool_result.content.{k}")
        else:
            anthropic_text(part.get("text"), f"{at}.tool_result.content.{k}")


def anthropic_pairs(messages):
    """Neighbours of one role count as one message."""
    merged = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text"}]
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(blocks)
        else:
            merged.append((message["role"], list(blocks)))
    open_calls, seen = [], set()
    for i, (role, blocks) in enumerate(merged):
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        for one in results:
            want(one in open_calls, f"messages.{i}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {one}. Each "
                                    "`tool_result` block must have a corresponding `tool_use` block in the previous message.")
        want(unique(results), f"messages.{i}: each tool_use must have a single result. Found multiple `tool_result` blocks")
        left = [one for one in open_calls if one not in results]
        want(not left, f"messages.{i - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                       f"{', '.join(left)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
        kinds = [block["type"] for block in blocks]
        want("tool_result" not in kinds[len(results):], f"messages.{i}: `tool_result` blocks must come first")
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for one in open_calls:
            want(one not in seen, f"messages.{i}.content: `tool_use` ids must be unique")
            seen.add(one)
        if role == "assistant":
            want(kinds[-1] not in ("thinking", "redacted_thinking"),
                 f"messages.{i}: The final block in an assistant message cannot be `thinking`.")
    want(not open_calls, "messages: `tool_use` ids were found without `tool_result` blocks")


def anthropic_tools(body):
    tools = body.get("tools", [])
    for i, tool in enumerate(tools):
        only(tool, {"name", "description", "input_schema", "cache_control", "strict", "type", "eager_input_streaming"},
             f"tools.{i}.custom.{{}}: Extra inputs are not permitted")
        want(re.match(r"^[a-zA-Z0-9_-]{1,128}$", tool.get("name", "")),
             f"tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        anthropic_schema(tool, f"tools.{i}")
    want(unique([tool["name"] for tool in tools]), "tools: Tool names must be unique.")
    strict = [tool["input_schema"] for tool in tools if tool.get("strict")]
    want(len(strict) <= 20, "tools: at most 20 strict tools")
    want(sum(map(optional_parameters, strict)) <= 24, "Schemas contains too many optional parameters (limit: 24)")


def anthropic_settings(body):
    thinking, effort = body.get("thinking", {}), body.get("output_config", {})
    want(thinking.get("type", "adaptive") in ("adaptive", "enabled", "disabled", "between_tools"), "thinking: Input tag not found")
    only(thinking, {"type", "display", "budget_tokens", "block_binding"}, "thinking.{}: Extra inputs are not permitted")
    only(effort, {"effort", "format"}, "output_config.{}: Extra inputs are not permitted")
    want(effort.get("effort", "low") in ("low", "medium", "high", "xhigh", "max"), "output_config.effort: Input should be 'low' …")
    want(body.get("tool_choice", {}).get("type", "auto") in ("auto", "none"),
         "tool_choice: this model does not support forced tool use")


def anthropic_messages(body, vendor):
    only(body, ANTHROPIC_BODY, "{}: Extra inputs are not permitted")
    anthropic_settings(body)
    want(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
    messages = body.get("messages", [])
    want(messages, "messages: at least one message is required")
    want(messages[0].get("role") == "user", "messages: first message must use the \"user\" role")
    want(messages[-1].get("role") != "assistant" or vendor == "paused",
         "This model does not support assistant message prefill. The conversation must end with a user message.")
    for i, message in enumerate(messages):
        only(message, {"role", "content"}, f"messages.{i}.{{}}: Extra inputs are not permitted")
        role, content = message.get("role"), message.get("content")
        want(role in ("user", "assistant", "system"), f"messages: Unexpected role \"{role}\"")
        want(content, f"messages.{i}: all messages must have non-empty content")
        signed = isinstance(content, list) and any(block.get("type") in ("thinking", "redacted_thinking") for block in content)
        for k, block in enumerate(content if isinstance(content, list) else []):
            anthropic_block(block, role, f"messages.{i}.content.{k}", signed)
    anthropic_pairs(messages)
    anthropic_tools(body)
    calls = any(block.get("type") in ("tool_use", "tool_result") for message in messages
                for block in (message["content"] if isinstance(message["content"], list) else []))
    want(not calls or body.get("tools"), "Requests which include `tool_use` or `tool_result` blocks must define tools")
    for block in body["system"] if isinstance(body.get("system"), list) else []:
        want(block.get("text", "").strip(), "system: text content blocks must be non-empty")
    want(json.dumps(body).count('"cache_control"') <= 4,
         "A maximum of 4 blocks with cache_control may be provided.")


# ---- OpenAI, both ----

OPENAI_IMAGES = {"image/png", "image/jpeg", "image/webp", "image/gif"}
OPENAI_TEXT = 10485760


def openai_most(text, most, at):
    want(not isinstance(text, str) or len(text) <= most,
         f"Invalid '{at}': string too long. Expected a string with maximum length {most}, but got a string with length "
         f"{len(text) if isinstance(text, str) else 0} instead.", param=at, code="string_above_max_length")


def openai_name(name, at):
    want(name, f"Invalid '{at}': empty string. Expected a string with minimum length 1, but got an empty string instead.",
         param=at, code="empty_string")
    openai_most(name, 64, at)
    want(NAME.match(name), f"Invalid '{at}': string does not match pattern. Expected a string that matches the pattern "
                           "'^[a-zA-Z0-9_-]+$'.", param=at, code="invalid_value")


def openai_id(text, at):
    want(isinstance(text, str) and text, f"Invalid '{at}': empty string. Expected a string with minimum length 1, but got an "
                                         "empty string instead.", param=at, code="empty_string")
    openai_most(text, 64, at)


def openai_image(url, at):
    head, _, data = url.partition(";base64,")
    if head.startswith("data:"):
        wrong = is_image(head[5:], data, OPENAI_IMAGES, 50 << 20)
        want(not wrong, f"Invalid '{at}': the image data you provided does not represent a valid image ({wrong}).",
             param=at, code="invalid_image_format")


def openai_body(body, known):
    only(body, known, "Unknown parameter: '{}'.", code="unknown_parameter")
    openai_most(body.get("prompt_cache_key"), 64, "prompt_cache_key")
    openai_most(body.get("safety_identifier"), 64, "safety_identifier")
    for key, value in (body.get("metadata") or {}).items():
        openai_most(key, 64, "metadata")
        openai_most(value, 512, "metadata")
    most = 128
    want(len(body.get("tools", [])) <= most, f"Invalid 'tools': array too long. Expected an array with maximum length {most}, but "
         f"got an array with length {len(body.get('tools', []))} instead.", param="tools", code="array_above_max_length")


RESPONSES_BODY = {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "store", "include", "stream",
                  "stream_options", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "max_output_tokens",
                  "max_tool_calls", "reasoning", "text", "temperature", "top_p", "truncation", "metadata", "user",
                  "safety_identifier", "service_tier", "previous_response_id", "conversation", "background", "top_logprobs",
                  "context_management", "seed"} - {"seed"}
RESPONSES_PARTS = {"user": {"input_text", "input_image", "input_file"}, "developer": {"input_text", "input_image", "input_file"},
                   "system": {"input_text", "input_image", "input_file"}, "assistant": {"output_text", "refusal"}}


def responses_message(item, at):
    role, content = item.get("role"), item.get("content")
    want(role in RESPONSES_PARTS, f"Invalid value: '{role}'.", param=f"{at}.role")
    for k, part in enumerate(content if isinstance(content, list) else []):
        kind = part.get("type")
        want(kind in RESPONSES_PARTS[role], f"Invalid value: '{kind}'. Supported values are: {sorted(RESPONSES_PARTS[role])}.",
             param=f"{at}.content[{k}]", code="invalid_value")
        openai_most(part.get("text"), OPENAI_TEXT, f"{at}.content[{k}].text")
        if kind == "input_image":
            openai_image(part.get("image_url", ""), f"{at}.content[{k}].image_url")


def responses_item(item, at, calls, results):
    kind = item.get("type", "message")
    own = item.get("id")
    if own is not None:
        openai_id(own, f"{at}.id")
        want(re.match(r"^[a-zA-Z0-9_-]+$", own), f"Invalid '{at}.id': '{own}'. Expected an ID that contains letters, numbers, "
             "underscores, or dashes, but this value contained additional characters.", param=f"{at}.id", code="invalid_value")
    if kind == "message":
        responses_message(item, at)
    elif kind == "function_call":
        only(item, {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"},
             "Unknown parameter: '" + at + ".{}'.", code="unknown_parameter")
        openai_id(item.get("call_id"), f"{at}.call_id")
        openai_name(item.get("name"), f"{at}.name")
        want(isinstance(item.get("arguments"), str), f"Invalid type for '{at}.arguments': expected a string.")
        want(item["call_id"] not in calls, f"Duplicate function call with call_id {item['call_id']}.", param="input")
        calls.append(item["call_id"])
    elif kind == "function_call_output":
        only(item, {"type", "id", "call_id", "output", "status"}, "Unknown parameter: '" + at + ".{}'.", code="unknown_parameter")
        openai_id(item.get("call_id"), f"{at}.call_id")
        want(item["call_id"] in calls, f"No tool call found for function call output with call_id {item['call_id']}.",
             param="input")
        want(item["call_id"] not in results, f"Duplicate function call output with call_id {item['call_id']}.", param="input")
        results.append(item["call_id"])
        responses_output(item.get("output"), at)


def responses_output(output, at):
    want(isinstance(output, (str, list)), f"Missing required parameter: '{at}.output'.", code="missing_required_parameter")
    openai_most(output, OPENAI_TEXT, f"{at}.output")
    for k, part in enumerate(output if isinstance(output, list) else []):
        want(part.get("type") in RESPONSES_PARTS["user"], f"Invalid value: '{part.get('type')}'.", param=f"{at}.output[{k}]")
        if part["type"] == "input_image":
            openai_image(part.get("image_url", ""), f"{at}.output[{k}]")


def openai_responses(body, vendor):
    openai_body(body, RESPONSES_BODY)
    only(body.get("reasoning", {}), {"effort", "summary", "generate_summary", "context", "mode"},
         "Unknown parameter: 'reasoning.{}'.", code="unknown_parameter")
    only(body.get("stream_options", {}), {"include_obfuscation"}, "Unknown parameter: 'stream_options.{}'.",
         code="unknown_parameter")
    for key in ("temperature", "top_p"):
        want(key not in body, f"Unsupported parameter: '{key}' is not supported with this model.", param=key,
             code="unsupported_parameter")
    want(body.get("input"), "Missing required parameter: 'input'.", code="missing_required_parameter")
    want(isinstance(body.get("max_output_tokens", 16), int) and body.get("max_output_tokens", 16) >= 16,
         "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.", code="integer_below_min_value")
    calls, results = [], []
    items = body["input"] if isinstance(body["input"], list) else []
    for i, item in enumerate(items):
        responses_item(item, f"input[{i}]", calls, results)
        after = items[i + 1] if i + 1 < len(items) else {}
        own = after.get("type", "message") in ("function_call", "reasoning") or after.get("role") == "assistant" or \
            after.get("type") not in (None, "message", "function_call_output")
        want(item.get("type") != "reasoning" or own,
             f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.", param="input")
    for one in calls:
        want(one in results, f"No tool output found for function call {one}.", param="input")
    for i, tool in enumerate(body.get("tools", [])):
        only(tool, {"type", "name", "description", "parameters", "strict", "defer_loading", "output_schema", "allowed_callers"},
             f"Unknown parameter: 'tools[{i}].{{}}'.", code="unknown_parameter")
        openai_name(tool.get("name"), f"tools[{i}].name")
        openai_schema(tool.get("parameters"), tool["name"], f"tools[{i}].parameters", tool.get("strict"))
    want(unique([tool["name"] for tool in body.get("tools", [])]), "Tool names must be unique.", param="tools")


CHAT_BODY = {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "max_tokens",
             "max_completion_tokens", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "metadata", "user",
             "safety_identifier", "temperature", "top_p", "n", "stop", "seed", "response_format", "reasoning_effort", "verbosity",
             "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "service_tier", "store",
             "modalities", "prediction", "audio", "web_search_options"}
CHAT_MESSAGE = {"system": {"role", "content", "name"}, "developer": {"role", "content", "name"}, "user": {"role", "content", "name"},
                "tool": {"role", "content", "tool_call_id"},
                "assistant": {"role", "content", "name", "refusal", "audio", "tool_calls", "function_call"}}
CHAT_REASONING = {"reasoning_content", "reasoning", "reasoning_details"}  # of other servers


def chat_content(message, at):
    content = message.get("content")
    openai_most(content, OPENAI_TEXT, f"{at}.content")
    for k, part in enumerate(content if isinstance(content, list) else []):
        kind = part.get("type")
        want(kind in ("text", "image_url", "input_audio", "file", "refusal"), f"Invalid value: '{kind}'.", param=f"{at}.content[{k}]")
        want(message["role"] == "user" or kind in ("text", "refusal"),
             f"Invalid '{at}': image_url is only supported for messages with role 'user'.", param=f"{at}.content[{k}]")
        if kind == "image_url":
            openai_image(part["image_url"]["url"], f"{at}.content[{k}].image_url")
    want(content is not None or message.get("tool_calls") or message.get("refusal"),
         f"Invalid value for 'content': expected a string, got null.", param=f"{at}.content")


def chat_calls(message, at):
    ids = []
    calls = message.get("tool_calls")
    want(calls is None or 0 < len(calls) <= 128, f"Invalid '{at}.tool_calls': empty array.", param=f"{at}.tool_calls")
    for k, call in enumerate(calls or []):
        here = f"{at}.tool_calls[{k}]"
        openai_id(call.get("id"), f"{here}.id")
        openai_name(call.get("function", {}).get("name"), f"{here}.function.name")
        want(isinstance(call["function"].get("arguments"), str), f"Invalid type for '{here}.function.arguments'.")
        want(object_text(call["function"]["arguments"]), f"Failed to parse tool call arguments as JSON: {here}", code=None)
        ids.append(call["id"])
    want(unique(ids), f"Duplicate value for 'tool_call_id' in {at}", param=at)
    return ids


def openai_chat(body, vendor):
    openai_body(body, CHAT_BODY if vendor != "local" else set(body))
    want(body.get("messages"), "[] is too short - 'messages'")
    want(not ("max_tokens" in body and "max_completion_tokens" in body), "Setting both is not supported.")
    left, users = [], 0
    for i, message in enumerate(body["messages"]):
        at, role = f"messages[{i}]", message.get("role")
        want(role in CHAT_MESSAGE, f"Invalid value: '{role}'.", param=f"{at}.role")
        only(message, CHAT_MESSAGE[role] | CHAT_REASONING, "Unknown parameter: '" + at + ".{}'.", code="unknown_parameter")
        chat_content(message, at)
        if role == "tool":
            want(message.get("tool_call_id") in left, f"Invalid parameter: messages with role 'tool' must be a response to a "
                 "preceeding message with 'tool_calls'.", param=f"{at}.role")
            left.remove(message["tool_call_id"])
            continue
        want(not left, "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
             f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(left)}", param=at)
        if vendor == "local":
            want(role != "user" or not i or body["messages"][i - 1]["role"] != "user",
                 "Conversation roles must alternate user/assistant/user/assistant/...", kind="server_error")
        users += role == "user"
        if role == "assistant":
            left = chat_calls(message, at)
        if vendor == "local":
            want(role not in ("system", "developer") or i == 0, "System message must be at the beginning.", kind="server_error")
    want(not left, f"tool_call_ids did not have response messages: {', '.join(left)}")
    want(vendor != "local" or users, "No user query found in messages.", kind="server_error")
    for i, tool in enumerate(body.get("tools", [])):
        function = tool.get("function", {})
        only(function, {"name", "description", "parameters", "strict"}, f"Unknown parameter: 'tools[{i}].function.{{}}'.")
        openai_name(function.get("name"), f"tools[{i}].function.name")
        openai_most(function.get("description"), 1024, f"tools[{i}].function.description")
        openai_schema(function.get("parameters"), function["name"], f"tools[{i}].function.parameters", function.get("strict"))
    want(unique([tool["function"]["name"] for tool in body.get("tools", [])]), "Tool names must be unique.", param="tools")


# ---- Gemini ----

GEMINI_BODY = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent",
               "continuationToken", "labels", "serviceTier", "store"}
GEMINI_PARTS = {"text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse", "fileData",
                "executableCode", "codeExecutionResult", "videoMetadata", "partMetadata", "mediaResolution", "toolCall",
                "toolResponse"}
GEMINI_DATA = {"text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode", "codeExecutionResult",
               "toolCall", "toolResponse"}
GEMINI_IMAGES = {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
GEMINI_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$")


def invalid(message):
    raise Refused(message, kind="INVALID_ARGUMENT")


def gemini_part(part, at):
    only(part, GEMINI_PARTS, "Invalid JSON payload received. Unknown name \"{}\" at '" + at + "': Cannot find field.",
         kind="INVALID_ARGUMENT")
    want(len(GEMINI_DATA & set(part)) == 1, f"* GenerateContentRequest.{at}.data: required oneof field 'data' must have one "
         "initialized field", kind="INVALID_ARGUMENT")
    want(part.get("text", "x") or part.get("thoughtSignature"),
         f"* GenerateContentRequest.{at}.data: required oneof field 'data' must have one initialized field", kind="INVALID_ARGUMENT")
    if "inlineData" in part:
        wrong = is_image(part["inlineData"].get("mimeType"), part["inlineData"].get("data", ""), GEMINI_IMAGES, 20 << 20)
        want(not wrong, f"Unable to process input image: {wrong}", kind="INVALID_ARGUMENT")
    for key, known in (("functionCall", {"id", "name", "args", "partialArgs", "willContinue"}),
                       ("functionResponse", {"id", "name", "response", "parts", "scheduling", "willContinue"})):
        one = part.get(key)
        if one is None:
            continue
        only(one, known, "Invalid JSON payload received. Unknown name \"{}\" at '" + at + "': Cannot find field.",
             kind="INVALID_ARGUMENT")
        want(GEMINI_NAME.match(one.get("name", "")), f"* GenerateContentRequest.{at}.{key}.name: Name cannot be empty or is "
             "not valid.", kind="INVALID_ARGUMENT")
        want(isinstance(one.get("args", one.get("response", {})), dict), f"Invalid value at '{at}' (Map)", kind="INVALID_ARGUMENT")
        for image in one.get("parts", []):
            wrong = is_image(image["inlineData"].get("mimeType"), image["inlineData"].get("data", ""), GEMINI_IMAGES, 20 << 20)
            want(not wrong, f"Unable to process input image: {wrong}", kind="INVALID_ARGUMENT")


def gemini_turns(contents):
    """Neighbours of one role are one turn."""
    turns = []
    for content in contents:
        if turns and turns[-1][0] == content["role"]:
            turns[-1][1].extend(content["parts"])
        else:
            turns.append((content["role"], list(content["parts"])))
    asked = []
    for i, (role, parts) in enumerate(turns):
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        calls = [part for part in parts if "functionCall" in part]
        want(len(answers) == len(asked), "Please ensure that the number of function response parts is equal to the number of "
             "function call parts of the function call turn.", kind="INVALID_ARGUMENT")
        for answer, call in zip(answers, asked):
            want(answer["name"] == call["functionCall"]["name"], "Please ensure that function response turn has the names of "
                 "the function call turn.", kind="INVALID_ARGUMENT")
            want(not answer.get("id") or any(answer["id"] == one["functionCall"].get("id") for one in asked),
                 f"function response id {answer.get('id')} has no call", kind="INVALID_ARGUMENT")
        want(not calls or role == "model" and i, "Please ensure that function call turn comes immediately after a user turn or "
             "after a function response turn.", kind="INVALID_ARGUMENT")
        want(not calls or calls[0].get("thoughtSignature"),
             f"Function call is missing a thought_signature in functionCall parts. position {i + 1}", kind="INVALID_ARGUMENT")
        asked = calls
    want(not asked, "Please ensure that function call turn is followed by a function response turn.", kind="INVALID_ARGUMENT")


GEMINI_CONFIG = {"maxOutputTokens", "thinkingConfig", "candidateCount", "stopSequences", "responseMimeType",
                 "responseSchema", "responseJsonSchema", "responseModalities", "responseFormat", "mediaResolution", "seed",
                 "speechConfig", "enableEnhancedCivicAnswers", "logprobs", "responseLogprobs", "frequencyPenalty",
                 "presencePenalty"}


def gemini_settings(body):
    config = body.get("generationConfig", {})
    for known, part in ((GEMINI_CONFIG, config), ({"includeThoughts", "thinkingLevel", "thinkingBudget"},
                                                  config.get("thinkingConfig", {}))):
        only(part, known, "Invalid JSON payload received. Unknown name \"{}\" at 'generation_config': Cannot find field.",
             kind="INVALID_ARGUMENT")
    want(config.get("maxOutputTokens", 1) > 0, "* GenerationConfig.max_output_tokens: must be positive", kind="INVALID_ARGUMENT")


def gemini_generate(body, vendor):
    gemini_settings(body)
    only(body, GEMINI_BODY, "Invalid JSON payload received. Unknown name \"{}\": Cannot find field.", kind="INVALID_ARGUMENT")
    want(body.get("contents"), "* GenerateContentRequest.contents: contents is not specified", kind="INVALID_ARGUMENT")
    for i, content in enumerate(body["contents"]):
        only(content, {"role", "parts"}, f"Unknown name \"{{}}\" at 'contents[{i}]'", kind="INVALID_ARGUMENT")
        want(content.get("role") in ("user", "model"), "Please use a valid role: user, model.", kind="INVALID_ARGUMENT")
        want(content.get("parts"), f"* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.",
             kind="INVALID_ARGUMENT")
        for k, part in enumerate(content["parts"]):
            gemini_part(part, f"contents[{i}].parts[{k}]")
    want(body["contents"][0]["role"] == "user", "Please ensure that the conversation begins with a user turn.",
         kind="INVALID_ARGUMENT")
    gemini_turns(body["contents"])
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    want(len(declared) <= 128, "* GenerateContentRequest.tools: at most 128 function declarations", kind="INVALID_ARGUMENT")
    for i, one in enumerate(declared):
        at = f"GenerateContentRequest.tools[0].function_declarations[{i}]"
        only(one, {"name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"},
             f"Unknown name \"{{}}\" at '{at}'", kind="INVALID_ARGUMENT")
        want(GEMINI_NAME.match(one.get("name", "")), f"* {at}.name: Invalid function name. Must start with a letter or an underscore. "
             "Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of "
             "128.", kind="INVALID_ARGUMENT")
        want(one.get("description"), f"* {at}.description: missing field.", kind="INVALID_ARGUMENT")
        want(not ("parameters" in one and "parametersJsonSchema" in one), f"* {at}: parameters twice", kind="INVALID_ARGUMENT")
        if "parameters" in one:
            gemini_fields(one["parameters"], f"{at}.parameters")
        if "parametersJsonSchema" in one:
            gemini_json_schema(one["parametersJsonSchema"], f"{at}.parameters_json_schema")
    want(unique([one["name"] for one in declared]), "Duplicate function declaration found", kind="INVALID_ARGUMENT")


INTERACTIONS_BODY = {"model", "agent", "input", "system_instruction", "tools", "generation_config", "store", "stream",
                     "background", "previous_interaction_id", "response_format", "response_mime_type", "response_modalities",
                     "service_tier", "agent_config", "environment", "webhook_config", "cached_content", "safety_settings", "labels"}


def interactions_step(step, at, calls, results):
    kind = step.get("type")
    if kind in ("user_input", "model_output"):
        want(step.get("content"), f"{at}.content: must not be empty", kind="invalid_request")
        for part in step["content"]:
            want(part.get("type") != "text" or part.get("text"), f"{at}.content: text must not be empty", kind="invalid_request")
            if part.get("type") == "image" and "data" in part:
                wrong = is_image(part.get("mime_type"), part["data"], GEMINI_IMAGES, 20 << 20)
                want(not wrong, f"{at}: image: {wrong}", kind="invalid_request")
    elif kind == "function_call":
        want(step.get("id") and step["id"] not in calls, f"{at}.id: function calls need an id of their own", kind="invalid_request")
        want(GEMINI_NAME.match(step.get("name", "")), f"{at}.name: invalid", kind="invalid_request")
        want(isinstance(step.get("arguments"), dict), f"{at}.arguments: an object is wanted", kind="invalid_request")
        calls.append(step["id"])
    elif kind == "function_result":
        want(step.get("call_id") in calls, f"{at}.call_id: no such function_call", kind="invalid_request")
        want(step["call_id"] not in results, f"{at}.call_id: second result", kind="invalid_request")
        results.append(step["call_id"])
        for part in step["result"] if isinstance(step.get("result"), list) else []:
            if part.get("type") == "image":
                wrong = is_image(part.get("mime_type"), part["data"], GEMINI_IMAGES, 20 << 20)
                want(not wrong, f"{at}: image: {wrong}", kind="invalid_request")


def gemini_interactions(body, vendor):
    only(body, INTERACTIONS_BODY, "unknown parameter: {}", kind="invalid_request")
    want(body.get("input"), "input: required", kind="invalid_request")
    calls, results = [], []
    for i, step in enumerate(body["input"]):
        if step.get("type") in ("user_input", "model_output"):
            left = [one for one in calls if one not in results]
            want(not left or step["type"] == "model_output", f"function_call without function_result: {left}",
                 kind="invalid_request")
        interactions_step(step, f"input[{i}]", calls, results)
    left = [one for one in calls if one not in results]
    want(not left, f"function_call without function_result: {left}", kind="invalid_request")
    for i, tool in enumerate(body.get("tools", [])):
        only(tool, {"type", "name", "description", "parameters"}, f"tools[{i}].{{}}: unknown", kind="invalid_request")
        want(GEMINI_NAME.match(tool.get("name", "")), f"tools[{i}].name: invalid", kind="invalid_request")
        gemini_json_schema(tool.get("parameters"), f"tools[{i}].parameters")


WIRES = {wire.__name__: wire for wire in
         (anthropic_messages, openai_responses, openai_chat, gemini_generate, gemini_interactions)}


def refusal(wire, body, vendor=""):
    try:
        WIRES[wire](body, vendor)
    except Refused as refused:
        return refused.said
    return None
