#!/usr/bin/env python3
"""The page of --html in a headless browser: explain_page_test.py GRAPHRUN

Without a browser it is skipped, and says so; where GRAPHRUN_REQUIRE_BROWSER is set it fails.
"""

import csv
import html.parser
import io
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


# Tells the widest text that is written in the boxes of the graph.
RULER = """<script>
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  if (this.canvas.id === 'graph' && this.textAlign === 'center') {
    const told = document.documentElement.dataset;
    told.widest = Math.max(this.measureText(text).width, Number(told.widest ?? 0));
  }
  write.call(this, text, ...place);
};
</script>"""

# Sorts the operations by name, keeps those of one layer and saves them.
TABLE_HAND = """<script>
URL.createObjectURL = (blob) => {
  blob.text().then((text) => { document.documentElement.dataset.csv = text; });
  return 'data:,';
};
const table = document.querySelector('#ops-table');
table.querySelector('th button').click();
const filter = table.querySelector('.filter');
filter.value = window.wanted;
filter.dispatchEvent(new Event('input'));
table.querySelector('.csv').click();
</script>"""

# Tells the times of each device, and why it is idle.
IDLE_HAND = """<script>
const told = readModel(JSON.parse(byId('data').textContent));
document.documentElement.dataset.idle = JSON.stringify(told.devices.map((device, d) => ({
  busy: device.busy_ns, step: told.stepNs, sums: idleSums(told, d),
  why: idleTimes(told, d).map((idle) => describeIdle(told, idle)) })));
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
        graph = cls.graph = os.path.join(folder.name, "costs.json")
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
        boxes = dom.attributes["graph"]["data-boxes"]
        self.assertEqual(dom.attributes["graph"]["data-drawn"], boxes)
        self.assertLess(int(boxes), OPS // 10)  # scopes are folded,
        self.assertNotIn("hidden", dom.attributes["map"])  # and there is a map
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
        graph = dom.attributes["graph"]
        self.assertLess(int(graph["data-drawn"]), int(graph["data-boxes"]))  # near enough to read
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

    def testUnfoldsAll(self):
        hand = "<script>document.querySelector('[data-do=unfold]').click();</script>"
        dom, console = browse(self.write(self.source.replace("</body>", f"{hand}</body>")))
        self.assertEqual(console, [])
        self.assertEqual(dom.attributes["graph"]["data-boxes"], str(OPS))
        self.assertEqual(dom.attributes["graph"]["data-drawn"], str(OPS))

    def testWritesWithinBoxes(self):
        wide = self.source.replace("layer12/mixed0", "layer12/" + "W" * 60).replace(
            '"op":"op.mixed"', '"op":"op.mixed","kind":"' + "M" * 60 + '"')
        page = self.write(wide.replace('<script type="application', f'{RULER}<script type="application'))
        dom, console = browse(page, urllib.parse.urlencode({"op": "layer12/" + "W" * 60}))
        self.assertEqual(console, [])
        self.assertGreater(float(dom.attributes["html"]["data-widest"]), 140)
        self.assertLessEqual(float(dom.attributes["html"]["data-widest"]), 170)

    def testTablesAreSortedFilteredAndSaved(self):
        def table(wanted):
            hand = TABLE_HAND.replace("window.wanted", json.dumps(wanted).replace("<", "\\x3c"))
            dom, console = browse(self.write(self.source.replace("</body>", f"{hand}</body>")))
            self.assertEqual(console, [])
            return list(csv.reader(io.StringIO(dom.attributes["html"]["data-csv"])))

        rows = table("layer12/")
        self.assertEqual(rows[0][:4], ["operation", "kind", "gives", "device"])
        names = [row[0] for row in rows[1:]]
        self.assertEqual(len(names), 14)
        self.assertEqual(names, sorted(names))
        self.assertGreater(int(rows[1][rows[0].index("time")]), 0)
        self.assertEqual([row[0] for row in table(HOSTILE[0])[1:]], [HOSTILE[0]])

    def testTellsWhyDevicesAreIdle(self):
        dom, console = browse(self.write(self.source.replace("</body>", f"{IDLE_HAND}</body>")))
        self.assertEqual(console, [])
        devices = json.loads(dom.attributes["html"]["data-idle"])
        self.assertEqual(len(devices), 4)
        for device in devices:
            self.assertEqual(device["busy"] + sum(device["sums"].values()), device["step"])
        reasons = [why for device in devices for why in device["why"]]
        self.assertTrue(any("waiting for data: " in why and " comes from " in why for why in reasons))
        self.assertTrue(any("nothing left to do" in why for why in reasons))

    def testComparesPlacements(self):
        page = f"{self.page}.compared.html"
        subprocess.run([graphrun, "place", self.graph, "--strategy", "random:1", "--html", page,
                        "--compare-with", "single"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        dom, console = browse(page, urllib.parse.urlencode({"op": HOSTILE[0]}))
        self.assertEqual(console, [])
        self.assertNotIn("data-errors", dom.attributes["html"])
        self.assertNotIn("hidden", dom.attributes["compare"])
        self.assertNotIn("hidden", dom.attributes["other-timeline"])
        self.assertIn("other: single", dom.texts["compare-table"])
        self.assertRegex(dom.texts["moved-table"], f"[0-9]+ of {OPS} operations are on another device")
        self.assertIn(HOSTILE[0], dom.texts["details"])
        self.assertIn("hidden", self.open().attributes["compare"])

    def testShowsMeasuredBesidePredicted(self):
        times = {"steps": 3, "nodes": [{"node": HOSTILE[0], "device": "slow", "ns": 4_000_000}],
                 "edges": []}
        measured = {"latency_ms": {"p50": 123}, "predicted_step_ms": 1, "times": times}
        text = json.dumps(measured).replace("<", "\\u003c")
        dom, console = browse(self.write(self.source.replace('"measured": null', f'"measured": {text}')))
        self.assertEqual(console, [])
        self.assertNotIn("hidden", dom.attributes["measured"])
        self.assertIn("and took 123 ms", dom.texts["measured-summary"])
        self.assertIn(f"1 of {OPS} operations", dom.texts["measured-summary"])
        self.assertIn(HOSTILE[0], dom.texts["measured-table"])
        self.assertIn("4.00 ms", dom.texts["measured-table"])

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
