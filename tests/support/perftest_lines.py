# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of perftest, for tests: the client's lines, with the reason of roce-gen where it refuses
a line."""

# Command lines as perftest's README, its man pages and vendors' guides have them: client's lines,
# with the reason where a line is refused.
LINES = (
    'ib_write_bw',
    'ib_write_bw 192.0.2.1',
    'ib_write_bw -a -d mlx5_0 192.0.2.1',
    'ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -a --report_gbits -F',
    'ib_write_bw --report_gbits -d mlx5_0 -x 3 -F 192.0.2.1',
    'ib_write_bw -d mlx5_1 -i 1 -s 65536 -q 8 -D 2 --report_gbits 192.0.2.1',
    'ib_write_bw -b -d mlx5_0 -F --report_gbits 192.0.2.1',
    'ib_write_bw -b --report-both -s 1M -q 2 192.0.2.1',
    'ib_write_bw --size=1048576 --qp=4 --tx-depth=128 --CPU-freq --ib-dev=mlx5_0',
    'ib_write_bw -d rocep1s0f0 -x 3 -m 4096 -s 8388608 --cq-mod 1 192.0.2.1',
    'ib_write_bw -d mlx5_0 -p 18520 -Q 100 -l 8 -I 64 192.0.2.1',
    'ib_write_bw --rate_limit 10 --rate_units g -s 64K 192.0.2.1',
    'ib_write_bw --rate_limit=1000 --rate_units=M -q 2 192.0.2.1',
    'ib_write_bw -w 0.001 -y 0.001 --report_gbits 192.0.2.1',
    'ib_write_bw -u 18 --retry_count 6 -q 16 192.0.2.1',
    'ib_write_bw -c RC -s 4096 -t 64 -N 192.0.2.1',
    'ib_write_bw -D 4 -f 1 --cpu_util 192.0.2.1',
    'ib_write_bw --use_hugepages --mr_per_qp -q 4 192.0.2.1',
    'ib_write_bw --out_json --out_json_file=out.json -a 192.0.2.1',
    'ib_write_bw -z -R --ipv6 2001:db8::1',
    'ib_write_lat',
    'ib_write_lat -a -F 192.0.2.1',
    'ib_write_lat -d mlx5_0 -s 2 -n 1000 192.0.2.1',
    'ib_write_lat -H -U -C 192.0.2.1',
    'ib_write_lat -d mlx5_0 -x 3 -I 220 -R 192.0.2.1',
    'ib_send_bw',
    'ib_send_bw -d mlx5_0 -i 1 -F --report_gbits 192.0.2.1',
    'ib_send_bw -a -c RC -r 512 -t 128 192.0.2.1',
    'ib_send_bw -d mlx4_0 -x 0 -e -m 1024 192.0.2.1',
    'ib_send_bw -b -s 4096 -q 16 -F 192.0.2.1',
    'ib_send_bw --connection=RC --rx-depth=600 --events 192.0.2.1',
    'ib_send_lat -d mlx5_0 -F -a 192.0.2.1',
    'ib_send_lat -s 8 -I 0 -p 20000 192.0.2.1',
    'ib_read_bw -d mlx5_2 -R -t 2048 -q 16 -a --report_gbits -F',
    'ib_read_bw -d mlx5_0 -o 16 -u 20 -s 1M 192.0.2.1',
    'ib_read_bw -b -D 2 --report_gbits 192.0.2.1',
    'ib_read_lat -d mlx5_0 -o 1 -s 4096 -F 192.0.2.1',
    'ib_atomic_bw -A FETCH_AND_ADD -d mlx5_0 192.0.2.1',
    'ib_atomic_bw -A CMP_AND_SWAP -o 8 -q 2 192.0.2.1',
    'ib_atomic_lat -d mlx5_0 -F 192.0.2.1',
    'ib_write_bw -d mlx5_0 --tclass=106 -S 3 192.0.2.1',
    'ib_write_bw -d mlx5_0 -S 3 192.0.2.1',
    'ib_write_bw -d mlx5_0 --use_cuda=0 192.0.2.1',
    'ib_write_bw -d mlx5_0 -O 192.0.2.1  # -O, --dualport: a run has one port',
    'ib_send_bw -g -c UD 192.0.2.1  # -g, --mcg: multicast groups are not there',
    'ib_send_bw -c UD -s 1024 192.0.2.1  # a simulation has RC only',
    'ib_write_bw -c DC 192.0.2.1  # expected RC, UC or UD',
    'ib_send_bw --use-srq -q 8 192.0.2.1',
    'ib_write_bw --rate_limit 1000 --rate_units p 192.0.2.1  # a QP\'s rate is in bits',
    'ib_write_bw -T 96 192.0.2.1',
)


# Further lines from repositories, issues and guides that are public, as they stand there; lengths
# above 1 s are shortened.
PUBLIC_LINES = (
    'ib_read_bw --ib-dev=mlx5_1 --CPU-freq --duration=1 --port=10000 --size=2048 '
    '--post_list=32 --qp=2 --cq-mod=4 --num_of_mrs=3 10.0.3.9',
    'ib_read_bw -a -R -T 41 -F -x 3 -m 4096 -p 10000 --report_gbits -d mlx5_2 -q 1 10.0.0.1',
    'ib_send_bw -d mlx5_4 192.168.20.123',
    'ib_write_bw -s 1048576 -D 1 -x 0 -F --report_gbits -d mlx5_ib0',
    'ib_send_bw -D1 -F -s 4096 -b',
    'ib_send_bw 10.0.0.1 -D1 --output bandwidth --report_gbits -F',
    'ib_send_lat -d mlx5_0 -s 16384 -D 1 10.0.0.1',
    'ib_send_lat -d mlx5_0 10.0.33.3 -zR',
    'ib_read_bw -n 100000 -s 4096 -m 2048 -d mlx5_0 10.0.2.116',
    'ib_read_bw 10.0.0.1 -d mlx5_0 -s 65536 -q 4 -l 32 -n 1000 -p 4001 -F --tclass 96',
    'ib_atomic_bw -d rxe0 -s 8 -n 1000',
    'ib_write_bw --disable_pcie_relaxed -d mlx5_0 -p 18600 -s 1000 -n 50 10.0.0.1',
    'ib_write_lat -d mlx5_0 -n 10 -F -x 3 -s 1024 --report_gbits',
    'sudo taskset 0020 raw_ethernet_bw -d mlx4_3 -l 8 --size 64 --client --duration 1 '
    '--source_mac f4:52:14:10:16:f0 --dest_mac f4:52:14:10:18:20  # no RDMA',
    'ib_write_bw -q 16 -s 65536 -t 64',
    'ib_send_bw -d mlx5_0 -a -c UD -m 4096  # a simulation has RC only',
    'ib_read_bw -d mlx5_0 -o 16 -u 18',
    'ib_send_bw -R -d mlx5_1 -i 1 192.168.0.204 --report_gbits -n 1000 -a -F',
    'numactl --physcpubind=3 ib_send_lat -a',
    'ib_write_bw -d mlx5_0 -c UC -s 8M -n 100  # a simulation has RC only',
    'ib_write_bw -F -d mlx5_0 -p 1 -T 105 -R -x 3 -D 1',
    'ib_read_bw -a -R -T 41 -F -x 3 -m 4096 -p 10000 --report_gbits -d mlx5_2 -q 1 '
    '--use_cuda=0 --use_cuda_dmabuf',
    'sudo taskset -c 28 ib_write_bw -d mlx5_3 -D 1 clx-host-108 -s 65536 -p 10000 -F  '
    '--report_gbit -b -q 2 --out_json --out_json_file=/tmp/perftest_mlx5_3.json',
    'sudo taskset -c 84 ib_write_bw -d mlx5_4 -s 65536 -D 1 -p 10001 -F --report_gbit -b -q 2 '
    '--output=bandwidth',
    'watch ib_write_bw -d mlx5_0 -q 1 --report_gbits -F',
    'ib_write_bw -d mlx5_0 -q 1 --report_gbits -F -a 192.168.100.201',
    'ib_write_bw -D 1 -d mlx5_0 server_1_ip',
    'ib_write_bw -a -n 10000 -F -x 0 --report_gbits --report-min-bw=1000 -d ibp5 localhost  # '
    '--report-min-bw: perftest up to',
    'ib_write_bw -d mlx5_2 --report_gbits',
    './ib_write_bw -d mlx5_0 -S 0 --report_gbits -m 4096 -x 3 --qp 4 -a -F --tclass 224 -b '
    '--use_cuda=1 --use_cuda_dmabuf --ipv6-addr --use_data_direct -p 50001',
    './ib_write_lat -d mlx5_cx6_0 -a -F --report_gbit --write_with_imm --use_cuda=0',
    'ib_write_lat -d rocep1s0f0 -x 3 -s 4194304 -n 1000',
    '~/perftest/ib_write_lat -d rocep117s0 -x 5 -s 4194304 -n 1000 192.0.2.1',
    'ib_write_lat -a -R --ib-dev mlx5_0 --ib-port 1',
    'ib_send_lat -H',
    'ib_write_lat --use_opendma=0 -d mlx5_0 -s 64  # --use_opendma: perftest up to',
    'ib_write_lat -d mlx5_0 -s 64 10.0.0.2',
    'ib_write_lat -d rdmap49s0 -s 64 -F',
    'ib_write_bw -d rxe0 -x 1 127.0.0.1',
    'ib_write_bw -d rdma_dev -x 0 -R 10.0.0.2',
    'ib_send_bw -d mlx5_0 -a',
    'ib_send_bw -R -d rocep130s0 -a -F',
    'ib_send_bw -d rxe0 -i 1 -F --report_gbits 10.100.0.1',
    'sudo ip netns exec server ib_send_bw -d rocep1s0 -R --report_gbits -s 8388608 -D 1',
    '~/bin/ib_send_bw -s 1M -D 1 -p 18600 -d mlx5_1 -x 3',
    'ib_read_lat -d mlx5_0 -F -x 3 -D 1',
    'ib_read_lat -d rocep7s0 -i 1 -x 3 192.168.100.1',
    'srun -w a,b -N2 -n2 ib_read_lat -d mlx5_0 -i 1',
    'ib_read_lat -d rxe0 -s 1K -n 1000',
    'ib_write_bw --use_cuda=0 -d mlx5_0 -s 65536 --report_gbits 192.0.2.1',
    'kubectl exec -n ai-training ddp-worker-1 -- ib_write_bw --use_cuda=0 10.1.2.3',
    'ib_write_bw -d mlx5_0 -R --tos 106 -D 1 -q 8 --report_gbits 10.0.0.1',
    'ib_write_bw -d mlx5_0 --flow_label 17 -x 3 -F 192.0.2.1',
    'ib_send_bw --use-srq -d mlx5_0 -c XRC 10.0.0.1  # expected RC, UC or UD',
    'ib_send_bw -c UD -d mlx5_0 -s 2048 10.0.0.1  # a simulation has RC only',
    'ib_write_bw -d mlx5_0 --bind_source_ip 10.0.0.2 10.0.0.1',
    'ib_atomic_bw -d mlx5_0 -A CMP_AND_SWAP -F 10.0.0.1',
    'ib_atomic_lat -d mlx5_0 --iter 100 10.0.0.1',
    'ib_read_bw -d mlx5_0 --cqe_poll 16 --data_validation -t 64 10.0.0.1',
    'chrt -f 50 ib_send_lat -d mlx5_0 -s 64 --dur 1 10.0.0.1',
)

# As above, with options and forms that the lines above lack.
FURTHER_LINES = (
    'numactl -m 2 -C 64,65 ib_write_bw --report_gbits -D 1 -s 4096 -l 16 -t 1024 '
    '--recv_post_list 64 -q 1 -F --tclass 236 --wait_destroy 1 --ib-port 1 '
    '--bind_source_ip 192.168.0.2 -d rocep184s0 192.168.0.3 -p 18515 -R --use_hugepages',
    'ib_write_bw 10.0.0.1 -d mlx5_bond_0 -x 3 -p 18500 -s 1048576 -q 1 --report_gbits -D 1 '
    '--rate_limit 40 --rate_units g --rate_limit_type SW',
    'sudo ip netns exec ns1 ib_read_bw -d mlx5_0 -b -D 1 --cpu_util --report_gbits '
    '--rate_limit=10 --typical_pkt_size=1024 --rate_limit_type=PP  # has no bursts',
    'ib_write_bw -d mlx5_0 --rate_limit=25 --rate_limit_type=SW --burst_size=64 -D 1  '
    '# has no bursts',
    '~/Source/examples/perftest/ib_send_lat -R -U -T 4 -s 2 -n 600 --latency_gap 1000  '
    '# have no gap',
    'ib_write_lat -d mlx5_0 -p 18515 10.0.0.1 --perform_warm_up -F',
    'taskset -c 17 ib_send_bw -d mlx5_bond_0 -z -f 2 -F --report_gbits -D 6 -p 20003 -x 3 '
    '192.168.219.6',
    './ib_write_bw --use_rocm=0 --use_rocm_dmabuf -x 3 -a -F -q 2 --report_gbits -d bnxt_re0 -i 1',
    'ib_write_bw -d mlx5_0 -a --report_gbits -n 1000 -q 16 10.0.0.1 --CPU-freq -p 1',
    'taskset -c 3 ib_send_bw -F --out_json -D 1 --out_json_file=perftest_bw.json -d mlx5_0 -i 1 '
    '-x 3 --disable_pcie_relaxed -s 1024 -l 64 --recv_post_list 64 -q 4 -p 10000 --mr_per_qp',
    'ib_send_bw -F -d mlx5_1 -p 18515 --report_gbits -c UC -s 65536 -x 3 10.25.11.31 '
    '--rate_limit 10 -D 1 --rate_limit_type=SW -S 3  # a simulation has RC only',
    'ib_write_bw -d mlx5_0 10.0.0.2 -p 18515 --rate_limit=12.5 --rate_units=g '
    '--rate_limit_type=SW --duration=1 -b',
    'ib_write_bw --ipv6 --ipv6-addr -d mlx5_0 -x 3 -p 18515 -D 1 -s 65536 --perform_warm_up '
    '--report_gbits fd00::2',
    'ib_write_bw -d mlx5_0 --dualport --report-per-port -D 1 192.168.40.248  # a run has one port',
    'ib_send_bw -d mlx5_0 -R -w 0.01M -n 1000',
    'ib_send_lat -d mlx5_0 -R -y 4G',
    'ib_write_bw --use_cuda -d mlx5_0 -a 10.0.0.1',
    'numactl -C8 raw_ethernet_bw -B 02:00:00:00:00:01 -E 01:00:5e:66:c8:64 -J 239.102.200.100 '
    '-j 10.0.0.1 -K 7148 -k 8888 -P -m 8192 --rate_limit=54 --rate_limit_type=SW -D 1  # no RDMA',
    'ib_read_lat -d mlx5_0 -s 4096 -o 4 -n 1000 --odp 10.0.0.1',
    'ib_send_bw -d mlx5_0 --payload_file_path=payload.txt -s 64 10.0.0.1',
    'ib_write_bw -d mlx5_0 -W out_of_buffer,out_of_sequence -q 0x8 -S 0x3 10.0.0.1',
    'ib_write_bw -d mlx5_0 -s 64k -n 010 10.0.0.1',
)
