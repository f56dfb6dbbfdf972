#!/usr/bin/env python3
"""Tells what a page of --html holds, a line each: page_data.py PAGE.html

Fails where the page is not one file that needs nothing else.
"""

import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    """The elements of a page, and the text of its data."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.data, self.inData = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inData = dict(attrs).get("id") == "data"

    def handle_endtag(self, tag):
        self.inData = False

    def handle_data(self, data):
        self.data += data if self.inData else ""


def outside(page):
    """What a browser would fetch for the page, or take as markup of the data."""
    scripts = sum(tag == "script" for tag, _ in page.elements)
    found = [f"{scripts} scripts"] if scripts != 2 else []
    for tag, attributes in page.elements:
        for name in ("src", "href"):
            value = attributes.get(name) or ""
            if value and not value.startswith(("#", "data:")):
                found.append(f"{tag} {name}={value}")
    return found


def tell(what, explanation):
    nodes = explanation["nodes"]
    print(f"{what}: {len(nodes)} nodes by {explanation['strategy']} on "
          f"{len({node['device'] for node in nodes})} devices")
    print(f"{what} kinds: {' '.join(sorted({node['kind'] for node in nodes}))}")
    print(f"{what} types: {' '.join(sorted({t['type'] or '?' for t in explanation['tensors']}))}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = Page(file.read())
    found = outside(page)
    if found:
        sys.exit(f"{sys.argv[1]}: {', '.join(found)}")
    data = json.loads(page.data)
    tell("this", data["explanation"])
    if data["other"]:
        tell("other", data["other"])
        there = {node["node"]: node["device"] for node in data["other"]["nodes"]}
        moved = sum(there[n["node"]] != n["device"] for n in data["explanation"]["nodes"])
        print(f"moved: {moved}")
    if data["measured"]:
        known = {n["node"] for n in data["explanation"]["nodes"]}
        nodes = data["measured"]["times"]["nodes"]
        print(f"measured: {sum(n['node'] in known for n in nodes)} of {len(known)} nodes, "
              f"{sum(n['ns'] > 0 for n in nodes)} took time; "
              f"step {'known' if data['measured']['latency_ms']['p50'] > 0 else 'unknown'}")


main()
