#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records connections of storage protocols between two guests with soft-RoCE, for pcaps/upper: NVMe over
RDMA (the kernel's nvmet-rdma and nvme-rdma) and NFS over RDMA, with the times of the host's tracepoints.
Needs root; takes minutes.

    ninja -C build tests/e2e/rxe/disk_load
    tests/e2e/rxe/record_upper.py FOLDER [RUN...]
"""

import dataclasses
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import guests
from longwire_test import BUILD, program

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
# With one shared receive queue of the least size, for four I/O queues of two controllers, and little CPU time
# for the target: the queue runs out.
NVME_TARGET_SHORT = """set -e
while read -r file; do
  case $file in
  nvmet-rdma.ko) insmod /mod/$file use_srq=1 srq_size=256 ;;
  *) grep -q "^$(basename $file .ko | tr - _) " /proc/modules || insmod /mod/$file ;;
  esac
done </mod/need.nvmet_rdma
""" + NVME_TARGET.replace('need nvmet_rdma\n', '') + """cd ../../subsystems && mkdir more && cd more
echo 1 >attr_allow_any_host
mkdir namespaces/1
echo -n /tmp/disk >namespaces/1/device_path
echo 1 >namespaces/1/buffered_io
echo 1 >namespaces/1/enable
ln -s /sys/kernel/config/nvmet/subsystems/more /sys/kernel/config/nvmet/ports/1/subsystems/more
for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done
"""
NVME_HOST_DEEP = """set -e
for name in disk more; do
  echo transport=rdma,traddr=192.168.77.1,trsvcid=4420,nqn=$name,hostnqn=host,nr_io_queues=1,nr_write_queues=1,queue_size=128 >/dev/nvme-fabrics
done
until [ -b /dev/nvme0n1 ] && [ -b /dev/nvme1n1 ]; do sleep 0.1; done
"""
NVME_LOAD_DEEP = """
for disk in nvme0n1 nvme1n1; do
  disk_load /dev/$disk read 1 127 500 &
  disk_load /dev/$disk write 1 127 500 &
done
wait
"""
NVME_LOAD_MORE = """
disk_load /dev/nvme0n1 read 1 2 900
disk_load /dev/nvme0n1 write 2 2 500
disk_load /dev/nvme0n1 read 4 1 200
"""
# While the target is stopped, one command waits: nothing else shows that the packets arrive.
NVME_LOAD_LONG = """
disk_load /dev/nvme0n1 read 1 1 1500
disk_load /dev/nvme0n1 write 1 1 700
"""
NVME_LOAD_OUTAGE = """
disk_load /dev/nvme0n1 read 1 1 2500
sleep 25
disk_load /dev/nvme0n1 read 1 1 100
"""
NFS_LOAD_LONG = """
dd if=/mnt/file of=/dev/null bs=4k count=800 iflag=direct
dd if=/dev/zero of=/mnt/file bs=4k count=300 oflag=direct conv=notrunc
"""
PATH = """[[rule]]
name = "path"
delay = "1.9ms"
"""
OUTAGE = PATH + """
[[at]]
name = "down"
rule = "path"
set = { loss = "100%" }
[[at]]
name = "up"
rule = "path"
set = { loss = "" }
"""


ALTERNATING = """[[rule]]
name = "path"
[[at]]
name = "far"
rule = "path"
set = { delay = "1.9ms" }
[[at]]
name = "near"
rule = "path"
set = { delay = "" }
"""
NVME_LOAD_ALONE = """
disk_load /dev/nvme0n1 read 1 1 1200
"""


def tell(box, event):
    subprocess.run([program('roce-impair'), 'ctl', box.folder / 'control', 'event', event], check=True)


def change_delay(_lab, box):
    """The path is long and short in turns, so that a busy machine makes both slower."""
    for _ in range(12):
        for event in ('far', 'near'):
            tell(box, event)
            time.sleep(0.2)


def stop_target(lab, _box):
    """Stops the target's machine three times for a second: shorter than the timers of the transport."""
    for _ in range(3):
        time.sleep(1.5)
        lab.a.pause()
        time.sleep(1)
        lab.a.resume()


def cut_path(_lab, box):
    """No packet passes for eight seconds, longer than the keep-alive's timeout."""
    time.sleep(3)
    for event in ('down', 'up'):
        tell(box, event)
        time.sleep(8)


@dataclasses.dataclass
class Run:
    """The set-ups of target and host, the load, the path between them (none: a bridge), and what happens
    while the load runs. `event`: what the host's kernel traces."""
    target: str
    host: str
    load: str
    event: str = 'nvme'
    path: str | None = None
    meanwhile: object = None


NVME = (NVME_TARGET, NVME_HOST)
NFS = (NFS_TARGET, NFS_HOST)
RPC = 'sunrpc/rpc_stats_latency'
RUNS = {
    'nvme_clean': Run(*NVME, NVME_LOAD),
    'nvme_in_turns': Run(*NVME, NVME_LOAD_ALONE, path=ALTERNATING, meanwhile=change_delay),
    'nvme_loss': Run(*NVME, NVME_LOAD, path=PATH + 'loss = "1%"\n'),
    'nvme_rare_loss': Run(*NVME, NVME_LOAD_MORE, path=PATH + 'loss = "0.1%"\n'),
    'nvme_rnr': Run(NVME_TARGET_SHORT, NVME_HOST_DEEP, NVME_LOAD_DEEP),
    'nvme_stopped': Run(*NVME, NVME_LOAD_LONG, path=PATH, meanwhile=stop_target),
    'nvme_outage': Run(*NVME, NVME_LOAD_OUTAGE, path=OUTAGE, meanwhile=cut_path),
    'nfs_clean': Run(*NFS, NFS_LOAD, RPC),
    'nfs_delay': Run(*NFS, NFS_LOAD, RPC, path=PATH),
    'nfs_loss': Run(*NFS, NFS_LOAD, RPC, path=PATH + 'loss = "1%"\n'),
    'nfs_stopped': Run(*NFS, NFS_LOAD_LONG, RPC, path=PATH, meanwhile=stop_target),
}


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


def capture_run(lab, run, box):
    """Sets both ends up and runs the load; returns the Capture and the host's trace."""
    lab.ping()
    lab.a.check(run.target, 120)
    lab.b.check(f'need nvme_rdma nfsv4 rpcrdma; mount -t tracefs tracefs {TRACE}; echo mono >{TRACE}/trace_clock; '
                f'echo 8192 >{TRACE}/buffer_size_kb; echo 1 >{TRACE}/events/{run.event}/enable')
    if box is not None:
        # The CPU of the target's guest: what the host's kernel measures does not depend on the path's work.
        box.stay_on(min(os.sched_getaffinity(0)))
    with lab.preferred(), lab.capture() as capture:
        lab.b.check(run.host, 120)
        load = lab.b.begin(run.load)
        if run.meanwhile:
            run.meanwhile(lab, box)
        print(load.wait(300), flush=True)
    return capture, lab.b.check(f'cat {TRACE}/trace', 120)


def keep(folder, name, capture, trace):
    """Writes the captures, cut, and the commands of the trace."""
    for end, path in (('host', capture.b), ('target', capture.a)):
        plain = folder / f'{name}_{end}.pcap'
        guests.pcap_file.write_pcap(plain, guests.pcap_file.read_pcap(path), snap=400)
        with gzip.GzipFile(f'{plain}.gz', 'wb', mtime=0) as kept:
            kept.write(plain.read_bytes())
        plain.unlink()
    truth = nvme_truth(trace) if name.startswith('nvme') else nfs_truth(trace)
    (folder / f'{name}.trace').write_text(trace)
    with gzip.GzipFile(folder / f'{name}.json.gz', 'wb', mtime=0) as kept:
        kept.write(('\n'.join(map(json.dumps, truth)) + '\n').encode())
    print(name, len(truth), 'commands traced', flush=True)


def record(folder, name):
    run = RUNS[name]
    with guests.Guests(modules=MODULES, programs=[BUILD / 'tests/e2e/rxe/disk_load']) as lab:
        between = (lab.bridge() if run.path is None
                   else lab.impair(run.path, '--control', 'control'))
        with between as box:
            capture, trace = capture_run(lab, run, box)
            keep(folder, name, capture, trace)
        if box is not None:
            (folder / f'{name}.ledger').write_bytes(box.ledger.read_bytes())


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:] or RUNS:
        print(f'# {name}', flush=True)
        record(folder, name)


if __name__ == '__main__':
    main()
