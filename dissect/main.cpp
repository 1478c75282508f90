// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/commands/commands.h"

int main(int argc, char** argv) {
  using namespace lw::dissect;
  const lw::app::Command program{
      .name = "roce-dissect",
      .help = "Explain captures of RoCE traffic: pcap and pcapng, RoCEv2 and RoCEv1.",
      .examples = R"(roce-dissect list capture.pcapng | less
roce-dissect list capture.pcap --filter "udp port 4791 and host 10.0.0.1"
tcpdump -c 1000 -i eth1 -w - udp port 4791 | roce-dissect list -
roce-dissect verify *.pcap
roce-dissect summary capture.pcap --json
roce-dissect explain capture.pcapng
roce-dissect report capture.pcapng -o report.html
roce-dissect extract capture.pcapng -o data
roce-dissect compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1%)",
      .notes =
          R"(Exit codes: 0 done; 1 an ICRC is bad, an expectation does not hold, or a file is damaged;
2 bad usage or no such file; 3 a file cannot be read or written.)",
      .commands = {list_command(), verify_command(), summary_command(), connections_command(),
                   messages_command(), anomalies_command(), explain_command(), annotate_command(),
                   extract_command(), report_command(), compare_command(), fields_command()},
      .for_file = "explain",
  };
  return lw::app::run_program(
      program, argc, argv,
      lw::app::build_info({"libpcap", "ISA-L", "fmt", "CLI11", "nlohmann-json", "zlib", "zstd"}));
}
