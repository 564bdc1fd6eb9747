#!/usr/bin/env python3
"""Asks a real server on a scratch farm what its OpenAPI document promises.

fuzz.py BINARY SCHEMATHESIS OUTPUT SECONDS [OPTIONS OF SCHEMATHESIS]: the last line says how many operations are as they are described.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
PASSWORD = "correct horse battery"
SEED = 19


class Server:
    """A server on a farm of its own."""

    def __init__(self, binary):
        self.data = Path(tempfile.mkdtemp(prefix="strongroom-api-"))
        self.farm = self.data / "farm"
        env = {**os.environ, "STRONGROOM_ADMIN_PASSWORD": PASSWORD}
        words = [binary, "serve", "--data", self.farm, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.data)
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.url = found.group()
                break
        else:
            sys.exit("the server did not start:\n" + "".join(self.said))
        threading.Thread(target=lambda: self.said.extend(self.process.stdout), daemon=True).start()
        self.binary = binary
        self.token = self.make_token("admin", "fuzz")["secret"]

    def make_token(self, login, name):
        """Makes a token on the machine itself: a token cannot make another one."""
        words = [self.binary, "user", "token", "create", login, name, "--data", self.farm, "--json"]
        return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)

    def ask(self, method, path, body=None, raw=None, **fields):
        # A password is given with a fresh proof, which Basic always is.
        basic = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}" if "password" in (body or {}) else f"Bearer {self.token}"}
        headers.update({name.replace("_", "-"): value for name, value in fields.items()})
        if body is not None:
            raw = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, method=method, data=raw, headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                text = answer.read()
                return json.loads(text) if text and "json" in answer.headers["Content-Type"] else answer.headers
        except urllib.error.HTTPError as refused:
            sys.exit(f"{method} {path}: {refused.code} {refused.read().decode()}")

    def stop(self):
        self.process.terminate()
        code = self.process.wait(60)
        shutil.rmtree(self.data, ignore_errors=True)
        return code


def furnish(server):
    """Puts something of every kind on the farm; returns identifiers by what they stand for in paths."""
    ask = server.ask

    def item(path):
        return ask("GET", "/api/v1/items/by-path?path=" + urllib.parse.quote(path))["id"]

    people = [ask("POST", "/api/v1/users", {"login": f"person-{n}", "password": PASSWORD})["id"] for n in range(3)]
    groups = [ask("POST", "/api/v1/groups", {"name": f"Group {n}"})["id"] for n in range(2)]
    roles = [ask("POST", "/api/v1/roles", {"name": "Drop-off", "rights": ["view", "add"]})["id"], "1"]
    server.make_token("person-0", "script")
    tokens = [token["id"] for token in ask("GET", f"/api/v1/users/{people[0]}/tokens")["items"]]
    for n in range(3):
        for version in range(3):
            ask("PUT", f"/api/v1/content/Documents/Folder/{n}.txt", raw=b"one\n" * (version + 1), Content_Type="text/plain")
    ask("PUT", "/api/v1/content/Documents/big.bin", raw=os.urandom(3_000_000))
    site, library, folder = item(""), item("Documents"), item("Documents/Folder")
    documents = [item(f"Documents/Folder/{n}.txt") for n in range(3)] + [item("Documents/big.bin")]
    drafts = ask("POST", f"/api/v1/items/{site}/libraries", {"name": "Drafts", "settings": {"versioning": "major-minor"}})["id"]
    ask("PUT", "/api/v1/content/Drafts/draft.txt", raw=b"draft")
    ask("PUT", f"/api/v1/site-collections/{site}/link-rule", {"most_days": 30})
    kinds = ["text", "number", "date", "person", "yes-no", "link"]
    columns = [ask("POST", f"/api/v1/items/{library}/columns", {"name": kind, "kind": kind})["id"] for kind in kinds]
    types = [ask("POST", f"/api/v1/items/{library}/content-types", {"name": "Invoice"})["id"]]
    views = [ask("POST", f"/api/v1/items/{library}/views", {"name": "Mine"})["id"]]
    searches = [ask("POST", "/api/v1/saved-searches", {"name": "Plans", "query": "one"})["id"]]
    links = [ask("POST", f"/api/v1/items/{documents[0]}/links", {"days": 3})["id"]]
    locks = [ask("POST", f"/api/v1/items/{documents[1]}/locks", {"seconds": 60})["token"]]
    jobs = [ask("POST", "/api/v1/farm/jobs", {"kind": "check"})["id"]]
    said = "path " + base64.b64encode(b"Documents/later.bin").decode()
    upload = ask("POST", "/api/v1/uploads", raw=b"", Tus_Resumable="1.0.0", Upload_Length="100", Upload_Metadata=said,
                 Content_Type="application/offset+octet-stream")["Location"].rsplit("/", 1)[1]
    ask("PUT", "/api/v1/content/Documents/gone.txt", raw=b"gone")
    entry = ask("DELETE", "/api/v1/content/Documents/gone.txt")["entry"]
    stores = [store["name"] for store in ask("GET", "/api/v1/farm/stores")["items"]]
    collection = ask("POST", "/api/v1/site-collections", {"path": "sites/legal", "title": "Legal"})["id"]
    return {
        "items": [site, library, folder, drafts, *documents], "users": people, "groups": groups, "roles": roles,
        "tokens": tokens, "columns": columns, "types": types, "views": views, "links": links, "locks": locks, "jobs": jobs,
        "uploads": [upload], "entries": [entry], "stores": stores, "collections": [site, collection],
        "searches": searches,
        "numbers": ["1.0", "2.0", "3.0"], "sessions": ["1"], "names": ["big.bin", "new.txt", "Folder"],
    }


# Which of them stands where in the paths of the interface.
PLACES = [
    ("", {"id": "items"}),
    ("/users/", {"id": "users", "token": "tokens", "session": "sessions"}),
    ("/groups/", {"id": "groups", "user": "users"}),
    ("/roles/", {"id": "roles"}),
    ("/site-collections/", {"id": "collections", "entry": "entries"}),
    ("/saved-searches/", {"id": "searches"}),
    ("/farm/jobs/", {"id": "jobs"}),
    ("/farm/stores/", {"store": "stores"}),
    ("/uploads/", {"id": "uploads"}),
    ("/content/", {"path": "names"}),
    ("/versions/", {"id": "items", "number": "numbers"}),
    ("/columns/", {"id": "items", "column": "columns"}),
    ("/content-types/", {"id": "items", "type": "types"}),
    ("/views/", {"id": "items", "view": "views"}),
    ("/links/", {"id": "items", "link": "links"}),
    ("/locks/", {"id": "items", "token": "locks"}),
    ("/grants/", {"id": "items", "principal": "users", "role": "roles"}),
]


def configure(server, known, output):
    lines = [(HERE / "schemathesis.toml").read_text().replace('"hooks.py"', json.dumps(str(HERE / "hooks.py"))), ""]
    for name, values in known.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(values)}", ""]
    for part, places in PLACES:
        lines += ["[[operations]]", f"include-path-regex = {json.dumps(part or '.')}"]
        bound = [f'"path.{name}" = {{ dictionary = "{what}", probability = 0.8 }}' for name, what in places.items()]
        lines += ["[operations.parameters]", *bound, ""]
    lines += ["[auth.openapi]", f'bearer = {{ bearer = "{server.token}" }}', ""]
    path = output / "schemathesis.toml"
    path.write_text("\n".join(lines))
    return path


def verdict(output, code):
    """Counts the operations that kept their promise and those that did not."""
    told = json.loads((output / "report.json").read_text())
    broken = {name for failure in told["failures"] for name in failure["operations"]}
    broken |= {f"error: {error['title']}" for error in told["errors"]}
    if not broken and (code or told["operations"]["tested"] != told["operations"]["total"]):
        broken.add(f"schemathesis exited with {code} after {told['operations']['tested']} of {told['operations']['total']} operations")
    return told["operations"]["total"], sorted(broken), told["test_cases"]["generated"]


def main():
    binary, schemathesis, output, seconds = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    server = Server(binary)
    try:
        known = furnish(server)
        config = configure(server, known, output)
        caller = server.ask("GET", "/api/v1/me")["user"]["id"]
        env = {**os.environ, "FUZZ_CALLER": caller, "FUZZ_OTHER": known["users"][0]}
        words = [schemathesis, "--no-color", "--config-file", config, "run", server.url + "/api/openapi.json", "--max-time", seconds,
                 "--seed", str(SEED), "--warnings", "off", "--report", "json,ndjson", "--report-json-path", output / "report.json",
                 "--report-ndjson-path", output / "requests.ndjson", *sys.argv[5:]]
        code = subprocess.run(words, cwd=output, env=env).returncode
        # Refusals of somebody who may do nothing any more would prove nothing.
        server.ask("GET", "/api/v1/farm/status")
    finally:
        ended = server.stop()
        (output / "server.log").write_text("".join(server.said))
    total, broken, requests = verdict(output, code)
    if ended != 0:
        broken.append(f"the server exited with {ended}")
    for name in broken:
        print(f"not as described: {name}")
    print(f"{requests} requests: {max(total - len(broken), 0)} operations as described, {len(broken)} not")
    sys.exit(1 if broken else 0)


main()
