// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/search_report.h"

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::gen {
namespace {

std::string rate_text(const std::optional<Trial>& trial) {
  return trial ? format_bit_rate(trial->wire_bps) : "-";
}

report::Json trial_json(const Trial& trial, const SearchConfig& config) {
  return {{"fraction", trial.fraction},
          {"sent", trial.sent},
          {"received", trial.received},
          {"lost", trial.lost()},
          {"not_sent", trial.not_sent},
          {"wire_bps", trial.wire_bps},
          {"frames_per_second", trial.frames_per_second},
          {"offered", trial.offered},
          {"passed", passes(trial, config)}};
}

report::Json trial_json(const std::optional<Trial>& trial, const SearchConfig& config) {
  return trial ? trial_json(*trial, config) : report::Json();
}

}  // namespace

std::string to_text(const std::vector<SizeSearch>& searches) {
  using report::Align;
  report::Table table({{"message", Align::right},
                       {"passes", Align::right},
                       {"frames/s", Align::right},
                       {"of the highest", Align::right},
                       {"fails", Align::right},
                       {"loss there", Align::right},
                       {"trials", Align::right}});
  for (const SizeSearch& search : searches) {
    const auto& [passes, fails, trials] = search.result;
    const std::string loss = !fails           ? "-"
                             : fails->offered ? fmt::format("{:.4f} %", 100 * fails->loss())
                                              : "not offered";
    table.add_row({fmt::format("{} B", search.message_size), rate_text(passes),
                   passes ? fmt::format("{:.0f}", passes->frames_per_second) : "-",
                   passes ? fmt::format("{:.1f} %", 100 * passes->fraction) : "-", rate_text(fails),
                   loss, fmt::to_string(trials.size())});
  }
  return table.to_string();
}

std::string to_json(const std::vector<SizeSearch>& searches, const SearchConfig& config) {
  report::Json json = {{"loss", config.loss}, {"resolution", config.resolution}};
  auto& sizes = json["sizes"] = report::Json::array();
  for (const SizeSearch& search : searches) {
    report::Json size = {{"message_size", search.message_size},
                         {"passes", trial_json(search.result.passes, config)},
                         {"fails", trial_json(search.result.fails, config)}};
    auto& trials = size["trials"] = report::Json::array();
    for (const Trial& trial : search.result.trials) trials.push_back(trial_json(trial, config));
    sizes.push_back(std::move(size));
  }
  return report::json_line(json);
}

std::string to_csv(const std::vector<SizeSearch>& searches, const SearchConfig& config) {
  std::string text =
      "message_size_bytes,fraction,wire_bits_per_second,frames_per_second,sent,received,lost,"
      "not_sent,offered,passed\n";
  for (const SizeSearch& search : searches) {
    for (const Trial& t : search.result.trials) {
      text += fmt::format("{},{},{:.0f},{:.0f},{},{},{},{},{},{}\n", search.message_size,
                          t.fraction, t.wire_bps, t.frames_per_second, t.sent, t.received, t.lost(),
                          t.not_sent, int{t.offered}, int{passes(t, config)});
    }
  }
  return text;
}

}  // namespace lw::gen
