Network cards: relaxed ordering and interrupt moderation. Each host has one planted fault.

  $ finding() { gpuprobe --root $FIXTURES/$1.host -v | grep -A1 "^$2 "; }
  $ for host in roce-8rail roce-strict-order roce-words-for-root roce-small-reads; do finding $host pcie.relaxed-order; done
  pcie.relaxed-order   skip   no fast network card reports whether it may use relaxed ordering
  nvme.io-timeout      skip   only for EC2, whose disks are remote
  pcie.relaxed-order   advice rail5 must keep the order of its memory accesses (RlxdOrd-); the default
                              of PCI Express is RlxdOrd+
  pcie.relaxed-order   skip   only root can read the configuration of network cards
  nvme.io-timeout      skip   only for EC2, whose disks are remote
  pcie.relaxed-order   pass   fast network cards may use relaxed ordering, or a faulty root port
                              forbids it
  $ finding roce-small-reads pcie.read-request
  pcie.read-request    advice rail1 reads 512 bytes of memory at a time
  pcie.relaxed-order   pass   fast network cards may use relaxed ordering, or a faulty root port
  $ gpuprobe --root $FIXTURES/roce-strict-order.host | sed -n '/pcie.relaxed/,/^$/p'
    pcie.relaxed-order: rail5 must keep the order of its memory accesses (RlxdOrd-); the default of
    PCI Express is RlxdOrd+
  

A capture has the words, also those that could not be read.

  $ for host in roce-strict-order roce-words-for-root; do
  >   gpuprobe capture copy.host --root $FIXTURES/$host.host; sed -n '/device_control/,/^file .proc/p' copy.host | grep '^.0000:'
  > done
  	0000:18:00.0 5936
  	0000:20:00.0 5936
  	0000:28:00.0 5936
  	0000:30:00.0 5936
  	0000:38:00.0 5936
  	0000:40:00.0 5926
  	0000:48:00.0 5936
  	0000:50:00.0 5936
  	0000:18:00.0 unreadable

Amazon's ENA reports no speed, and does not moderate its interrupts by default.

  $ gputune plan --root $FIXTURES/ena-unmoderated.host --only nic.coalescing
  Manual steps
    nic.coalescing
        ens32 interrupts a CPU without delay for received packets (adaptive-rx off, rx-usecs 0)
        Under load, packets then wait some microseconds, which small messages over TCP notice:
          ethtool -C ens32 adaptive-rx on
        At every boot:
          echo 'ACTION=="add", SUBSYSTEM=="net", KERNEL=="ens32", RUN+="/usr/sbin/ethtool -C ens32 adaptive-rx on"' > /etc/udev/rules.d/90-moderation.rules
  
  Nothing to change, profile train-gpu.
  $ sed 's/adaptive-rx 0 usecs 0/adaptive-rx 0 usecs 64/' $FIXTURES/ena-unmoderated.host >fixed.host; gputune plan --root fixed.host --only nic.coalescing -v
  Unchanged
    nic.coalescing
        fast ports moderate their interrupts
  
  Nothing to change, profile train-gpu.
  $ sed '/adaptive-rx/d' $FIXTURES/ena-unmoderated.host >none.host; gputune plan --root none.host --only nic.coalescing -v
  Not applicable
    nic.coalescing
        no fast port with adaptive interrupt moderation reports it
  
  Nothing to change, profile train-gpu.
