"""What schemathesis has to know of this interface: where its answers depend on more than the form of a request.

Each exception says why the description cannot say it. Whatever is not named here counts as a fault.
"""
import json
import os

import schemathesis
from schemathesis.openapi.checks import IgnoredAuth, RejectedPositiveData

# 400 with these codes is about what is on the farm, or about several fields together.
CODES = {
    "approval_without_drafts": "approval belongs to one kind of versioning only",
    "built_in": "built-in items of the farm cannot be changed",
    "check_failed": "a list decides which values it takes",
    "column_required": "a list decides which of its columns need a value",
    "condition_not_heeded": "a precondition was added by the fuzzing of header fields",
    "digest_mismatch": "the digest does not match the bytes",
    "easy_password": "no pattern can express how easy a password is to guess",
    "idempotency_key_reused": "the same key was used for another request before",
    "invalid_cursor": "a cursor is a text that only this server can write",
    "invalid_days": "a site collection may allow fewer days",
    "invalid_formula": "no pattern can express a formula, or which options exclude each other",
    "invalid_image": "no pattern says which bytes are a picture",
    "invalid_metadata": "Base64 hides which keys of Upload-Metadata belong together",
    "invalid_scope": "a token that administers the farm cannot be limited to places",
    "invalid_template": "a template is a text with rules of its own",
    "invalid_value": "the kind of the column decides what fits",
    "length_mismatch": "more or fewer bytes arrived than were announced",
    "not_readable": "no pattern says which bytes are a workbook",
    "path_too_deep": "the depth of an item counts from the root of the site",
    "reason_required": "a rejection needs a reason that is not blank",
    "same_password": "no schema compares two fields",
    "too_much_at_once": "the state of a store cannot be changed together with other fields",
}

# The same where the code is shared with refusals of other kinds: how the sentence begins or goes on.
SENTENCES = {
    ".0`, expected": "JSON Schema takes 1.0 for an integer; who writes integers never writes them so",
    "Upload-Checksum must be": "schemathesis also sends the empty text as one that matches this pattern, which it does not",
    "names no entity tag": "schemathesis also sends the empty text as one that matches this pattern, which it does not",
    "a key is given twice": "the keys of Upload-Metadata are no parts of its text",
    "a value is not UTF-8": "the values of Upload-Metadata are in Base64",
    "a lookup column": "the list belongs to one kind of column only, and has to be there",
    "take several values": "which kinds of columns take several values is said in words",
    "takes several values, and its fields": "a column keeps the number of values that it takes",
    "a choice column needs": "choices belong to one kind of column only",
    "a change without `id` adds a row": "which fields a change has depends on whether it names a row",
    "a change with `delete` sets no values": "the same",
    "the request changes a row twice": "a schema cannot say that no two changes name the same row",
    "is named twice": "a column can be named by its name and by its identifier",
    "these rows have too much text to be changed at once": "the limit is on what the rows hold",
    "the list has no column": "the titles of a file are names of columns",
    "the first line has": "the titles of a file differ from each other",
    "but the list has": "the fields of a file are those of the columns",
    "the file is not a table": "the quotes of a file are balanced, which no pattern says",
    "the kind of a column cannot be changed": "the column is there and is of another kind",
    "is both the source and the destination": "two fields name the same store",
    "no BLOB has at least": "two sizes contradict each other",
    "no user in this farm has": "the column takes people of the farm",
    "has either an item or an address": "a link has one of two fields",
    "a link to an address needs a label": "a label may be missing for an item only",
    "is reserved for addresses of the program": "a few first names of addresses are taken by the program",
    "the token would have ended": "the end of a token lies in the future",
    "the query cannot be read as it is written": "the grammar of queries is no pattern, and strict refuses mistakes",
    "two tiers begin after": "two tiers have the same days",
    "a time zone has a name such as": "no pattern names all time zones",
    "the path does not contain the name of a document": "the empty path is the root site, which is no document",
}

# Sentences that count for one operation alone, where one field decides what another one may be.
OPERATIONS = {
    # A list from a template has the columns of the template.
    "create_list": ["a template has its own columns"],
    # The kind of a store decides which settings it takes, and its provider names those that it does not know.
    "add_store": ["a store of the kind ", "needs the setting", "needs the secret"],
    "change_store": ["a store of the kind ", "needs the setting", "needs the secret"],
    # A database is named, a site collection or library has an identifier.
    "get_storage_policy": ["an identifier in the address is not a number"],
    "set_storage_policy": ["an identifier in the address is not a number"],
}


def problem(response):
    try:
        told = json.loads(response.content)
        return told.get("code", ""), told.get("detail", "")
    except (ValueError, AttributeError):
        return "", ""


@schemathesis.hook
def filter_failure(context, failure, case, response):
    code, detail = problem(response)
    if isinstance(failure, RejectedPositiveData):
        sentences = [*SENTENCES, *OPERATIONS.get(operation_id(case), [])]
        return not (code in CODES or any(sentence in detail for sentence in sentences))
    # Who guesses is told to wait, on every operation alike; that is described as 429.
    return not (isinstance(failure, IgnoredAuth) and "429 Too Many Requests" in failure.message)


def operation_id(case):
    return case.operation.definition.raw.get("operationId")


@schemathesis.hook
def before_load_schema(context, raw_schema):
    paths = raw_schema["paths"]
    for item in paths.values():
        for operation in item.values():
            # `default` would make every status a described one; what is described one by one is what counts here.
            operation.get("responses", {}).pop("default", None)
    # The slashes of a path stay as they are, which a parameter of OpenAPI cannot say: here it is one name in a library.
    item = paths.pop("/api/v1/content/{path}")
    for operation in item.values():
        for parameter in operation["parameters"]:
            if parameter["name"] == "path":
                parameter["schema"] = {"$ref": "#/components/schemas/ItemName"}
    paths["/api/v1/content/Documents/{path}"] = item


@schemathesis.hook
def before_call(context, case, kwargs):
    # The caller's own account has to last until the end: others are changed in its place.
    parameters = case.path_parameters
    if case.method != "GET" and (parameters or {}).get("id") == os.environ["FUZZ_CALLER"]:
        parameters["id"] = os.environ["FUZZ_OTHER"]
    # A store may lie anywhere on this machine or in the world. From here it lies in the farm.
    body = case.body
    if operation_id(case) == "add_store" and isinstance(body, dict) and isinstance(body.get("kind"), str):
        body["kind"] = "directory" if body["kind"] in ("s3", "azure", "gcs") else body["kind"]
        if isinstance(body.get("location"), str):
            body["location"] = f"stores/{len(json.dumps(body, default=str)) % 8}"


schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
schemathesis.serializer.alias("application/toml", "text/plain")
schemathesis.serializer.alias(
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/octet-stream"
)
