#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests Secure Boot with the real tools: certificates by openssl, a module signed by the kernel's sign-file, lists of keys by
efitools' cert-to-efi-sig-list. gpuprobe must name the signer and report whether the firmware trusts it. Skipped with the names of
missing tools. CORPUS=DIR writes the generated files as seeds of the fuzz target."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ.get("TOP_BUILDDIR", ".")
TESTS = os.environ.get("TESTDIR", "tests")
SHIM, DB = "605dab50-e046-4300-abb6-3dd810dd8b23", "d719b2cb-3d3a-4596-a3bc-dad00e67656f"
MODULE = "lib/modules/6.1.0-41-amd64/updates/dkms/nvidia-current.ko"


def tool(name, *more):
    found = [p for p in (shutil.which(name), *(q for m in more for q in sorted(glob.glob(m)))) if p]
    return found[0] if found else None


OPENSSL, LISTS = tool("openssl"), tool("cert-to-efi-sig-list")
SIGN = tool("sign-file", "/usr/lib/linux-kbuild-*/scripts/sign-file", "/usr/src/linux-headers-*/scripts/sign-file")


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Keys:
    """A self-signed certificate like that of DKMS, and the firmware's list with it."""

    def __init__(self, work, name):
        self.key, self.der, self.esl = (os.path.join(work, f"{name}.{e}".replace(" ", "-")) for e in ("key", "der", "esl"))
        run(OPENSSL, "req", "-new", "-x509", "-nodes", "-days", "36500", "-subj", f"/O=gputune/CN={name}", "-newkey", "rsa:2048",
            "-keyout", self.key, "-outform", "DER", "-out", self.der)
        pem = self.der + ".pem"
        run(OPENSSL, "x509", "-inform", "DER", "-in", self.der, "-out", pem)
        run(LISTS, "-g", SHIM, pem, self.esl)


def put(root, path, data):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def sign(keys, work, by_key_id=False):
    """Makes a module signed like one of DKMS. Only its tail is relevant."""
    module = os.path.join(work, "module.ko")
    put(work, "module.ko", b"\x7fELF" + b"\0" * 4096)
    run(SIGN, *(["-k"] if by_key_id else []), "sha512", keys.key, keys.der, module)
    return read(module)


def variable(root, name, *lists, guid=SHIM):
    put(root, f"sys/firmware/efi/efivars/{name}-{guid}", b"\x06\0\0\0" + b"".join(read(k.esl) for k in lists))


def judge(root):
    out = subprocess.run([os.path.join(BUILD, "gpuprobe"), "--json", "--root", root], capture_output=True, text=True, check=False)
    doc = json.loads(out.stdout)
    check = next(c for c in doc["checks"] if c["id"] == "driver.secure-boot")
    return doc["host"]["nvidia"]["module_signer"], check["result"], check["what"], check["remedy"] or ""


def cases(work):
    dkms, other, maker = (Keys(work, n) for n in ("DKMS module signing key", "Another key", "Maker of the board"))
    enrolled = lambda root: variable(root, "MokListRT", maker, dkms)
    yield "the signer is enrolled", dkms, False, enrolled, "pass", "which this firmware trusts", ""
    yield "the signature names the signer only by its key", dkms, True, enrolled, "pass", '"DKMS module signing key"', ""
    yield "the owner's list is in two pieces", dkms, False, lambda r: (variable(r, "MokListRT", maker), variable(
        r, "MokListRT1", other, dkms)), "pass", "which this firmware trusts", ""
    yield "root reads the owner's list whole", dkms, False, lambda r: put(
        r, "sys/firmware/efi/mok-variables/MokListRT", read(maker.esl) + read(dkms.esl)), "pass", "which this firmware trusts", ""
    yield "the vendor's list has the signer", dkms, False, lambda r: variable(r, "db", maker, dkms, guid=DB), "pass", "trusts", ""
    yield "another key is enrolled", dkms, False, lambda r: (variable(r, "MokListRT", maker, other), put(
        r, "var/lib/dkms/mok.pub", read(dkms.der))), "fail", "does not trust", "mokutil --import /var/lib/dkms/mok.pub; reboot"
    yield "the enrolment waits for the next boot", dkms, False, lambda r: (variable(r, "MokListRT", maker), variable(
        r, "MokNew", dkms)), "fail", "waits for the next boot", "reboot"
    yield "the signer's certificate is unknown", other, False, enrolled, "warn", "does not trust", "dkms install"
    yield "a truncated list is not used", dkms, False, lambda r: put(
        r, f"sys/firmware/efi/efivars/MokListRT-{SHIM}", b"\x06\0\0\0" + read(dkms.esl)[:-20]), "warn", "does not trust", ""


def corpus(work, to):
    one, two = Keys(work, "DKMS module signing key"), Keys(work, "Another key")
    module = sign(one, work)
    length = int.from_bytes(module[-32:-28], "big")
    for name, data in (("certificate", b"c" + read(one.der)), ("list", b"l" + read(one.esl) + read(two.esl)), ("tail", b"t" + module[-48:]),
                       ("signature", b"s" + module[-40 - length:-40])):
        put(to, name, data)
    module = sign(one, work, True)
    length = int.from_bytes(module[-32:-28], "big")
    put(to, "signature-by-key", b"s" + module[-40 - length:-40])


def main():
    missing = [n for n, p in (("openssl", OPENSSL), ("sign-file (linux-kbuild)", SIGN), ("cert-to-efi-sig-list (efitools)", LISTS)) if not p]
    if missing:
        print(f"1..0 # SKIP not installed: {', '.join(missing)}")
        return 0
    with tempfile.TemporaryDirectory() as work:
        if os.environ.get("CORPUS"):
            corpus(work, os.environ["CORPUS"])
            return 0
        failed = n = 0
        for n, (what, keys, by_key_id, firmware, result, says, does) in enumerate(cases(work), 1):
            root = os.path.join(work, f"root{n}")
            with open(os.path.join(os.environ.get("FIXTURES", "tests/fixtures"), "secure-boot.host"), encoding="utf-8") as f:
                text = f.read().replace("\tLoading of module with unavailable key is rejected\n", "")
            host = os.path.join(work, "host")
            with open(host, "w", encoding="utf-8") as f:
                f.write(text)
            run(os.path.join(BUILD, "tests/cli/unpack"), host, root)
            put(root, MODULE, sign(keys, work, by_key_id))
            firmware(root)
            signer, got, seen, remedy = judge(root)
            name = keys.der.rsplit("/", 1)[1][:-4].replace("-", " ")
            well = got == result and says in seen and does in remedy and signer == (None if by_key_id else name)
            failed += not well
            print(f"{'ok' if well else 'not ok'} {n} - {what}" + ("" if well else f"\n# {signer}: {got}: {seen}\n# {remedy}"))
        print(f"1..{n}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
