# SPDX-License-Identifier: BSD-3-Clause
"""Independent RC/UC/UD simulator: own requester/responder, path with faults, capture points. Writes
pcap with right ICRCs. No code of longwire used."""
import heapq, random, struct, zlib
MASK = 0xFFFFFF
OP = dict(SF=0, SM=1, SL=2, SO=4, WF=6, WM=7, WL=8, WO=10, RR=12, RF=13, RM=14, RL=15, RO=16, ACK=17, AACK=18, CS=19, FA=20)
CNP = 0x81
def be24(x): return struct.pack('>I', x & MASK)[1:]

class Pkt:
    __slots__ = 'uid conn end op psn pay ackreq aeth va rkey dlen atomic ipid retrans cause rec sent ce bad copy oldpsn why deth sport again ofcopy'.split()
    def __init__(s, **k):
        s.pay = 0; s.ackreq = 0; s.aeth = None; s.va = s.rkey = s.dlen = None; s.atomic = False; s.retrans = False
        s.cause = None; s.rec = 0; s.ce = False; s.bad = False; s.copy = 0; s.why = None; s.again = False; s.ofcopy = False; s.deth = None; s.sport = None; s.ipid = 0
        for a, b in k.items(): setattr(s, a, b)

def ipb(n): return bytes([10, 0, 0, n])
def payload(conn, end, psn, n, op=0):
    # deterministic bytes: same for retransmissions
    b = struct.pack('>IIII', conn, end, psn & MASK, 0x5a5a5a5a)
    return (b * (n // 16 + 1))[:n]

def frame(p, cfg, src=None, dst=None, qp=None, vlan=None, body=None, ecn=None, dscp=0, ttl=64, migreq=1):
    """bytes of a packet; src/dst: host numbers"""
    c = p.conn
    if src is None: src, dst = (1, 2) if p.end == 0 else (2, 1)
    if qp is None: qp = cfg.qpn(c, 1 - p.end)
    base = 0x20 if cfg.transport(c) == 'UC' else 0x60 if cfg.transport(c) == 'UD' else 0
    opc = p.op if p.op >= 0x80 else base + p.op
    pad = (-p.pay) % 4
    b4 = (0x40 if migreq else 0) | (pad << 4)
    bth = struct.pack('>BBH', opc, b4, 0xffff) + b'\0' + be24(qp) + bytes([0x80 if p.ackreq else 0]) + be24(p.psn)
    ext = b''
    if p.deth: ext += struct.pack('>I', 0x11111111) + b'\0' + be24(p.deth)
    if p.va is not None: ext += struct.pack('>QII', p.va, p.rkey, p.dlen)
    if p.atomic: ext += struct.pack('>QIQQ', 0x1000, 0x77, 1, 2)
    if p.aeth is not None: ext += bytes([p.aeth[0]]) + be24(p.aeth[1])
    if p.op == OP['AACK']: ext += struct.pack('>Q', p.psn)
    data = body if body is not None else payload(c, p.end, p.psn, p.pay)
    if p.op == CNP: data = bytes(16)
    l4 = bth + ext + data + bytes(pad)
    e = (1 if p.ce is not None else 0)
    tos = (dscp << 2) | (3 if p.ce else (cfg.ect if ecn is None else ecn))
    iplen = 20 + 8 + len(l4) + 4
    sport = p.sport if p.sport is not None else cfg.sport(c, p.end)
    ip = struct.pack('>BBHHHBBH', 0x45, tos, iplen, p.ipid & 0xffff, 0x4000, ttl, 17, 0) + ipb(src) + ipb(dst)
    s = sum(struct.unpack('>10H', ip)); s = (s & 0xffff) + (s >> 16); s = (s & 0xffff) + (s >> 16)
    ip = ip[:10] + struct.pack('>H', ~s & 0xffff) + ip[12:]
    udp = struct.pack('>HHHH', sport, 4791, 8 + len(l4) + 4, 0)
    m = b'\xff' * 8 + ip[:1] + b'\xff' + ip[2:8] + b'\xff' + ip[9:10] + b'\xff\xff' + ip[12:] + udp[:6] + b'\xff\xff' + l4[:4] + b'\xff' + l4[5:]
    icrc = struct.pack('<I', zlib.crc32(m))
    if p.bad: l4 = l4[:8] + l4[8:-1] + bytes([l4[-1] ^ 0x10]) if len(l4) > 12 else l4; 
    if p.bad and len(l4) <= 12: icrc = struct.pack('<I', zlib.crc32(m) ^ 4)
    eth = bytes([2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src]) + (struct.pack('>HH', 0x8100, vlan) if vlan is not None else b'') + b'\x08\0'
    return eth + ip + udp + l4 + icrc

def pcap(path, recs, snap=0, ns=True):
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b23c4d if ns else 0xa1b2c3d4, 2, 4, 0, 0, snap or 262144, 1))
        for t, b in recs:
            n = min(len(b), snap) if snap else len(b)
            f.write(struct.pack('<IIII', t // 10**9, t % 10**9 if ns else t % 10**9 // 1000, n, len(b)) + b[:n])

def pcapng(path, recs, nif=2):
    """recs: (ns, interface, bytes); Ethernet, nanoseconds"""
    def block(t, b):
        b += bytes(-len(b) % 4); n = len(b) + 12
        return struct.pack('<II', t, n) + b + struct.pack('<I', n)
    with open(path, 'wb') as f:
        f.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
        for i in range(nif):
            name = b'port%d' % i
            f.write(block(1, struct.pack('<HHI', 1, 0, 262144) + struct.pack('<HH', 2, len(name)) + name + bytes(-len(name) % 4) + struct.pack('<HHB3x', 9, 1, 9) + bytes(4)))
        for t, i, b in recs: f.write(block(6, struct.pack('<IIIII', i, t >> 32, t & 0xffffffff, len(b), len(b)) + b))

def size(p):
    """bytes of a packet's frame, about"""
    return 58 + p.pay + (16 if p.va is not None else 0) + (4 if p.aeth is not None else 0)

class Seg:
    """one direction of a segment of the path"""
    def __init__(s, sim, delay, loss=0, dup=0, reorder=0, extra=(2000, 40000), corrupt=0, ce=0, burst=1, paths=1, spread=0):
        s.sim, s.delay, s.loss, s.dup, s.reorder, s.extra, s.corrupt, s.ce, s.burst = sim, delay, loss, dup, reorder, extra, corrupt, ce, burst
        s.last = 0; s.left = 0; s.paths = paths; s.spread = spread; s.n = 0
        s.lastp = [0] * max(1, paths); s.hold = None; s.rate = 0; s.free = 0   # rate: ns per byte
    def send(s, p, name, then):
        sim, r = sim_, rnd = s.sim, s.sim.rnd
        if s.left > 0 or (s.loss and r.random() < s.loss):
            if s.left == 0: s.left = r.randint(1, s.burst)
            s.left -= 1
            sim.fault(p, 'loss', name); return
        if s.corrupt and not p.bad and r.random() < s.corrupt:
            p = clone(p); p.bad = True; sim.fault(p, 'corrupt', name)
        if s.ce and p.op < 0x80 and sim.cfg.ect and r.random() < s.ce:
            p = clone(p); p.ce = True; sim.fault(p, 'ce', name)
        if s.rate:   # a queue that drops nothing
            s.free = max(sim.now, s.free) + int(size(p) * s.rate); sim.at(s.free + s.delay, then, p); return
        if s.paths > 1:
            i = s.n % s.paths; s.n += 1
            t = max(sim.now + s.delay + int(s.spread * (i + r.random())), s.lastp[i] + 1); s.lastp[i] = t
            sim.at(t, then, p); return
        t = max(sim.now + s.delay, s.last + 1)
        if s.hold and s.hold[0] <= sim.now < s.hold[1]: t = max(s.hold[1] + s.delay, s.last + 50)
        if s.reorder and r.random() < s.reorder:
            sim.fault(p, 'reorder', name)
            sim.at(t + r.randint(*s.extra), then, p)   # later ones overtake
        else:
            s.last = t; sim.at(t, then, p)
        if s.dup and r.random() < s.dup:
            q = clone(p); q.copy = p.copy + 1; sim.fault(q, 'dup', name)
            sim.at(t + r.randint(100, 30000), then, q)
def clone(p):
    q = Pkt();
    for a in Pkt.__slots__:
        if hasattr(p, a): setattr(q, a, getattr(p, a))
    return q

class End:
    """one end of a connection: requester and responder"""
    def __init__(s, sim, conn, end, first_psn, peer_psn, o):
        s.sim, s.conn, s.end, s.o = sim, conn, end, o
        s.una = s.nxt = s.cur = first_psn; s.start = first_psn
        s.tab = {}      # psn -> (op, pay, ackreq, va, rkey, dlen, span, msgidx)
        s.msgs = []; s.posted = 0; s.rec = None; s.recn = 0; s.timer = 0; s.wait_until = 0
        s.rexp = None; s.single = []; s.dead = False; s.retries = 0; s.nakked = None; s.read_back = None
        # responder
        s.epsn = peer_psn; s.msn = 0; s.naks = False; s.ooo = {}; s.pend_ack = None; s.rnr_left = 0; s.rnr_psn = None
        s.respq = []; s.acc = 0; s.lastcnp = -10**9; s.rread = {}
        s.outstanding_reads = set(); s.got = {}; s.rnrs = 0
        s.answer = None; s.done = 0   # the answer that is processed; messages that are complete
    # ---- requester
    def post(s, op, length):
        o = s.o; n = max(1, -(-length // o.mtu)); mtu = o.mtu; psn = s.nxt if not s.tab else s.tail
        m = len(s.msgs); va = 0x7f0000000000 + m * 0x10000; rkey = 0x100 + s.conn
        if op == 'READ': s.tab[psn] = dict(op=OP['RR'], pay=0, ack=1, va=va, rkey=rkey, dlen=length, span=n, msg=m, last=True)
        elif op == 'ATOMIC': s.tab[psn] = dict(op=OP['FA'], pay=0, ack=1, va=None, rkey=None, dlen=None, span=1, msg=m, last=True); n = 1
        else:
            for i in range(n):
                pre = 'S' if op == 'SEND' else 'W'
                k = pre + ('O' if n == 1 else 'F' if i == 0 else 'L' if i == n - 1 else 'M')
                pay = length - (n - 1) * mtu if i == n - 1 else mtu
                s.acc += 1
                if o.ackreq == 'msg': ack = i == n - 1
                elif o.ackreq == 'all': ack = True
                else: ack = (s.acc % o.ackreq == 0) or False
                hdr = pre == 'W' and i == 0
                s.tab[psn + i] = dict(op=OP[k], pay=pay, ack=int(ack), va=va if hdr else None, rkey=rkey, dlen=length if hdr else None, span=1, msg=m, last=i == n - 1)
        s.msgs.append(dict(op=op, len=length, psn=psn, n=n, t0=None, done=None)); s.tail = psn + n
        if o.ackreq not in ('msg', 'all') and op in ('SEND', 'WRITE') and o.lastack: s.tab[psn + n - 1]['ack'] = 1
    def ready(s):
        if s.dead or s.sim.now < s.wait_until: return False
        if s.single: return True
        if not s.tab or s.cur >= s.tail: return False
        if s.cur >= s.nxt and s.nxt - s.una >= s.o.window: return False
        if s.cur >= s.nxt and s.tab[s.cur]['op'] in (OP['RR'], OP['FA']) and len(s.outstanding_reads) >= s.o.reads: return False
        if s.cur >= s.nxt and s.sim.now < s.msgtime(s.tab[s.cur]['msg']): return False
        return True
    def msgtime(s, m): return s.o.begin + (m // s.o.groupn) * s.o.gap
    def send_next(s):
        if s.single:
            psn = s.single.pop(0); retr = True
        else:
            psn = s.cur; retr = psn < s.nxt
        e = s.tab.get(psn); base = psn
        if e is None:   # within a READ: rest
            base = max(q for q in s.tab if q < psn); e = s.tab[base]
        va, dlen = e['va'], e['dlen']
        if base != psn: off = (psn - base) * s.o.mtu; va += off; dlen -= off
        p = Pkt(conn=s.conn, end=s.end, op=e['op'], psn=psn & MASK, oldpsn=psn, pay=e['pay'], ackreq=e['ack'], va=va, rkey=e['rkey'] if va is not None else None, dlen=dlen, atomic=e['op'] == OP['FA'])
        p.retrans = retr
        if retr: p.cause, p.rec = (s.rec or ('?', 0))
        if s.msgs[e['msg']]['t0'] is None: s.msgs[e['msg']]['t0'] = s.sim.now
        if not s.single and not (retr and False):
            if psn == s.cur: s.cur = base + e['span']
        s.nxt = max(s.nxt, s.cur)
        if e['op'] in (OP['RR'], OP['FA']) : s.outstanding_reads.add(base)
        s.arm(); s.sim.tx(p)
    def arm(s): s.timer = s.sim.now + s.o.rto
    def progress(s, psn):
        if psn <= s.una: return
        s.una = psn; s.retries = 0; s.rnrs = 0; s.arm()
        while s.done < len(s.msgs) and s.msgs[s.done]['psn'] + s.msgs[s.done]['n'] <= psn: s.msgs[s.done]['done'] = s.answer; s.done += 1
        for b in [b for b in s.outstanding_reads if b + s.tab[b]['span'] <= psn]: s.outstanding_reads.discard(b)
        s.single = [q for q in s.single if q >= psn]
        if s.cur < s.una: s.cur = s.una
        s.read_back = None
    def back(s, psn, cause, delay=0):
        s.recn += 1; s.rec = (cause, (s.conn, s.end, s.recn)); s.wait_until = s.sim.now + delay; s.arm()
        s.sim.recov.append((s.sim.now, s.conn, s.end, psn, cause, s.rec[1])); s.sim.recinfo[s.rec[1]] = (s.sim.now, psn, s.nxt, cause)
        if cause == 'nak' and s.o.selective: s.single = s.single + [psn] if psn not in s.single else s.single
        else: s.cur = psn; s.single = []
        s.sim.at(s.wait_until, lambda _: s.sim.kick(s.end), None)
    def on_timer(s):
        if s.dead or s.una >= s.nxt or s.sim.now < s.timer: return
        s.retries += 1
        if s.retries > s.o.retries: s.dead = True; s.sim.log('gave_up', s); return
        s.back(s.una, 'timeout')
    def fetch_before(s, psn):
        """first READ/atomic that is open before psn, as an expected response psn"""
        for b in sorted(s.outstanding_reads):
            e = s.got.get(b, b)
            if e < psn and e < b + s.tab[b]['span']: return e
        return None
    def on_response(s, p):
        if s.dead: return
        psn = s.una + (((p.psn - s.una) + 0x800000) & MASK) - 0x800000; s.answer = p
        if p.op in (OP['RF'], OP['RM'], OP['RL'], OP['RO'], OP['AACK']):
            base = max((b for b in s.tab if b <= psn and b + s.tab[b]['span'] > psn), default=None)
            if base is None or base not in s.outstanding_reads: return
            hole = s.fetch_before(base)
            exp = s.got.get(base, base)
            if hole is not None or psn > exp:
                h = hole if hole is not None else exp
                if s.read_back != h:
                    s.read_back = h
                    s.progress(min(h, psn))  # implicit ack up to the hole
                    s.read_back = h
                    if s.o.read_whole: h = max(b for b in s.tab if b <= h); s.got.pop(h, None)
                    s.back(h, 'response_lost', s.o.nakdelay)
                return
            if psn < exp: return
            s.got[base] = psn + 1
            if psn + 1 == base + s.tab[base]['span']: s.progress(psn + 1)
            else: s.progress(psn + 1 if s.o.read_partial_ack else base)
            s.arm()
            return
        syn = p.aeth[0]
        hole = s.fetch_before(psn if syn else psn + 1)
        if hole is not None:
            if s.read_back != hole:
                s.progress(hole); s.read_back = hole
                if s.o.read_whole: hole = max(b for b in s.tab if b <= hole); s.got.pop(hole, None)
                s.back(hole, 'response_lost', s.o.nakdelay)
            return
        if syn >> 5 == 0: s.progress(psn + 1)
        elif syn >> 5 == 1:
            s.progress(psn); s.rnrs += 1
            if s.rnrs > s.o.rnr_retry: s.dead = True; s.sim.log('rnr_exhausted', s); return
            s.back(psn, 'rnr', s.o.rnrwait)
        elif syn == 0x60:
            if psn < s.una: return
            s.progress(psn)
            if s.o.nak_ignore_dup and s.nakked == (psn, s.epoch_of(psn)): return
            s.nakked = (psn, s.epoch_of(psn)); s.back(psn, 'nak', s.o.nakdelay)
        else: s.progress(psn); s.dead = True; s.sim.log('fatal', s)
    def epoch_of(s, psn): return s.una
    # ---- responder
    def on_request(s, p):
        o = s.o
        if p.ce and s.sim.now - s.lastcnp > 50000 and o.cnp:
            s.lastcnp = s.sim.now; s.sim.tx(Pkt(conn=s.conn, end=s.end, op=CNP, psn=0, oldpsn=0))
        psn = s.epsn + (((p.psn - s.epsn) + 0x800000) & MASK) - 0x800000
        if psn > s.epsn:
            if o.selective:
                s.ooo[psn] = p
                if not s.naks:
                    s.naks = True
                    if s.rnr_psn != s.epsn: s.answer_nak(0x60)
            elif not s.naks or o.nakrepeat:
                s.naks = True
                if s.rnr_psn != s.epsn: s.answer_nak(0x60)
            return
        if psn < s.epsn: return s.duplicate(p, psn)
        if p.op in (OP['SF'], OP['SO']) and o.rnr_dead is not None and s.msn >= o.rnr_dead: s.rnr_left = 2
        if p.op in (OP['SF'], OP['SO']) and o.rnr and s.sim.rnd.random() < o.rnr and s.rnr_left == 0:
            s.rnr_left = s.sim.rnd.randint(1, 2); s.sim.log('rnr', s)
        if p.op in (OP['SF'], OP['SO']) and s.rnr_left > 0:
            s.rnr_left -= 1; s.rnr_psn = s.epsn
            if s.rnr_left == 0: s.rnr_left = -1
            s.flush_ack(); s.resp(Pkt(conn=s.conn, end=s.end, op=OP['ACK'], psn=s.epsn & MASK, oldpsn=s.epsn, aeth=(0x20 | 14, s.msn)))
            return
        s.rnr_left = 0; s.rnr_psn = None
        s.accept(p, psn)
        while s.ooo and s.epsn in s.ooo: s.accept(s.ooo.pop(s.epsn), s.epsn)
        if s.ooo: s.naks = True; s.answer_nak(0x60)
    def answer_nak(s, syn):
        s.flush_ack(); s.resp(Pkt(conn=s.conn, end=s.end, op=OP['ACK'], psn=s.epsn & MASK, oldpsn=s.epsn, aeth=(syn, s.msn)))
    def accept(s, p, psn):
        s.naks = False; s.sim.answered.add(p.uid)
        s.sim.accepted.append((p.uid, s.conn, 1 - s.end, psn))
        if p.op == OP['RR']:
            n = max(1, -(-p.dlen // s.o.mtu)); s.flush_ack() if not s.o.implicit_ack else setattr(s, 'pend_ack', None)
            s.epsn = psn + n; s.msn += 1; s.rread[psn] = p
            s.read_resp(psn, n, p.dlen)
        elif p.op == OP['FA']:
            s.flush_ack() if not s.o.implicit_ack else setattr(s, 'pend_ack', None)
            s.epsn = psn + 1; s.msn += 1
            s.resp(Pkt(conn=s.conn, end=s.end, op=OP['AACK'], psn=psn & MASK, oldpsn=psn, aeth=(31, s.msn)))
        else:
            s.epsn = psn + 1
            if p.op in (OP['SL'], OP['SO'], OP['WL'], OP['WO']): s.msn += 1
            if p.ackreq:
                if s.o.coalesce:
                    if s.pend_ack is None: s.sim.at(s.sim.now + s.o.coalesce, lambda _: s.flush_ack(), None)
                    s.pend_ack = psn
                else: s.resp(s.ack())
    def ack(s): return Pkt(conn=s.conn, end=s.end, op=OP['ACK'], psn=(s.epsn - 1) & MASK, oldpsn=s.epsn - 1, aeth=(31, s.msn))
    def flush_ack(s):
        if s.pend_ack is not None:
            q = s.pend_ack; s.pend_ack = None
            s.resp(Pkt(conn=s.conn, end=s.end, op=OP['ACK'], psn=q & MASK, oldpsn=q, aeth=(31, s.msn)))
    def read_resp(s, psn, n, length, **again):
        for i in range(n):
            k = 'RO' if n == 1 else 'RF' if i == 0 else 'RL' if i == n - 1 else 'RM'
            pay = length - (n - 1) * s.o.mtu if i == n - 1 else s.o.mtu
            s.resp(Pkt(**again, conn=s.conn, end=s.end, op=OP[k], psn=(psn + i) & MASK, oldpsn=psn + i, pay=pay, aeth=(31, s.msn) if k != 'RM' else None))
    def duplicate(s, p, psn):
        again = dict(again=True, ofcopy=p.uid if p.uid in s.sim.answered else False); s.sim.answered.add(p.uid)
        if p.op == OP['RR']:
            n = max(1, -(-p.dlen // s.o.mtu)); s.read_resp(psn, n, p.dlen, **again)
        elif p.op == OP['FA']: s.resp(Pkt(**again, conn=s.conn, end=s.end, op=OP['AACK'], psn=psn & MASK, oldpsn=psn, aeth=(31, s.msn)))
        elif p.ackreq or s.o.dup_always_ack: s.resp(s.ack())
    def resp(s, p): s.sim.tx(p)

class Opt:
    def __init__(s, **k):
        s.mtu = 256; s.window = 32; s.reads = 4; s.rto = 4_000_000; s.retries = 7; s.selective = False; s.nakrepeat = False
        s.ackreq = 'msg'; s.lastack = True; s.coalesce = 0; s.rnr = 0; s.rnrwait = 1_000_000; s.cnp = True; s.nakdelay = 500
        s.implicit_ack = True; s.dup_always_ack = False; s.read_whole = False; s.read_partial_ack = True; s.begin = 1000; s.gap = 3000
        s.groupn = 1; s.nak_ignore_dup = True; s.rnr_retry = 1 << 30; s.rnr_dead = None; s.transport = 'RC'
        for a, b in k.items(): setattr(s, a, b)
class Cfg:
    def __init__(s): s.ect = 2; s.sportmode = 'conn'; s.opts = {}; s.qbase = 0x100; s.sidbase = 0
    def transport(s, c): return s.opts[c].transport
    def qpn(s, c, end): return (0x100 if end == 0 else 0x900) + c
    def sport(s, c, end):
        if s.sportmode == 'conn': return 49152 + c * 7
        if s.sportmode == 'one': return 49152
        return 49152 + c * 7 + end * 1000

class Sim:
    def __init__(s, seed, cfg, line=300):
        s.rnd = random.Random(seed); s.cfg = cfg; s.now = 0; s.q = []; s.n = 0; s.uid = 0; s.line = line
        s.ends = {}; s.cap = dict(S=[], M=[], R=[]); s.faults = []; s.recov = []; s.accepted = []; s.logs = []; s.txs = {}; s.recinfo = {}; s.answered = set(); s.dies = {}   # host: when it stops
        s.queue_family = s.views = s.noicrc = False   # what a family (families.py) does to the capture
        s.busy = [0, 0]; s.rr = [0, 0]; s.kicked = [False, False]; s.ipid = {}; s.txq = [[], []]; s.ipmode = 'qp'
        s.seg = {}; s.rx = {}
    def at(s, t, f, a): s.n += 1; heapq.heappush(s.q, (t, s.n, f, a))
    def log(s, what, e): s.logs.append((s.now, what, e.conn, e.end))
    def fault(s, p, kind, seg): s.faults.append((s.now, kind, seg, p.uid, p.copy))
    def add(s, conn, o, psn0, psn1):
        s.cfg.opts[conn] = o
        s.ends[conn, 0] = End(s, conn, 0, psn0, psn1, o); s.ends[conn, 1] = End(s, conn, 1, psn1, psn0, o)
    def is_req(s, p): return p.op not in (OP['RF'], OP['RM'], OP['RL'], OP['RO'], OP['ACK'], OP['AACK'], CNP)
    def tx(s, p):
        """hand a packet to the port of host p.end"""
        s.txq[p.end].append(p); s.pump(p.end)
    def pump(s, h):
        if not s.txq[h] or s.kicked[h]: return
        t = max(s.now, s.busy[h]); s.kicked[h] = True; s.at(t, s.emit, h)
    def emit(s, h):
        s.kicked[h] = False
        if s.txq[h]:
            p = s.txq[h].pop(0); s.uid += 1; p.uid = s.uid; p.sent = s.now
            k = {'qp': (p.conn, h), 'host': h, 'zero': None, 'rand': None}[s.ipmode]
            if s.ipmode == 'rand': p.ipid = s.rnd.randrange(65536)
            elif s.ipmode == 'zero': p.ipid = 0
            else: p.ipid = s.ipid.get(k, 7 + 991 * p.conn) & 0xffff; s.ipid[k] = p.ipid + 1
            s.txs[p.uid] = p; s.busy[h] = s.now + s.line
            if h == 0: s.point('S', p); s.seg['S>M'].send(p, 'S>M', lambda q: (s.point('M', q), s.seg['M>R'].send(q, 'M>R', lambda r: (s.point('R', r), s.deliver(r)))))
            else: s.point('R', p); s.seg['R>M'].send(p, 'R>M', lambda q: (s.point('M', q), s.seg['M>S'].send(q, 'M>S', lambda r: (s.point('S', r), s.deliver(r)))))
        if s.txq[h]: s.pump(h)
        else: s.at(s.busy[h], lambda _: s.kick(h), None)
    def point(s, n, p): s.cap[n].append((s.now, p))
    def deliver(s, p):
        if p.bad: return
        s.rx.setdefault(p.uid, []).append(s.now)
        if p.op == CNP or s.now >= s.dies.get(1 - p.end, 1 << 62): return
        e = s.ends[p.conn, 1 - p.end]
        e.on_request(p) if s.is_req(p) else e.on_response(p)
        s.kick(0); s.kick(1)
    def kick(s, h):
        if s.txq[h]: return
        ks = [k for k in s.ends if k[1] == h]
        for i in range(len(ks)):
            e = s.ends[ks[(s.rr[h] + i) % len(ks)]]
            if e.ready(): s.rr[h] = (s.rr[h] + i + 1) % len(ks); e.send_next(); return
    def run(s, until):
        def tick(_):
            for e in s.ends.values(): e.on_timer()
            s.kick(0); s.kick(1)
            if any((e.tab and e.una < e.tail and not e.dead) for e in s.ends.values()): s.at(s.now + 100_000, tick, None)
        s.at(0, tick, None)
        for e in s.ends.values():
            for m in range(0, len(e.msgs)): s.at(e.msgtime(m), lambda _, h=e.end: s.kick(h), None)
        while s.q and s.now < until:
            t, _, f, a = heapq.heappop(s.q); s.now = max(s.now, t); f(a)
