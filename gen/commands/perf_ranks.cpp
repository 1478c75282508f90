// SPDX-License-Identifier: BSD-3-Clause
#include "gen/commands/perf_ranks.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/command_line.h"
#include "core/chance.h"
#include "core/output.h"
#include "gen/app/common_run.h"
#include "gen/perf/report/perf_ranks.h"
#include "gen/perf/traffic/perf_run.h"
#include "perf/words.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

/// Hosts of the network 198.18.0.0/24 of which a rank without --address takes its own.
constexpr int kMostHosts = 254;

/// What must be equal on all ranks: the program, and all that determines the messages.
std::string perf_identity(const PerfRanksOptions& options, const perf::PerfConfig& config) {
  return fmt::format(
      "{:016x}",
      hash_name(fmt::format("{} {} {} {} {} {} {} {}", app::program_version(),
                            name_of(options.perf.pattern), perf::operation_word(config.operation),
                            config.size, config.qps, config.iterations, config.duration.count(),
                            options.endpoint.service)));
}

/// Error: two ranks have one address, or addresses of two families.
Result<void> check_addresses(const std::vector<RankSelf>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const auto same = std::ranges::find(ranks, ranks[rank].address, &RankSelf::address);
    const auto first = static_cast<std::size_t>(same - ranks.begin());
    if (first < rank)
      return fail(fmt::format("--address: expected another address than that of {}, found {} on {}",
                              rank_name(first, usual_name(ranks, first)), ranks[rank].address,
                              rank_name(rank, usual_name(ranks, rank))));
    if (wire::parse_ip(ranks[rank].address)->index() != wire::parse_ip(ranks[0].address)->index())
      return fail(fmt::format("--address: expected addresses of one family, found {} and {}",
                              ranks[0].address, ranks[rank].address));
  }
  return {};
}

/// Whether a rank sends to another one.
bool sends_to(perf::PerfPattern pattern, std::size_t from, std::size_t to, std::size_t ranks) {
  if (pattern == perf::PerfPattern::ring) return to == (from + 1) % ranks;
  return from != to && (pattern != perf::PerfPattern::incast || to == 0);
}

/// The part of a rank: incast's rank 0 only responds, its others only send; of the other patterns
/// each rank does both.
RankPart part_of_rank(const PerfRanksOptions& options, const std::vector<RankSelf>& ranks,
                      std::size_t own, const OwnAddress& address) {
  const perf::PerfPattern pattern = options.perf.pattern;
  RankPart part{
      .own = address, .peers = {}, .responds = pattern != perf::PerfPattern::incast || own == 0};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (sends_to(pattern, own, rank, ranks.size()))
      part.peers.push_back(*wire::parse_ip(ranks[rank].address));
  return part;
}

/// The figures of one rank's own measurement.
PerfRankRow rank_row_of(const RankOutcome& outcome) {
  PerfRankRow row;
  row.timing.late = outcome.started_late;
  if (outcome.sent) {
    const perf::BandwidthResult& sent = outcome.sent->bandwidth;
    row.sums.messages = sent.messages;
    row.sums.bytes = sent.bytes;
    row.sums.elapsed = sent.elapsed;
    row.sums.average_bps = sent.average_bps;
    row.sums.packets = sent.packets;
    row.sums.retransmitted = sent.retransmitted;
    row.sums.timeouts = sent.timeouts;
    row.sums.failed = sent.failed;
    row.sums.wrong = outcome.sent->wrong;
    row.sums.stopped = sent.stopped;
  }
  row.sums.connections = outcome.served.connections;
  row.sums.received_bytes = outcome.served.bytes;
  row.sums.checked = outcome.served.stats.checked;
  row.sums.received_wrong = outcome.served.stats.wrong;
  row.sums.broken = outcome.served.broken + outcome.served.gone;
  row.sums.bad_icrc = outcome.port.bad_icrc;
  row.sums.frames_not_sent = outcome.port.not_sent;
  row.own = outcome.machine;
  return row;
}

/// Rank 0: the report of all ranks.
PerfRanksSummary summary_of(const PerfRanksOptions& options, const perf::PerfConfig& config,
                            const CommonRun& common, const std::vector<std::string>& parts) {
  PerfRanksSummary summary{.pattern = name_of(options.perf.pattern),
                           .operation = perf::operation_word(config.operation),
                           .size = config.size,
                           .qps = config.qps,
                           .start = {},
                           .ranks = {},
                           .broken = {}};
  std::vector<RankTiming> timings = common.timings(parts);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const RankSelf& self = common.selves()[rank];
    const std::string host = usual_name(common.selves(), rank);
    PerfRankRow row{.rank = rank, .host = host, .machine = self.machine, .address = self.address};
    row.timing.clock = timings[rank].clock;
    const auto read = parts[rank].empty()
                          ? fail("it sent no results: it was killed, or its machine failed")
                          : row.read(parts[rank]);
    const std::string name = rank_name(rank, host);
    if (!read) summary.broken.push_back(fmt::format("{}: {}", name, read.error().message));
    summary.machine.add(row.own);
    if (row.sums.broken > 0 && common.reason().empty())  // a stopped requester says no good-bye
      summary.broken.push_back(fmt::format("{}: {} connections failed", name, row.sums.broken));
    timings[rank] = row.timing;
    summary.ranks.push_back(std::move(row));
  }
  summary.start = start_of(timings, options.most_skew);
  if (!summary.start.holds()) summary.broken.push_back(summary.start.refusal());
  if (!common.reason().empty()) summary.broken.push_back("ended early: " + common.reason());
  return summary;
}

ExitCode print_summary(const PerfRanksOptions& options, const PerfRanksSummary& summary) {
  Judge judge = options.verdicts.judge();
  summary.observe(judge);
  const std::string json = options.verdicts.judged(
      judge, options.json || options.html.wanted(),
      [&] { return report::json_line(kPerfRanksOutput, summary); }, "roce-gen perf",
      &kPerfRanksOutput);
  options.html.add_report(json, kPerfRanksOutput, options.verdicts.last(), summary.page_rows());
  for (const PerfRankRow& row : summary.ranks)
    options.html.add_fact(rank_name(row.rank, row.host), row.address);
  print_report(options.json ? json : options.verdicts.text() + summary.text());
  return options.verdicts.finish("roce-gen perf");
}

/// Runs this rank's part. Returns the exit code of rank 0's report; on other ranks done.
Result<ExitCode> run_rank(const PerfRanksOptions& options, const perf::PerfConfig& config,
                          Ranks& ranks, CommonRun& common) {
  const auto own = static_cast<std::size_t>(ranks.rank());
  auto address = address_of(options.endpoint, static_cast<unsigned>(own) + 1);
  Result<void> fit;
  if (!address) fit = std::unexpected(address.error());
  if (options.endpoint.address.empty() && ranks.size() > kMostHosts)
    fit = fail(fmt::format("--address: expected one for each rank: there are defaults for {}",
                           kMostHosts));
  if (auto met = common.meet({.machine = machine_name(),
                              .address = address ? wire::to_string(address->ip) : "",
                              .ports = {options.endpoint.port},
                              .receive = {}},
                             fit, perf_identity(options, config));
      !met)
    return std::unexpected(met.error());
  if (auto fits = common.agreed(check_addresses(common.selves())); !fits)
    return std::unexpected(fits.error());
  const auto outcome =
      run_among_ranks(options.endpoint, part_of_rank(options, common.selves(), own, *address),
                      options.verify, config, common, common.stop());
  if (!outcome) return std::unexpected(outcome.error());
  const auto parts = common.collect(rank_row_of(*outcome).part());
  if (!ranks.leads()) return ExitCode::done;
  return print_summary(options, summary_of(options, config, common, parts));
}

}  // namespace

ExitCode perf_as_rank(const PerfRanksOptions& options, const perf::PerfConfig& config,
                      const std::atomic<bool>& stop) {
  auto ranks = Ranks::join();
  if (!ranks) return print_error(ranks.error());
  if (ranks->size() < 2)
    return print_error(
        {fmt::format("--pattern {}: expected several processes, found one: mpirun -n "
                     "3 roce-gen perf --pattern {} ...",
                     name_of(options.perf.pattern), name_of(options.perf.pattern))});
  CommonRun common(*ranks, stop, false);
  const auto ran = run_rank(options, config, *ranks, common);
  ExitCode code = ran.value_or(ExitCode::failed);
  const auto error = ran ? common.failure() : std::optional(common.fail_all(ran.error()));
  if (error) code = error->message.empty() ? error->exit : print_error(*error);
  return common.leave(code);
}

}  // namespace lw::gen
