#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the pages of gpubench in a real browser: wide and narrow, light and dark.

Usage: check_pages.py GPUBENCH [PAGE.html...] [--shots DIR]    CHROMIUM names the browser (default chromium). Without a browser, all
is skipped. Without pages, one of each kind is made from simulated hosts: a comparison, one arm, both with a matrix by node, a
receipt, a ladder, a fleet and a history. Checks per page:
  - nothing is wider than the window at 1200 and 400 px, and only a matrix scrolls in its box
  - text has enough contrast in both colour schemes (WCAG 4.5:1, 3:1 for large text)
  - the page has a language, a title, one h1, and no skipped heading level
  - every table has a caption and headers, every picture a title, every link a target
  - the keyboard reaches links and details in document order
  - nothing is fetched and no script runs
With --shots the screenshots stay in DIR for inspection. The browser is controlled through a pipe (DevTools protocol).
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

SIZES = (1200, 400)
SCHEMES = ("light", "dark")

# Runs in the page. The page's policy forbids its own scripts, but not those of the inspector.
LOOK = r"""
(() => {
  const bad = [], width = document.documentElement.clientWidth;
  const say = (what, e) => bad.push(what + ": " + (e ? e.tagName + " " + (e.textContent || "").trim().slice(0, 40) : ""));
  if (document.documentElement.scrollWidth > width) {
    bad.push("the page is " + document.documentElement.scrollWidth + " px wide in a window of " + width);
    for (const e of document.querySelectorAll("body *"))
      if (e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll") && e.getBoundingClientRect().left >= 0) say("too wide", e);
  }
  for (const e of document.querySelectorAll(".scroll"))
    if (!e.querySelector("table.heat") && e.scrollWidth > e.clientWidth) say("cut at the right edge", e);
  for (const t of document.querySelectorAll("svg text")) {
    const r = t.getBoundingClientRect(), o = t.ownerSVGElement.getBoundingClientRect();
    if (r.right > o.right + 2 || r.left < o.left - 2) say("text leaves its picture", t);
  }
  for (const s of document.querySelectorAll("svg")) {
    const seen = [...s.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]).filter(x => x[1].width);
    for (let i = 0; i < seen.length; i++)
      for (let k = i + 1; k < seen.length; k++) {
        const a = seen[i][1], b = seen[k][1];
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
          say("text over text (" + seen[k][0].textContent.slice(0, 30) + ")", seen[i][0]);
      }
  }
  const rgb = c => (c.match(/[\d.]+/g) || []).map(Number);
  const over = (a, b) => { const t = a.length > 3 ? a[3] : 1; return [0, 1, 2].map(i => a[i] * t + b[i] * (1 - t)); };
  const lum = c => { const f = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                     return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const ground = e => { const all = []; for (; e; e = e.parentElement) all.unshift(rgb(getComputedStyle(e).backgroundColor));
                        return all.reduce((g, c) => c.length > 2 ? over(c, g) : g, [255, 255, 255]); };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()), s = getComputedStyle(e), r = e.getBoundingClientRect();
    if (!own || !r.width || s.visibility === "hidden" || ["SCRIPT", "STYLE", "TITLE", "DESC"].includes(e.tagName.toUpperCase())) continue;
    if (r.right < 0) continue;
    const back = ground(e instanceof SVGElement ? e.closest("figure, body") : e);
    const front = over(rgb(e instanceof SVGElement ? s.fill : s.color), back);
    const a = lum(front), b = lum(back), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const px = parseFloat(s.fontSize), large = px >= 24 || (px >= 18.66 && s.fontWeight >= 600);
    if (ratio < (large ? 3 : 4.5)) say("contrast " + ratio.toFixed(2), e);
  }
  if (document.documentElement.lang !== "en") bad.push("no language");
  if (!document.title) bad.push("no title");
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  let level = 0;
  for (const h of document.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    if (+h.tagName[1] > level + 1) say("heading level left out", h);
    level = +h.tagName[1];
  }
  if (!document.querySelector("main") || !document.querySelector("header")) bad.push("no landmarks");
  for (const t of document.querySelectorAll("table")) {
    if (!t.caption || !t.caption.textContent.trim()) say("table without a caption", t);
    if (!t.querySelector("thead th[scope=col]") || [...t.tBodies].some(b => [...b.rows].some(r => !r.querySelector("th[scope=row]"))))
      say("table without heads", t);
  }
  for (const s of document.querySelectorAll("svg[role=img]"))
    if (!(s.getAttribute("aria-labelledby") || "").split(" ").every(i => document.getElementById(i)?.textContent)) say("picture without a name", s);
  for (const a of document.querySelectorAll("a[href^='#']"))
    if (!document.getElementById(a.getAttribute("href").slice(1))) say("link to nowhere", a);
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id), twice = ids.filter((x, i) => ids.indexOf(x) !== i);
  if (twice.length) bad.push("id used twice: " + twice[0]);
  for (const e of document.querySelectorAll("[tabindex]")) /* a named region that scrolls is reached by the keyboard, and nothing else is ordered */
    if (e.getAttribute("tabindex") !== "0" || e.getAttribute("role") !== "region" || !e.getAttribute("aria-label")) say("tab order set by hand", e);
  for (const t of document.querySelectorAll("table.heat"))
    if (!t.closest(".scroll[tabindex]")) say("a matrix that no key scrolls", t);
  for (const e of document.querySelectorAll("[src], link, object, iframe")) say("fetches something", e);
  for (const e of document.querySelectorAll("script:not([type='application/json'])")) say("runs something", e);
  return bad.slice(0, 12);
})()
"""
STEP = """awk -v fast="$FAST" -v slow="$SLOW_MEMORY_ALLOCATOR" -v seed="$RANDOM$$" 'BEGIN { srand(seed); for (i = 0; i < 9; i++)
  printf "t %.7f\\n", .1 * (fast ? .95 : 1) * (slow ? 1.03 : 1) * (1 + .002 * (rand() - .5)) }'"""
TINY = [x for w in "--batch 8 --steps 2 --warmup 1".split() for x in ("--train", w)]
STOPS = "[...document.querySelectorAll('a[href], summary, [tabindex]')].filter(e => e.tagName === 'A' || e.checkVisibility()).map(e => e.textContent.trim())"
FOCUS = "document.activeElement.textContent.trim()"


class Browser:
    """Chromium with --remote-debugging-pipe: one JSON document and a zero byte per message."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="pages.")
        there, self.to = os.pipe()
        self.back, here = os.pipe()

        def wire():
            os.dup2(there, 3)
            os.dup2(here, 4)

        # dup2 to the same number would keep close-on-exec, so both are moved to other numbers first.
        there, here = (os.dup(os.dup(os.dup(fd))) for fd in (there, here))
        argv = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                f"--user-data-dir={self.folder}", "about:blank"]
        self.process = subprocess.Popen(argv, preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(here)
        self.n, self.rest, self.session, self.events = 0, b"", None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Network.enable")

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.back, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        first, self.rest = self.rest.split(b"\0", 1)
        return json.loads(first)

    def ask(self, method, **params):
        self.n += 1
        text = {"id": self.n, "method": method, "params": params}
        if self.session:
            text["sessionId"] = self.session
        os.write(self.to, json.dumps(text).encode() + b"\0")
        while True:
            m = self.message()
            if m.get("id") == self.n:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]
            self.events.append(m)

    def value(self, expression):
        r = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(json.dumps(r["exceptionDetails"]))
        return r["result"].get("value")

    def open(self, path, width, scheme):
        self.events.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message())

    def fetched(self):
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [u for u in urls[1:] if not u.startswith("data:")]

    def shot(self, path):
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def key_order(self):
        """Returns the elements that Tab reaches, in order, up to the expected number."""
        want, got = self.value(STOPS), []
        for _ in want:
            for kind in ("rawKeyDown", "keyUp"):
                self.ask("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            got.append(self.value(FOCUS))
        return [] if got == want else [f"the keyboard reaches {got}, the page has {want}"]

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def saved(run, path, sim, seed, host, day, balancing):
    run("run", "--workload", "sim", "--pairs", "6", "--seed", str(seed), "-q", "-o", path, GPUBENCH_SIM=sim)
    with open(path, encoding="utf-8") as f:
        doc = json.load(f)
    doc["host"].update(identity=host, identity_parts={}, cpu="A <CPU> & more")
    doc["run"]["started"] = day
    doc["settings"]["a"].pop("env.GPUBENCH_SIM", None)
    doc["settings"]["a"]["kernel.numa_balancing"] = balancing
    with open(path, "w", encoding="utf-8") as f:
        json.dump(doc, f)


def by_node(path, to, nodes):
    """Changes the session of that file to one of a machine with many nodes: a series per pair, distant pairs slower."""
    with open(path, encoding="utf-8") as f:
        doc = json.load(f)
    model = doc["metrics"][0]
    pairs = [(c, m) for c in range(nodes) for m in range(nodes)]
    doc["metrics"] = [dict(model, id=f"mem.latency.cpu{c}-mem{m}", workload="sim", unit="ns", tail=False) for c, m in pairs]
    for launch in doc["launches"]:
        base = launch["metrics"]["sim"]
        launch["metrics"] = {f"mem.latency.cpu{c}-mem{m}": dict(base, samples=[1e3 * s * (1 + .35 * abs(c - m)) for s in base["samples"]])
                             for c, m in pairs}
    with open(to, "w", encoding="utf-8") as f:
        json.dump(doc, f)


def make_pages(gpubench, folder):
    def run(*args, codes=(0, 1), **env):
        done = subprocess.run([gpubench, *args], cwd=folder, env={**os.environ, **env}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in codes:
            raise RuntimeError(f"gpubench {' '.join(args)}: status {done.returncode}: {done.stderr}")

    def at(name):
        return os.path.join(folder, name)

    for kind in ("hosts", "nights"):
        os.mkdir(at(kind))
    for i in range(1, 10):
        saved(run, at(f"hosts/h{i}.json"), f"effect={.04 if i == 7 else 0},sd=.004", i, f"id{i}", "2026-11-20", str(int(i == 7)))
    for i in range(10, 26):
        saved(run, at(f"nights/n{i}.json"), f"effect={.03 if i > 18 else 0},sd=.004", i, "id1", f"2026-11-{i}T03:00:00Z", str(int(i > 18)))
    with open(at("step.sh"), "w", encoding="ascii") as f:
        f.write(STEP)
    run("ab", "--env", "X=1", "--workload", "sim", "--quick", "-q", "--html", "ab.html", codes=(0, 1, 5), GPUBENCH_SIM="effect=-.03,sd=.01")
    run("run", "--workload", "sim", "--pairs", "6", "-q", "-o", "single.json", "--html", "single.html")
    run("ab", "--env", "X=1", "--workload", "sim", "--quick", "-q", "-o", "ab.json", codes=(0, 1, 5), GPUBENCH_SIM="effect=-.03,sd=.01")
    for name in ("single", "ab"):
        by_node(at(f"{name}.json"), at("nodes.json"), 6)
        run("report", "nodes.json", "--html", f"nodes-{name}.html")
    run("prove", "--quick", "-q", "--metric", "regex:t ([0-9.]+)", "--unit", "s", "--env", "FAST=1", "--env", "SLOW_MEMORY_ALLOCATOR=tcmalloc", "--seed", "5",
        "-o", "prove.json", "--", "bash", "step.sh")
    run("report", "prove.json", "--html", "prove.html")
    run("ladder", "precision", "--model", "mlp", *TINY, "--rounds", "6", "-q", "--html", "ladder.html")
    run("fleet", "hosts", "--html", "fleet.html")
    run("history", "nights", "--html", "history.html")
    return [at(f"{n}.html") for n in ("ab", "single", "nodes-single", "nodes-ab", "prove", "ladder", "fleet", "history")]


def look_at(browser, page, width, scheme, shots):
    browser.open(page, width, scheme)
    bad = browser.value(LOOK) + [f"fetches {u}" for u in browser.fetched()] + browser.key_order()
    if shots:
        name = os.path.splitext(os.path.basename(page))[0]
        browser.shot(os.path.join(shots, f"{name}-{width}-{scheme}.png"))
    return bad


def check(browser, pages, shots):
    failed = 0
    for page in pages:
        for width in SIZES:
            for scheme in SCHEMES:
                bad = look_at(browser, page, width, scheme, shots)
                failed += bool(bad)
                print(f"{'not ok' if bad else 'ok'} - {os.path.basename(page)}, {width} px, {scheme}", flush=True)
                for b in bad:
                    print(f"# {b}")
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("gpubench")
    p.add_argument("pages", nargs="*")
    p.add_argument("--shots")
    a = p.parse_args()
    program = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if not program:
        print("1..0 # SKIP no chromium")
        return 0
    if a.shots:
        os.makedirs(a.shots, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = a.pages or make_pages(os.path.abspath(a.gpubench), folder)
        print(f"1..{len(pages) * len(SIZES) * len(SCHEMES)}", flush=True)
        browser = Browser(program)
        try:
            failed = check(browser, pages, a.shots)
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
