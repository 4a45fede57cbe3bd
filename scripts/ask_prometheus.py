"""Talks in the local room, then asks a Prometheus that scrapes it for every query of the dashboard and every alert."""

import json
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE_SECONDS = 60
# Families that have no series until something goes wrong, or until a model or a platform is connected.
ABSENT_AT_FIRST = {
    "aizuchi_panics_total",
    "aizuchi_platform_connected",
    "aizuchi_channels_behind",
    "aizuchi_channels_failing",
    "aizuchi_model_cost_total",
    "aizuchi_model_failing",
    "aizuchi_money_limit",
    "aizuchi_model_tokens_total",
    "aizuchi_model_calls_total",
    "aizuchi_model_seconds",
    "aizuchi_unsolicited_delay_seconds",
}


def read(address, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def until(what, condition):
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            if condition():
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.2)
    sys.exit(f"{what} did not come about in {PATIENCE_SECONDS} seconds")


def ask(prometheus, query):
    """The result of a query. An error of it ends the script with its sentence."""
    address = f"{prometheus}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    try:
        return read(address)["data"]["result"]
    except urllib.error.HTTPError as error:
        sys.exit(f"{query}: {error.read().decode()}")


def expressions(node):
    if isinstance(node, dict):
        for name, value in node.items():
            yield from [value] if name == "expr" else expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


def main(aizuchi, prometheus):
    until("the start of Aizuchi", lambda: read(f"{aizuchi}/api/room") is not None)
    read(f"{aizuchi}/api/messages", {"channel": "general", "user": "Ken", "text": "@Aizuchi who are you?"})
    # A day of a small team, as it is replayed elsewhere.
    with open("examples/small-history.jsonl", encoding="utf-8") as file:
        for said in map(json.loads, file):
            read(f"{aizuchi}/api/messages", {"channel": "general", "user": said["author"], "text": said["text"]})
    spoken = 'aizuchi_decisions_total{ended="spoke"} > 0'
    until("a scrape of the first answer", lambda: ask(prometheus, spoken))

    with open("deploy/monitoring/grafana-dashboard.json", encoding="utf-8") as file:
        queries = list(expressions(json.load(file)))
    rules = [rule for group in read(f"{prometheus}/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
    until("the first evaluation of the rules", lambda: all(
        rule["health"] == "ok"
        for group in read(f"{prometheus}/api/v1/rules")["data"]["groups"]
        for rule in group["rules"]
    ))
    names = set(read(f"{prometheus}/api/v1/label/__name__/values")["data"])
    unknown = set()
    for query in queries + [rule["query"] for rule in rules]:
        ask(prometheus, query)
        for name in re.findall(r"aizuchi_\w+", query):
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            if name not in names and family not in ABSENT_AT_FIRST:
                unknown.add(name)
    if unknown:
        sys.exit(f"no such series: {', '.join(sorted(unknown))}")
    firing = ask(prometheus, 'ALERTS{alertstate="firing"}')
    if firing:
        sys.exit(f"it alerts on a quiet day: {[alert['metric']['alertname'] for alert in firing]}")
    print(f"{len(queries)} queries and {len(rules)} alerts were answered; {len(names)} series names were scraped")


main(*sys.argv[1:])
