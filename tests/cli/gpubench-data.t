gpubench data reads data as training does; the default is the licence texts of every Debian host.

  $ gpubench data --batches 20 --seq 128
  data       text, * samples in * files, * KiB (glob)
  loader     1 worker, 4 batches of 16 ahead, * pages (glob)
  speed      [0-9]+ tokens/s \(20 batches in [0-9.]+ s, .*/s handed over\) (re)
  unusable   0 samples

Token files: with llm.c's header, or only ids.

  $ python3 -c 'import struct; f = open("a.bin", "wb"); f.write(struct.pack("<256i", 20240520, 1, 20000, *[0] * 253)); f.write(bytes(40000))'
  $ python3 -c 'open("b.bin", "wb").write(bytes(80000))'
  $ gpubench data a.bin --seq 100 | head -1
  data       tokens, 199 samples in 1 files, 40.1 KiB
  $ gpubench data b.bin --seq 100 --tokens u32 | head -1
  data       tokens, 199 samples in 1 files, 78.1 KiB
  $ gpubench data '{a,b}.bin'
  gpubench: {a,b}.bin: braces contain a range of at most 100000 numbers, as in shard-{000..127}.tar
  [64]
  $ head -c 30000 a.bin > cut.bin; gpubench data cut.bin
  gpubench: cut.bin is cut short: its header promises 20000 tokens, its 30000 bytes hold fewer
  [64]

Documents have their own lengths: they are padded to a few lengths, in batches with a token budget.

  $ python3 -c 'open("lines", "w").write("".join("x" * (i % 100) + "\n" for i in range(1000)))'
  $ gpubench data lines --documents line --buckets 4 --token-budget 800 --seq 128 -q | grep -v ^loader
  data       text, 990 samples in 1 files, 49.3 KiB
  lengths    4: batches of 30 x 24 to 7 x 104 tokens
  padding    21.5 % of the positions, 51.9 % with a single length
  speed      [0-9]+ tokens/s \([0-9]+ batches in [0-9.]+ s, .*/s handed over\) (re)
  unusable   0 samples
  $ gpubench data lines --documents line --buckets 1 --seq 128 --json -q | python3 -c 'import json, sys; d = json.load(sys.stdin)["documents"]; print(d["lengths"], d["skipped"], d["tokens"], d["tokens_read"])'
  [{'width': 104, 'rows': 16, 'documents': 990, 'batches': 62}] 10 49500 49500
  $ gpubench data a.bin --documents 7 --seq 100 -q | grep padding
  padding    * (glob)
  $ gpubench data a.bin --documents line
  gpubench: a.bin contains tokens, not text: its documents end with a token, not with a line or paragraph
  [64]
  $ gpubench data lines --documents words
  gpubench: --documents words: it takes line, paragraph, file or the id of an end token such as 50256
  [64]
  $ gpubench data lines --documents line --token-budget 9
  gpubench: a budget of 9 tokens is too small for a sample of 104: the longest sample must fit
  [64]
  $ gpubench data lines --documents file --seq 100000
  gpubench: lines has too few documents: 1 of 2 tokens and more, 10 are needed
  [64]
  $ gpubench data lines --documents paragraph --seq 256 -q | grep lengths
  lengths    2: batches of 10 x 184 to 16 x 256 tokens
  $ gpubench data lines --token-budget 900
  gpubench: --buckets and --token-budget need --documents
  [64]
  $ gpubench data s --documents line --batch 3 --token-budget 900
  gpubench: --token-budget and --batch exclude each other
  [64]

A shard is read up to its damage, and unusable samples are listed.

  $ python3 -c 'import tarfile, io
  > t = tarfile.open("s.tar", "w")
  > for n, d in (("1.jpg", b"no picture"), ("1.cls", b"3"), ("2.png", b"short"), ("3.jpg", b"")):
  >     i = tarfile.TarInfo(n); i.size = len(d); t.addfile(i, io.BytesIO(d))
  > t.close()'
  $ gpubench data s.tar --size 8
  gpubench: s.tar: no sample can be used; the last one: * (glob)
  [64]
  $ gpubench data s.tar --size 8 --max-corrupt 1 --in-order
  gpubench: 2 unusable samples, more than the 1 allowed; the last one is s.tar: 2 at 2560: it has no label: there is no .cls, and no "label" in .json
  [64]
  $ head -c 700 s.tar > none.tar; gpubench data none.tar
  gpubench: none.tar: no sample can be used; the last one: it has no label: there is no .cls, and no "label" in .json
  [64]
  $ echo 'this is no tar' > no.tar; gpubench data no.tar
  gpubench: no.tar at 0: it ends early, within a header
  [64]

Gain of each part of the loader, by rungs.

  $ gpubench ladder data --data a.bin --rounds 1 --seed 3 -q -o l.json > /dev/null
  $ python3 -c 'import json; l = json.load(open("l.json"))["ladders"][0]; print(l["id"], l["unit"], len(l["rungs"]), l["rungs"][1]["command"][:3], all(r["items_per_s"] > 0 for r in l["rungs"]))'
  data tokens 8 ['gpubench', 'data', 'a.bin'] True

Invalid options.

  $ gpubench data --workers 5000
  gpubench: the loader has 0 to 1024 workers
  [64]
  $ gpubench data --without sleep
  gpubench: --without sleep: huge-pages, persistent, zero-copy and u8 can be left out
  [64]
  $ gpubench data nowhere
  gpubench: cannot read data from nowhere: No such file or directory
  [64]
  $ mkdir -p tree/proc tree/sys tree/etc; gpubench data --root tree
  gpubench: * (glob)
  [*] (glob)
