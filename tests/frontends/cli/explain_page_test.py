#!/usr/bin/env python3
"""The page of --html in a headless browser: explain_page_test.py GRAPHRUN

Without a browser it is skipped, and says so; where GRAPHRUN_REQUIRE_BROWSER is set it fails.
"""

import html.parser
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from large_costs import HOSTILE, costs

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
OPS = 5000
LOAD_MS = 15_000  # measured: 300; a slow, shared machine takes some times that

graphrun = sys.argv.pop(1)
browser = next((found for found in map(shutil.which, BROWSERS) if found), None)


# Does on each canvas what a hand does: hovers, drags, zooms, presses keys and clicks all over it.
HAND = """<script>
HTMLElement.prototype.setPointerCapture = () => {};
for (const id of ['memory', 'timeline', 'graph']) {
  const canvas = document.getElementById(id);
  const box = canvas.getBoundingClientRect();
  const fire = (type, x, y, Kind = PointerEvent) => canvas.dispatchEvent(new Kind(type, {
    clientX: box.left + x * box.width, clientY: box.top + y * box.height, deltaY: -40, ctrlKey: true,
    bubbles: true, cancelable: true }));
  delete document.getElementById('details').dataset.node;
  for (let x = 0.02; x < 1; x += 0.02) {
    for (let y = 0.02; y < 1; y += 0.02) {
      ['pointermove', 'pointerdown', 'pointerup'].forEach((type) => fire(type, x, y));
      if (document.getElementById('details').dataset.node) {
        [x, y] = [2, 2];
      }
    }
  }
  canvas.dataset.clicked = document.getElementById('details').dataset.node || '';
  fire('pointerdown', 0.5, 0.5);
  fire('pointermove', 0.6, 0.6);
  fire('pointerup', 0.6, 0.6);
  fire('wheel', 0.5, 0.5, WheelEvent);
  for (const key of ['ArrowLeft', '+', '-', '0']) {
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true }));
  }
}
document.querySelectorAll('button').forEach((button) => button.click());
document.getElementById('show-path').click();
</script>"""


class Dom(html.parser.HTMLParser):
    """Attributes and text of the elements that have an id."""

    VOID = {"meta", "link", "input", "br"}

    def __init__(self, text):
        super().__init__()
        self.attributes, self.texts, self.open = {}, {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        name = "html" if tag == "html" else attrs.get("id")
        if name:
            self.attributes[name] = attrs
            self.texts[name] = ""
        if tag not in self.VOID:
            self.open.append((tag, name))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, name in self.open:
            if name:
                self.texts[name] += data


def browse(page, fragment=""):
    """The page's elements after its script has run, and what it wrote to the console."""
    address = f"file://{urllib.parse.quote(page)}{'#' if fragment else ''}{fragment}"
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1200",
         "--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom", address],
        capture_output=True, timeout=100, check=True)
    console = [line for line in done.stderr.decode(errors="replace").splitlines()
               if "CONSOLE" in line]
    return Dom(done.stdout.decode()), console


class ExplainPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        graph = os.path.join(folder.name, "costs.json")
        cls.page = os.path.join(folder.name, "page.html")
        with open(graph, "w", encoding="utf-8") as file:
            json.dump(costs(OPS, 4), file)
        subprocess.run([graphrun, "place", graph, "--strategy", "random:1", "--html", cls.page],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)
        with open(cls.page, encoding="utf-8") as file:
            cls.source = file.read()

    def open(self, fragment=""):
        dom, console = browse(self.page, fragment)
        self.assertEqual(console, [])
        self.assertNotIn("data-errors", dom.attributes["html"])
        self.assertEqual(dom.texts["problem"], "")
        return dom

    def write(self, source):
        path = f"{self.page}.changed.html"
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        return path

    def testNeedsNothingElse(self):
        self.assertEqual(self.source.count("<script"), 2)
        self.assertEqual(self.source.count("</script>"), 2)
        for word in ("http:", "https:", " src=", "@import", "url("):
            self.assertNotIn(word, self.source)

    def testDrawsEveryOperationInTime(self):
        dom = self.open()
        self.assertEqual(dom.attributes["html"]["data-nodes"], str(OPS))
        self.assertEqual(dom.attributes["graph"]["data-drawn"], str(OPS))
        self.assertLess(int(dom.attributes["html"]["data-ready"]), LOAD_MS)
        self.assertIn("costs.json", dom.texts["title"])
        for table, words in (("devices-table", "fast:2"), ("strategies-table", "heft"),
                             ("links-table", "node0 -> node1"), ("ops-table", f"{OPS - 50} more"),
                             ("devices-legend", "slow ("), ("path-legend", "compute ")):
            self.assertIn(words, dom.texts[table])

    def testFindsOperations(self):
        dom = self.open("find=LAYER12/mixed")
        self.assertEqual(dom.texts["found"], "1 of 3")
        self.assertEqual(dom.attributes["details"]["data-node"], "layer12/mixed0")
        self.assertLess(int(dom.attributes["graph"]["data-drawn"]), OPS)  # near enough to read
        self.assertEqual(self.open("find=nothing+like+it").texts["found"], "0 found")

    def testTellsWhyAnOperationIsWhereItIs(self):
        details = self.open("op=layer12/joined").texts["details"]
        for words in ("layer12/joined", "op.joined on ", "Why here", "here", "%", "layer12/mixed2",
                      "layer12/added"):
            self.assertIn(words, details)

    def testFollowsTheHand(self):
        page = self.write(self.source.replace("</body>", f"{HAND}</body>"))
        dom, console = browse(page)
        self.assertEqual(console, [])
        self.assertNotIn("data-errors", dom.attributes["html"])
        self.assertEqual(dom.attributes["memory"]["data-clicked"], "")
        for canvas in ("timeline", "graph"):
            self.assertIn("/", dom.attributes[canvas]["data-clicked"])

    def testShowsHostileNamesAsText(self):
        for name in (HOSTILE[0], HOSTILE[2]):
            dom = self.open(urllib.parse.urlencode({"op": name}))
            self.assertEqual(dom.attributes["details"]["data-node"], name)
            self.assertIn(name, dom.texts["details"])
            self.assertIn("costs.json", dom.texts["title"])

    def testFaultsAreSeen(self):
        broken = self.write(self.source.replace('"tensors"', '"tensor"', 1))
        self.assertEqual(browse(broken)[0].attributes["html"]["data-errors"], "1")


if browser is None:
    required = bool(os.environ.get("GRAPHRUN_REQUIRE_BROWSER"))
    print(f"{'failed' if required else 'skipped'}: none of {', '.join(BROWSERS)} is installed; "
          "./dev deps installs one")
    sys.exit(1 if required else 0)
unittest.main()
