// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include "app/profiles_command.h"
#include "config/toml/profile_search.h"
#include "gen/commands/commands.h"
#include "gen/commands/former_lines.h"
#include "gen/perf/options/perftest.h"

namespace {

/// The command line with a line or options of perftest in it translated. Errors (usage): of that
/// line; words of a former release; options of the other one of `perf` and `sim`.
lw::Result<std::vector<std::string>> words_of(int argc, char** argv) {
  using namespace lw::gen;
  std::vector<std::string> words(argv, argv + argc);
  const std::string command = argc < 2 ? "" : words[1];
  if (command != "perf" && command != "sim" && command != "respond") return words;
  if (auto current = check_former_line(words); !current) return std::unexpected(current.error());
  if (command == "respond") return perftest::expand_server(words);
  const bool sim = command == "sim";
  const auto own = sim ? sim_command().options : perf_command().options;
  const auto other = sim ? perf_command().options : sim_command().options;
  if (auto has = check_own_options(words, own, other); !has) return std::unexpected(has.error());
  return perftest::expand(words, own, sim ? perftest::Run::simulated : perftest::Run::port);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lw::gen;
  using namespace lw::config;
  auto words = words_of(argc, argv);
  if (!words) return static_cast<int>(lw::print_error(words.error()));
  std::vector<char*> arguments;
  for (std::string& word : *words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const lw::app::Command program{
      .name = "roce-gen",
      .help = "Generate RoCE traffic: any opcode, over RoCEv2 or RoCEv1, with correct ICRCs.",
      .examples = R"(roce-gen run ipv4-rc-send --pcap out.pcap
roce-gen check demo
roce-gen run demo --port memif:/tmp/lw.sock,server
roce-gen receive --port memif:/tmp/lw.sock --pcap arrived.pcap --until-idle 2)",
      .notes =
          R"(Exit codes: 0 done, 1 frames were not sent or a limit did not hold, 2 bad usage or profile,
3 the environment lacks something (a port, permission, memory).)",
      .commands = {run_command(), receive_command(), replay_command(), search_command(),
                   perf_command(), sim_command(), respond_command(), otg_command(),
                   telemetry_command(), plan_command(), experiment_command(), check_command(),
                   lw::app::profiles_command("roce-gen",
                                             {kFlowProfiles, kExperimentProfiles, kPathProfiles,
                                              kImpairProfiles, kTelemetryProfiles, kNetworkProfiles,
                                              kClassProfiles, kCongestionProfiles, kNicProfiles}),
                   opcodes_command(), doctor_command()},
      .for_file = "check",
  };
  return lw::app::run_program(
      program, static_cast<int>(words->size()), arguments.data(),
      lw::app::build_info({"DPDK", "libpcap", "ISA-L", "toml++", "fmt", "CLI11", "Boost",
                           "nlohmann-json", "zlib", "zstd"}));
}
