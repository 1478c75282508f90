#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records connections of storage protocols between two guests with soft-RoCE, for pcaps/upper: NVMe over
RDMA (the kernel's nvmet-rdma and nvme-rdma) and NFS over RDMA, with the times of the host's tracepoints.
Needs root; takes minutes.

    tests/e2e/rxe/record_upper.py FOLDER [RUN...]
"""

import gzip
import json
import pathlib
import re
import sys

import guests

TARGET, HOST = guests.ADDRESSES['a'][0], guests.ADDRESSES['b'][0]
MODULES = ['nvmet_rdma', 'nvme_rdma', 'nfsd', 'nfsv4', 'rpcrdma']
TRACE = '/sys/kernel/tracing'

NVME_TARGET = f'''set -e
need nvmet_rdma
mount -t configfs none /sys/kernel/config
dd if=/dev/zero of=/tmp/disk bs=1M count=16 2>/dev/null
cd /sys/kernel/config/nvmet
mkdir subsystems/disk && cd subsystems/disk
echo 1 >attr_allow_any_host
mkdir namespaces/1
echo -n /tmp/disk >namespaces/1/device_path
echo 1 >namespaces/1/buffered_io
echo 1 >namespaces/1/enable
cd ../../ports && mkdir 1 && cd 1
echo rdma >addr_trtype
echo ipv4 >addr_adrfam
echo {TARGET} >addr_traddr
echo 4420 >addr_trsvcid
ln -s ../../subsystems/disk subsystems/disk
'''
NVME_HOST = f'''set -e
echo transport=rdma,traddr={TARGET},trsvcid=4420,nqn=disk,hostnqn=host,nr_io_queues=1,keep_alive_tmo=5 >/dev/nvme-fabrics
until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
'''
NVME_LOAD = '''
dd if=/dev/nvme0n1 of=/dev/null bs=4k count=60 iflag=direct &
dd if=/dev/nvme0n1 of=/dev/null bs=16k count=12 skip=40 iflag=direct &
wait
dd if=/dev/zero of=/dev/nvme0n1 bs=4k count=60 oflag=direct &
dd if=/dev/zero of=/dev/nvme0n1 bs=32k count=8 seek=20 oflag=direct &
wait
dd if=/dev/nvme0n1 of=/dev/null bs=512 count=40 iflag=direct
dd if=/dev/zero of=/dev/nvme0n1 bs=512 count=40 oflag=direct conv=fsync
sleep 3
'''
# The kernel asks rpc.mountd whom it may serve; here its caches are filled beforehand: a client, an export
# (flags: any port, fsid, no check of subtrees), and the handle of the root.
NFS_TARGET = f'''set -e
need nfsd
need rpcrdma
mkdir -p /export
mount -t tmpfs tmpfs /export
dd if=/dev/zero of=/export/file bs=1M count=4 2>/dev/null
mount -t nfsd nfsd /proc/fs/nfsd
echo 'nfsd {HOST} 2147483647 clients' >/proc/net/rpc/auth.unix.ip/channel
echo 'clients /export 2147483647 9218 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
echo 'clients 1 \\x00000000 2147483647 /export' >/proc/net/rpc/nfsd.fh/channel
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo '-3 +4' >/proc/fs/nfsd/versions
echo 'rdma 20049' >/proc/fs/nfsd/portlist
echo 4 >/proc/fs/nfsd/threads
sleep 11  # no client may claim what it had before
'''
NFS_HOST = f'''set -e
mkdir -p /mnt
mount -i -t nfs4 -o vers=4.1,proto=rdma,port=20049,addr={TARGET},clientaddr={HOST},actimeo=0 {TARGET}:/ /mnt
'''
NFS_LOAD = '''
dd if=/mnt/file of=/dev/null bs=4k count=40 iflag=direct &
dd if=/mnt/file of=/dev/null bs=32k count=8 skip=20 iflag=direct &
wait
dd if=/dev/zero of=/mnt/file bs=4k count=40 oflag=direct conv=notrunc &
dd if=/dev/zero of=/mnt/file bs=32k count=8 seek=20 oflag=direct conv=notrunc &
wait
for i in 1 2 3 4 5 6 7 8; do ls -l /mnt >/dev/null; echo $i >/mnt/small.$i; cat /mnt/small.$i; rm /mnt/small.$i; done
ls /mnt/none
'''
PLAIN = None
PATH = '''[[rule]]
name = "path"
delay = "1.9ms"
'''
LOSS = PATH + 'loss = "1%"\n'
# Name: the set-ups of target and host, the load, the events to trace, the profile of the path.
NVME = (NVME_TARGET, NVME_HOST, NVME_LOAD, 'nvme')
NFS = (NFS_TARGET, NFS_HOST, NFS_LOAD, 'sunrpc/rpc_stats_latency')
RUNS = {'nvme_clean': (*NVME, PLAIN), 'nvme_loss': (*NVME, LOSS),
        'nfs_clean': (*NFS, PLAIN), 'nfs_loss': (*NFS, LOSS)}


def nvme_truth(trace):
    """Commands of tracepoints: queue, identifier, operation, begin and latency in us."""
    begun, commands = {}, []
    for line in trace.splitlines():
        found = re.search(r' (\d+\.\d+): (nvme_setup_cmd|nvme_complete_rq): .*?qid=(\d+), cmdid=(\d+)', line)
        if not found:
            continue
        when, key = round(float(found[1]) * 1e6), (int(found[3]), int(found[4]))
        if found[2] == 'nvme_setup_cmd':
            operation = re.search(r'cmd=\((\w+)', line)
            length = re.search(r'len=(\d+)', line)
            begun[key] = (when, operation and operation[1], length and int(length[1]))
        elif key in begun:
            at, operation, length = begun.pop(key)
            status = re.search(r'status=0x([0-9a-f]+)', line)
            commands.append({'queue': key[0], 'id': key[1], 'operation': operation, 'length': length,
                             'begin_us': at, 'latency_us': when - at, 'status': int(status[1], 16)})
    return commands


def nfs_truth(trace):
    """Calls of tracepoints: identifier, operation, round trip and whole time in us."""
    calls = []
    for line in trace.splitlines():
        found = re.search(r' (\d+\.\d+): rpc_stats_latency: .*xid=0x([0-9a-f]+) (\w+) (\w+) .*'
                          r'rtt=(\d+) execute=(\d+)', line)
        if found:
            calls.append({'id': int(found[2], 16), 'program': found[3], 'operation': found[4],
                          'end_us': round(float(found[1]) * 1e6), 'latency_us': int(found[5]),
                          'execute_us': int(found[6])})
    return calls


def record(folder, name):
    target, host, load, event, profile = RUNS[name]
    with guests.Guests(modules=MODULES) as lab:
        with lab.bridge() if profile is None else lab.impair(profile) as box:
            lab.ping()
            lab.a.check(target, 120)
            lab.b.check(f'need nvme_rdma nfsv4 rpcrdma; mount -t tracefs tracefs {TRACE}; echo mono >{TRACE}/trace_clock; '
                        f'echo 8192 >{TRACE}/buffer_size_kb; echo 1 >{TRACE}/events/{event}/enable')
            with lab.capture() as capture:
                lab.b.check(host, 120)
                print(lab.b.run(load, 300), flush=True)
            trace = lab.b.check(f'cat {TRACE}/trace', 60)
        for end, path in (('host', capture.b), ('target', capture.a)):
            plain = folder / f'{name}_{end}.pcap'
            guests.pcap_file.write_pcap(plain, guests.pcap_file.read_pcap(path), snap=400)
            with gzip.GzipFile(f'{plain}.gz', 'wb', mtime=0) as kept:
                kept.write(plain.read_bytes())
            plain.unlink()
        truth = nvme_truth(trace) if name.startswith('nvme') else nfs_truth(trace)
        (folder / f'{name}.trace').write_text(trace)
        (folder / f'{name}.json').write_text('\n'.join(map(json.dumps, truth)) + '\n')
        if box is not None:
            (folder / f'{name}.ledger').write_bytes(box.ledger.read_bytes())
        print(name, len(truth), 'commands traced', flush=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or RUNS:
        print(f'# {name}', flush=True)
        record(folder, name)


if __name__ == '__main__':
    main()
