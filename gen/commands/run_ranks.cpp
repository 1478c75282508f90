// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/run_ranks.h"

#include <filesystem>

#include <fmt/format.h>

#include "app/command_line.h"
#include "config/toml/document.h"
#include "core/chance.h"
#include "core/output.h"
#include "gen/app/common_run.h"
#include "gen/app/report_link.h"
#include "gen/report/ranks_report.h"
#include "gen/report/run_parts.h"
#include "gen/report/run_plots.h"
#include "gen/report/run_rows.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

/// Error: an option that one process of several can't serve.
Result<void> check_common_usage(const RunOptions& options) {
  const std::pair<const char*, bool> refused[] = {
      {"--pcap", !options.pcap.empty()},
      {"--peer", !options.peer.empty()},
      {"--count", options.limits.count != Limits::kAll},
      {"--series", !options.choices.progress.series.empty()},
      {"--live", options.choices.progress.live},
      {"--web", options.choices.progress.web.address.has_value()},
      {"PROFILE -", options.profile == "-"},
      {"--dry-run", options.dry_run}};
  for (const auto& [name, given] : refused)
    if (given) return fail(fmt::format("{}: not in a run of several ranks (mpirun)", name));
  return {};
}

/// What must be equal on all ranks: the program, and all that makes the frames.
std::string run_identity(const RunOptions& options) {
  std::string text(app::program_version());
  for (const auto& [name, content] : config::profile_texts()) text += content;
  for (const std::string& change : options.changes) text += "\n" + change;
  text += fmt::format("\n{} {} {}", options.seed.value_or(0), static_cast<int>(options.clock),
                      options.limits.duration.value_or(Duration{0}).count());
  return fmt::format("{:016x}", hash_name(text));
}

/// Removes what only rank 0 writes or shows, and sets what this rank sends and receives.
void become_rank(RunOptions& options, const RankShare& share, CommonRun& common,
                 const Ranks& ranks) {
  options.ports = share.ports;
  options.receive = share.receive;
  if (share.flows.empty()) options.ports.clear();
  options.choices.progress.quiet = true;
  options.limits.stop = &common.stop();
  options.companions = &common;
  if (!options.rank_reports.empty())
    options.rank_reports =
        (std::filesystem::path(options.rank_reports) / fmt::format("{}.json", ranks.rank()))
            .string();
  if (ranks.leads()) return;
  options.report_to.clear();
  options.choices.histogram.clear();
}

std::vector<RankRow> rank_rows(const CommonRun& common, const std::vector<RankShare>& shares,
                               std::vector<RankTiming> timings, const WholeRun& whole) {
  std::vector<RankRow> rows;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const auto& part = whole.parts[rank];
    RankRow& row = rows.emplace_back();
    row.rank = rank;
    row.host = shares[rank].host;
    row.machine = common.selves()[rank].machine;
    row.ports = shares[rank].ports;
    row.receive = shares[rank].receive;
    row.timing = timings[rank];
    row.timing.reported = part.has_value();
    for (const std::uint32_t flow : shares[rank].flows) row.sent += whole.sent.flows[flow];
    if (!part) continue;
    row.timing.late = part->started_late;
    row.received = part->received;
    row.missed = part->missed;
    for (const ReceiveFlow& flow : whole.received.flows())
      if (flow.rank == rank) row.lost += flow.order.lost;
  }
  return rows;
}

/// Sets by how much the clocks of each received flow's two ends differ.
void set_clock_bounds(WholeRun& whole, const std::vector<RankRow>& ranks) {
  for (std::size_t i = 0; i < whole.received.flows().size(); ++i) {
    const ReceiveFlow& flow = whole.received.flows()[i];
    const std::size_t id = flow.stream.key.dest_qp;
    if (!flow.stream.is_signed || id >= whole.sent.rank_of_flow.size()) continue;
    const std::size_t sender = whole.sent.rank_of_flow[id];
    if (sender == flow.rank) continue;
    whole.received.set_clock_bound(
        i, ranks[sender].timing.stamp_bound() + ranks[flow.rank].timing.stamp_bound());
  }
}

/// Puts the parts together. Adds the errors of parts that can't be read to `broken`.
WholeRun whole_of(const config::FlowProfile& profile, const RunOptions& options,
                  const std::vector<RankShare>& shares, const std::vector<std::string>& parts,
                  std::vector<std::string>& broken) {
  std::vector<std::string> hosts;
  for (const RankShare& share : shares) hosts.push_back(share.host);
  WholeRun whole(profile.flows.size(), std::move(hosts), options.choices.measure);
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    for (const std::uint32_t flow : shares[rank].flows)
      whole.sent.rank_of_flow[flow] = static_cast<std::uint16_t>(rank);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].empty()) {
      broken.push_back(fmt::format("{} sent no results: it was killed, or its machine failed",
                                   rank_name(rank, shares[rank].host)));
      continue;
    }
    if (auto added = whole.add(rank, parts[rank], shares[rank].flows); !added)
      broken.push_back(
          fmt::format("{}: {}", rank_name(rank, shares[rank].host), added.error().message));
  }
  whole.sent.profile = profile.name;
  whole.sent.seed = options.seed.value_or(profile.seed);
  return whole;
}

/// Writes the report of this rank into the folder of --rank-reports.
Result<void> write_rank_report(const RunOptions& options, const RankReport& report) {
  if (options.rank_reports.empty()) return {};
  if (auto made = make_folder(std::filesystem::path(options.rank_reports).parent_path()); !made)
    return made;
  return write_file(options.rank_reports, report::json_line(kRankOutput, report));
}

void add_whole_to_page(RunOptions& options, const config::FlowProfile& profile,
                       const WholeRun& whole, const std::vector<RankShare>& shares,
                       const RanksSummary& summary, const std::string& json) {
  app::HtmlReport& html = options.html;
  if (!html.wanted()) return;
  html.add_report(json, kRanksOutput, options.verdicts.last(), page_rows(summary));
  for (report::Plot& plot : sent_plots(whole.sent, profile)) html.add_plot(std::move(plot));
  if (whole.receives)
    for (report::Plot& plot : received_plots(whole.received, names_in(profile)))
      html.add_plot(std::move(plot));
  for (const RankShare& share : shares) {
    for (const std::string& port : share.ports)
      html.add_port("--port", fmt::format("{}: {}", share.host, port));
    for (const std::string& port : share.receive)
      html.add_port("--receive", fmt::format("{}: {}", share.host, port));
  }
}

/// Rank 0: prints the report of all ranks.
ExitCode report_on_all(const config::FlowProfile& profile, const AskedFrames& asked,
                       RunOptions& options, const CommonRun& common,
                       const std::vector<RankShare>& shares, const std::vector<std::string>& parts,
                       const RunReport& own) {
  std::vector<std::string> broken;
  WholeRun whole = whole_of(profile, options, shares, parts, broken);
  whole.received.compare_with(asked);
  whole.sent.run = own.run;
  whole.sent.clock = own.clock;
  whole.sent.interrupted = common.reason();
  const std::vector<RankRow> rows = rank_rows(common, shares, common.timings(parts), whole);
  set_clock_bounds(whole, rows);
  const RunSummary summary(profile, whole.sent, whole.receives ? &whole.received : nullptr);
  std::vector<RankTiming> timings;
  for (const RankRow& row : rows) timings.push_back(row.timing);
  const CommonStart start = start_of(timings, options.most_skew);
  if (!start.holds()) broken.push_back(start.refusal());
  const RanksSummary all{summary, start, rows, own.clock};
  if (!options.choices.histogram.empty())
    report_at_end(
        write_file(options.choices.histogram, histogram_csv(whole.received, names_in(profile))));
  Judge judge = options.verdicts.judge();
  summary.observe(judge);
  observe_ranks(judge, rows, broken);
  std::string json = options.verdicts.judged(
      judge, options.json || options.html.wanted() || !options.report_to.empty(),
      [&] { return report::json_line(kRanksOutput, all); }, "roce-gen run", &kRanksOutput);
  if (!options.report_to.empty()) report_at_end(deliver_report(options.report_to, json));
  options.verdicts.update_files(json);
  add_whole_to_page(options, profile, whole, shares, all, json);
  print_report(options.json ? json : options.verdicts.text() + all.text(), false);
  return options.verdicts.finish("roce-gen run");
}

/// Runs this rank's part. Returns the exit code of rank 0's report; on other ranks done.
Result<ExitCode> run_part(RunOptions& options, Ranks& ranks, CommonRun& common) {
  auto usage = check_common_usage(options);
  auto profile = usage ? config::load_flow_profile(options.profile, options.changes)
                       : Result<config::FlowProfile>(std::unexpected(usage.error()));
  if (profile) {
    fit_length(*profile, options.limits);
    options.verdicts.add(profile->expect);
    if (auto checked = options.verdicts.check(kRanksOutput); !checked)
      profile = std::unexpected(checked.error());
  }
  const auto shares = common.introduce(
      {.machine = machine_name(), .ports = options.ports, .receive = options.receive}, profile,
      run_identity(options));
  if (!shares) return std::unexpected(shares.error());
  const RankShare& share = (*shares)[static_cast<std::size_t>(ranks.rank())];
  become_rank(options, share, common, ranks);
  const config::FlowProfile part = part_of(*profile, share);
  const AskedFrames asked(*profile);
  Measurement measurement(options.choices.measure);
  measurement.compare_with(asked);
  Measurement* receives = share.receive.empty() ? nullptr : &measurement;
  std::optional<handover::Report> no_device;
  const auto report = run_to_ports(part, options, receives, no_device);
  if (!report) return std::unexpected(report.error());
  const FlowNames names = names_in(*profile);
  const auto written = write_rank_report(options, {.rank = static_cast<std::uint64_t>(ranks.rank()),
                                                   .host = share.host,
                                                   .profile = part,
                                                   .sent = *report,
                                                   .received = receives,
                                                   .names = names});
  const auto parts = common.collect(part_text(*report, receives));
  if (!written) return std::unexpected(written.error());
  if (!ranks.leads()) return ExitCode::done;
  return report_on_all(*profile, asked, options, common, *shares, parts, *report);
}

}  // namespace

ExitCode run_as_rank(RunOptions& options, Ranks& ranks) {
  CommonRun common(ranks, *options.limits.stop, options.choices.progress.quiet);
  const auto ran = run_part(options, ranks, common);
  ExitCode code = ran.value_or(ExitCode::failed);
  const auto error = ran ? common.failure() : std::optional(common.fail_all(ran.error()));
  if (error) code = error->message.empty() ? error->exit : print_error(*error);
  return common.leave(code);
}

}  // namespace lw::gen
