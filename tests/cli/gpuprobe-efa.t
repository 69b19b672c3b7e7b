NCCL finds the plug-in for EFA by its name and the directories of the loader.

  $ finding() { gpuprobe --root $FIXTURES/$1.host -v | grep -A1 "^$2 "; }
  $ for host in efa-without-nccl efa-without-plugin efa-plugin-not-found efa-plugin-by-path efa-plugin efa-plugin-named efa-plugin-off efa-plugin-off-by-file efa-other-plugin; do
  >   echo "$host:"; finding $host rdma.efa-plugin
  > done
  efa-without-nccl:
  rdma.efa-plugin      skip   no NCCL and no PyTorch here; an image of a container needs the plug-in
                              for EFA itself
  efa-without-plugin:
  rdma.efa-plugin      warn   NCCL finds no plug-in for EFA (libnccl-net.so) and uses TCP between
                              hosts
  efa-plugin-not-found:
  rdma.efa-plugin      warn   NCCL finds no plug-in for EFA (libnccl-net.so) and uses TCP between
                              hosts. The plug-in is
  efa-plugin-by-path:
  rdma.efa-plugin      warn   NCCL finds no plug-in for EFA (libnccl-net.so) and uses TCP between
                              hosts. The plug-in is
  efa-plugin:
  rdma.efa-plugin      pass   NCCL loads the plug-in for EFA,
                              /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-net.so
  efa-plugin-named:
  rdma.efa-plugin      pass   NCCL loads the plug-in for EFA,
                              /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-net-ofi.so
  efa-plugin-off:
  rdma.efa-plugin      warn   NCCL_NET_PLUGIN=none in the environment disables the plug-in for EFA:
                              NCCL uses TCP between hosts
  efa-plugin-off-by-file:
  rdma.efa-plugin      warn   NCCL_NET_PLUGIN=none in /etc/nccl.conf disables the plug-in for EFA:
                              NCCL uses TCP between hosts
  efa-other-plugin:
  rdma.efa-plugin      unknown NCCL loads /usr/lib/x86_64-linux-gnu/libnccl-net.so, and it is unknown
                               whether that is the plug-in for EFA
  $ gpuprobe --root $FIXTURES/efa-without-plugin.host | sed -n '/^Warning: rdma.efa-plugin/,/^$/p'
  Warning: rdma.efa-plugin
    NCCL finds no plug-in for EFA (libnccl-net.so) and uses TCP between hosts
    Remedy:
      Amazon's installer has the plug-in and libfabric:
        curl -O https://efa-installer.amazonaws.com/aws-efa-installer-latest.tar.gz
        tar -xf aws-efa-installer-latest.tar.gz
        cd aws-efa-installer && ./efa_installer.sh -y
  
  $ gpuprobe --root $FIXTURES/efa-plugin-not-found.host | sed -n '/^Warning: rdma.efa-plugin/,/^$/p'
  Warning: rdma.efa-plugin
    NCCL finds no plug-in for EFA (libnccl-net.so) and uses TCP between hosts. The plug-in is
    /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-net-ofi.so
    Remedy:
      Add its directory to those of the loader:
        echo /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu > /etc/ld.so.conf.d/aws-ofi-nccl.conf; ldconfig
  
  $ gpuprobe --root $FIXTURES/efa-plugin-by-path.host | sed -n '/^Warning: rdma.efa-plugin/,/^$/p'
  Warning: rdma.efa-plugin
    NCCL finds no plug-in for EFA (libnccl-net.so) and uses TCP between hosts. The plug-in is
    /opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-net-ofi.so
    Remedy:
      Its name differs from the one that NCCL opens:
        export NCCL_NET_PLUGIN=libnccl-net-ofi.so
  
