// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/transport_option.h"

#include <map>

namespace lw::gen {

using wire::Transport;

void add_transport_option(CLI::App* command, transport::QpConfig& config) {
  static const std::map<std::string, Transport> kTransports = {
      {"rc", Transport::rc}, {"uc", Transport::uc}, {"ud", Transport::ud}};
  command
      ->add_option_function<std::string>(
          "--transport",
          [&config](const std::string& name) { config.transport = kTransports.at(name); },
          "rc; uc (SEND, WRITE) or ud (SEND of one packet), with --port: what is lost stays lost")
      ->check(CLI::IsMember({"rc", "uc", "ud"}))
      ->type_name("KIND")
      ->default_str("rc");
}

void check_transport(const PerfOptions& options, bool answered) {
  const Transport transport = options.config.qp.transport;
  if (transport == Transport::rc) return;
  const bool ud = transport == Transport::ud;
  const auto refuse_if = [ud](bool wrong, const std::string& why) {
    if (wrong) throw CLI::ValidationError("--transport", (ud ? "ud: " : "uc: ") + why);
  };
  refuse_if(answered, "messages get lost and nobody says so: --pattern bw or blast, one size");
  refuse_if(options.operation == "read" || options.operation == "atomic",
            "nothing is answered: --op send" + std::string(ud ? "" : " or write"));
  refuse_if(ud && options.operation == "write", "carries SENDs only: --op send");
  refuse_if(options.selective, "nothing is sent again: leave --selective-repeat out");
  refuse_if(options.config.size < sizeof(std::uint64_t),
            "each message carries its number: -s 8 at least");
  refuse_if(ud && options.config.size > options.config.qp.mtu,
            "a message is one packet: -s up to the MTU, " + std::to_string(options.config.qp.mtu));
}

}  // namespace lw::gen
