// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/perf_options.h"

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "app/profile_note.h"
#include "app/setting_options.h"
#include "config/congestion/congestion_profile.h"
#include "config/impair/profile.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "core/limits.h"
#include "core/names.h"
#include "core/quantity.h"
#include "core/setting.h"
#include "gen/limits.h"
#include "gen/perf/options/nic_profile.h"
#include "perf/settings.h"
#include "perf/words.h"

namespace lw::gen {
namespace {

using perf::PerfPattern;
using transport::DcqcnConfig;

std::vector<std::pair<std::string, PerfPattern>> patterns() {
  std::vector<std::pair<std::string, PerfPattern>> words;
  for (std::size_t i = 0; i < perf::kPatternNames.size(); ++i)
    words.emplace_back(perf::kPatternNames[i], static_cast<PerfPattern>(i));
  return words;
}

/// Reads "cc.KEY=VALUE" into the parameters; adds the key to `keys`, unless it is null.
Parsed<void> set_parameter(std::string_view text, DcqcnConfig& dcqcn, ParameterKeys* keys) {
  constexpr std::string_view kTable = "cc.";
  const std::size_t equals = text.find('=');
  if (!text.starts_with(kTable) || equals == std::string_view::npos)
    return std::unexpected(
        fmt::format("expected cc.KEY=VALUE, such as cc.rpg_gd=11, found \"{}\"", text));
  const std::string_view key = text.substr(kTable.size(), equals - kTable.size());
  const auto rows = DcqcnConfig::figures().rows;
  const auto row = std::ranges::find(rows, key, &Figure::name);
  if (row == rows.end()) {
    std::vector<std::string_view> names;
    for (const Figure& each : rows) names.push_back(each.name);
    const std::string_view near = nearest(key, names);
    return std::unexpected(
        fmt::format("no parameter \"{}\"{}", key,
                    near.empty() ? "" : fmt::format(": did you mean \"{}\"?", near)));
  }
  const auto set = set_setting(*row, &dcqcn, text.substr(equals + 1));
  if (!set) return std::unexpected(fmt::format("{}: {}", key, set.error()));
  if (keys != nullptr) keys->push_back(row->name);
  return {};
}

}  // namespace

void add_operation_options(app::Options& options, perf::PerfConfig& config) {
  options.add("--op",
              app::choice<wire::Operation>(
                  config.operation, {perf::kOperationWords.begin(), perf::kOperationWords.end()}),
              "OP", "operation: write, send, read, atomic (FETCH ADD) or compare-swap");
  options.add_flag("--imm", config.immediate, "WRITE or SEND with an immediate");
}

void add_margin_option(app::Options& options, perf::PerfConfig& config) {
  options
      .add("--margin", app::parsed(app::read_time, config.margin), "TIME",
           "time at the start and at the end of --duration that BW average leaves out")
      .defaults_to("0s");
}

void add_transport_option(app::Options& options, transport::QpConfig& config) {
  options.add("--transport",
              app::choice<wire::Transport>(
                  config.transport, {perf::kTransportWords.begin(), perf::kTransportWords.end()}),
              "KIND",
              "service: rc; with --port also uc (SEND, WRITE) and ud (SEND of one packet), "
              "which do not recover lost messages");
}

void add_congestion_options(app::Options& options, transport::QpConfig& config) {
  options.add(
      "--rate-control",
      app::choice<transport::RateControl>(
          config.rate_control, {perf::kRateControlWords.begin(), perf::kRateControlWords.end()}),
      "KIND", "rate control of a QP: none, fixed (--qp-rate) or dcqcn");
  options
      .add("--qp-rate", app::parsed(parse_bit_rate, config.rate_bps), "RATE",
           "rate of a QP on the link; initial rate of DCQCN")
      .defaults_to("the NIC's rate");
  add_congestion_profile(options, config.dcqcn);
}

void add_congestion_profile(app::Options& options, DcqcnConfig& dcqcn) {
  static constexpr std::string_view kKinds[] = {config::kCongestionProfiles};
  app::OptionValue value{.read = [&dcqcn](std::string_view file) -> Parsed<void> {
                           const auto& rows = DcqcnConfig::figures();
                           const auto read =
                               config::load_congestion_profile(std::string(file), rows, &dcqcn);
                           if (!read) return std::unexpected(read.error().message);
                           return {};
                         },
                         .profile_kinds = {std::begin(kKinds), std::end(kKinds)}};
  options.add("--cc", std::move(value), "PROFILE", "parameters of DCQCN");
}

void add_parameter_option(app::Options& options, DcqcnConfig& dcqcn, ParameterKeys* keys) {
  app::OptionValue value{
      .read = [&dcqcn, keys](std::string_view text) { return set_parameter(text, dcqcn, keys); },
      .repeats = true};
  options.add("--set", std::move(value), "cc.KEY=VALUE",
              "set a parameter of DCQCN, after --cc: cc.rpg_gd=11");
}

namespace {

void add_windows(app::Options& list, perf::PerfConfig& config) {
  app::add_settings(list, perf::qp_settings(), &config);
  list.add("--mtu",
           app::choice<std::uint32_t>(
               config.qp.mtu,
               {{"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}),
           "BYTES", "path MTU, in bytes")
      .defaults_to(std::to_string(config.qp.mtu));
  list.add("--packet-payload", app::number(config.qp.mtu, kLeastPacketPayload, kMostPacketPayload),
           "BYTES",
           "instead of --mtu: payload of a packet between our own endpoints, 64 to 14000 bytes")
      .excludes("--mtu")
      .defaults_to("the path MTU");
}

void add_nic_options(app::Options& list, PerfOptions& options) {
  perf::PerfConfig& config = options.config;
  config.qp.max_dest_rd_atomic = kReadsOfANic;
  list.add("--nic", app::profile(options.nic, {config::kNicProfiles}), "PROFILE",
           "settings of the simulated NICs, in place of their defaults");
  app::add_settings(list, perf::nic_settings(), &config);
  list.add("--path-buffer", app::parsed(parse_bytes, options.path_buffer), "SIZE",
           "buffer before a wavelength slower than the NICs, of a path profile without rules")
      .defaults_to("64MB");
}

/// Checks that a simulation can apply the profile.
Result<void> can_be_simulated(const config::ImpairProfile& profile) {
  if (!profile.scenario.empty())
    return fail("[[at]], [[protection]], [[flap]]: a simulated path stays as it is");
  for (const emulator::RuleConfig& rule : profile.rules) {
    if (rule.corrupt && rule.corrupt->recompute_icrc)
      return fail("icrc = \"recomputed\": simulated payloads have no bits to flip unseen");
    if (rule.rewrite && rule.rewrite->ecn)
      return fail(
          fmt::format("the rule `{}`: rewrite.ecn: simulated packets always say ECT: leave "
                      "it out, or use roce-impair",
                      rule.name));
    if (rule.acts_on_leaving())
      return fail(
          fmt::format("the rule `{}`: mark.at: simulated queues decide when a packet comes: "
                      "leave it out, or use roce-impair",
                      rule.name));
    if (rule.limit || rule.accumulate)
      return fail(
          fmt::format("the rule `{}`: {}: simulated hosts don't have it: leave it out, or use "
                      "roce-impair",
                      rule.name, rule.limit ? "limit" : "accumulate"));
    if (rule.shared)
      return fail(
          fmt::format("the rule `{}`: queue: simulated hosts share no queues and have no classes: "
                      "give the rule a queue of its own, or use roce-impair",
                      rule.name));
    if (rule.queue && rule.queue->pfc)
      return fail(
          fmt::format("the rule `{}`: queue.pfc: simulated hosts don't obey pause frames: "
                      "leave it out, or use roce-impair",
                      rule.name));
  }
  return {};
}

/// Returns the rate of the slowest link of the path; 0 if none is slower than the NICs.
double slowest_link(const config::ImpairProfile& profile, const perf::PathRules& rules,
                    double nic_bps) {
  double rate = nic_bps;
  // As in roce-impair, the wavelength's rate applies only if there are no other rules.
  if (profile.path && rules.plain()) rate = std::min(rate, profile.path->rate_bps);
  for (const emulator::RuleConfig& rule : rules.rules)
    if (rule.queue) rate = std::min(rate, rule.queue->rate_bps);
  return rate < nic_bps ? rate : 0;
}

/// Applies --path-buffer, which requires a path with a slower link.
Result<void> take_buffer(const PerfOptions& options, perf::PerfConfig& config) {
  if (!options.path_buffer) return {};
  if (*options.path_buffer == 0) return fail("--path-buffer: expected more than 0");
  if (config.path.rules || config.path.rate_bps <= 0)
    return fail(
        "--path-buffer goes with a path profile without rules, whose wavelength is slower "
        "than --rate");
  config.path.buffer_bytes = *options.path_buffer;
  return {};
}

/// Loads a path profile, or an impair profile; of one name the path profile.
Result<config::ImpairProfile> load_path(const std::string& file) {
  const auto found = config::find_profile(file, {config::kPathProfiles, config::kImpairProfiles});
  if (!found) return std::unexpected(found.error());
  return config::load_impair_profile(*found);
}

/// Takes a path profile, or an impair profile with all its rules.
Result<void> take_profile(const std::string& file, perf::PerfConfig& config) {
  const auto profile = load_path(file);
  if (!profile) return std::unexpected(profile.error());
  if (const auto can = can_be_simulated(*profile); !can)
    return fail(file + ": " + can.error().message);
  auto rules = std::make_shared<perf::PathRules>();
  *rules = {.seed = profile->seed, .rules = profile->rules, .events = profile->events};
  config.path.one_way = config::nominal_delay(*profile, emulator::Direction::west_to_east);
  config.path.way_back = config::nominal_delay(*profile, emulator::Direction::east_to_west);
  config.path.rate_bps = slowest_link(*profile, *rules, config.nic.rate_bps);
  if (rules->plain()) return {};
  for (const emulator::RuleConfig& rule : rules->rules) {
    if (config.path.loss > 0 && !std::holds_alternative<double>(rule.loss))
      return fail(fmt::format("--loss: the rule `{}` of {} has a loss model", rule.name, file));
  }
  config.path.rules = std::move(rules);
  return {};
}

}  // namespace

Parsed<std::uint64_t> read_message_size(std::string_view text) {
  const auto size = parse_message_size(text);
  if (!size || *size <= kMostMessage) return size;
  return std::unexpected(
      fmt::format("expected at most {} B (2^31): RDMA has no longer message, "
                  "found \"{}\"",
                  kMostMessage, text));
}

Parsed<Duration> read_run_length(std::string_view text) {
  const auto time = app::read_time(text);
  if (!time || *time > Duration{}) return time;
  return std::unexpected("expected a time above 0 such as 10s or 500ms, found \"" +
                         std::string(text) + "\"");
}

void add_transfer_options(app::Options& list, PerfOptions& options) {
  perf::PerfConfig& config = options.config;
  add_operation_options(list, config);
  list.add("-s,--size", app::parsed(read_message_size, config.size), "SIZE",
           "message size, in bytes; K, M and G are binary, as in perftest")
      .defaults_to("64KiB");
  add_windows(list, config);
  list.add_flag("--selective-repeat", options.selective, "selective repeat instead of go-back-N");
}

void add_path_options(app::Options& list, PerfOptions& options) {
  // Packets: the ends of a shorter run are more than a tenth of it; hours.
  constexpr std::uint64_t kLeastRun = 1000, kLongestRun = 100'000'000'000;
  list.add("--path", app::profile(options.path, {config::kPathProfiles, config::kImpairProfiles}),
           "PROFILE", "path or impair profile of the link between the hosts");
  list.add("--delay", app::parsed(parse_duration, options.delay), "TIME",
           "one-way delay, instead of a profile");
  list.add("--distance", app::parsed(parse_kilometres, options.km), "LENGTH",
           "length of bare fibre, instead of a profile");
  list.add("--loss", app::parsed(parse_probability, options.loss), "SHARE",
           "random loss of packets, in both directions")
      .defaults_to("0");
  list.add("--most-packets", app::number(options.config.most_packets, kLeastRun, kLongestRun), "N",
           "packets of both hosts after which a simulated run without -n and --duration ends, even "
           "if its steady rate is not known")
      .defaults_to("60000000");
  add_nic_options(list, options);
}

void add_run_options(app::Options& list, PerfOptions& options) {
  list.add(
      "--pattern", app::choice<PerfPattern>(options.pattern, patterns()), "PATTERN",
      "bw: messages one way; lat: one message at a time, there and back (READ: one READ); blast, "
      "ping: like bw and lat, from the first post to the last completion; through a port and under "
      "mpirun incast: like bw, from all other ranks to rank 0, all-to-all: from each rank to each "
      "other one, and ring: from each rank to the next, and from the last to rank 0");
  list.add("--buffers", app::number(options.buffers, 1u, 1u << 20), "N",
           "messages in flight at once, of a blast");
  list.add("-n,--iterations", app::number(options.config.iterations), "N",
           "messages per QP; 0: 1000 for lat, ping and blast; for bw 5000 through a port, and "
           "those of --round-trips in a simulation");
  list.add("--duration", app::parsed(read_run_length, options.config.duration), "TIME",
           "length of a bw, lat or blast run, in place of -n: 500ms, 10s; a number is in seconds");
  add_margin_option(list, options.config);
  list.add_flag(
      "-b,--bidirectional", options.config.both,
      "of a bw run: the responder sends as many messages as the client; rates are those of "
      "both together");
  list.add("--rnr-retries",
           app::number(options.config.qp.rnr_retry, std::uint8_t{0}, std::uint8_t{7}), "N",
           "number of RNR retries before a QP fails; 7: unlimited");
  add_congestion_options(list, options.config.qp);
}

void add_simulated_run_options(app::Options& list, PerfOptions& options) {
  list.add("--round-trips", app::number(options.config.round_trips, 0u, 1'000'000u), "N",
           "length of a bw run without -n and --duration; 0: until the steady rate is known");
  list.add("--seed", app::number(options.config.path.seed), "N", "random seed");
  list.add("--mark", app::parsed(parse_probability, options.mark), "SHARE",
           "random marking of packets as congestion experienced, in both directions; goes with "
           "--rate-control dcqcn")
      .defaults_to("0");
  app::add_settings(list, perf::receive_settings(), &options.config);
}

void add_simulation_parameters(app::Options& list, PerfOptions& options) {
  add_transfer_options(list, options);
  add_path_options(list, options);
  add_run_options(list, options);
  add_simulated_run_options(list, options);
  app::add_settings(list, DcqcnConfig::figures(), &options.config.qp.dcqcn);
}

namespace {

/// Refuses rates and times with which a packet, or the whole run, would take less or more time than
/// a simulation counts: it has 64 bits of picoseconds, 106 days.
Result<void> check_times(const perf::PerfConfig& config) {
  constexpr double kLeastBps = 1e3;  // the largest packet takes 34 s
  constexpr double kMostDays = 100;
  constexpr Duration kLongestDelay = std::chrono::hours(1);
  const double limit = config.nic.receive_send_bps;
  if (limit != 0 && limit < kLeastBps) return fail("--receive-limit: expected at least 1 kb/s");
  const double slowest = limit != 0 ? std::min(limit, config.nic.rate_bps) : config.nic.rate_bps;
  if (std::max(config.path.one_way, config.path.way_back.value_or(Duration{})) > kLongestDelay)
    return fail("the path's delay: expected at most 1 h");
  // At most, each message waits for the one before.
  const auto seconds = [](Duration time) { return static_cast<double>(time.count()) * 1e-9; };
  const double message = 8.0 * config.size * config.qps / slowest + seconds(config.path.one_way) +
                         seconds(config.path.way_back.value_or(config.path.one_way));
  const double days =
      std::max(seconds(config.duration), static_cast<double>(config.iterations) * message) / 86'400;
  if (days <= kMostDays) return {};
  return fail(
      fmt::format("expected a run of at most {} days of simulated time, found {:.0f} days: "
                  "ask for fewer or smaller messages, a shorter time or a higher rate",
                  kMostDays, days));
}

/// Refuses options that only a simulation with certain other options uses.
Result<void> check_combination(const PerfOptions& options, const perf::PerfConfig& config) {
  using transport::RateControl;
  if (config.path.marking > 0 && config.qp.rate_control != RateControl::dcqcn)
    return fail("--mark goes with --rate-control dcqcn: nothing else reacts to a mark");
  if (config.both && config.receives > 0)
    return fail("--bidirectional goes without --receives: neither side lacks a receive");
  if (config.receives == 0) {
    if (config.repost > Duration{}) return fail("--repost goes with --receives");
    if (config.qp.end_to_end_credits) return fail("--credits goes with --receives");
    return {};
  }
  if (!config.takes_receive()) return fail("--receives goes with --op send and with --imm");
  if (options.pattern != PerfPattern::bw && options.pattern != PerfPattern::blast)
    return fail("--receives goes with --pattern bw and blast");
  return {};
}

/// Applies the patterns of the study: their operations, and the number of buffers.
void apply_pattern(const PerfOptions& options, perf::PerfConfig& config) {
  constexpr std::uint64_t kIterations = 1000;  // perftest's, of a latency
  if (options.pattern == PerfPattern::bw || options.common()) return;
  if (config.iterations == 0 && config.duration == Duration{}) config.iterations = kIterations;
  config.read_back = reads_back(config, options.pattern);
  if (options.pattern != PerfPattern::blast) return;
  config.qp.tx_depth = options.buffers;
  config.qp.max_outstanding_wqe = std::max(config.qp.max_outstanding_wqe, options.buffers);
}

}  // namespace

Result<perf::PerfConfig> perf_config(const PerfOptions& options, bool simulated) {
  perf::PerfConfig config = options.config;
  if (!options.nic.empty())
    if (const auto applied = apply_nic_profile(options.nic, config); !applied)
      return std::unexpected(applied.error());
  config.path.loss = options.loss.value_or(0);
  config.path.marking = options.mark.value_or(0);
  if (options.selective) config.qp.recovery = transport::LossRecovery::selective_repeat;
  config.size = config.message_bytes();
  if (config.size == 0 || config.size > kMostMessage) return fail("--size: expected 1 B to 2 GiB");
  if (auto fits = perf::check(config, options.pattern); !fits) return std::unexpected(fits.error());
  apply_pattern(options, config);
  if (!simulated) return config;
  if (auto fits = check_combination(options, config); !fits) return std::unexpected(fits.error());
  const int given = (options.delay ? 1 : 0) + (options.km ? 1 : 0) + (options.path.empty() ? 0 : 1);
  if (given > 1) return fail("--path, --delay and --distance exclude each other");
  if (given == 0) return fail("say what lies between: --path, --delay or --distance");
  if (options.path.empty()) {
    const emulator::Path fibre{.spans = {{.km = options.km.value_or(0)}}};
    config.path.one_way =
        options.delay.value_or(one_way_delay(fibre, emulator::Direction::west_to_east));
  } else if (const auto taken = take_profile(options.path, config); !taken) {
    return std::unexpected(taken.error());
  }
  if (const auto taken = take_buffer(options, config); !taken)
    return std::unexpected(taken.error());
  if (const auto possible = check_times(config); !possible)
    return std::unexpected(possible.error());
  return config;
}

void say_path(const PerfOptions& options) {
  if (options.path.empty() || !config::is_profile_name(options.path)) return;
  const auto profile = load_path(options.path);
  if (!profile) return;  // perf_config() says why
  app::say_profile(options.path, {config::kPathProfiles, config::kImpairProfiles},
                   config::words_of(*profile));
}

}  // namespace lw::gen
