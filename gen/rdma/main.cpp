// SPDX-License-Identifier: BSD-3-Clause
#include "gen/rdma/commands.h"

int main(int argc, char** argv) {
  using namespace lw::gen::rdma;
  const lw::app::Command program{
      .name = "roce-endpoint",
      .help = "Serve and measure RDMA through a real device: a NIC, or Linux soft-RoCE.",
      .examples = R"(roce-endpoint serve --device rxe0 --region 64MiB
roce-endpoint bw --connect 192.0.2.1 --token TOKEN --op write -s 64KiB
roce-endpoint lat --connect 192.0.2.1 --token TOKEN --op send -s 64)",
      .notes =
          R"(Exit codes: 0 done, 1 a run failed or data arrived wrong, 2 bad usage, 3 the environment lacks
something (a device, a server, memory).)",
      .commands = {serve_command(), bw_command(), lat_command(), blast_command(), ping_command()},
  };
  return lw::app::run_program(
      program, argc, argv,
      lw::app::build_info({"libibverbs", "librdmacm", "libpcap", "ISA-L", "toml++", "fmt", "CLI11",
                           "nlohmann-json", "zlib", "zstd"}));
}
