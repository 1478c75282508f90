// SPDX-License-Identifier: BSD-3-Clause
#include "impair/cli/command.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  roce-impair check profiles/impair/apn-380km.toml
  roce-impair run profiles/impair/rocev2-only.toml --west eth1 --east eth2
  roce-impair run profiles/impair/apn-380km.toml --west memif:/tmp/w.sock,server \
      --east memif:/tmp/e.sock,server --duration 60 --ledger ledger.jsonl --json
  roce-impair ctl /tmp/impair.sock set "long haul" delay=1ms loss=0.5%
  roce-impair ctl /tmp/impair.sock event "cut again"
  roce-impair ledger ledger.lwl
  roce-impair replay profiles/impair/apn-380km.toml in.pcap out.pcap --seed 7
  roce-impair replay profiles/impair/apn-380km.toml west.pcap out.pcapng --back east.pcap
  roce-impair replay profiles/impair/apn-380km.toml recorded.pcapng out.pcapng --both

Exit codes: 0 done, 1 the accounts do not add up or a capture is damaged, 2 wrong usage or profile,
3 the machine lacks something (a port, permission, memory).)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App program(
      "Stand in for a long path: what it does to RoCEv2 frames, each one accounted for.",
      "roce-impair");
  program.set_version_flag("--version", "roce-impair " LONGWIRE_VERSION);
  program.require_subcommand(1);
  program.footer(kFooter);
  lw::impair::Command chosen;
  lw::impair::add_check_command(program, chosen);
  lw::impair::add_ctl_command(program, chosen);
  lw::impair::add_ledger_command(program, chosen);
  lw::impair::add_replay_command(program, chosen);
  lw::impair::add_run_command(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for = error.get_exit_code() == 0;  // --help, --version
    program.exit(error);
    return lw::to_int(asked_for ? lw::ExitCode::done : lw::ExitCode::usage);
  }
  return lw::to_int(chosen());
}
