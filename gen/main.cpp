// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <fmt/format.h>

#include "gen/commands/commands.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  roce-gen run profiles/flows/ipv4-rc-send.toml --pcap out.pcap
  roce-gen check profiles/flows/demo.toml
  roce-gen run profiles/flows/demo.toml --port memif:/tmp/lw.sock,server
  roce-gen receive --port memif:/tmp/lw.sock --pcap arrived.pcap --until-idle 2

Exit codes: 0 done, 1 frames were not sent or a bound did not hold, 2 wrong usage or profile,
3 the machine lacks something (a port, permission, memory).)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Generate RoCE traffic: any opcode, over RoCEv2 or RoCEv1, with right ICRCs.",
                   "roce-gen");
  program.set_version_flag("--version", "roce-gen " LONGWIRE_VERSION);
  program.require_subcommand(1);
  program.footer(kFooter);
  lw::gen::Command chosen;
  lw::gen::add_run_command(program, chosen);
  lw::gen::add_receive_command(program, chosen);
  lw::gen::add_replay_command(program, chosen);
  lw::gen::add_search_command(program, chosen);
  lw::gen::add_perf_command(program, chosen);
  lw::gen::add_respond_command(program, chosen);
  lw::gen::add_plan_command(program, chosen);
  lw::gen::add_experiment_command(program, chosen);
  lw::gen::add_check_command(program, chosen);
  lw::gen::add_opcodes_command(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for = error.get_exit_code() == 0;  // --help, --version
    program.exit(error);
    return lw::to_int(asked_for ? lw::ExitCode::done : lw::ExitCode::usage);
  }
  return lw::to_int(chosen());
}
