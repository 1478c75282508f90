"""scores captures in which connections go on behind the look-ahead: 66,000 frames of another connection come between their
first frames and the others. late.py FAMILY[,FAMILY]|all FIRST LAST [early]: before the first NAK or repetition, or
(early) behind the fourth frame"""
import sys, os, json, struct, collections
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fam, r2, score
OTHERS = 66_000
def others():
    """SENDs of one connection, without answers"""
    for i in range(OTHERS):
        body = struct.pack('>BBHII', 4, 0x40, 0xffff, 0x99, i) + bytes(16); n = 8 + len(body) + 4; udp = struct.pack('>HHHH', 50001, 4791, n, 0)
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + n, 0, 0x4000, 64, 17, 0, bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])); ip = ip[:10] + struct.pack('>H', r2.csum(ip)) + ip[12:]
        yield bytes([2, 0, 0, 9, 0, 2, 2, 0, 0, 9, 0, 1]) + b'\x08\x00' + ip + udp + body + r2.icrc(ip, udp + body, False)
BETWEEN = list(others()); EARLY = 'early' in sys.argv[4:]; at = 0
def place(rows):
    """frames before the others; None: nothing follows them that the look-ahead tells"""
    if EARLY: return 4 if len(rows) > 8 else None
    return next((max(4, i - 1) for i, (ts, t, *_) in enumerate(rows) if t is not None and (t.why or t.role in ('nak', 'rnr'))), None)
def write(path, net, rows, variant, seed):
    global at
    recs = [(ts, r2.frame(net, t, cp, dmg, ce) if t is not None else r2.pause_frame(cp)) for ts, t, cp, dmg, ce in rows]; at = place(rows)
    r2.pcap(path, recs[:at] + [(recs[at - 1][0], b) for b in BETWEEN] + recs[at:])
def js(*words):
    """rows of JSON, with the frames numbered as if the others were not there"""
    for row in (json.loads(l) for l in score.sh(*words).splitlines() if l.startswith('{')):
        if at < (row.get('frame') or 0) <= at + OTHERS: continue
        yield {k: v - OTHERS if k in ('frame', 'last_frame', 'related_frame') and v and v > at + OTHERS else v for k, v in row.items()}
def main():
    score.write = write; score.js = lambda *words: list(js(*words))
    names = list(fam.FAMS) if sys.argv[1] == 'all' else sys.argv[1].split(','); tots = collections.defaultdict(lambda: collections.defaultdict(collections.Counter)); ex = collections.defaultdict(list)
    for name in names:
        for seed in range(int(sys.argv[2]), int(sys.argv[3])):
            net, sel = fam.FAMS[name](seed); net.run(60 * 10**9)
            for P in 'AMB':
                if place(list(net.caps[P])[:9000]) is None: continue
                tot = collections.defaultdict(collections.Counter); score.one(name, seed, P, 'full', tot, ex, net)
                for k, c in tot.items(): tots[name, 'sr' if sel else 'gbn', 'late'][k].update(c)
    score.table(tots)
    for k in sorted(ex, key=lambda k: -len(ex[k])): print(len(ex[k]), k, ex[k][:3])
if __name__ == '__main__': main()
