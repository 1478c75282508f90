// SPDX-License-Identifier: BSD-3-Clause
#include "app/profiles_command.h"
#include "config/toml/profile_search.h"
#include "impair/cli/commands.h"

int main(int argc, char** argv) {
  using namespace lw::impair;
  const lw::app::Command program{
      .name = "roce-impair",
      .help = "Emulate a long path for RoCEv2 frames, and account for each of them.",
      .examples = R"(roce-impair check apn-380km
roce-impair run apn-380km --west eth1 --east eth2
roce-impair ctl /tmp/impair.sock show
roce-impair explain apn-380km
roce-impair ledger ledger.lwl
roce-impair from-tc 'delay 100ms 10ms loss 1%'
roce-impair replay apn-380km in.pcap out.pcap --seed 7)",
      .notes =
          R"(Exit codes: 0 done, 1 the accounts do not add up or a capture is damaged, 2 bad usage or profile,
3 the environment lacks something (a port, permission, memory).)",
      .commands = {check_command(), ctl_command(), explain_command(), from_tc_command(),
                   ledger_command(),
                   lw::app::profiles_command(
                       "roce-impair", {lw::config::kImpairProfiles, lw::config::kPathProfiles}),
                   replay_command(), run_command()},
      .for_file = "explain",
  };
  return lw::app::run_program(
      program, argc, argv,
      lw::app::build_info({"DPDK", "libpcap", "ISA-L", "toml++", "fmt", "CLI11", "Boost",
                           "nlohmann-json", "zlib", "zstd"}));
}
