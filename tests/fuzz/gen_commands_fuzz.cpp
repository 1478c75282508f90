// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a capture and as a profile, through the commands of roce-gen that need no port.
#include "gen/commands/commands.h"
#include "tests/fuzz/whole_command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw;
  static fuzz::MemoryFile file;
  static const fuzz::NullFile pcapng(".pcapng");
  file.set({reinterpret_cast<const char*>(data), size});
  const std::string path = file.path();
  fuzz::run(gen::receive_command(), {{"--port", "pcap:" + path}, {"--json", "true"}});
  fuzz::run(gen::receive_command(), {{"--port", "pcap:" + path}, {"--join", "true"}});
  fuzz::run(gen::replay_command(), {{"CAPTURE", path}, {"--pcap", "/dev/null"}});
  fuzz::run(gen::replay_command(), {{"CAPTURE", path},
                                    {"--pcap", pcapng.path()},
                                    {"--loop", "2"},
                                    {"--count", "1000"},
                                    {"--speed", "0.001x"},
                                    {"--psn-offset", "-1"},
                                    {"--json", "true"}});
  fuzz::run(gen::check_command(), {{"PROFILE", path}});
  fuzz::run(gen::run_command(),
            {{"PROFILE", path}, {"--pcap", pcapng.path()}, {"--count", "50"}, {"--json", "true"}});
  return 0;
}
