#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make-images.py BUILD: writes the images of README.md into docs/images.

terminal.svg shows the output of two commands on synthetic hosts, in a terminal of 80 columns. report.png is a screenshot of
the page of a measured result by Chromium (CHROMIUM names the browser)."""
import html
import os
import pty
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES = os.path.join(TOP, "docs/images")
COMMANDS = ("gpuprobe --root driver-mismatch.host", "gputune plan --root server-8gpu.host --only vm.")
RESULT = "bench/results/script-receipt.json"
COLUMNS, LINE, CHAR, MARGIN = 80, 17, 8.05, 12
COLOURS = {"31": "#ff6b68", "32": "#6bc46d", "33": "#e5c07b", "34": "#61afef", "35": "#c678dd", "36": "#56b6c2", "2": "#8a929c"}


def terminal(build, command):
    """Returns the output of a command that runs in a terminal."""
    env = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    master, slave = pty.openpty()
    with subprocess.Popen(command.split(), cwd=os.path.join(build, "examples"), env=env, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        out = b""
        try:
            while chunk := os.read(master, 65536):
                out += chunk
        except OSError:  # Reading a closed terminal is an error.
            pass
    return out.decode().replace("\r", "").rstrip("\n").split("\n")


def spans(line):
    """Converts colours and bold of one line to SVG."""
    out, style = "", ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            out += f"<tspan{style}>{html.escape(part)}</tspan>" if part else ""
            continue
        codes = part[2:-1].split(";")
        colour = next((COLOURS[c] for c in codes if c in COLOURS), None)
        style = (' font-weight="bold"' if "1" in codes else "") + (f' fill="{colour}"' if colour else "")
    return out


def draw(lines):
    width, height = COLUMNS * CHAR + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    text = "".join(f'<text x="{MARGIN}" y="{MARGIN + 13 + i * LINE}" xml:space="preserve">{spans(s)}</text>\n'
                   for i, s in enumerate(lines) if s)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-family="monospace" font-size="13.4" '
            f'fill="#d7dae0">\n<rect width="100%" height="100%" rx="8" fill="#1f2329"/>\n{text}</svg>\n')


def screenshot(build, path):
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        subprocess.run([os.path.join(build, "gpubench"), "report", os.path.join(TOP, RESULT), "--html", page], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--hide-scrollbars",
                        "--window-size=1280,900", f"--screenshot={path}", page], check=True, stderr=subprocess.DEVNULL)


def main():
    build = os.path.abspath(sys.argv[1])
    lines = []
    for command in COMMANDS:
        lines += [f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m", *terminal(build, command), ""]
    with open(os.path.join(IMAGES, "terminal.svg"), "w", encoding="utf-8") as f:
        f.write(draw(lines[:-1]))
    screenshot(build, os.path.join(IMAGES, "report.png"))


main()
