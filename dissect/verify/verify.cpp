// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "dissect/command.h"
#include "dissect/verify/verdicts.h"
#include "report/json_line.h"

namespace lw::dissect {
namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
};

void print_json(const Verdicts& v) {
  report::Json line;
  line["file"] = v.file;
  line["frames"] = v.frames;
  line["roce"] = v.roce;
  line["icrc_ok"] = v.icrc_ok;
  line["icrc_bad"] = v.icrc_bad;
  line["icrc_unverifiable"] = v.icrc_unverifiable;
  fmt::print("{}", report::json_line(line));
}

void print_text(const Verdicts& v) {
  fmt::print("{}: {} frames, {} RoCE: ICRC {} ok, {} bad, {} unverifiable\n", v.file, v.frames,
             v.roce, v.icrc_ok, v.icrc_bad, v.icrc_unverifiable);
  for (const BadFrame& bad : v.first_bad) {
    fmt::print("  frame {} at offset {}: expected {:08x}, found {:08x}\n", bad.number, bad.offset,
               bad.expected, bad.found);
  }
  if (v.icrc_bad > v.first_bad.size()) {
    fmt::print("  and {} more\n", v.icrc_bad - v.first_bad.size());
  }
}

void print_remarks(const Verdicts& v) {
  std::fflush(stdout);
  if (v.unopened > 0) {
    fmt::print(stderr, "roce-dissect: {}: {} frames have a link type that is not understood\n",
               v.file, v.unopened);
  }
  if (v.damage) report_error(*v.damage);
}

int run_verify(const VerifyOptions& options) {
  int exit = 0;
  for (const std::string& file : options.files) {
    const Verdicts verdicts = verify_file(file);
    if (verdicts.opened) options.json ? print_json(verdicts) : print_text(verdicts);
    print_remarks(verdicts);
    exit = std::max(exit, exit_of(verdicts));
  }
  return exit;
}

}  // namespace

void add_verify(CLI::App& app, int& exit) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* verify = app.add_subcommand("verify", "Check every ICRC; exit 1 if one is bad");
  verify->add_option("FILE", options->files, "pcap or pcapng; - is standard input")->required();
  verify->add_flag("--json", options->json, "a JSON line a file");
  verify->footer(
      "Cut frames and IP fragments are unverifiable, not bad.\n"
      "Example:\n"
      "  roce-dissect verify *.pcap --json\n");
  verify->callback([options, &exit] { exit = run_verify(*options); });
}

}  // namespace lw::dissect
