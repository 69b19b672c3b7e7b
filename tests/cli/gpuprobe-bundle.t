A support bundle has the capture, the report on it, the kernel log lines and the versions. It contains no more than the capture.

  $ { sed '/^file .*.kernel.hostname$/{n;s/.*/\tnode7/}' $FIXTURES/server-8gpu.host; echo 'file /.facts/kernel_log'; sed 's/^/\t/'; } > x.host << 'END'
  > <4>NVRM: Xid (PCI:0000:17:00): 94, pid=1234, name=python3, Contained ECC error
  > <4>nfs: server 10.9.8.7 not responding, still trying
  > <4>nfs: server storage.example.net not responding, still trying
  > <3>EXT4-fs error (device sda1): node7 ext4_find_entry:1455: inode #2
  > END
  $ gpuprobe capture --root x.host --bundle bundle.tar.gz; tar tzf bundle.tar.gz; tar xzf bundle.tar.gz
  gpuprobe-bundle/report.md
  gpuprobe-bundle/report.json
  gpuprobe-bundle/kernel.log
  gpuprobe-bundle/versions.txt
  gpuprobe-bundle/host.capture
  $ cat gpuprobe-bundle/kernel.log; sed 's/^gpuprobe .*/gpuprobe VERSION/' gpuprobe-bundle/versions.txt; head -n 1 gpuprobe-bundle/report.md
  <4>NVRM: Xid (PCI:0000:17:00): 94, pid=1234, name=python3, Contained ECC error
  <4>nfs: server address-1 not responding, still trying
  <4>nfs: server address-2 not responding, still trying
  <3>EXT4-fs error (device sda1): host ext4_find_entry:1455: inode #2
  gpuprobe VERSION
  distribution Debian GNU/Linux 12 (bookworm)
  kernel 6.1.0-41-amd64
  NVIDIA module 550.163.01
  libc6 2.36-9+deb12u13
  # CRITICAL: a file system had an error (1 line, 2 of other kinds) \[log.filesystem\]
  $ grep -rl -e '10[.]9[.]8[.]7' -e storage[.]example -e node7 gpuprobe-bundle
  [1]
  $ gpuprobe capture --root x.host y.host; cmp y.host gpuprobe-bundle/host.capture
  $ gpuprobe --root gpuprobe-bundle/host.capture --json | cmp - gpuprobe-bundle/report.json

The same host gives the same file, which is small.

  $ gpuprobe capture --root x.host --bundle again.tar.gz; cmp bundle.tar.gz again.tar.gz; test $(stat -c %s bundle.tar.gz) -lt 100000
  $ gpuprobe capture --root x.host --bundle - | cmp - bundle.tar.gz
  $ gpuprobe capture --root x.host --bundle /nonexistent/b.tar.gz
  gpuprobe: cannot create /nonexistent/b.tar.gz: No such file or directory
  [64]
