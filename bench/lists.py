#!/usr/bin/env python3
"""Fills a farm with sites, lists and documents for bench/lists, and times changes of them one after the other.

lists.py fill HOST:PORT TOKEN SITES DOCUMENTS LISTS ROWS LARGE: prints what the script needs, as assignments of the shell.
lists.py change HOST:PORT TOKEN LIST: prints a table.
"""
import http.client
import json
import shlex
import statistics
import sys
import time

COLUMNS = [
    {"name": "State", "kind": "choice", "choices": ["open", "in work", "waiting", "done", "dropped"]},
    {"name": "Due", "kind": "date"},
    {"name": "Effort", "kind": "number"},
    {"name": "Done", "kind": "yes-no"},
    {"name": "Owner", "kind": "person"},
    {"name": "Place", "kind": "text"},
    {"name": "Seen", "kind": "date"},
    {"name": "Cost", "kind": "number"},
    {"name": "Page", "kind": "link"},
]
# Rows that one request adds.
BATCH = 1000


class Server:
    def __init__(self, address, token):
        self.connection = http.client.HTTPConnection(address)
        self.token = token

    def ask(self, method, path, body=None, raw=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            raw = json.dumps(body).encode()
        if raw is not None:
            headers["Content-Type"] = kind
        self.connection.request(method, path, raw, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text.decode()[:500]}")
        return json.loads(text) if text and "json" in answer.headers.get("Content-Type", "") else None

    def root(self):
        return self.ask("GET", "/api/v1/items/by-path?path=")["id"]


def row(number, owner):
    """A row with all columns, whose values are spread over the list."""
    spread = number * 7919 % 100_003
    return {
        "Title": f"Task {spread:06} of the benchmark",
        "State": COLUMNS[0]["choices"][spread % 5],
        "Due": f"20{26 + spread % 5}-{spread % 12 + 1:02}-{spread % 28 + 1:02}",
        "Effort": spread % 1000 / 4,
        "Done": spread % 3 == 0,
        "Owner": owner,
        "Place": f"Room {spread % 500}",
        "Seen": f"2025-{spread % 12 + 1:02}-{spread // 12 % 28 + 1:02}",
        "Cost": spread,
        "Page": f"https://example.org/{spread}",
    }


def make_list(server, site, name, rows, owner):
    made = server.ask("POST", f"/api/v1/items/{site}/lists", {"name": name, "title_column": "Title"})["id"]
    for column in COLUMNS:
        server.ask("POST", f"/api/v1/items/{made}/columns", column)
    for first in range(0, rows, BATCH):
        add(server, made, range(first, min(first + BATCH, rows)), owner)
    return made


def add(server, made, numbers, owner):
    changes = [{"set": row(number, owner)} for number in numbers]
    answer = server.ask("POST", f"/api/v1/items/{made}/changes", {"atomic": True, "changes": changes})
    if not answer["applied"]:
        sys.exit(f"the rows were refused: {json.dumps(answer)[:500]}")
    return answer


def fill(server, sites, documents, lists, rows, large):
    root, owner = server.root(), server.ask("GET", "/api/v1/me")["user"]["id"]
    made, form = None, None
    for number in range(sites):
        site = server.ask("POST", f"/api/v1/items/{root}/sites", {"name": f"site-{number}", "template": "team"})["id"]
        server.ask("POST", f"/api/v1/items/{site}/libraries", {"name": "Papers"})
        for at in range(documents // sites):
            server.ask("PUT", f"/api/v1/content/site-{number}/Papers/Document {at}.txt".replace(" ", "%20"), raw=b"x" * 200, kind="text/plain")
        for at in range(lists // sites):
            form = make_list(server, site, f"List {at}", rows, owner)
        if number == sites // 2:
            made = form
    place = make_list(server, root, "Large", large, owner)
    columns = [column for column in server.ask("GET", f"/api/v1/items/{place}/columns")["items"]]
    filters = {
        "Title": "000500", "State": "waiting", "Due": "2027-03-03..2027-03-04", "Effort": "17..17.5", "Done": "yes",
        "Owner": "admin", "Place": "Room 77", "Seen": "2025-03-03", "Cost": "500..600", "Page": "/12345",
    }
    said = {
        "site_page": f"/browse/site-{sites // 2}",
        "list_page": f"/browse/site-{sites // 2}/List%200",
        "form_page": f"/items/{made}/new-row",
        "list_id": made,
        "large_page": "/browse/Large",
    }
    for name, value in said.items():
        print(f"{name}={shlex.quote(value)}")
    for name, values in {
        "column_names": [column["name"] for column in columns],
        "column_ids": [column["id"] for column in columns],
        "column_filters": [filters[column["name"]].replace(" ", "%20") for column in columns],
    }.items():
        print(f"{name}=({' '.join(shlex.quote(value) for value in values)})")


def timed(rounds, act):
    """The median and the slowest of so many calls, in milliseconds."""
    times = []
    for number in range(rounds):
        began = time.perf_counter()
        act(number)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times), max(times)


def change(server, made):
    owner = server.ask("GET", "/api/v1/me")["user"]["id"]
    rows = server.ask("GET", f"/api/v1/items/{made}/rows?limit=500")["items"]
    root = server.root()

    def edit(number):
        cell = [{"id": rows[number % len(rows)]["id"], "set": {"Effort": number}}]
        server.ask("POST", f"/api/v1/items/{made}/changes", {"atomic": True, "changes": cell})

    def paste(number):
        add(server, made, range(number * BATCH, (number + 1) * BATCH), owner)

    template = ['format = 1\nkind = "site"\nname = "twenty"\ntitle = "Twenty lists"\n']
    for number in range(20):
        columns = ", ".join(f'{{ name = "Column {at}", kind = "text" }}' for at in range(8))
        template.append(
            f'[[lists]]\nname = "List {number}"\nholds = "rows"\ncolumns = [{{ name = "Title", kind = "text", role = "title", required = true }}, {columns}]\n'
        )
    server.ask("POST", "/api/v1/templates", raw="\n".join(template).encode(), kind="application/toml")

    def site(number):
        server.ask("POST", f"/api/v1/items/{root}/sites", {"name": f"twenty-{number}", "template": "twenty"})

    print("| change, one after the other | median, ms | slowest, ms | goal, ms |\n|---|---|---|---|")
    for name, rounds, act, goal in [
        ("edit of one cell of a grid", 500, edit, 5), ("paste of 1,000 rows of 10 columns", 20, paste, 100),
        ("a site from a template of 20 lists", 20, site, 200),
    ]:
        median, slowest = timed(rounds, act)
        print(f"| {name} | {median:.1f} | {slowest:.1f} | {goal} |")


def main():
    what, address, token, *rest = sys.argv[1:]
    server = Server(address, token)
    if what == "fill":
        fill(server, *map(int, rest))
    else:
        change(server, *rest)


main()
