# SPDX-License-Identifier: BSD-3-Clause
"""Families of scenarios beside evalsim's random ones, each with its truth and its checks; and output that cheats, to test the scorer."""
import random, collections
from rocesim import *
import evalsim as E
NAMES = 'timer', 'noicrc', 'views', 'halves', 'queue', 'peerdied', 'rnrout'
START = 1700000000 * 10**9

def base(seed, delay=5000, line=300, nq=1, ipmode=None, **o):
    r = random.Random(seed * 31 + 5); cfg = Cfg(); sim = Sim(seed, cfg, line=line)
    for s in ('S>M', 'M>R', 'R>M', 'M>S'): sim.seg[s] = Seg(sim, delay)
    sim.ipmode = ipmode or r.choice(['qp', 'host', 'zero', 'rand']); cfg.sportmode = r.choice(['conn', 'one', 'dir'])
    for c in range(nq):
        p0 = 1000000 + c * 300000 + r.randrange(200000)
        sim.add(c, Opt(**dict(dict(selective=seed % 2 == 1, begin=1000 + c * 500), **o)), p0, p0 + 0x400000)
    return r, cfg, sim

def timer(seed):
    """the timer is shorter than the round trip; nothing is lost"""
    rtt = random.Random(seed).choice([5, 10, 12, 20]) * 1_000_000
    r, cfg, sim = base(seed, delay=rtt // 4, nq=1 + seed % 3, rto=max(4_100_000, rtt * 3 // 10) if rtt > 5_000_000 else 4_100_000, window=32, reads=16, gap=3000)
    for c in cfg.opts:
        ops = r.choice([['WRITE'], ['SEND'], ['READ'], ['WRITE', 'SEND']])
        for i in range(20): sim.ends[c, 0].post(r.choice(ops), r.choice([100, 256, 1024]))
    sim.run(60 * 10**9); return sim, cfg
def queue(seed):
    """a link of the path, with a queue that drops nothing, is full"""
    r, cfg, sim = base(seed, delay=2500, line=80, mtu=1024, window=random.Random(seed).choice([64, 128, 256]), ackreq='msg', gap=100, rto=67_000_000)
    sim.seg['S>M' if seed % 2 else 'M>R'].rate = r.choice([0.32, 0.8, 1.6])
    for i in range(400): sim.ends[0, 0].post('WRITE', 4096)
    sim.queue_family = True; sim.run(60 * 10**9); return sim, cfg
def peerdied(seed):
    """the receiver stops for good; nothing is lost"""
    r, cfg, sim = base(seed, delay=random.Random(seed).choice([1000, 5000, 400000]), rto=33_500_000, retries=7, gap=3000)
    ops = r.choice([['WRITE'], ['SEND'], ['READ'], ['WRITE', 'SEND', 'READ']])
    for i in range(100): sim.ends[0, 0].post(r.choice(ops), r.choice([100, 256, 1024]))
    sim.dies[1] = 1000 + r.randrange(50_000, 250_000) + 4 * sim.seg['S>M'].delay; sim.run(60 * 10**9); return sim, cfg
def rnrout(seed):
    """no receive buffer from some message on, until the requester's RNR retries are used up"""
    r, cfg, sim = base(seed, delay=random.Random(seed).choice([1000, 5000, 40000]), rnr_dead=0, rnr_retry=random.Random(seed).choice([3, 6, 7]), rnrwait=[640_000, 1_280_000, 10_240_000, 30_000_000][seed % 4], rto=67_000_000, gap=3000)
    cfg.opts[0].rnr_dead = r.randrange(5, 40)
    for i in range(60): sim.ends[0, 0].post('SEND', r.choice([100, 256, 1024]))
    sim.run(60 * 10**9); return sim, cfg

def quiet(seed, kinds):
    return E.scenario(seed * 13 + 7, kinds=kinds, sel=seed % 2 == 1)

def mark(tot, examples, P, fam, sim, cfg, k, good, seed, info=(), n=1):
    d = tot[P, fam, 'sr' if cfg.opts[0].selective else 'gbn'][k]
    d['right' if good else 'false'] += n
    if not good and len(examples[k]) < 400: examples[k].append((seed, P, fam) + tuple(info))
LOST = lambda a: a['kind'] == 'lost_after_capture' or a['kind'] == 'psn_gap'
def certain(a): return a.get('certainty', 'certain') == 'certain'

def same(tot, examples, P, fam, sim, cfg, seed, name, one, two, fields, skip=()):
    """two lists of findings that must be equal"""
    key = lambda a: tuple(str(a.get(x)) for x in fields) + (str(sorted((b['kind'], str(b.get('cause'))) for b in a.get('alternatives') or [])),)
    a = collections.Counter(key(x) for x in one if x['kind'] not in skip); b = collections.Counter(key(x) for x in two if x['kind'] not in skip)
    d = tot[P, fam, 'sr' if cfg.opts[0].selective else 'gbn'][name]
    d['right'] += sum((a & b).values()); d['false'] += sum((b - a).values()); d['missed'] += sum((a - b).values())
    for w, c in (('only here', b - a), ('not here', a - b)):
        for x in list(c)[:3]: examples[name + ': ' + w].append((seed, P, fam) + x[:5])
FIELDS = 'kind', 'cause', 'certainty', 'psn', 'packets', 'role'
COUNTS = 'requests', 'responses', 'messages', 'payload_bytes', 'retransmitted', 'recoveries', 'duplicates', 'out_of_order', 'psns_skipped', 'response_psns_skipped', 'naks', 'rnr_naks', 'psns_missing_in_capture'
def counts(tot, examples, P, fam, sim, cfg, seed, name, one, two):
    ends = lambda j: (j['from'], j['from_qp'], j['to'], j['to_qp'])
    a = {ends(j): j for j in one if j['requests']}; b = collections.defaultdict(list)
    for j in two:
        if j['requests']: b[ends(j)].append(j)
    for k, j in a.items():
        l = b.get(k, [])
        mark(tot, examples, P, fam, sim, cfg, name + ': one session', len(l) == 1, seed, (k, len(l)))
        for q in l[:1]:
            w = [(x, j[x], q[x]) for x in COUNTS if x in j and j[x] != q.get(x)]
            mark(tot, examples, P, fam, sim, cfg, name + ': counts', not w, seed, (k[1], w[:4]))

def check(fam, seed, tot, examples, tag, claims=None):
    if fam in ('timer', 'queue', 'peerdied', 'rnrout'):
        sim, cfg = globals()[fam](seed)
        for P in 'SMR':
            x = E.evaluate(sim, cfg, P, 'full', seed, tot, examples, tag, claims=claims)
            if not x: continue
            f, out = x; an = E.anomalies(f)
            lost = [a for a in an if LOST(a) and certain(a)]
            mark(tot, examples, P, 'check', sim, cfg, fam + ': no packet is called lost', not lost, seed, [(a['frame'], a['kind'], a['cause'], a['psn'], a['packets']) for a in lost[:2]])
            if fam == 'timer':
                w = [a for a in an if a['kind'] == 'retransmission' and certain(a) and E.Claim(a).token not in ('timer', 'timer_short')]
                mark(tot, examples, P, 'check', sim, cfg, 'timer: no cause but the timer', not w, seed, [(a['frame'], a['cause']) for a in w[:2]])
                w = [a for a in an if a['kind'] == 'retransmission' and E.Claim(a).token == 'timer_short']
                mark(tot, examples, P, 'check', sim, cfg, 'timer: too short is named', bool(w), seed)
            if fam == 'peerdied':
                dead = sim.ends[0, 0].dead; w = [a for a in an if a['kind'] == 'unanswered' or E.Claim(a).token == 'peer_stopped' or any(b.get('cause') == 'peer_stopped' for b in a.get('alternatives') or [])]
                mark(tot, examples, P, 'check', sim, cfg, 'peerdied: the stop is named', bool(w) or not dead, seed)
                w = [a for a in an if a['kind'] == 'retransmission' and certain(a) and E.Claim(a).token not in ('timer', 'peer_stopped')]
                mark(tot, examples, P, 'check', sim, cfg, 'peerdied: no cause but the timer', not w, seed, [(a['frame'], a['cause']) for a in w[:2]])
            if fam == 'rnrout':
                w = [a for a in an if a['kind'] == 'unanswered' and certain(a) and E.Claim(a).token != 'rnr_exhausted']
                mark(tot, examples, P, 'check', sim, cfg, 'rnrout: refused is not unanswered', not w, seed, [(a['frame'], a['psn'], a['packets']) for a in w[:2]])
            if fam == 'queue':
                w = [a for a in an if a['kind'] in ('retransmission', 'duplicate', 'out_of_order', 'stall', 'unanswered')]
                mark(tot, examples, P, 'check', sim, cfg, 'queue: nothing resent, copied or stalled', not w, seed, [(a['frame'], a['kind']) for a in w[:2]])
                seg = next(g for g in sim.seg.values() if g.rate); j = [j for j in E.sessions(f) if j['requests']][0]
                pay = sum(p.pay for t, p in out if p.end == 0)
                good = pay * 8e9 / (out[-1][0] - out[0][0])
                mark(tot, examples, P, 'check', sim, cfg, 'queue: goodput within 2 %', abs(j['goodput_bps'] / good - 1) < .02, seed, (j['goodput_bps'], good))
                # the round trip grows where the queue is between the point and the receiver
                behind = P == 'S' or P == 'M' and sim.seg['M>R'].rate
                if behind: mark(tot, examples, P, 'check', sim, cfg, 'queue: round trip grows', j['rtt_p50_ns'] > 2 * j['rtt_min_ns'], seed, (j['rtt_min_ns'], j['rtt_p50_ns']))
        return
    sim, cfg, fk = quiet(seed, {'noicrc': ['loss', 'rnr'], 'views': ['loss', 'none'], 'halves': ['loss', 'reorder']}[fam][:1 + seed % 2])
    r = random.Random(seed)
    for P in 'SMR':
        out, _ = E.capture(sim, cfg, P, 'full', seed)
        if len(out) < 4: continue
        one = f'results/{tag}-one.pcap'; recs = [(START + t, frame(p, cfg)) for t, p in out]; pcap(one, recs)
        a1, s1 = E.anomalies(one), E.sessions(one)
        if fam == 'noicrc':
            garbage = seed % 2; own = 1 if P == 'R' else 0    # the direction of the host whose port the capture is at
            def strip(b): return b[:-4] + (bytes(r.randrange(256) for _ in range(4)) if garbage else bytes(4))
            def write(f, o): pcap(f, [(START + t, strip(frame(p, cfg)) if p.end == own else frame(p, cfg)) for t, p in o])
            sim.noicrc = True
            f, _ = E.evaluate(sim, cfg, P, 'full', seed, tot, examples, tag, write=write, claims=claims)
            sim.noicrc = False; a2, s2 = E.anomalies(f), E.sessions(f)
            same(tot, examples, P, 'check', sim, cfg, seed, 'noicrc: same findings', a1, a2, FIELDS + ('frame', 'last_frame'), ('no_icrcs',))
            counts(tot, examples, P, 'check', sim, cfg, seed, 'noicrc', s1, s2)
            mark(tot, examples, P, 'check', sim, cfg, 'noicrc: said', sum(a['kind'] == 'no_icrcs' for a in a2) >= 1, seed)
            mark(tot, examples, P, 'check', sim, cfg, 'noicrc: no frame is called damaged', not any(a['kind'] == 'bad_icrc' for a in a2), seed)
        elif fam == 'views':
            how = ('mirror', 'ttl', 'vlan')[seed % 3]; two = []; f = f'results/{tag}.pcap'; last = 0; d = r.randint(100, 4500)
            for t, p in out:
                b = frame(p, cfg, ttl=63 if how == 'ttl' else 64, vlan=7 if how == 'vlan' else None)
                t2 = max(START + t + d + r.randint(-50, 50), last + 1); last = t2; two.append((t2, 1, len(two), b))
            recs2 = sorted([(t, 0, i, b) for i, (t, b) in enumerate(recs)] + two); pcap(f, [(t, b) for t, _, _, b in recs2])
            a2, s2 = E.anomalies(f), E.sessions(f)
            same(tot, examples, P, 'check', sim, cfg, seed, 'views: same findings', a1, [a for a in a2 if E.Claim(a).token != 'captured_twice'], FIELDS)
            copies = sum(max(1, a.get('packets') or 1) for a in a2 if a['kind'] == 'duplicate' and certain(a) and E.Claim(a).token != 'captured_twice') - sum(a['kind'] == 'duplicate' for a in a1)
            mark(tot, examples, P, 'check', sim, cfg, 'views: path copies (frames)', copies <= 0, seed, (how, copies), max(1, copies))
            counts(tot, examples, P, 'check', sim, cfg, seed, 'views', s1, s2)
        elif fam == 'halves':
            f = f'results/{tag}.pcapng'; pcapng(f, [(START + t, p.end, b) for (t, p), (_, b) in zip(out, recs)])
            a2, s2 = E.anomalies(f), E.sessions(f)
            same(tot, examples, P, 'check', sim, cfg, seed, 'halves: same findings', a1, a2, FIELDS + ('frame', 'last_frame'))
            counts(tot, examples, P, 'check', sim, cfg, seed, 'halves', s1, s2)
            both = [j for j in s2 if j['requests']]
            mark(tot, examples, P, 'check', sim, cfg, 'halves: sessions have both directions', all(j['from_qp'] is not None and j['to_qp'] is not None and j['responses'] for j in both), seed, [(j['session'], j['from_qp'], j['to_qp'], j['responses']) for j in both[:2]])
            n1, n2 = (sum(a['kind'] == 'retransmission' and E.Claim(a).token == 'nak' for a in x) for x in (a1, a2))
            mark(tot, examples, P, 'check', sim, cfg, 'halves: NAKs are causes', n1 == n2, seed, (n1, n2))

# ---- output that cheats or is lazy: what does the scorer say? ------------------------------------------------------
def m_silent(T, get): return []
def m_unknown(T, get):
    n = len(T.out); l = []
    for (c, e, r) in list(T.stream):
        for k in ('psn_gap', 'retransmission', 'duplicate', 'out_of_order', 'lost_after_capture'):
            i, _, p = T.stream[c, e, r][0]; l.append(dict(kind=k, cause='unknown', certainty='unknown', frame=i, last_frame=n, psn=p.psn, packets=2000, role=r))
    return l
def m_either(T, get):
    alts = [dict(kind='psn_gap', cause='lost_before'), dict(kind='retransmission', cause='nak'), dict(kind='duplicate', cause='path_copy')]
    return [dict(a, certainty='either', alternatives=alts) if a['kind'] in ('psn_gap', 'retransmission', 'duplicate', 'out_of_order', 'lost_after_capture') else dict(a, certainty='certain', cause=None) for a in get()]
def m_twice(T, get): return [x for a in get() for x in (a, a)]
def m_blanket(T, get):
    """one recovery over the whole capture for each connection, each PSN lost"""
    l = []
    for (c, e, r), s in list(T.stream.items()):
        i, _, p = next((z for z in s if z[2].retrans), s[0])
        l.append(dict(kind='retransmission', cause='nak', certainty='certain', frame=i, last_frame=len(T.out), psn=p.psn, packets=60000, role=r))
        l.append(dict(kind='psn_gap', cause='lost_before', certainty='certain', frame=s[-1][0], last_frame=s[-1][0], psn=s[0][2].psn, packets=s[-1][2].oldpsn - s[0][2].oldpsn + 1, role=r))
    return l
def m_truth(T, get):
    """an oracle: all that happened, once; a claim only of what the point can see"""
    sim = T.sim; l = []; C = dict(certainty='certain')
    for p in T.up_packets:
        if p.op in (OP['ACK'], CNP): continue
        s = [z for z in T.stream.get(T.sk(p), ()) if z[2].uid > p.uid]
        if s: l.append(dict(C, kind='psn_gap', cause='lost_before', frame=s[0][0], last_frame=s[0][0], psn=p.psn, packets=len(T.span(p)), role=T.role(p)))
    for x, ts in T.cut.items():
        for t in ts:
            s = [z for z in T.stream.get(x[:3], ())]
            if s: l.append(dict(C, kind='psn_gap', cause='missing_in_capture', frame=s[-1][0], last_frame=s[-1][0], psn=x[3], packets=1, role=x[2]))
    for p in T.down_packets:
        fr = [z for z in T.frames[T.key(p)] if z[2].uid == p.uid] if p.op not in (OP['ACK'], CNP) else []
        if fr and sim.is_req(p): l.append(dict(C, kind='lost_after_capture', cause='lost_behind', frame=fr[0][0], last_frame=fr[0][0], psn=p.psn, packets=1, role='request'))
    rec = {}
    for k, s in T.stream.items():
        for i, t, p in s:
            if i in T.copies: l.append(dict(C, kind='duplicate', cause='path_copy', frame=i, last_frame=i, psn=p.psn, packets=1, role=k[2]))
            elif i in T.late: l.append(dict(C, kind='out_of_order', cause=None, frame=i, last_frame=i, psn=p.psn, packets=1, role=k[2]))
            if p.retrans and i not in T.copies: rec.setdefault(p.rec, []).append((i, p))
    for q in rec.values():
        i, p = q[0]; only = T.variant == 'fwd' and p.end == 0 or T.variant == 'back' and p.end == 1
        l.append(dict(C, kind='retransmission', cause='unknown' if only else sorted(T.causes(p))[0], frame=i, last_frame=q[-1][0], psn=p.psn, packets=len(q), role='request'))
    for i, (t, p) in enumerate(T.out, 1):
        if p.op == OP['ACK'] and not p.bad and p.aeth[0] >> 5 in (1, 3): l.append(dict(C, kind='nak' if p.aeth[0] >> 5 == 3 else 'rnr_nak', cause=None, frame=i, last_frame=i, psn=p.psn, packets=1, role='response'))
    return l
MUTATE = dict(silent=m_silent, unknown=m_unknown, either=m_either, twice=m_twice, blanket=m_blanket, truth=m_truth)
