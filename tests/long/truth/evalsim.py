# SPDX-License-Identifier: BSD-3-Clause
"""Compares roce-dissect's anomalies, sessions and messages with the truth of rocesim.py. Classes and matching: README.md beside this file."""
import sys, os, json, subprocess, random, collections, bisect, time
from rocesim import *
D = os.environ.get('ROCE_DISSECT', 'roce-dissect')
FAM = os.environ.get('FAM', '').split() or None
POINTS = (('S','full'),('M','full'),('R','full'),('M','fwd'),('M','back'),('S','drop'),('R','drop'),('M','snap128'),('M','snap64'),('M','mid'))
COLUMNS = 'right', 'either', 'unknown', 'false', 'missed'
NAK_OUT_OF_SEQUENCE = 0x60
RESPONSES = {OP[k] for k in ('RF', 'RM', 'RL', 'RO', 'AACK')}

# ---- what the output says ---------------------------------------------------------------------------------------
# Tokens of `cause` with `certainty`; the first of a line is the name, the others are accepted too.
TOKENS = [t.split() for t in (
    # psn_gap
    'lost_before lost_before_capture lost_upstream', 'missing_in_capture missing capture_loss', 'not_sent skipped', 'before_capture',
    # lost_after_capture
    'lost_behind lost_after lost_after_capture lost_downstream', 'reordered_behind overtaken_behind',
    # retransmission
    'nak sequence_nak', 'rnr rnr_nak', 'timer timeout', 'nak_lost', 'ack_lost', 'response_lost read_response_lost', 'late_not_lost late reordered',
    'timer_short timer_too_short timer_below_rtt', 'peer_stopped no_answer', 'request_copied', 'request_resent',
    # duplicate
    'path_copy copied', 'captured_twice seen_twice',
    # unanswered, window_plateau
    'rnr_exhausted', 'fatal_nak', 'full_link bottleneck queue', 'none unknown')]
TOKEN = {w: t[0] for t in TOKENS for w in t}
def sentence(kind, c):
    """today's causes as tokens"""
    if not c: return 'none'
    if kind == 'psn_gap': return ['lost_before', 'missing_in_capture'] if c.startswith('lost before the capture point, or') else 'lost_before' if c.startswith('lost before') else 'missing_in_capture'
    if kind == 'retransmission':
        return ('nak' if 'sequence' in c else 'rnr' if 'RNR' in c or 'ready' in c else 'timer' if 'timeout' in c or 'time' in c and 'in time' not in c
                else 'response_lost' if 'response' in c else 'ack_lost' if 'ACK' in c else 'late_not_lost' if 'late' in c else 'token?' + c)
    return 'none'
def label(kind, token):
    """one name for a kind and its cause"""
    if kind == 'psn_gap': return {'lost_before': 'lost_before', 'missing_in_capture': 'missing', 'none': 'lost_before'}.get(token, token)
    if kind == 'lost_after_capture': return 'reordered_behind' if token == 'reordered_behind' else 'lost_behind'
    if kind == 'retransmission': return 'resent:' + token
    if kind == 'out_of_order': return 'reordered_behind' if token == 'reordered_behind' else 'late'
    if kind == 'duplicate': return 'view' if token == 'captured_twice' else 'copy'
    return kind
class Claim:
    def __init__(s, a):
        s.a = a; s.kind = a['kind']; s.frame = a['frame'] or 0; s.last = a.get('last_frame') or s.frame; s.psn = a.get('psn') or 0
        s.packets = min(max(1, a.get('packets') or 1), 65536); s.role = a.get('role') or 'request'; s.error = None
        if 'certainty' in a:
            s.certainty = a['certainty']; s.token = TOKEN.get(a['cause'] or 'none', 'token?' + str(a['cause']))
            alts = a.get('alternatives') or []
            s.alts = [(b['kind'], TOKEN.get(b.get('cause') or 'none', 'token?' + str(b.get('cause')))) for b in alts]
            if s.certainty == 'either' and not 2 <= len(alts) <= 3: s.error = 'either with %d alternatives' % len(alts)
            if s.certainty not in ('certain', 'either', 'unknown'): s.error = 'certainty ' + str(s.certainty)
        else:
            t = sentence(s.kind, a['cause'])
            s.certainty, s.token, s.alts = ('either', 'none', [(s.kind, x) for x in t]) if isinstance(t, list) else ('certain', t, [])
        if s.token.startswith('token?'): s.error = 'no such token: ' + s.token[6:]
        s.labels = [label(*x) for x in s.alts]

def run(*a):
    x = subprocess.run([D, *a], capture_output=True, text=True, timeout=120)
    if x.returncode not in (0, 1): print('RC', x.returncode, a, x.stderr[:300])
    return x.stdout
def anomalies(f): return [json.loads(l) for l in run('anomalies', f, '--json').splitlines()]
def sessions(f): return [json.loads(l) for l in run('connections', f, '--json').splitlines()]

# ---- random scenarios -------------------------------------------------------------------------------------------
def scenario(seed, kinds=None, sel=None):
    r = random.Random(seed); cfg = Cfg(); sim = Sim(seed, cfg, line=r.choice([80, 300, 1200]))
    d = r.choice([1000, 5000, 40000, 400000])
    for s in ('S>M','M>R','R>M','M>S'): sim.seg[s] = Seg(sim, d + r.randint(0, d))
    fk = kinds or FAM or r.sample(['loss','loss','dup','reorder','corrupt','rnr','ce','none'], r.randint(1, 2))
    for k in fk:
        for s in r.sample(list(sim.seg), r.randint(1, 2)):
            g = sim.seg[s]; p = r.choice([0.003, 0.01, 0.03])
            if k == 'loss': g.loss = p; g.burst = r.choice([1, 1, 5])
            if k == 'dup': g.dup = p
            if k == 'reorder': g.reorder = p; g.extra = r.choice([(300, 3000), (2000, 40000)])
            if k == 'corrupt': g.corrupt = p
            if k == 'ce': g.ce = p
    cfg.ect = r.choice([0, 2, 2]); cfg.sportmode = r.choice(['conn', 'one', 'dir']); sim.ipmode = r.choice(['qp', 'host', 'zero', 'rand'])
    if 'IDMODE' in os.environ: sim.ipmode = dict(count='host').get(os.environ['IDMODE'], os.environ['IDMODE'])
    nq = r.choice([1, 1, 2, 4, 8]); nm = r.choice([30, 100])
    for c in range(nq):
        se = r.random() < .35
        if 'SEL' in os.environ: se = os.environ['SEL'] == '1' if os.environ['SEL'] in '01' else seed % 2 == 1
        if sel is not None: se = sel
        o = Opt(mtu=r.choice([256, 1024]), window=r.choice([8, 32, 128]), reads=r.choice([1, 4, 16]), rto=r.choice([1_000_000, 4_000_000, 16_000_000]) + 4 * d * 4,
                selective=se, nakrepeat=not se and r.random() < .3, ackreq=r.choice(['msg', 'msg', 'all', 4, 16]), coalesce=r.choice([0, 0, 2000, 10000]),
                rnr=0.03 if 'rnr' in fk else 0, nakdelay=r.choice([500, 5000, 100000]), implicit_ack=r.random() < .7, dup_always_ack=r.random() < .5,
                read_whole=r.random() < .15, gap=r.choice([100, 3000, 30000]), groupn=r.choice([1, 8]), begin=1000 + c * 500)
        p0 = ((1 << 24) - r.randint(1, 200)) if c == 0 and r.random() < .5 else (1000000 + c * 300000 + r.randrange(200000)); p1 = (p0 + 0x400000 + r.randrange(1000)) & MASK
        sim.add(c, o, p0, p1)
        ops = r.choice([['WRITE'], ['SEND'], ['READ'], ['ATOMIC', 'WRITE'], ['WRITE', 'SEND', 'READ', 'ATOMIC']])
        for e in ((0,) if r.random() < .7 else (0, 1)):
            for i in range(nm): sim.ends[c, e].post(r.choice(ops), r.choice([16, 100, o.mtu, 3 * o.mtu + 4, 8 * o.mtu]))
    sim.run(60 * 10**9)
    return sim, cfg, fk

def capture(sim, cfg, P, variant, seed):
    r = random.Random(seed * 7 + len(variant))
    recs = sorted(((t, i, p) for i, (t, p) in enumerate(sim.cap[P])), key=lambda x: (x[0], x[1]))
    dropped = []; out = []
    for t, _, p in recs:
        if variant == 'fwd' and p.end != 0: continue
        if variant == 'back' and p.end == 0: continue
        if variant == 'drop' and r.random() < .01: dropped.append((t, p)); continue
        out.append((t, p))
    if variant == 'mid': k = len(out) // 3; out = out[k:2 * k + 1]
    return out, dropped

# ---- the truth at a point ---------------------------------------------------------------------------------------
class Truth:
    """events at one capture point; every key of a PSN is (conn, requester's end, role, psn)"""
    def __init__(s, sim, cfg, P, variant, out, dropped):
        s.sim, s.cfg, s.P, s.variant, s.out = sim, cfg, P, variant, out
        s.ambiguous = sim.ipmode in ('zero', 'rand')           # IP numbers do not tell the order of sending
        s.seen = collections.defaultdict(list)                 # uid: times at the point, captured or not
        for t, p in sim.cap[P]:
            if not p.bad: s.seen[p.uid].append(t)
        s.end = out[-1][0]
        s.frames = collections.defaultdict(list)               # key: [(frame, t, p)], good ones
        s.spans = collections.defaultdict(list)                # as frames, with each PSN of a READ's span
        s.stream = collections.defaultdict(list)               # (conn, end, role): [(frame, t, p)]
        s.bad = collections.defaultdict(list)                  # uid: damaged frames
        s.copies = set(); s.late = set(); s.late_shown = set(); count = collections.Counter(); newest = collections.defaultdict(int)
        highest = {}; first = set()
        for i, (t, p) in enumerate(out, 1):
            if p.bad: s.bad[p.uid].append(i); continue
            if count[p.uid]: s.copies.add(i)
            count[p.uid] += 1
            if p.op in (CNP, OP['ACK']): continue
            k = s.sk(p)
            if p.uid < newest[k]: s.late.add(i)
            newest[k] = max(newest[k], p.uid)
            if i in s.late and i not in s.copies and highest.get(k, -1) > p.oldpsn and s.key(p) not in first: s.late_shown.add(i)
            highest[k] = max(highest.get(k, -1), p.oldpsn)
            for x in s.span(p): first.add(x); s.spans[x].append((i, t, p))
            s.frames[s.key(p)].append((i, t, p)); s.stream[k].append((i, t, p))
        s.captured = count
        up = collections.defaultdict(list); down = collections.defaultdict(list); s.up_packets = []; s.down_packets = []
        order = sorted((ts[0], u) for u, ts in sim.rx.items()); newest = {}; s.behind = set()
        for t, u in order:
            k = s.sk(sim.txs[u])
            if u < newest.get(k, 0): s.behind.add(u)
            newest[k] = max(newest.get(k, 0), u)
        for u, p in sim.txs.items():
            if p.op == CNP: continue
            if u not in s.seen:
                s.up_packets.append(p)
                for x in s.span(p): up[x].append(p.sent)
            elif u not in sim.rx:
                s.down_packets.append(p)
                for x in s.span(p): down[x].append(s.seen[u][0])
        s.up, s.down = up, down
        s.cut = collections.defaultdict(list)
        for t, p in dropped:
            for x in s.span(p): s.cut[x].append(t)
        s.used = collections.Counter()
        # a late original behind its own retransmission, where IP numbers don't tell
        s.d1_psn = set(); s.d1_frames = set()
        if s.ambiguous:
            for k, l in s.frames.items():
                for a in range(len(l)):
                    for b in range(a):
                        if l[b][2].uid > l[a][2].uid: s.d1_psn.add(k); s.d1_frames |= {l[a][0], l[b][0]}
        s.acks = collections.defaultdict(list)                 # (conn, requester): [(t, highest PSN that it acknowledges)]
        for t, p in sim.cap[P]:
            if p.bad or sim.is_req(p) or p.op == CNP: continue
            q = p.oldpsn if p.op in RESPONSES or p.aeth[0] >> 5 == 0 else p.oldpsn - 1
            s.acks[p.conn, 1 - p.end].append((t, q))
        s.accepted = {}
        for uid, c, e, psn in sim.accepted: s.accepted.setdefault((c, e, psn), uid)
        took = {uid for uid, *_ in sim.accepted}
        s.discarded = {u for u in sim.rx if sim.is_req(sim.txs[u]) and sim.txs[u].op != CNP and u not in took and s.accepted.get((sim.txs[u].conn, sim.txs[u].end, sim.txs[u].oldpsn), 1 << 62) > u}   # delivered behind a hole
        s.sends = collections.defaultdict(list)                # (conn, requester, PSN): requests whose span has it
        for u, p in sim.txs.items():
            if sim.is_req(p) and p.op != CNP:
                for x in s.span(p): s.sends[x[0], x[1], x[3]].append(p)
        s.answers = collections.defaultdict(list)              # all answers ever sent
        for u, p in sim.txs.items():
            if p.op != CNP and not sim.is_req(p): s.answers[p.conn, 1 - p.end].append(p)
    def role(s, p): return 'request' if s.sim.is_req(p) or p.op == CNP else 'response'
    def rend(s, p): return p.end if s.role(p) == 'request' else 1 - p.end
    def key(s, p): return p.conn, s.rend(p), s.role(p), p.psn
    def sk(s, p): return p.conn, s.rend(p), s.role(p)
    def span(s, p):
        c, e, r = s.sk(p)
        if p.op in (OP['ACK'], CNP): return []
        n = max(1, -(-p.dlen // s.cfg.opts[c].mtu)) if p.op == OP['RR'] else 1
        return [(c, e, r, (p.psn + i) & MASK) for i in range(n)]
    def old(s, c, e, psn):
        b = s.sim.ends[c, e].start; return b + ((psn - b) & MASK)
    def take(s, name, x, times, t):
        """one event of PSN x not later than t that no claim took yet"""
        n = sum(1 for z in times.get(x, ()) if z <= t)
        if s.used[name, x] < n: s.used[name, x] += 1; return True
        return False
    def causes(s, p):
        """true causes of the recovery that retransmission p belongs to"""
        sim = s.sim; e = p.end; t0, psn, high, trigger = sim.recinfo[p.rec]; T = set(); c = p.conn
        x = (c, e, 'request', psn & MASK)
        if trigger == 'nak':
            T.add('nak')
            if x not in s.up and x not in s.down: T.add('late_not_lost')
        elif trigger == 'rnr': T.add('rnr')
        elif trigger == 'response_lost':
            T.add('response_lost')
            if not any(q.oldpsn == psn and q.uid not in sim.rx for q in s.answers[c, e] if q.op in RESPONSES): T.add('late_not_lost')
        else:
            T.add('timer')
            if sim.dies: T.add('peer_stopped')
            n = len(s.span(p))
            mine = [q for q in s.answers[c, e] if q.sent < p.sent]
            lostresp = any(q.op in RESPONSES and p.oldpsn <= q.oldpsn < p.oldpsn + n and q.uid not in sim.rx for q in mine)
            # the request or its answer was on its way when the timer ran out
            came = sim.rx.get(p.uid, [1 << 62])[0]
            under_way = any(w.uid < p.uid and sim.rx.get(w.uid, [0])[-1] > t0 for w in s.sends[c, e, psn & MASK]) or \
                any(sim.rx.get(q.uid, [0])[-1] > t0 and q.sent < came and q.oldpsn >= psn and (q.op in RESPONSES or q.aeth[0] >> 5 == 0) for q in s.answers[c, e])
            if lostresp: T.add('response_lost')
            if under_way: T.add('timer_short')
            if s.accepted.get((c, e, p.oldpsn), 1 << 60) < p.uid and not under_way: T.add('ack_lost')
            if any(q.op == OP['ACK'] and q.aeth[0] == NAK_OUT_OF_SEQUENCE and q.oldpsn == psn and q.uid not in sim.rx for q in mine): T.add('nak_lost')
        return T

def evaluate(sim, cfg, P, variant, seed, tot, examples, name, write=None, claims=None):
    if variant.startswith('snap') and any(k == 'corrupt' for _, k, *_ in sim.faults): return
    out, dropped = capture(sim, cfg, P, variant, seed)
    if len(out) < 4: return
    f = f'results/{name}.pcap'
    if write: write(f, out)
    else: pcap(f, [(1700000000 * 10**9 + t, frame(p, cfg)) for t, p in out], dict(snap128=128, snap96=96, snap64=64).get(variant, 0))
    an = anomalies(f) if claims is None else claims(Truth(sim, cfg, P, variant, out, dropped), lambda: anomalies(f))
    score(Truth(sim, cfg, P, variant, out, dropped), [Claim(a) for a in an], seed, tot, examples)
    if variant == 'full': others(sim, cfg, out, f, P, seed, tot, examples)
    return f, out

def score(T, an, seed, tot, examples):
    sim, cfg, P, variant, out = T.sim, T.cfg, T.P, T.variant, T.out
    scheme = lambda c: 'sr' if cfg.opts[c].selective else 'gbn'
    def count(c, k, col, plain=False, n=1):
        d = tot[P, variant, scheme(c)][k]; d[col] += n
        if plain: d['plain'] += n
    def bad(c, k, cl, why):
        count(c, k, 'false'); ex = examples[k + ': ' + why]
        if len(ex) < 400: ex.append((seed, P, variant, cl.frame, cl.kind, cl.a['cause'], cl.psn, cl.packets, sim.ipmode, scheme(c)))
    def event(c, k, status, why, plain=False):
        """a true event: found by a certain claim, within an either, touched by an unknown, or missed"""
        if status: count(c, k, status, plain); return
        count(c, k, 'missed'); ex = examples['MISS ' + k]
        if len(ex) < 400: ex.append((seed, P, variant) + why + (scheme(c),))
    RANK = {'right': 0, 'either': 1, 'unknown': 2}
    cover = collections.defaultdict(dict)     # what: {event: best status}
    def covers(what, x, status):
        if x not in cover[what] or RANK[status] < RANK[cover[what][x]]: cover[what][x] = status
    requests_only = lambda e: variant == 'fwd' and e == 0 or variant == 'back' and e == 1
    touched = collections.Counter()
    for cl in an:
        k, tok = cl.kind, cl.token
        if k in ('window_plateau', 'pause') and not sim.queue_family: continue
        if not 1 <= cl.frame <= len(out): t, p = out[0]
        else: t, p = out[cl.frame - 1]
        c, e = p.conn, T.rend(p); tl = out[min(cl.last, len(out)) - 1][0] if cl.last >= 1 else t
        either, unknown = cl.certainty == 'either', cl.certainty == 'unknown'
        if cl.error: bad(c, k if k != 'psn_gap' else 'gap', cl, cl.error); continue
        keys = [(c, e, cl.role, (cl.psn + i) & MASK) for i in range(cl.packets)]
        within = lambda x: [z for z in T.frames.get(x, ()) if cl.frame <= z[0] <= max(cl.last, cl.frame)]
        if k == 'psn_gap':
            name = 'gap:either' if either else 'gap:unknown' if unknown else {'lost_before': 'gap:lost_before', 'missing_in_capture': 'gap:missing_in_capture', 'none': 'gap:lost_before'}.get(tok, 'gap:' + tok)
            if not either and not unknown and tok == 'missing_in_capture' and (variant in ('full',) or variant.startswith('snap')): tot['missing', '', ''][f'{seed} {P} {variant}']['false'] += cl.packets
            for x in keys:
                if unknown:
                    count(c, name, 'unknown'); covers('gap', x, 'unknown'); continue
                true = set()
                if x in T.up: true.add('lost_before')
                if x in T.cut: true.add('missing')
                if variant == 'mid' and any(q.sent < out[0][0] for q in [z[2] for z in T.frames.get(x, ())]): true.add('before_capture')
                if x in T.down: true.add('lost_behind')
                if any(z[0] in T.late for z in T.frames.get(x, ())): true |= {'late', 'reordered_behind'}
                if x not in T.up and x not in T.cut: true.add('not_sent')
                if any(z[2].retrans for z in T.frames.get(x, ())): true |= {'resent:' + q for z in T.frames[x] if z[2].retrans for q in T.causes(z[2])} | {'resent:none'}
                if either:
                    if true & set(cl.labels):
                        ok = T.take('gap', x, dict([(x, T.up.get(x, []) + T.cut.get(x, []) + [0])]), 1 << 62)
                        if ok: count(c, name, 'either')
                        else: bad(c, name, cl, 'claimed again')
                        if 'lost_before' in cl.labels: covers('gap', x, 'either')
                    else: bad(c, name, cl, 'the truth is not among them: ' + ','.join(sorted(true)[:3]))
                elif tok in ('lost_before', 'none'):
                    if T.take('up', x, T.up, max(t, tl)): count(c, name, 'right'); covers('gap', x, 'right')
                    elif x in T.d1_psn and T.take('d1', x, {x: [0]}, 0): count(c, name, 'either', True)
                    else: bad(c, name, cl, 'claimed again' if x in T.up else 'dropped by capture only' if x in T.cut else 'late' if 'late' in true else cl.role + ' not lost upstream')
                elif tok == 'missing_in_capture':
                    if T.take('cut', x, T.cut, 1 << 62): count(c, name, 'right')
                    else: bad(c, name, cl, 'claimed again' if x in T.cut else 'lost upstream' if x in T.up else 'not dropped')
                elif tok in true: count(c, name, 'right')
                else: bad(c, name, cl, 'not so')
        elif k == 'lost_after_capture' or k == 'out_of_order' and tok == 'reordered_behind':
            for x in keys:
                mine = [z for z in T.spans.get(x, ()) if z[1] <= max(t, tl)]
                moved = [z for z in mine if (z[2].uid in T.behind or z[2].uid in T.discarded) and z[0] not in T.late]
                if unknown: count(c, k, 'unknown'); covers('down', x, 'unknown')
                elif either:
                    true = ({'lost_behind'} if x in T.down else set()) | ({'reordered_behind', 'late'} if moved else set()) | ({'lost_before'} if x in T.up else set()) | ({'missing'} if x in T.cut else set())
                    if true & set(cl.labels) and T.take('downe', x, {x: T.down.get(x, []) + [0]}, 1 << 62): count(c, k, 'either'); covers('down', x, 'either') if 'lost_behind' in cl.labels else 0
                    else: bad(c, k, cl, 'the truth is not among them')
                elif label(k, tok) == 'reordered_behind':
                    if moved: count(c, k, 'right')
                    else: bad(c, k, cl, 'not reordered behind')
                elif T.take('down', x, T.down, max(t, tl)): count(c, k, 'right'); covers('down', x, 'right')
                elif moved:
                    again = min([z[1] for z in T.frames.get(x, ()) if z[2].uid > moved[0][2].uid] or [1 << 62])
                    old = moved[0][2].oldpsn
                    if moved[0][2].uid in T.behind and any(moved[0][1] < ta < again and q >= old for ta, q in T.acks[c, e]): bad(c, k, cl, 'overtaken, and acknowledged before it was sent again')
                    else: count(c, k, 'either', True)
                else: bad(c, k, cl, 'claimed again' if x in T.down else 'rnr' if cfg.opts[c].rnr else 'lost upstream' if x in T.up else 'not lost')
        elif k == 'retransmission':
            copy, late = cl.frame in T.copies, cl.frame in T.late
            true = ({'copy'} if copy else set()) | ({'late', 'reordered_behind'} if late else set())
            real = p.retrans and not copy and not p.bad
            if cl.role == 'response' and T.role(p) == 'response' and p.again: true |= {'resent:request_copied' if p.ofcopy else 'resent:request_resent', 'resent:none'}
            if real: true |= {'resent:' + q for q in T.causes(p)} | {'resent:none'}
            if either:
                if true & set(cl.labels): count(c, k, 'either')
                else: bad(c, k, cl, 'the truth is not among them'); continue
            elif unknown: count(c, k, 'unknown')
            elif ('resent', cl.frame) in T.used: bad(c, k, cl, 'claimed again'); continue
            elif cl.role == 'response' and T.role(p) == 'response':
                if not p.again: bad(c, k, cl, 'response sent once')
                elif p.ofcopy and len(T.seen[p.ofcopy]) < 2: count(c, k, 'either', True)
                else: count(c, k, 'right')
            elif not real:
                if cl.frame in T.d1_frames: count(c, k, 'either', True); T.used['resent', cl.frame] += 1
                else: bad(c, k, cl, 'not a retransmission (%s)' % ('copy' if copy else 'late' if late else 'new'))
                continue
            elif tok == 'none': count(c, k, 'unknown') if 'certainty' in cl.a or variant.startswith('snap') else bad(c, k, cl, 'no cause')
            elif requests_only(e): bad(c, k, cl, 'a cause without the answers')
            elif 'resent:' + tok in true:
                count(c, 'split:retransmission' if ('recovery', p.rec) in T.used else k, 'right'); T.used['recovery', p.rec] += 1
            else: bad(c, k, cl, f'says {tok}, was {"/".join(sorted(x[7:] for x in true if x.startswith("resent:") and x != "resent:none"))}')
            T.used['resent', cl.frame] += 1
            # recoveries that it covers: the one that it begins with, and those of the same episode
            st = 'unknown' if unknown else 'either' if either and any(b != 'retransmission' for b, _ in cl.alts) else 'right'
            inside = [z for z in T.stream.get((c, e, 'request'), ()) if cl.frame <= z[0] <= cl.last and z[2].retrans and z[0] not in T.copies]
            if inside:
                high = None; budget = cl.packets if cl.packets > 1 else 1; got = []
                for i, tt, q in inside:
                    if q.rec not in got:
                        t0, psn, h, _ = sim.recinfo[q.rec]
                        if high is None: high = h
                        elif psn >= high or len(got) >= budget: continue
                        got.append(q.rec); covers('rec', q.rec, st)
        elif k in ('duplicate', 'out_of_order'):
            for x in keys:
                fr = within(x)
                if not fr:
                    if unknown: count(c, k, 'unknown')
                    else: bad(c, k, cl, 'no such packet there')
                    continue
                free = [z for z in fr if (k, z[0]) not in T.used] or fr
                z = min(free, key=lambda z: (not (z[0] in (T.copies if k == 'duplicate' else T.late)), z[0])); i, _, q = z
                again = (k, i) in T.used; T.used[k, i] += 1
                true = ({'copy'} if i in T.copies else set()) | ({'late', 'reordered_behind'} if i in T.late else set())
                if q.retrans and i not in T.copies: true |= {'resent:' + w for w in T.causes(q)} | {'resent:none'}
                if q.again: true |= {'resent:none', 'resent:request_copied' if q.ofcopy else 'resent:request_resent'}
                if T.sim.views: true.add('view')
                if unknown: count(c, k, 'unknown'); covers(k, i, 'unknown'); continue
                if either:
                    if true & set(cl.labels):
                        count(c, k, 'either'); covers('duplicate', i, 'either') if 'copy' in cl.labels else 0; covers('out_of_order', i, 'either') if 'late' in cl.labels else 0
                    else: bad(c, k, cl, 'the truth is not among them')
                    continue
                if again: bad(c, k, cl, 'claimed again')
                elif label(k, tok) in true: count(c, k, 'right'); covers(k, i, 'right')
                elif i in T.d1_frames: count(c, k, 'either', True); covers('out_of_order', i, 'either')
                elif k == 'duplicate' and q.again and q.ofcopy and len(T.seen[q.ofcopy]) < 2: count(c, k, 'either', True)
                elif k == 'duplicate': bad(c, k, cl, cl.role + (' retransmission' if q.retrans else ' late' if i in T.late else ' sent once' if sim.is_req(q) or not q.again else ' sent again by responder'))
                else: bad(c, k, cl, 'in order' + (' retransmission' if q.retrans else ''))
        elif k in ('nak', 'rnr_nak'):
            good = p.op == OP['ACK'] and p.aeth[0] >> 5 == (3 if k == 'nak' else 1) and not p.bad and (k, cl.frame) not in T.used
            T.used[k, cl.frame] += 1
            if good: count(c, k, 'right'); covers(k, cl.frame, 'right')
            else: bad(c, k, cl, 'no such packet, or twice')
        elif k == 'unanswered':
            a, b = T.old(c, e, cl.psn), T.old(c, e, cl.psn) + cl.packets
            refused = any(q.op == OP['ACK'] and q.aeth[0] >> 5 in (1, 3) and q.aeth[0] != NAK_OUT_OF_SEQUENCE and a <= q.oldpsn < b and tt <= T.end for tt, q in out if q.conn == c and T.rend(q) == e and T.role(q) == 'response') and sim.ends[c, e].dead
            answered = any(tt <= T.end and q >= a for tt, q in T.acks[c, e])
            if unknown: count(c, k, 'unknown')
            elif answered: bad(c, k, cl, 'answered')
            elif not T.take('unanswered', (c, e, cl.psn), {(c, e, cl.psn): [0]}, 0): bad(c, k, cl, 'claimed again')
            elif refused and tok not in ('rnr_exhausted', 'fatal_nak'): bad(c, k, cl, 'refused, not without an answer')
            else: count(c, k, 'either' if either else 'right'); [covers('unanswered', (c, e), 'right')]
        elif k == 'stall':
            ts = [tt for tt, q in out if q.conn == c]; gap = max([b - a for a, b in zip(ts, ts[1:])] or [0])
            if unknown or either: count(c, k, cl.certainty)
            elif gap >= 10_000_000: count(c, k, 'right')
            else: bad(c, k, cl, 'no silence of 10 ms')
        elif k == 'retry_storm':
            n = len({q.uid for q in sim.txs.values() if q.conn == c and q.end == p.end and sim.is_req(q) == sim.is_req(p) and q.sent <= p.sent and T.key(p) in T.span(q)})
            if unknown or either: count(c, k, cl.certainty)
            elif n >= 4: count(c, k, 'right')
            else: bad(c, k, cl, 'sent %d times' % n)
        elif k == 'window_plateau':
            if unknown: count(c, k, 'unknown')
            elif tok == 'full_link': count(c, k, 'right')
            elif either and 'full_link' in [b for _, b in cl.alts]: count(c, k, 'either')
            else: bad(c, k, cl, 'the link is full')
        elif k in ('bad_icrc', 'cnp_without_ce', 'ce_without_cnp', 'malformed', 'read_span', 'psn_reused', 'p_key', 'ack_of_unsent', 'no_icrcs'):
            good = {'bad_icrc': p.bad, 'ack_of_unsent': variant == 'drop', 'cnp_without_ce': True, 'ce_without_cnp': True}.get(k, k == 'no_icrcs' and sim.noicrc)
            if unknown or either: count(c, k, cl.certainty)
            elif good:
                count(c, k, 'right')
                if k == 'bad_icrc': covers('bad', cl.frame, 'right')
            else: bad(c, k, cl, 'claimed')
        else: tot['kinds', '', ''][k]['unknown'] += 1
    # ---- true events that the capture shows
    def shown(p):
        """a later packet is captured, and a lower one was, before p's PSN is seen again"""
        l = T.stream.get(T.sk(p), ())
        if not any(q.uid < p.uid and q.oldpsn < p.oldpsn for _, _, q in l): return False
        for _, _, q in l:
            if q.psn == p.psn and q.uid != p.uid and q.sent > p.sent: return False
            if q.uid > p.uid and q.oldpsn > p.oldpsn: return variant != 'mid' or any(w.psn == p.psn and w.sent > p.sent for _, _, w in l)
        return False
    for p in T.up_packets:
        if p.op in (OP['ACK'], CNP) or not shown(p): continue
        k = 'found:lost upstream' if sim.is_req(p) else 'found:lost upstream, response'
        st = [cover['gap'][x] for x in T.span(p) if x in cover['gap']] + ['right' for i in T.bad[p.uid] if i in cover['bad']]
        event(p.conn, k, min(st, key=RANK.get) if st else None, (p.conn, p.psn, p.retrans))
    recs = {}; opened = {T.key(p) for p in T.up_packets if sim.is_req(p) and shown(p)}
    for k, l in T.stream.items():
        if k[2] != 'request': continue
        before = set()
        for i, t, p in l:
            if p.retrans and i not in T.copies:
                r = recs.setdefault(p.rec, [i, p.conn, False])
                if T.key(p) in before or T.key(p) in opened: r[2] = True
            before.update(T.span(p))
    for rec, (i, c, shows) in recs.items():
        if shows or rec in cover['rec']: event(c, 'found:recovery', cover['rec'].get(rec), (rec, i))
    for i in sorted(T.copies):
        p = out[i - 1][1]
        if p.op in (OP['ACK'], CNP) or sim.views: continue
        event(p.conn, 'found:copy', cover['duplicate'].get(i), (i, T.role(p), p.retrans))
    for i in sorted(T.late_shown):
        p = out[i - 1][1]
        if p.retrans or p.again: continue
        event(p.conn, 'found:late', cover['out_of_order'].get(i), (i, T.role(p)))
    if variant not in ('fwd', 'back'):
        naks = collections.defaultdict(list)
        for i, (t, p) in enumerate(out, 1):
            if p.op == OP['ACK'] and p.aeth[0] == NAK_OUT_OF_SEQUENCE and not p.bad: naks[p.conn, T.rend(p), p.oldpsn].append(t)
        for p in T.down_packets:
            if not sim.is_req(p) or not T.captured[p.uid]: continue
            later = [z for z in T.frames[T.key(p)] if z[2].uid > p.uid]
            if not [t for t in naks[p.conn, p.end, p.oldpsn] if t > T.seen[p.uid][0]] or variant == 'mid' and not later: continue
            st = [cover['down'][x] for x in T.span(p) if x in cover['down']]
            event(p.conn, 'found:lost downstream (NAKed)', min(st, key=RANK.get) if st else None, (p.conn, p.psn))
    for i, (t, p) in enumerate(out, 1):
        if p.op == OP['ACK'] and not p.bad and p.aeth[0] >> 5 in (1, 3):
            k = 'nak' if p.aeth[0] >> 5 == 3 else 'rnr_nak'; event(p.conn, 'found:' + k, cover[k].get(i), (i,))

def latency_column(sim, out, T, firsts, told, c, e, m):
    """right: as the answer that completed it says. unknown: none is given. either: it is wrong, and no frame shows
    it: the answer that it ends with was lost or overtaken behind the point, and nothing was sent again until the
    one that completed it. None: it was not completed within the capture"""
    end = firsts.get(m['done'].uid) if m['done'] else None
    if end is None: return None
    if told['latency_ns'] is None: return 'unknown'
    begin = firsts[c, e, m['psn']]
    if told['latency_ns'] == out[end - 1][0] - out[begin - 1][0]: return 'right'
    said = told['completion_frame']; a, b = (sim.rx.get(out[i - 1][1].uid) for i in (said, end))
    if a and (a[0] < b[0]) == (said < end): return 'false'
    between = range(min(said, end), max(said, end) + 1)
    again = any(out[i - 1][1].retrans and (out[i - 1][1].conn, out[i - 1][1].end) == (c, e) and i not in T.copies and out[i - 1][1].oldpsn < m['psn'] + m['n'] for i in between)
    return 'false' if again else 'either'

def others(sim, cfg, out, f, P, seed, tot, examples):
    """sessions and messages of a complete capture"""
    scheme = lambda c: 'sr' if cfg.opts[c].selective else 'gbn'
    def mark(c, k, good, why, n=0):
        tot[P, 'full', scheme(c)][k]['right' if good else 'false'] += 1
        if not good and len(examples[k + ': ' + why]) < 400: examples[k + ': ' + why].append((seed, P, 'full', c, n, sim.ipmode, scheme(c)))
    T = Truth(sim, cfg, P, 'full', out, [])
    tr = collections.Counter(p.conn for i, (t, p) in enumerate(out, 1) if p.retrans and not p.bad and i not in T.copies)
    d1 = collections.Counter(out[i - 1][1].conn for i in T.d1_frames)
    got = collections.Counter()
    for j in sessions(f):
        qs = [q for q in (j['to_qp'], j['from_qp']) if q is not None]
        if not qs: continue
        c = (qs[0] - 0x900) if qs[0] >= 0x900 else qs[0] - 0x100; got[c] += j['retransmitted']
        naks = sum(1 for i, (t, p) in enumerate(out, 1) if p.conn == c and p.op == 17 and p.aeth[0] == 0x60 and not p.bad and p.end == (1 - (0 if (j['to_qp'] or 0) >= 0x900 else 1)))
        if j['requests']: mark(c, 'sessions:naks', j['naks'].get('0', 0) == naks, 'count', j['naks'].get('0', 0) - naks)
    for c in cfg.opts: mark(c, 'sessions:resent exact', abs(got[c] - tr[c]) <= d1[c], 'count', got[c] - tr[c])
    bypsn = {}
    for c, e in sim.ends:
        for m in sim.ends[c, e].msgs: bypsn[c, m['psn'] & MASK, m['op']] = (c, e, m)
    firsts = {}   # frames of packets, and of requests with a PSN
    for i, (t, p) in enumerate(out, 1):
        if not p.bad: firsts.setdefault(p.uid, i); p.op != CNP and sim.is_req(p) and firsts.setdefault((p.conn, p.end, p.oldpsn), i)
    opn = {'WRITE': 'WRITE', 'SEND': 'SEND', 'READ REQUEST': 'READ', 'FETCH ADD': 'ATOMIC'}
    for j in [json.loads(l) for l in run('messages', f, '--json').splitlines()]:
        conn = out[j['first_frame'] - 1][1].conn
        if j['partial']: mark(conn, 'messages:partial', True, ''); continue
        k = bypsn.get((conn, j['first_psn'], opn.get(j['operation'])))
        if k is None: mark(conn, 'messages:match', False, 'no such message', j['first_psn']); continue
        c, e, m = k; good = j['bytes'] == (m['len'] if m['op'] != 'ATOMIC' else j['bytes'])
        if j['completion_frame']:
            t, p = out[j['completion_frame'] - 1]; last = (m['psn'] + m['n'] - 1) & MASK
            # Requests complete in their order: one behind a READ, with the READ's last response.
            late_read = p.op in RESPONSES
            good = good and not sim.is_req(p) and (((p.psn - last) & MASK) < 0x100000 or late_read) and p.conn == c and p.end == 1 - e
        mark(conn, 'messages:match', good, 'wrong bytes or completion', j['first_psn'])
        column = latency_column(sim, out, T, firsts, j, c, e, m)
        if column: tot[P, 'full', scheme(c)]['messages:latency'][column] += 1
        if column == 'false' and len(examples['messages:latency']) < 400: examples['messages:latency'].append((seed, P, c, e, m['op'], m['psn'], j['first_frame'], j['completion_frame']))

# ---- tables -----------------------------------------------------------------------------------------------------
JUDGED = ('gap:', 'lost_after_capture', 'retransmission', 'out_of_order', 'duplicate', 'unanswered', 'stall', 'malformed', 'read_span', 'psn_reused', 'p_key', 'ack_of_unsent', 'no_icrcs')
FOUND = ('found:lost', 'found:recovery', 'found:copy', 'found:late')
def new_total(): return collections.defaultdict(lambda: collections.defaultdict(lambda: dict.fromkeys(COLUMNS + ('plain',), 0)))
def pool(tot, match):
    r = dict.fromkeys(COLUMNS, 0); ev = dict.fromkeys(COLUMNS, 0)
    for key, d in tot.items():
        if not match(*key): continue
        for k, v in d.items():
            if k.startswith(FOUND):
                for x in COLUMNS: ev[x] += v[x]
            elif k.startswith(JUDGED):
                for x in COLUMNS: r[x] += 0 if k == 'gap:missing_in_capture' and x == 'right' else v[x]
    pc = lambda a, b: round(100 * a / b, 2) if b else None
    return dict(claims=r, events=ev, false_pct=pc(r['false'], r['right'] + r['either'] + r['false']), missed_pct=pc(ev['missed'], ev['right'] + ev['either'] + ev['missed']),
                open_pct=pc(r['either'] + r['unknown'], r['right'] + r['either'] + r['unknown'] + r['false']), open_events_pct=pc(ev['either'] + ev['unknown'], sum(ev.values())))
COMPLETE = ('full', 'snap128')
def pooled(tot):
    sets = [('complete', lambda P, v: v in COMPLETE)] + [('complete ' + P, lambda P_, v, P=P: v in COMPLETE and P_ == P) for P in 'SMR'] + [(v, lambda P, w, v=v: w == v) for v in ('drop', 'fwd', 'back', 'mid', 'snap64')]
    res = {}
    for n, m in sets:
        for s in ('all', 'gbn', 'sr'): res[n + '|' + s] = pool(tot, lambda P, v, sc: sc and m(P, v) and s in ('all', sc))
    return res
def table(tot, pool_too=True):
    total = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.Counter()))
    for (P, v, s), d in tot.items():
        if not s: continue
        for k, x in d.items(): total[P, v][k].update(x)
    for key in sorted(total):
        print(*key)
        for k in sorted(total[key]):
            x = total[key][k]; print('   %-34s right %6d  either %5d  unknown %5d  false %5d  missed %5d%s' % (k, *(x[c] for c in COLUMNS), '  (%d of either: plain)' % x['plain'] if x['plain'] else ''))
    m = tot.get(('missing', '', ''), {}); n = [x['false'] for x in m.values()]
    print('\n"missing in the capture" in complete captures: %d PSNs in %d captures, at most %d in one' % (sum(n), len(n), max(n or [0])))
    if tot.get(('kinds', '', '')): print('kinds without a truth here:', {k: v['unknown'] for k, v in tot['kinds', '', ''].items()})
    if not pool_too: return
    print('\npooled               claims: right either unknown  false | false %%  open %% | events:  right either unknown missed | missed %%  open %%')
    f = lambda x: '    -  ' if x is None else '%6.2f ' % x
    for k, x in pooled(tot).items():
        c, e = x['claims'], x['events']
        print('%-20s         %6d %6d  %6d %6d | %s %s |         %6d %6d  %6d %6d | %s  %s' % (k.replace('|', ' '), c['right'], c['either'], c['unknown'], c['false'], f(x['false_pct']), f(x['open_pct']), e['right'], e['either'], e['unknown'], e['missed'], f(x['missed_pct']), f(x['open_events_pct'])))

def main(argv):
    args = [a for a in argv if not a.startswith('--')]; opts = {}
    rest = []; i = 0
    while i < len(argv):
        if argv[i] in ('--families', '--mutate'): opts[argv[i]] = argv[i + 1]; i += 2
        else: rest.append(argv[i]); i += 1
    if len(rest) < 2: print('usage: evalsim.py FROM TO [TAG] [--families random,timer,... | all] [--mutate silent|unknown|either|twice|blanket]'); return 2
    a, b = int(rest[0]), int(rest[1]); tag = rest[2] if len(rest) > 2 else 'x'
    import families
    want = opts.get('--families', 'random').replace('all', 'random,' + ','.join(families.NAMES)).split(',')
    claims = families.MUTATE[opts['--mutate']] if '--mutate' in opts else None
    os.makedirs('results', exist_ok=True); result = {}
    for fam in want:
        tot = new_total(); examples = collections.defaultdict(list); t0 = time.time()
        for seed in range(a, b):
            if fam != 'random': families.check(fam, seed, tot, examples, tag, claims); continue
            sim, cfg, fk = scenario(seed)
            for P, v in POINTS:
                try: evaluate(sim, cfg, P, v, seed, tot, examples, tag, claims=claims)
                except subprocess.TimeoutExpired: print('TIMEOUT', seed, P, v)
        print('==== %s, seeds %d to %d: %.0f s' % (fam, a, b - 1, time.time() - t0))
        table(tot, fam == 'random')
        print()
        for k in sorted(examples): print(len(examples[k]), k, examples[k][:3])
        print()
        result[fam] = dict(classes={'|'.join(k): v for k, v in tot.items()}, pooled=pooled(tot) if fam == 'random' else None, examples=examples)
    json.dump(result, open(f'results/result-{tag}.json', 'w'))
    return 0
if __name__ == '__main__': sys.exit(main(sys.argv[1:]))
