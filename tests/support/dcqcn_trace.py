# SPDX-License-Identifier: BSD-3-Clause
"""Ten CNPs, worked out step by step from DCQCN's equations as the manual states them: what
tests/unit/transport/dcqcn_trace.h holds. Written apart from the engine, in the plainest way:
one loop a microsecond tick. Prints that table:

    python3 tests/support/dcqcn_trace.py > tests/unit/transport/dcqcn_trace.h
"""

LINE = 100000.0  # Mb/s

CASES = [
    # name, microseconds between CNPs, parameters that differ from the measured system's
    ('as_measured_50_us', 50, {}),
    ('as_measured_1000_us', 1000, {}),
    ('rpg_gd', 50, {'rpg_gd': 10, 'rpg_min_dec_fac_percent': 10}),
    ('rpg_min_dec_fac', 50, {'rpg_min_dec_fac_percent': 90}),
    ('rate_to_set_on_first_cnp', 50, {'rate_to_set_on_first_cnp_mbps': 10000}),
    ('dce_tcp_g', 50, {'dce_tcp_g': 1000}),
    ('dce_tcp_rtt', 50, {'dce_tcp_rtt_us': 5}),
    ('initial_alpha', 50, {'initial_alpha': 100}),
    ('rpg_min_rate', 50, {'rpg_min_rate_mbps': 20000}),
    ('rpg_max_rate', 1000, {'rpg_max_rate_mbps': 40000}),
    ('rpg_ai_rate_and_time_reset', 1000, {'rpg_ai_rate_mbps': 500, 'rpg_time_reset_us': 200}),
    ('rpg_threshold', 1000, {'rpg_threshold': 3, 'rpg_time_reset_us': 200,
                             'rpg_ai_rate_mbps': 1000}),
    ('no_clamp_after_time_inc', 1000, {'clamp_tgt_rate_after_time_inc': False}),
    ('clamp_tgt_rate', 1000, {'clamp_tgt_rate_after_time_inc': False, 'clamp_tgt_rate': True}),
    ('rate_reduce_monitor_period', 3, {}),
    # 20 increases bring the rate to the line: the limiter is released, and the next CNP begins anew.
    ('release', 6000, {'rpg_ai_rate_mbps': 0}),
    ('alpha_after_cut', 50, {'alpha_before_cut': False}),
    ('reduce_far_target', 1000, {'rpg_gd': 10, 'rpg_min_dec_fac_percent': 1,
                                 'reduce_far_target': True}),
]
MEASURED = {
    'rpg_time_reset_us': 300, 'rpg_threshold': 1, 'rpg_ai_rate_mbps': 5, 'rpg_gd': 11,
    'rpg_min_dec_fac_percent': 50, 'rpg_min_rate_mbps': 1, 'rpg_max_rate_mbps': 0,
    'rate_to_set_on_first_cnp_mbps': 0, 'dce_tcp_g': 1019, 'dce_tcp_rtt_us': 1,
    'rate_reduce_monitor_period_us': 4, 'initial_alpha': 1023, 'clamp_tgt_rate': False,
    'clamp_tgt_rate_after_time_inc': True, 'alpha_before_cut': True, 'reduce_far_target': False,
}
GRANULARITY = 1.0  # Mb/s: a rate this close to the highest has reached it


def trace(gap, changes):
    p = {**MEASURED, **changes}
    most = p['rpg_max_rate_mbps'] or LINE
    current = target = most
    alpha = timed = since_cut = None
    rows = []
    for now in range(0, 10 * gap):
        if alpha is not None:
            since_cut += 1
            if since_cut % p['dce_tcp_rtt_us'] == 0:
                alpha = alpha * p['dce_tcp_g'] / 1024
            if since_cut % p['rpg_time_reset_us'] == 0:
                timed += 1
                if timed == 1 and p['reduce_far_target'] and target > 10 * current:
                    target /= 8
                elif timed >= p['rpg_threshold']:
                    target = min(target + p['rpg_ai_rate_mbps'], most)
                current = (target + current) / 2
                if current > most - GRANULARITY:
                    current = target = most
                    alpha = None
        if now % gap:
            continue
        if alpha is None:
            alpha, timed, since_cut = p['initial_alpha'], 0, p['rate_reduce_monitor_period_us']
            current = target = p['rate_to_set_on_first_cnp_mbps'] or most
        if since_cut >= p['rate_reduce_monitor_period_us']:
            raised = alpha * p['dce_tcp_g'] / 1024 + (1024 - p['dce_tcp_g'])
            if p['alpha_before_cut']:
                alpha = raised
            if p['clamp_tgt_rate'] or (timed > 0 and p['clamp_tgt_rate_after_time_inc']):
                target = current
            current = max(current * (1 - alpha / 2 ** p['rpg_gd']),
                          current * p['rpg_min_dec_fac_percent'] / 100, p['rpg_min_rate_mbps'])
            alpha = raised
            timed = since_cut = 0
        rows.append((alpha, current, target))
    return rows


def main():
    print('// SPDX-License-Identifier: BSD-3-Clause')
    print('// Made by tests/support/dcqcn_trace.py.')
    print('#pragma once\n\nnamespace lw::test {\n')
    print('/// Alpha in 1024ths, current and target rate in Mb/s, behind each of ten CNPs.')
    print('struct TraceRow {\n  double alpha, current, target;\n};\n')
    for name, gap, changes in CASES:
        print(f'inline constexpr TraceRow k_{name}[] = {{')
        for row in trace(gap, changes):
            print('    {%.6f, %.6f, %.6f},' % row)
        print('};')
    print('\n}  // namespace lw::test')


if __name__ == '__main__':
    main()
