// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a capture, through every command of roce-dissect.
#include "dissect/commands/commands.h"
#include "tests/fuzz/whole_command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lw;
  static fuzz::MemoryFile file, half;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  file.set(text);
  half.set(text.substr(0, size / 2));
  const std::string path = file.path();
  fuzz::run(dissect::list_command(), {{"FILE", path}});
  fuzz::run(dissect::list_command(), {{"FILE", path}, {"--json", "true"}});
  fuzz::run(dissect::list_command(), {{"FILE", path}, {"--csv", "true"}});
  fuzz::run(dissect::list_command(),
            {{"FILE", path},
             {"FILE", half.path()},
             {"--where", "longwire.icrc != ok || ip.addr in {10.0.0.0/8} || !bth.psn"},
             {"--fields", "frame.number,ip.addr,longwire.problem,frame.interface_name"},
             {"--time", "absolute"},
             {"-c", "100"}});
  fuzz::run(dissect::list_command(),
            {{"FILE", path}, {"--time", size % 2 == 0 ? "absolute" : "delta"}});
  fuzz::run(dissect::verify_command(), {{"FILE", path}});
  fuzz::run(dissect::verify_command(), {{"FILE", path}, {"--csv", "true"}});
  fuzz::run(dissect::summary_command(),
            {{"FILE", path}, {"--csv", "true"}, {"--no-tunnels", "true"}});
  fuzz::run(dissect::summary_command(), {{"FILE", path}});
  fuzz::run(dissect::summary_command(), {{"FILE", path}, {"--json", "true"}, {"--max-flows", "1"}});
  fuzz::run(dissect::connections_command(), {{"FILE", path}});
  fuzz::run(dissect::connections_command(), {{"FILE", path}, {"--csv", "true"}});
  fuzz::run(dissect::messages_command(), {{"FILE", path}, {"--json", "true"}});
  fuzz::run(dissect::messages_command(), {{"FILE", path}, {"--by", "operation,size"}});
  fuzz::run(dissect::anomalies_command(), {{"FILE", path}, {"FILE", half.path()}});
  fuzz::run(dissect::explain_command(), {{"FILE", path}});
  fuzz::run(dissect::explain_command(),
            {{"FILE", path}, {"--json", "true"}, {"--counters", path}, {"--counters", path}});
  fuzz::run(dissect::report_command(), {{"FILE", path}, {"--out", "/dev/null"}});
  fuzz::run(dissect::report_command(),
            {{"FILE", path}, {"FILE", half.path()}, {"--out", "/dev/null"}});
  static const fuzz::Folder folder;
  fuzz::run(dissect::extract_command(), {{"FILE", path}, {"--out", folder.path() + "/data"}});
  fuzz::run(dissect::extract_command(), {{"FILE", path},
                                         {"FILE", half.path()},
                                         {"--out", folder.path() + "/data"},
                                         {"--force", "true"},
                                         {"--bad-icrcs", "true"},
                                         {"--max-files", "2"},
                                         {"--json", "true"}});
  folder.clear();
  fuzz::run(dissect::compare_command(), {{"NEAR", path}, {"FAR", half.path()}});
  fuzz::run(dissect::compare_command(), {{"NEAR", half.path()},
                                         {"FAR", path},
                                         {"--json", "true"},
                                         {"--max-flows", "1"},
                                         {"--delay", "1ns"}});
  fuzz::run(
      dissect::compare_command(),
      {{"NEAR", path}, {"FAR", half.path()}, {"--two-clocks", "true"}, {"--expect", "p99<1s"}});
  return 0;
}
