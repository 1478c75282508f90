// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/command.h"
#include "dissect/summary/overview.h"
#include "dissect/summary/summary_format.h"

namespace lw::dissect {
namespace {

struct SummaryOptions {
  std::string file, filter;
  bool json = false;
};

int run_summary(const SummaryOptions& options) {
  auto source = FrameSource::open(options.file, options.filter);
  if (!source) return report_error(source.error());
  Overview overview;
  std::optional<Error> damage;
  for (;;) {
    const auto captured = source->next();
    if (!captured) damage = captured.error();
    if (!captured || !*captured) break;
    overview.add(dissect_frame(**captured));
  }
  fmt::print("{}", options.json ? summary_json(options.file, overview)
                                : summary_text(options.file, overview));
  return damage ? report_error(*damage) : 0;
}

}  // namespace

void add_summary(CLI::App& app, int& exit) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* summary =
      app.add_subcommand("summary", "Frames, opcodes, QPs, addresses, time span, bytes");
  summary->add_option("FILE", options->file, "pcap or pcapng; - is standard input")->required();
  summary->add_flag("--json", options->json, "one JSON line");
  summary->add_option("--filter", options->filter,
                      "only frames that match, in libpcap's (tcpdump's) syntax");
  summary->footer("Example:\n  roce-dissect summary capture.pcapng\n");
  summary->callback([options, &exit] { exit = run_summary(*options); });
}

}  // namespace lw::dissect
