// SPDX-License-Identifier: BSD-3-Clause
#include "app/profiles_command.h"
#include "config/toml/profile_search.h"
#include "gen/commands/commands.h"

int main(int argc, char** argv) {
  using namespace lw::gen;
  using namespace lw::config;
  const lw::app::Command program{
      .name = "roce-gen",
      .help = "Generate RoCE traffic: any opcode, over RoCEv2 or RoCEv1, with correct ICRCs.",
      .examples = R"(roce-gen run profiles/flows/ipv4-rc-send.toml --pcap out.pcap
roce-gen check profiles/flows/demo.toml
roce-gen run profiles/flows/demo.toml --port memif:/tmp/lw.sock,server
roce-gen receive --port memif:/tmp/lw.sock --pcap arrived.pcap --until-idle 2)",
      .notes =
          R"(Exit codes: 0 done, 1 frames were not sent or a limit did not hold, 2 bad usage or profile,
3 the environment lacks something (a port, permission, memory).)",
      .commands = {run_command(), receive_command(), replay_command(), search_command(),
                   perf_command(), respond_command(), telemetry_command(), plan_command(),
                   experiment_command(), check_command(),
                   lw::app::profiles_command("roce-gen",
                                             {kFlowProfiles, kExperimentProfiles, kPathProfiles,
                                              kImpairProfiles, kTelemetryProfiles}),
                   opcodes_command(), doctor_command()},
  };
  return lw::app::run_program(program, argc, argv,
                              lw::app::build_info({"DPDK", "libpcap", "ISA-L", "toml++", "fmt",
                                                   "CLI11", "nlohmann-json", "zlib", "zstd"}));
}
