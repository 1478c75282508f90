// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a capture, a compact ledger and a profile, through the commands of roce-impair that
// read a file.
#include "impair/cli/commands.h"
#include "tests/fuzz/whole_command.h"

namespace {

constexpr std::string_view kRules = R"(seed = 3
[[rule]]
name = "all"
match = "all"
delay = "5ms"
loss = "10%"
duplicate = "20%"
corrupt = "10%"
mark = "10%"
queue = { rate = "1Gb/s", buffer = "64KiB" }
jitter = { distribution = "uniform", low = "0us", high = "3ms" }
[[at]]
time = "1ms"
rule = "all"
set = { delay = "1us" }
[[flap]]
port = "west"
time = "2ms"
down = "1ms"
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw;
  static fuzz::MemoryFile file, rules(kRules);
  static const fuzz::NullFile pcapng(".pcapng"), json_ledger(".jsonl"), ledger(".lwl");
  file.set({reinterpret_cast<const char*>(data), size});
  fuzz::run(impair::replay_command(), {{"PROFILE", rules.path()},
                                       {"IN", file.path()},
                                       {"OUT", "/dev/null"},
                                       {"--ledger", json_ledger.path()}});
  fuzz::run(impair::replay_command(), {{"PROFILE", rules.path()},
                                       {"IN", file.path()},
                                       {"OUT", pcapng.path()},
                                       {"--back", file.path()},
                                       {"--ledger", ledger.path()},
                                       {"--json", "true"}});
  fuzz::run(impair::ledger_command(), {{"FILE", file.path()}});
  fuzz::run(impair::check_command(), {{"PROFILE", file.path()}});
  return 0;
}
