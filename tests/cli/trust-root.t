Root uses no file that another user can replace. These cases need root, because only root can give files to another user.

  $ [ $(id -u) = 0 ] && unshare -m true 2>/dev/null || { echo 'only root can give files away and mount'; exit 80; }
  $ d=$PWD; while [ "$d" ]; do [ $(stat -c %u "$d") = 0 ] || { echo 'the build directory is not in directories of root'; exit 80; }; d=${d%/*}; done
  $ mkdir theirs ours; chown 1234 theirs

A session whose arms are boots continues as root after each boot, in the same directory and with the same environment.
Neither may lead to files of another user. systemd is out of reach here, so a fault of these tests cannot reboot this host.

  $ file=$PWD/ours/x.json; bench=$(command -v gpubench)
  $ reboots() { unshare -m sh -c 'mount -t tmpfs none /run && exec env "$@"' sh "$@" "$bench" ab --reboot --boot-arg a -o "$file" -- true 2>&1 | grep -v '^ERROR: ld.so'; }
  $ (cd theirs; reboots)
  gpubench: the working directory $HOME/theirs does not belong to root, and root would work in it after each boot: use one that only root can write
  $ for v in LD_LIBRARY_PATH=/usr/lib:$PWD/theirs LD_LIBRARY_PATH=theirs/lib: LD_PRELOAD=theirs/x.so PATH=$PWD/theirs/bin:$PATH PYTHONPATH=$PWD/theirs HOME=$PWD/theirs; do
  >   reboots "$v" | cut -d, -f1; done
  gpubench: LD_LIBRARY_PATH: $HOME/theirs does not belong to root
  gpubench: LD_LIBRARY_PATH: $HOME/theirs/lib does not belong to root
  gpubench: LD_PRELOAD: $HOME/theirs/x.so does not belong to root
  gpubench: PATH: $HOME/theirs/bin does not belong to root
  gpubench: PYTHONPATH: $HOME/theirs does not belong to root
  gpubench: HOME: $HOME/theirs does not belong to root

The sticky bit of a directory does not prevent others from creating a file in it.

  $ mkdir -m 1777 all; reboots LD_LIBRARY_PATH=$PWD/all
  gpubench: LD_LIBRARY_PATH: $HOME/all is writable by users other than root, and root would use it after each boot: unset the variable or choose directories that only root can write

Other text in the environment is no path.

  $ reboots OMP_NUM_THREADS=4 XLA_FLAGS='--x=1 --y=2' OMPI_MCA_x=/dev/null LD_PRELOAD=libfoo.so.4
  gpubench: --reboot needs a host with systemd as init
