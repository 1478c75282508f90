// SPDX-License-Identifier: BSD-3-Clause
#include <clocale>

#include "dissect/command.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  roce-dissect list capture.pcapng | less
  roce-dissect list capture.pcap --filter "udp port 4791 and host 10.0.0.1"
  tcpdump -i eth1 -w - udp port 4791 | roce-dissect list -
  roce-dissect verify *.pcap
  roce-dissect summary capture.pcap --json
  roce-dissect compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1%

Exit codes: 0 done; 1 an ICRC is bad or a file is damaged; 2 bad usage or no such file;
3 a file cannot be read or written.
)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Explains captures of RoCE traffic: pcap and pcapng, RoCEv2 and RoCEv1.",
               "roce-dissect"};
  app.set_version_flag("--version", "roce-dissect " LONGWIRE_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  int exit = 0;
  lw::dissect::add_list(app, exit);
  lw::dissect::add_verify(app, exit);
  lw::dissect::add_summary(app, exit);
  lw::dissect::add_compare(app, exit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : lw::to_int(lw::ExitCode::usage);
  }
  return exit;
}
