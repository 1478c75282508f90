// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>
#include <vector>

#include "app/retired_names.h"
#include "gen/endpoint/commands.h"
#include "gen/perf/options/perftest.h"

namespace {

/// The command line with a line or options of perftest in it translated.
lw::Result<std::vector<std::string>> words_of(int argc, char** argv) {
  using namespace lw::gen;
  const std::vector<std::string> words(argv, argv + argc);
  if (argc < 2 || (words[1] != "bw" && words[1] != "lat")) return words;
  const lw::app::Command command =
      words[1] == "bw" ? endpoint::bw_command() : endpoint::lat_command();
  // Before the options of perftest, which may be shortened: --connect would be its --connection.
  const std::vector<std::string_view> given(words.begin(), words.end());
  return perftest::expand_device(lw::app::with_names_in_use(command, given), command.options);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lw::gen::endpoint;
  auto words = words_of(argc, argv);
  if (!words) return static_cast<int>(lw::print_error(words.error()));
  std::vector<char*> arguments;
  for (std::string& word : *words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const lw::app::Command program{
      .name = "roce-endpoint",
      .help = "Serve and measure RDMA through a real device: a NIC, or Linux soft-RoCE.",
      .examples = R"(roce-endpoint serve --device rxe0 --region 64MiB
roce-endpoint bw --peer 192.0.2.1 --token TOKEN --op write -s 64KiB
roce-endpoint lat --peer 192.0.2.1 --token TOKEN --op send -s 64
roce-endpoint bw --token TOKEN -- ib_write_bw -d mlx5_0 -x 3 -t 64 -q 4 192.0.2.1)",
      .notes =
          R"(Exit codes: 0 done, 1 a run failed or data arrived wrong, 2 bad usage, 3 the environment lacks
something (a device, a server, memory).)",
      .commands = {serve_command(), bw_command(), lat_command(), blast_command(), ping_command()},
  };
  return lw::app::run_program(
      program, static_cast<int>(words->size()), arguments.data(),
      lw::app::build_info({"libibverbs", "librdmacm", "libpcap", "ISA-L", "toml++", "fmt", "CLI11",
                           "nlohmann-json", "zlib", "zstd"}));
}
