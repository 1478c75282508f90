#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records what a capture at a client shows of connections that fail, for pcaps/setups: ten with each
fault, by rping and perftest between two guests with soft-RoCE. Needs root; takes minutes.

    tests/e2e/rxe/record_setups.py FOLDER [FAULT...]
"""

import gzip
import pathlib
import shutil
import sys
import time

import guests

SERVER = guests.ADDRESSES['a'][0]
FIRST_PORT = 7200
KINDS = ('rping', 'ib_send_bw', 'rping', 'ib_read_bw', 'ib_send_bw')  # in turns
CRASHED = 139
SENDING = ('rping', 'ib_send_bw')  # the client sends data
ALWAYS_ASKING = ('ib_send_bw', 'ib_read_bw')  # the client waits for nothing but answers


class Ends:
    """A server in guest a and a client in guest b, of kind NUMBER, until a fault ends them."""

    def __init__(self, lab, number, size=64, kinds=KINDS, count=None):
        self.lab, self.kind, self.port, self.size = lab, kinds[number % len(kinds)], FIRST_PORT + number, size
        self.count = count  # messages; None: no end

    def command(self, options, ping_options):
        if self.kind == 'rping':
            count = f'-C {self.count}' if self.count else ''
            return f'rping -a {SERVER} -p {self.port} -S {self.size} {count} {ping_options}'
        long = f'-n {self.count}' if self.count else '-D 600'
        return f'{self.kind} -d rxe0 -x 1 -F -R -s {self.size} -p {self.port} {long} {options}'

    def serve(self):
        self.server = self.lab.a.begin('exec ' + self.command('', '-s'))
        self.lab.a.check(f'until [ -s /run/pid.{self.server.number} ]; do sleep 0.02; done; '
                         f'exec listening $(cat /run/pid.{self.server.number})', 60)
        return self

    def ask(self):
        rate = '' if self.kind == 'ib_read_bw' else '--rate_limit 100 --rate_units p --rate_limit_type SW'
        self.client = self.lab.b.begin('exec ' + self.command(f'-t 1 {rate} {SERVER}', '-c'))
        return self

    def run(self):
        """The client asks, and packets pass. perftest connects twice; where its client comes too early the
        second time, it ends, and both begin again."""
        while True:
            sent = self.lab.b.counters()['sent_pkts']
            self.serve().ask()
            while self.lab.b.counters()['sent_pkts'] < sent + 60 and not self.client.done():
                time.sleep(0.05)
            if not self.client.done():
                return self
            self.finish()

    def run_on(self, seconds):
        """Client and server, for so many seconds."""
        while self.serve().ask().finish(seconds) == CRASHED:
            pass

    def finish(self, seconds=60):
        """Waits until the client ends, or ends it after so many seconds."""
        until = time.monotonic() + seconds
        while not self.client.done() and time.monotonic() < until:
            time.sleep(0.2)
        code, said = self.client.stop('TERM', 60)
        print(f'{self.kind} {self.port}: client {code}: {said.strip().splitlines()[-1:]}', flush=True)
        if hasattr(self, 'server') and not self.server.done():
            self.server.stop('KILL', 60)
        return code


def firewall(lab, verdict):
    lab.a.check('need nf_tables nft_reject_inet; nft add table inet filter; '
                "nft 'add chain inet filter input { type filter hook input priority 0; }'; "
                f'nft add rule inet filter input udp dport 4791 {verdict}')


def no_firewall(lab):
    lab.a.check('nft delete table inet filter')


def no_listener(lab):
    """Nobody listens at the port."""
    for number in range(10):
        Ends(lab, number).ask().finish()


def killed_server(lab):
    """The server's process is killed while packets pass."""
    for number in range(10):
        ends = Ends(lab, number).run()
        ends.server.signal('KILL')
        ends.finish(12)


def blocked(lab, verdict):
    """A firewall in the server's guest: five connections do not come up, five are stopped later."""
    firewall(lab, verdict)
    asking = [Ends(lab, number).ask() for number in range(5)]
    time.sleep(20)
    for ends in asking:
        ends.finish(0)
    no_firewall(lab)
    for number in range(5, 10):
        ends = Ends(lab, number).run()
        firewall(lab, verdict)
        ends.finish(12)
        no_firewall(lab)


def firewall_rejects(lab):
    blocked(lab, 'reject')


def firewall_drops(lab):
    blocked(lab, 'drop')


def wrong_mtu(lab):
    """The way to the server carries 1500 bytes, and the client's packets have up to 4096."""
    guests.ip('link set tapA mtu 1500')
    for number in range(10):
        Ends(lab, number, size=4000, kinds=SENDING).run_on(12)
    guests.ip(f'link set tapA mtu {lab.mtu}')


def killed_qp(lab):
    """The server's QP ends without a word: its process is killed and its device removed while its link is
    down. (soft-RoCE sends again what the guest's own firewall drops.)"""
    for number in range(10):
        ends = Ends(lab, number, kinds=ALWAYS_ASKING).run()
        guests.ip('link set tapA down')
        ends.server.signal('KILL')
        lab.a.check('rdma link del rxe0; rdma link add rxe0 type rxe netdev eth0')
        guests.ip('link set tapA up')
        ends.finish(12)


def disconnected(lab):
    """All as it should be: the client ends its connection."""
    for number in range(10):
        Ends(lab, number, count=10).run_on(60)


FAULTS = (no_listener, killed_server, firewall_rejects, firewall_drops, wrong_mtu, killed_qp, disconnected)


def record(lab, folder, fault):
    lab.ping()
    with guests.Capture(lab.folder, only='') as capture:
        fault(lab)
    with open(capture.b, 'rb') as taken, gzip.GzipFile(folder / f'{fault.__name__}.pcap.gz', 'wb', mtime=0) as kept:
        shutil.copyfileobj(taken, kept)


def main():
    folder = pathlib.Path(sys.argv[1])
    chosen = [fault for fault in FAULTS if not sys.argv[2:] or fault.__name__ in sys.argv[2:]]
    with guests.Guests() as lab, lab.bridge():
        for fault in chosen:
            print(f'# {fault.__name__}', flush=True)
            record(lab, folder, fault)


if __name__ == '__main__':
    main()
